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
  /** @param end ends what is being sent */
  sends(version: string, end: () => void): void
  /** Frees the place; may be called twice. */
  leave(): void
}

export interface Transfers {
  /** @throws Fault `too_many_downloads` */
  begin(receiver: Receiver): Transfer
  /** Ends those of a version that is not given out any more. */
  endOf(version: string): void
  many(): number
}

export function createTransfers(limits: TransferLimits): Transfers {
  const running = new Map<symbol, Receiver & { version?: string; end?: () => void }>()

  function refuse(receiver: Receiver): void {
    const all = [...running.values()]
    const ofAddress = all.filter(({ share }) => receiver.share !== undefined && share === receiver.share)
    const own = all.filter(({ installation }) => installation !== undefined && installation === receiver.installation)
    const { perAddress, perInstallation = Number.POSITIVE_INFINITY, retryMs, total } = limits
    if (all.length < total && ofAddress.length < perAddress && own.length < perInstallation) return
    const whose =
      own.length >= perInstallation ? 'of this installation' : all.length >= total ? 'in all' : 'of your address'
    throw new Fault('too_many_downloads', `As many downloads ${whose} are under way as may. Try again soon.`, {
      details: { retryAfterMs: retryMs },
    })
  }

  return {
    many: () => running.size,
    begin(receiver) {
      refuse(receiver)
      const place = Symbol(receiver.installation)
      running.set(place, receiver)
      return {
        sends(version, end) {
          if (running.has(place)) running.set(place, { ...receiver, version, end })
        },
        leave: () => void running.delete(place),
      }
    },
    endOf(version) {
      for (const one of [...running.values()]) if (one.version === version) one.end?.()
    },
  }
}
