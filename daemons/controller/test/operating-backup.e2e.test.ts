/** A controller that is backed up while in use, and restored elsewhere. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { png } from '#kit/test/pictures.ts'
import { ask, type RunningDaemon, startDaemon } from '#kit/test/running-daemon.ts'
import { PASSWORD, placeOf, plantroom, post, SETS, tokenOf } from './operating.ts'

t.test('a backup while it runs is a complete site with its audit, and no notice holds a secret', async (t) => {
  const { folder, file, state } = placeOf(t)
  t.match(await plantroom(['controller', 'import', file, '--state', state, '--config', '/dev/null']), { code: 0 })
  const daemon = await startDaemon(t, 'controller', { stateFolder: state, sets: SETS })
  const token = await tokenOf(daemon)
  const page = await pageOf(daemon)
  const sent = await page('POST', '/ui/plan/picture', png(40, 30))
  const picture = String((sent.body as { name?: string }).name)
  t.match(await page('PUT', '/ui/favourite', JSON.stringify({ zone_id: 1, favourite: true })), { status: 200 })
  let isOver = false
  const calls = (async () => {
    let count = 0
    for (; !isOver; count++) await post(daemon, '/api/control/command', { zone: 'Hall', level: count % 100 }, token)
    return count
  })()
  t.match(await post(daemon, '/api/control/macro', { macro: 'Tell', args: { door: 3, pin: '471147114711' } }, token), {
    status: 200,
  })
  const archive = join(folder, 'backup.tar.gz')
  const { code, said } = await plantroom(['backup', 'controller', '--state', state, archive])
  isOver = true
  t.equal(code, 0, said)
  t.ok((await calls) > 0)
  await daemon.stop()
  t.match(readFileSync(join(state, 'journal.jsonl'), 'utf8'), /3 opens with null/)
  for (const entry of readdirSync(state, { withFileTypes: true, recursive: true }))
    if (entry.isFile())
      t.notMatch(readFileSync(join(entry.parentPath, entry.name), 'latin1'), '471147114711', entry.name)

  const other = join(folder, 'other')
  t.match(await plantroom(['restore', 'controller', '--state', other, archive]), { code: 0 })
  t.same(readdirSync(other).sort(), [
    ...['audit.db', 'controller.db', 'daemon.lock', 'homes.json', 'journal.jsonl', 'plans', 'restore', 'set-up.json'],
  ])
  t.equal(statSync(join(other, 'controller.db')).mode & 0o077, 0)
  const again = await startDaemon(t, 'controller', { stateFolder: other, sets: SETS })
  const headers = { authorization: `Bearer ${await tokenOf(again)}` }
  const { body } = await ask(`${again.url}/api/data/request_history?path=/api/control/macro&_count=true`, { headers })
  t.same(body, { count: 1 })
  const there = await pageOf(again)
  t.match((await there('GET', '/ui/zones')).body, { favourites: { zones: [1] } }, 'favourites are in it')
  t.equal((await there('GET', `/ui/plan/picture?name=${picture}`)).status, 200, 'pictures of floor plans too')
})

/** The page of the administrator, as a browser calls it. */
async function pageOf({ url }: RunningDaemon) {
  const head = { origin: url, 'content-type': 'application/json' }
  const body = JSON.stringify({ username: 'ada', password: PASSWORD })
  const { headers } = await fetch(`${url}/ui/sign-in`, { method: 'POST', headers: head, body })
  const cookie = headers.getSetCookie()[0]?.split(';')[0] ?? ''
  return async (method: string, path: string, sent?: string | Uint8Array) => {
    const bytes = sent === undefined ? {} : { body: typeof sent === 'string' ? sent : Buffer.from(sent) }
    const reply = await fetch(url + path, { method, headers: { ...head, cookie }, ...bytes })
    const isJson = reply.headers.get('content-type')?.startsWith('application/json')
    const body: unknown = isJson ? await reply.json() : await reply.arrayBuffer()
    return { status: reply.status, body }
  }
}
