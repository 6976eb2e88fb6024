/** Files that are being sent: how many at once, and which have to end. */
import { Fault } from '#kit/pure/fault.ts'

export interface TransferLimits {
  total: number
  perAddress: number
  /** Undefined where anybody may ask. */
  perInstallation?: number
  retryMs: number
}

/** Who asks for a file. */
export interface Receiver {
  /** Undefined if its address is not bounded by itself. */
  share: string | undefined
  installation?: string
}

/** A place of one transfer. */
export interface Transfer {
  /** @param end ends what is being sent; called at once if the place was lost meanwhile */
  sends(release: string, end: () => void): void
  /** Frees the place; may be called twice. */
  leave(): void
}

export interface Transfers {
  /** @throws Fault `too_many_downloads` */
  begin(receiver: Receiver): Transfer
  /** Ends those of a release that is not given out any more. */
  endOf(release: string): void
  many(): number
}

interface Running extends Receiver {
  release?: string
  end?: () => void
}

export function createTransfers(limits: TransferLimits): Transfers {
  const running = new Map<symbol, Running>()

  function refuse(whose: string): never {
    throw new Fault('too_many_downloads', `As many downloads ${whose} are under way as may. Try again soon.`, {
      details: { retryAfterMs: limits.retryMs },
    })
  }

  /** Where all places are taken, the address with most gives its newest to one that has two fewer. */
  function makeRoom(receiver: Receiver): void {
    const held = Map.groupBy(running.keys(), (place) => running.get(place)?.share)
    const own = held.get(receiver.share)?.length ?? 0
    // Those that are not bounded lose none.
    held.delete(undefined)
    const [most = []] = [...held.values()].toSorted((one, other) => other.length - one.length)
    const newest = most.at(-1)
    if (newest === undefined || most.length < own + 2) refuse('in all')
    const { end } = running.get(newest) ?? {}
    running.delete(newest)
    end?.()
  }

  return {
    many: () => running.size,
    begin(receiver) {
      const all = [...running.values()]
      const { installation, share } = receiver
      const { perAddress, perInstallation = Number.POSITIVE_INFINITY, total } = limits
      if (
        installation !== undefined &&
        all.filter((one) => one.installation === installation).length >= perInstallation
      )
        refuse('of this installation')
      if (share !== undefined && all.filter((one) => one.share === share).length >= perAddress)
        refuse('of your address')
      if (all.length >= total) makeRoom(receiver)
      const place = Symbol(installation)
      running.set(place, receiver)
      return {
        sends(release, end) {
          if (running.has(place)) running.set(place, { ...receiver, release, end })
          else end()
        },
        leave: () => void running.delete(place),
      }
    },
    endOf(release) {
      for (const one of [...running.values()]) if (one.release === release) one.end?.()
    },
  }
}
