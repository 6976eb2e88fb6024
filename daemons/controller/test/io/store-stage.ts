/** A store on a real disk with a small site, for tests of io. */
import type { Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { openSiteStore } from '../../io/database.ts'
import { importInto } from '../../io/site-import.ts'
import { bytesOf, parts } from './store-parts.ts'

/** Rows with columns of every kind, with people and their secrets. */
export const site = {
  site: [{ name: 'Home', latitude: 48.5 }],
  device: [{ name: 'Dimmer', config: { deep: [1, 'ü', null] }, elevated: true }],
  zone: [{ name: 'Hall', device_id: 'Dimmer', max: 80 }, { name: 'Desk' }],
  auth_user: [{ username: 'Ada', password: 'secret' }, { username: 'Bob' }],
}

/** Opens the store of a state folder. */
export const open = (folder: string) => openSiteStore(folder, systemClock, parts.store)

/** An import that replaces what exists, at once. */
export const now = { mode: 'replace', becomes: 'now', author: 'test' } as const

/** A store with that site; closed when the test ends. */
export async function stage(t: Test) {
  const folder = t.testdir()
  const store = open(folder)
  t.teardown(() => store.close())
  await importInto(store, bytesOf(site), parts, now)
  return { folder, store }
}
