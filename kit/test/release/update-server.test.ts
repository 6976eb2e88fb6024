/** Tests of release/update-server.ts: downloads that are cut, and servers that are none. */
import { once } from 'node:events'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { applyUpdate, checkForUpdate } from '../../release/apply.ts'
import { publish, publisher, type StageServer, stageMachine, stageServer, startedVersion } from './update-stage.ts'

const people = publisher()

async function staged(t: Test) {
  const server = await stageServer(t)
  server.offered = publish(people, '1.1.0')
  return { server, ...stageMachine(t.testdir(), server.url, people) }
}

const pulls =
  (answer: (count: number) => ReturnType<StageServer['odd']>): StageServer['odd'] =>
  (path, count) =>
    path === '/pull_update' ? answer(count) : undefined

t.test('a download that is cut goes on where it ended', async (t) => {
  const { parts, root, server } = await staged(t)
  server.odd = pulls((count) => (count <= 3 ? { cutAfter: 40_000 } : undefined))
  t.match(await applyUpdate(parts()), { outcome: 'applied' })
  t.equal(server.pulls.length, 4)
  const [first, ...others] = server.pulls
  t.equal(first, 0)
  t.ok(
    others.every((from, at) => from >= (server.pulls[at] ?? 0) && from > 0),
    `${server.pulls}`,
  )
  t.equal(await startedVersion(root), '1.1.0')
})

t.test('a download that never ends is given up, and the next update goes on from there', async (t) => {
  const { parts, root, server, state } = await staged(t)
  server.odd = pulls(() => ({ cutAfter: 20_000 }))
  await t.rejects(applyUpdate(parts({ settings: { pull_tries: 3 } })), { code: 'update_download_cut' })
  t.equal(server.pulls.length, 3)
  const { size } = statSync(join(state, 'download.part'))
  t.ok(size > 0)
  server.odd = () => undefined
  t.match(await applyUpdate(parts()), { outcome: 'applied' })
  t.equal(server.pulls[3], size)
  t.equal(await startedVersion(root), '1.1.0')
})

t.test('what had arrived of another archive is not gone on with', async (t) => {
  const { parts, server } = await staged(t)
  server.odd = pulls(() => ({ cutAfter: 20_000 }))
  await t.rejects(applyUpdate(parts({ settings: { pull_tries: 1 } })), { code: 'update_download_cut' })
  server.offered = publish(people, '1.2.0')
  server.odd = () => undefined
  t.match(await applyUpdate(parts()), { outcome: 'applied', version: '1.2.0' })
  t.same(server.pulls, [0, 0])
})

t.test('a server that sends the whole file in place of the rest is taken at its word', async (t) => {
  const { parts, server, state } = await staged(t)
  server.odd = pulls((count) => (count === 1 ? { cutAfter: 20_000 } : undefined))
  await t.rejects(applyUpdate(parts({ settings: { pull_tries: 1 } })), { code: 'update_download_cut' })
  server.odd = pulls(() => ({ status: 200, headers: {}, body: '' }))
  await t.rejects(applyUpdate(parts({ settings: { pull_tries: 2 } })), { code: 'update_download_cut' })
  t.equal(statSync(join(state, 'download.part')).size, 0)
})

t.test('a server that has no more bytes makes the download begin anew', async (t) => {
  const { parts, server, state } = await staged(t)
  server.odd = pulls((count) => (count === 1 ? { cutAfter: 20_000 } : count === 2 ? { status: 416 } : undefined))
  t.match(await applyUpdate(parts()), { outcome: 'applied' })
  t.equal(server.pulls.length, 3)
  t.equal(server.pulls[2], 0)
  t.notOk(existsSync(join(state, 'download.part')))
})

t.test('a part that is longer than the archive is thrown away', async (t) => {
  const { parts, server, state } = await staged(t)
  server.odd = pulls(() => ({ cutAfter: 20_000 }))
  await t.rejects(applyUpdate(parts({ settings: { pull_tries: 1 } })), { code: 'update_download_cut' })
  writeFileSync(join(state, 'download.part'), Buffer.alloc(400_000))
  server.odd = () => undefined
  t.match(await applyUpdate(parts()), { outcome: 'applied' })
})

t.test('a busy server is asked again, as late as it says but no later than the setting', async (t) => {
  const { parts, server } = await staged(t)
  const busy = [{ status: 429, headers: { 'retry-after': '3600' } }, { status: 503 }, { status: 500 }]
  server.odd = pulls((count) => busy[count - 1])
  t.match(await applyUpdate(parts()), { outcome: 'applied' })
  t.equal(server.pulls.length, 4)
})

