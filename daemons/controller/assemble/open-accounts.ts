/** The accounts of a controller that is stopped, for `plantroom password`. */
import { systemClock } from '#kit/clock.ts'
import { loadConfig } from '#kit/config/load.ts'
import { configFileOf } from '#kit/run/arguments.ts'
import type { KeptAccounts } from '#kit/run/daemon.ts'
import { type ControllerConfig, config as schema } from '../config.ts'
import type { Change } from '../core/change.ts'
import { firstAccount, UNNAMED_SITE } from '../core/first-account.ts'
import { limitsOf } from '../core/limit.ts'
import { openSiteStore, type SiteStore } from '../io/database.ts'
import { hashPassword } from '../io/people-secrets.ts'

/** @throws Fault as `openDatabase`, `config_refused` */
export async function openAccounts(stateFolder: string): Promise<KeptAccounts> {
  const { value } = await loadConfig({ schema, file: configFileOf('controller'), mustExist: false, sets: [] })
  const { store: limits } = value as ControllerConfig
  const store = openSiteStore(stateFolder, systemClock, limitsOf(limits))
  return {
    usernames: store.book.rows('auth_user').map(({ username }) => String(username)),
    setPassword: async (username, password) =>
      store.applyNow(changesFor(store, username, { ...(await hashPassword(password)) })),
    close: () => store.close(),
  }
}

function changesFor({ book, nextId }: SiteStore, username: string, kept: { hash: string; salt: string }): Change[] {
  const table = 'auth_user'
  const nowMs = systemClock.epochMs()
  const user = book.rows(table).find((row) => row.username === username)
  if (user === undefined)
    return firstAccount({ username, ...kept, siteName: UNNAMED_SITE, timeZone: null }, { book, nowMs, nextId })
  return [{ kind: 'change', table, id: user.id, columns: { ...kept, updated_at: nowMs } }]
}
