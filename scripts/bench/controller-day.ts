/**
 * What a controller writes to its disk in a day: a whole day of 10 changes a second, by a clock of its own, through the
 * real store; and a minute of the built daemon with nothing to do. Prints both. The state folder must be on a real disk.
 *
 *     node scripts/bench/controller-day.ts
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Static } from 'typebox'
import { Value } from 'typebox/value'
import { systemClock } from '#kit/clock.ts'
import { fakeClock } from '#kit/clock-fake.ts'
import { historyKeys } from '../../daemons/controller/core/device-keys.ts'
import { limitsOf, storeKeys } from '../../daemons/controller/core/keys.ts'
import { createHistory, type HistoryStore } from '../../daemons/controller/core/live/history.ts'
import { openSiteStore, type SiteStore } from '../../daemons/controller/io/database.ts'
import { type Ends, endAll, prepareSite, startController } from './controller-site.ts'
import { writtenBytesOf } from './figures.ts'

const CHANGES_A_SECOND = 10
const DAY_S = 86_400
/** Attributes that change, in turn: those of a hundred rooms. */
const ATTRIBUTES = 500
const SETTLE_MS = 15_000
const IDLE_MS = 60_000
const MB = 1e6

/** Tells when the store has written what it was given. */
function watched(store: SiteStore['history']): { store: HistoryStore; written(): Promise<unknown> } {
  let last: Promise<unknown> = Promise.resolve()
  const watch = <Result>(work: Promise<Result>): Promise<Result> => {
    last = work
    return work
  }
  return {
    store: {
      takeId: () => store.takeId(),
      write: (rows, mostRows) => watch(store.write(rows, mostRows)),
      trim: (beforeAt) => watch(store.trim(beforeAt)),
      settle: (ids, upTo) => watch(store.settle(ids, upTo)),
    },
    async written() {
      for (let before: unknown; before !== last; ) {
        before = last
        await last
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
  }
}

async function busyDay(folder: string): Promise<number> {
  const limits = limitsOf(Value.Default(historyKeys, {}) as Static<typeof historyKeys>)
  const site = openSiteStore(folder, systemClock, limitsOf(Value.Default(storeKeys, {}) as Static<typeof storeKeys>))
  const clock = fakeClock(Date.now())
  const { store, written } = watched(site.history)
  const history = createHistory({ clock, limits, store, onFault: (fault) => console.error(fault) })
  const before = writtenBytesOf('self')
  for (let second = 0, count = 0; second < DAY_S; second++) {
    for (let n = 0; n < CHANGES_A_SECOND; n++, count++) {
      const attributeId = 1 + ((count * 7) % ATTRIBUTES)
      const value = `${20 + (count % 97) / 10}`
      const row = site.book.row('attribute', attributeId)
      if (row)
        site.touch('attribute', { ...row, value, previous_value: row.value ?? null, changed_at: clock.epochMs() })
      history.add({ attributeId, value, at: clock.epochMs(), source: `device ${attributeId % 50}` })
    }
    clock.advance(1000)
    await written()
  }
  await history.close()
  await site.close()
  return writtenBytesOf('self') - before
}

const ends: Ends = []
try {
  const folder = await prepareSite(ends)
  const busyMb = (await busyDay(folder)) / MB
  const { pid } = await startController(ends, folder)
  await sleep(SETTLE_MS)
  const before = writtenBytesOf(pid)
  await sleep(IDLE_MS)
  const idleMb = ((writtenBytesOf(pid) - before) * ((DAY_S * 1000) / IDLE_MS)) / MB
  console.log(`busy, ${CHANGES_A_SECOND} changes a second of ${ATTRIBUTES} attributes: ${busyMb.toFixed(0)} MB a day`)
  console.log(`idle, 10,000 devices: ${idleMb.toFixed(1)} MB a day`)
} finally {
  await endAll(ends)
}
