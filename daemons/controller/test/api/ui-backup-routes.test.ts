/** Tests of api/ui-backup-routes.ts. */
import t from 'tap'
import { until } from '#kit/test/until.ts'
import { signedIn } from './signed-in.ts'

async function send(url: string, cookies: Map<string, string>, body: string, more: Record<string, string> = {}) {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const headers = { origin: url, cookie, 'content-type': 'application/gzip', ...more }
  const reply = await fetch(`${url}/ui/backup/file`, { method: 'POST', headers, body })
  return { status: reply.status, body: (await reply.json()) as Record<string, unknown> }
}

t.test('backups are for elevated sessions only', async (t) => {
  const { browser, house, url } = await signedIn(t, 'ada')
  for (const [method, path, body] of [
    ['GET', '/ui/backup'],
    ['POST', '/ui/backup', {}],
    ['GET', '/ui/backup/file'],
    ['POST', '/ui/backup/discard', {}],
    ['POST', '/ui/backup/restore', { name: 'Harbour House' }],
    ['POST', '/ui/backup/undo', { name: 'Harbour House' }],
  ] as const)
    t.match(await browser.call(method, path, body), { status: 403, body: { error: 'not_elevated' } }, path)
  t.match(await send(url, browser.cookies, 'a backup'), { status: 403 })
  t.match(await send(url, new Map(), 'a backup'), { status: 401 })
  t.match(await send(url, browser.cookies, 'a backup', { origin: 'http://elsewhere.example' }), { status: 403 })
  t.match(house.backup, { sent: [], commits: [], restarts: 0 })
})

t.test('one is made, and saved under the name of the building and the time', async (t) => {
  const { browser, url } = await signedIn(t)
  t.match((await browser.call('GET', '/ui/backup')).body, { state: 'idle', backup: null, name: 'Harbour House' })
  t.match(await browser.call('GET', '/ui/backup/file'), { status: 409, body: { error: 'no_backup' } })
  t.match(await browser.call('POST', '/ui/backup', {}), { status: 200 })
  await until('it is made', async () => (await browser.call('GET', '/ui/backup')).body.state === 'made')
  t.match((await browser.call('GET', '/ui/backup')).body, { backup: { files: 5, all_secrets: false, people: 2 } })
  const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ')
  const file = await fetch(`${url}/ui/backup/file`, { headers: { cookie } })
  t.match(file.headers.get('content-disposition'), /filename="harbour-house-2030-03-17T1746\.plantroom\.tar\.gz"/)
  t.equal(await file.text(), 'a backup\n')
})

t.test('one that is sent is checked, confirmed by name, and recorded', async (t) => {
  const { browser, house, url } = await signedIn(t)
  t.match(await send(url, browser.cookies, 'bad one'), {
    status: 400,
    body: { error: 'bad_backup', message: 'This file is not restored, and nothing was changed: it is damaged.' },
  })
  t.match(house.records[0], { path: '/ui/backup/file', status: 400, granted: false, username: 'sam' })
  t.match(await send(url, browser.cookies, 'x'.repeat(1001)), { status: 413 })
  t.match(await send(url, browser.cookies, 'good one'), { status: 200, body: { state: 'checked' } })
  t.match(await browser.call('POST', '/ui/backup/restore', { name: 'Harbour' }), {
    status: 400,
    body: { fields: [{ field: 'name', message: 'This is Harbour House. Type that to go on.' }] },
  })
  t.same(house.backup.commits, [])
  t.match(await browser.call('POST', '/ui/backup/restore', { name: 'Harbour House' }), { status: 200 })
  t.match(house.backup.commits, [{ by: 'sam', what: 'backup' }])
  t.match(house.records[0], { path: '/ui/backup/restore', granted: true, target: 'backup', username: 'sam' })
})

t.test('what was checked can be left, and the former state asked back by name alone', async (t) => {
  const { browser, house, url } = await signedIn(t)
  await send(url, browser.cookies, 'good one')
  t.match(await browser.call('POST', '/ui/backup/discard', {}), { status: 200 })
  t.match(await browser.call('POST', '/ui/backup/restore', { name: 'Harbour House' }), {
    status: 409,
    body: { error: 'no_backup' },
  })
  t.match(await browser.call('POST', '/ui/backup/undo', {}), { status: 400 })
  t.match(await browser.call('POST', '/ui/backup/undo', { name: 'Harbour House' }), { status: 200 })
  t.match(house.backup.commits, [{ by: 'sam', what: 'undo' }])
})
