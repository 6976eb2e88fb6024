/** The REST surface of the built controller while it is switched off: what answers, and what the audit records. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { rawCall } from './raw-call.ts'
import { openRestSite, type RestSite } from './rest-site.ts'

/** Calls that are switched off: all except the two that always answer. */
const OFF: [method: string, path: string][] = [
  ...[
    '/api',
    '/api/',
    '/api/nothing',
    '/api/health/',
    '/api/token',
    '/api/control/dance',
    '/api/data',
    '/api/data/zone',
  ],
  ...['/api/control/command', '/api/control/macro', '/api/logout', '/api/me', '/api/session_handoff'],
].flatMap((path): [string, string][] => ['GET', 'HEAD', 'POST', 'PUT', 'OPTIONS'].map((method) => [method, path]))

t.test('1 What the service does: a site file can switch it off, and each call is recorded', async (t) => {
  const site = await openRestSite(t, { rows: { setting: [{ key: 'rest_api_enabled', value: 'false' }] } })
  for (const [method, path] of [...OFF, ['POST', '/api/health'], ['DELETE', '/api/version']] as const) {
    const answer = await rawCall(site, method, path, method === 'POST' ? { body: '{' } : {})
    t.equal(answer.status, 401, `${method} ${path}`)
    if (method !== 'HEAD') t.match(answer.body, { error: 'rest api disabled' }, `${method} ${path}`)
  }
  for (const path of ['/api/health', '/api/version'])
    for (const method of ['GET', 'HEAD']) t.equal((await rawCall(site, method, path)).status, 200, `${method} ${path}`)
  for (const method of ['GET', 'POST', 'OPTIONS'])
    for (const path of ['/api/sync', '/api/sync/x']) t.equal((await rawCall(site, method, path)).status, 501, path)
  await site.stop()
  const records = recorded(site).filter(({ path }) => !String(path).startsWith('/api/sync'))
  const refused = records.filter(({ status }) => status === 401)
  t.equal(refused.length, OFF.length + 2)
  t.ok(refused.every(({ reason, granted, user_id }) => reason === 'rest_disabled' && granted === 0 && user_id === null))
  t.equal(records.length, OFF.length + 6)
})

/** Rows from the audit's file: over REST nobody answers. */
function recorded({ stateFolder }: RestSite): Record<string, unknown>[] {
  const db = new DatabaseSync(join(stateFolder, 'audit.db'), { readOnly: true })
  try {
    return db.prepare('SELECT * FROM request_history ORDER BY id').all()
  } finally {
    db.close()
  }
}
