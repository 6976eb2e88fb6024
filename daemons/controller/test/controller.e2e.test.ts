/** The built controller: it starts, answers, records, and continues after a restart where it stopped. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { askFromMany, holdHalfOpen } from '#kit/test/http/half-open.ts'
import { ask, startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'

/** Rows of the audit, oldest first. */
function recorded(stateFolder: string): Record<string, unknown>[] {
  const db = new DatabaseSync(join(stateFolder, 'audit.db'), { readOnly: true })
  try {
    return db.prepare('SELECT * FROM request_history ORDER BY id').all()
  } finally {
    db.close()
  }
}

t.test('1 Versioning: health and version answer without a token, everything else needs one', async (t) => {
  const { url, stateFolder, stop, output } = await startDaemon(t, 'controller')
  t.same((await ask(`${url}/api/health`, {})).body, { ok: true })
  t.match((await ask(`${url}/api/version`, {})).body, { version: /^\d+\.\d+\.\d+/ })
  t.match(await ask(`${url}/api/me`, {}), { status: 401, body: { error: 'invalid_session' } })
  t.match(await ask(`${url}/api/control/command`, { method: 'POST', body: '{' }), { status: 400 })
  const [, , , last] = recorded(stateFolder)
  t.match(last, { path: '/api/control/command', status: 400, reason: 'malformed_body' })
  t.match(await ask(`${url}/api/control/dance`, { method: 'POST' }), { status: 400, body: { error: 'invalid action' } })
  t.equal((await ask(`${url}/metrics`, {})).status, 401)
  t.match((await ask(url, {})).body, /<title>Plantroom controller/)
  t.equal(await stop(), 0, output())
  t.notOk(existsSync(join(stateFolder, 'audit.db-wal')), 'the file was closed')
  t.same(
    recorded(stateFolder).map(({ path, status, granted }) => [path, status, granted]),
    [
      ['/api/health', 200, 1],
      ['/api/version', 200, 1],
      ['/api/me', 401, 0],
      ['/api/control/command', 400, 0],
      ['/api/control/dance', 400, 0],
    ],
  )
})

t.test('300 half-open requests of one address keep nobody else out', async (t) => {
  const { url } = await startDaemon(t, 'controller', { sets: ['mdns.enabled=false'] })
  await holdHalfOpen(t, url, { times: 300, from: '127.0.0.9' })
  t.equal(await askFromMany(`${url}/api/health`, 294), 294)
})

t.test('after SIGKILL it starts again with its audit', async (t) => {
  const stateFolder = stateFolderOf(t)
  const first = await startDaemon(t, 'controller', { stateFolder })
  await ask(`${first.url}/api/control/dance`, { method: 'POST' })
  await first.stop('SIGKILL')
  const second = await startDaemon(t, 'controller', { stateFolder })
  await ask(`${second.url}/api/control/dance`, { method: 'POST' })
  t.same(
    recorded(stateFolder).map(({ id, reason }) => [id, reason]),
    [
      [1, 'invalid_action'],
      [2, 'invalid_action'],
    ],
  )
})

t.test('refuses impossible settings, and names everything that is wrong', async (t) => {
  const sets = ['http.trusted_proxies=["10.0.0.1/8"]', 'audit.keep_day=3']
  const failed = await startDaemon(t, 'controller', { sets }).then(
    () => 'it started',
    (error: Error) => error.message,
  )
  t.match(failed, /http\.trusted_proxies .*10\.0\.0\.1\/8/)
  t.match(failed, /nearest known one is audit\.keep_days/)
})
