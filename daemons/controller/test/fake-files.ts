/** The parts of a fake house that keep files: pictures of floor plans, backups, and updates. */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { UiParts } from '../api/ui-routes.ts'
import { type BackupFacts, Backups } from '../core/backups.ts'
import { chooseFavourite, favouritesOf } from '../core/live/favourites.ts'
import type { Book, Keeper, Row } from '../core/site/book.ts'
import { createPlans, keepPicture } from '../core/site/plans.ts'
import type { UpdateView } from '../core/updates.ts'

/** What a house keeps in files. */
export interface FakeFiles {
  /** Backups that were sent, what was put in place, and how often the controller was restarted. */
  backup: { sent: string[]; commits: { by: string; what: string }[]; restarts: number }
  updates: FakeUpdate
  /** Of floor plans, by name. */
  pictures: Map<string, Uint8Array>
}

/** What an update shows, what was asked for by whom, and why it is refused. */
interface FakeUpdate {
  view: UpdateView
  asked: string[]
  refusal: Fault | undefined
  listeners: Set<(view: UpdateView) => void>
}

export function noUpdate(): FakeUpdate {
  const view: UpdateView = {
    ...{ state: 'idle', why: null, version: '1.2.3', looked: null, run: null, isCut: false, last: null, window: null },
  }
  return { view, asked: [], refusal: undefined, listeners: new Set() }
}

/** Writes down who asks. */
export function updatesOf({ updates }: FakeFiles): UiParts['updates'] {
  async function ask(what: string): Promise<void> {
    if (updates.refusal !== undefined) throw updates.refusal
    updates.asked.push(what)
  }
  return {
    view: () => updates.view,
    look: () => ask('look'),
    apply: (who) => ask(`apply by ${who}`),
    restart: (who) => void updates.asked.push(`restart by ${who}`),
    onChange(listener) {
      updates.listeners.add(listener)
      return () => updates.listeners.delete(listener)
    },
  }
}

/** The largest backup that may be sent. */
export const BACKUP_BYTES = 1000

/** Real favourites and plans over the rows of the house; pictures are kept in memory. */
export function roomsOf(house: FakeFiles & { change(table: string, rows: Row[]): void }, book: Book): UiParts['rooms'] {
  const keeper: Keeper = {
    async change(table, id, columns) {
      house.change(
        table,
        book.rows(table).map((row) => (row.id === id ? { ...row, ...columns } : row)),
      )
    },
  }
  const limits = { favourites: 3, favouritesInAll: 5 }
  const folder = {
    async put(bytes: Uint8Array, kind: string) {
      const name = `${createHash('sha256').update(bytes).digest('hex')}.${kind}`
      house.pictures.set(name, bytes)
      return name
    },
  }
  return {
    favourites: (session) => favouritesOf(book, session),
    choose: (session, wish, isSeen) => chooseFavourite({ book, keeper, limits }, session, wish, isSeen),
    plans: createPlans(book),
    keepPicture: (bytes) => keepPicture(folder, bytes, 1_000_000),
    hasPicture: (name) => house.pictures.has(name),
    openPicture(name) {
      const bytes = house.pictures.get(name)
      return bytes && { stream: Readable.from([bytes]), sizeBytes: bytes.length }
    },
  }
}

/** The real rules over a disk that keeps texts: one that begins with `bad` is refused. */
export function backupsOf({ backup }: FakeFiles, clock: Clock): Backups {
  const facts = (sizeBytes: number): BackupFacts => ({
    ...{ madeAt: 1_900_000_000_000, version: '1.2.3', files: 5, sizeBytes, hasAllSecrets: false },
    ...{ site: 'Harbour House', zones: 8, people: 2 },
  })
  return new Backups({
    clock,
    disk: {
      pack: async () => facts(9),
      open: () =>
        (async function* () {
          yield Buffer.from('a backup\n')
        })(),
      async take(bytes) {
        let text = ''
        for await (const chunk of bytes) text += Buffer.from(chunk).toString()
        backup.sent.push(text)
      },
      async check() {
        const text = backup.sent.at(-1) ?? ''
        if (text.startsWith('bad')) throw new Fault('bad_backup', 'it is damaged')
        return facts(text.length)
      },
      commit: (note) => void backup.commits.push(note),
      former: () => undefined,
      drop: () => {},
    },
    siteName: () => 'Harbour House',
    restart: () => void backup.restarts++,
    record: () => {},
    limits: { bytes: BACKUP_BYTES, keptMs: 60_000 },
  })
}
