/**
 * What daemons on one store are taking in: each upload has a claim in the store, from before its first byte until its release
 * is filed. So what a daemon that died had begun is removed by itself when it starts again, or by another one later.
 */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Changed, ClaimRecord, Keeper } from '../ports.ts'

interface ClaimParts {
  clock: Clock
  keeper: Pick<Keeper, 'inTurn' | 'saveClaims'>
  records: readonly ClaimRecord[]
  /** Of this daemon, whenever it runs. */
  daemon: string
  /** Longest time of an upload: a claim that is older belongs to a daemon that has died. */
  mostMs: number
  /** Nobody writes this file any more, or needs it. */
  onGone(file: string): void
  /** A claim that is over could not be removed: it goes with a later one. */
  onUnwritten(fault: unknown): void
}

/** What an upload holds. */
export interface Claim {
  /** Called in the turn that files it. @returns its key @throws Fault `file_lost` if it was removed meanwhile */
  prove(): string
  /** @param isEnded whether its record is gone already */
  leave(isEnded: boolean): Promise<void>
}

export interface Claims {
  begin(file: string): Promise<Claim>
  /** Removes what this daemon had begun when it died. */
  start(): Promise<void>
  /** Takes over what another daemon wrote. */
  follow(claims: Changed<ClaimRecord>): void
}

export function createClaims({ clock, daemon, keeper, mostMs, onGone, onUnwritten, records }: ClaimParts): Claims {
  const all = new Map(records.map((record) => [record.file, record]))

  /** Ends claims with what was written under them, and adds one. */
  async function change(isOver: (claim: ClaimRecord) => boolean, changed: readonly ClaimRecord[]): Promise<void> {
    const removed = [...all.values()].filter(isOver).map(({ file }) => file)
    if (removed.length + changed.length === 0) return
    await keeper.saveClaims({ changed, removed })
    for (const record of changed) all.set(record.file, record)
    for (const file of removed) {
      all.delete(file)
      onGone(file)
    }
  }

  async function leave(file: string, isEnded: boolean): Promise<void> {
    if (!isEnded)
      await keeper
        .inTurn(async () => {
          if (all.has(file)) await keeper.saveClaims({ changed: [], removed: [file] })
        })
        .catch(onUnwritten)
    all.delete(file)
  }

  return {
    start: () => keeper.inTurn(() => change((claim) => claim.daemon === daemon, [])),
    async begin(file) {
      const beganAt = clock.epochMs()
      await keeper.inTurn(() => change((claim) => beganAt - claim.beganAt > mostMs, [{ file, daemon, beganAt }]))
      return {
        prove() {
          if (all.has(file)) return file
          throw new Fault('file_lost', 'The upload was given up meanwhile, as one that stands still. Publish again.')
        },
        leave: (isEnded) => leave(file, isEnded),
      }
    },
    follow({ changed, removed }) {
      for (const file of removed) all.delete(file)
      for (const record of changed) all.set(record.file, record)
    },
  }
}