for (const status of [401, 403, 404, 410])
  t.test(`a download that is refused with ${status} is not asked for again`, async (t) => {
    const { parts, root, server, state } = await staged(t)
    const body = JSON.stringify({ error: 'release_gone', message: 'Release 1.1.0 was\u001b withdrawn.' })
    server.odd = pulls(() => ({ status, body }))
    const fault = {
      code: 'update_server_refused',
      message:
        status === 401
          ? /enable the one whose id begins with [0-9a-f]{8} in its panel$/
          : `the update server answered ${status}: Release 1.1.0 was\\u001b withdrawn.`,
    }
    await t.rejects(applyUpdate(parts()), fault)
    t.equal(server.pulls.length, 1)
    t.equal(await startedVersion(root), '1.0.0')
    t.match(readFileSync(join(state, 'history.json'), 'utf8'), /"failed_step": "download"/)
  })

const wrong: { what: string; odd: ReturnType<StageServer['odd']>; code: string }[] = [
  { what: 'is a page', odd: { body: '<html>' }, code: 'update_server_wrong' },
  { what: 'is of another shape', odd: { body: '{"update": true, "version": "1.1.0"}' }, code: 'update_server_wrong' },
  {
    what: 'offers no version',
    odd: { body: '{"update": true, "version": "../..", "size": 1}' },
    code: 'update_server_wrong',
  },
  { what: 'never ends', odd: { body: `"${'x'.repeat(100_000)}"` }, code: 'update_server_wrong' },
  {
    what: 'leads elsewhere',
    odd: { status: 302, headers: { location: 'http://127.0.0.1:1/' } },
    code: 'update_server_silent',
  },
  { what: 'refuses', odd: { status: 401 }, code: 'update_server_refused' },
  { what: 'is an error', odd: { status: 500, body: 'oops' }, code: 'update_server_refused' },
]
for (const { what, odd, code } of wrong)
  t.test(`an answer that ${what} is no update`, async (t) => {
    const { parts, server } = await staged(t)
    server.odd = () => odd
    await t.rejects(checkForUpdate(parts()), { code })
  })

t.test('an answer that comes byte by byte is given up', async (t) => {
  const trickling = createServer((_, response) => {
    response.writeHead(200, { 'content-length': 60_000 })
    const more = setInterval(() => response.write(' '), 10)
    response.on('close', () => clearInterval(more))
  })
  trickling.listen(0, '127.0.0.1')
  await once(trickling, 'listening')
  t.teardown(() => trickling.close())
  const { parts } = await staged(t)
  const url = `http://127.0.0.1:${(trickling.address() as AddressInfo).port}`
  await t.rejects(checkForUpdate(parts({ settings: { update_url: url, stall_ms: 200 } })), {
    code: 'update_server_silent',
    message: /it was not there within 200 ms/,
  })
})

t.test('hours that are none are refused with what was seen', async (t) => {
  const { parts, server } = await staged(t)
  for (const window of ['99:99-00:00', '24:00-05:00', '3-5', '', '02:00-05:00\n', '\u001b[2J'.repeat(999)]) {
    if (server.offered) server.offered.offer.window = window
    await t.rejects(checkForUpdate(parts()), {
      code: 'update_server_wrong',
      message: /^the update server says that updates are applied in the hours "[ -~…]{0,90}", expected hours such as/,
    })
  }
  if (server.offered) server.offered.offer.window = '22:00-05:30'
  t.match(await checkForUpdate(parts()), { outcome: 'available', window: '22:00-05:30' })
})

t.test('a server that is not there is named', async (t) => {
  const { parts } = await staged(t)
  await t.rejects(checkForUpdate(parts({ settings: { update_url: 'http://127.0.0.1:1' } })), {
    code: 'update_server_silent',
    message: /^the update server http:\/\/127\.0\.0\.1:1 does not answer \(.*\)/,
  })
})

t.test('more bytes than were announced are not taken', async (t) => {
  const { parts, server } = await staged(t)
  const { offered } = server
  if (offered) server.offered = { ...offered, container: Buffer.concat([offered.container, Buffer.alloc(5)]) }
  await t.rejects(applyUpdate(parts()), { code: 'update_server_wrong', message: /sends more than/ })
})

t.test('a rest from another place is not taken', async (t) => {
  const { parts, server } = await staged(t)
  const range = { 'content-range': 'bytes 5-9/10' }
  server.odd = pulls((count) => (count === 1 ? { cutAfter: 20_000 } : { headers: range }))
  await t.rejects(applyUpdate(parts()), { code: 'update_server_wrong', message: /from 5 on/ })
})

t.test('a download that nothing comes from any more is begun again', async (t) => {
  const { parts, server } = await staged(t)
  // The head promises more than ever comes, and the connection stays.
  server.odd = pulls((count) => (count === 1 ? { hangAfter: 20_000 } : undefined))
  t.match(await applyUpdate(parts({ settings: { stall_ms: 300 } })), { outcome: 'applied' })
  t.equal(server.pulls.length, 2)
})
