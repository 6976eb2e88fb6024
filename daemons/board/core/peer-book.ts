/** Which boards were ever found, kept over restarts: a box that is gone is missed by whoever looks, until it is dismissed. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { createLateSave } from './late-save.ts'
import type { Kept } from './machine-ports.ts'
import type { KeptPeer } from './peer.ts'

/** What the book needs. */
export interface PeerBookParts {
  clock: Clock
  log: Log
  file: Kept<readonly KeptPeer[]>
  /** Between two saves in which only times have moved, ms: each of them wears the card. */
  saveMs: number
  /** What is to be kept now. */
  kept(): readonly KeptPeer[]
}

/** The memory of boards. */
export interface PeerBook {
  /** Reads what is kept. A file that cannot be read is told in the log, and nothing is known from before. */
  open(): Promise<readonly KeptPeer[]>
  /** Something is otherwise: saved soon, unless only times have moved. */
  changed(): void
  /** Saves what is not saved yet, with its times. */
  close(): Promise<void>
}

/** Boards come in dozens when a site is switched on. */
const TIMES = { quietMs: 2000, mostMs: 60_000 }

export function createPeerBook({ clock, log, file, saveMs, kept }: PeerBookParts): PeerBook {
  let saved: readonly KeptPeer[] = []
  let timer: Timer | undefined
  const late = createLateSave(clock, TIMES, {
    async save() {
      const now = kept()
      await file.save(now)
      saved = now
    },
    failed: (fault) => log.warning('boards not saved', { fault }),
  })
  function saveWhere(textOf: (kept: readonly KeptPeer[]) => string): void {
    if (textOf(kept()) !== textOf(saved)) late.changed()
  }
  return {
    async open() {
      saved = await loadOr(log, file)
      timer = clock.every(saveMs, () => saveWhere(JSON.stringify))
      return saved
    },
    changed: () => saveWhere(withoutTimes),
    async close() {
      timer?.cancel()
      saveWhere(JSON.stringify)
      await late.close()
    },
  }
}

/** A board whose memory of others is damaged is of use all the same, and finds those that are there again. */
async function loadOr(log: Log, file: PeerBookParts['file']): Promise<readonly KeptPeer[]> {
  try {
    return await file.load()
  } catch (fault) {
    log.error('boards that were found before are not known', { fault })
    return []
  }
}

function withoutTimes(kept: readonly KeptPeer[]): string {
  return JSON.stringify(kept.map(({ heardAt: _heard, answeredAt: _answered, ...rest }) => rest))
}
