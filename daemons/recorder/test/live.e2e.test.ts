/** Watching live over the built recorder: who may, what is sent, and what ends it. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { LONG_MS, makeFootage, startCamera } from './camera.ts'
import { type Client, clientOf, headersOf } from './client.ts'
import { judged } from './judge.ts'

const work = stateFolderOf(t)
const sets = ['storage.free_bytes=0', 'live.streams=3', 'live.total_streams=4', 'live.lag_ms=500', 'live.slow_ms=2000']
const recorder = await startDaemon(t, 'recorder', { stateFolder: `${work}/recorder`, sets })
const boss = clientOf(recorder.url)
await boss.setUp()
const camera = await startCamera(t, await makeFootage(work, 60))
const door = (await boss.call('POST', '/api/discovery/rtsp', { name: 'Door', url: camera.url })).body.id as string
const yard = (await boss.call('POST', '/api/discovery/rtsp', { name: 'Yard', url: 'rtsp://127.0.0.1:1/none' })).body
  .id as string

const guardLogin = { username: 'guard', password: 'seven long words' }
const guardWish = { ...guardLogin, role: 'viewer', cameras: [door] }
const guardId = (await boss.call('POST', '/api/accounts', guardWish)).body.id as string
const guard = clientOf(recorder.url)
await guard.signIn(guardLogin)
await until(
  'the camera is recorded',
  async () => (await guard.call('GET', '/api/cameras')).body[0].health.state === 'recording',
  LONG_MS,
)

const tokenOf = async (wish: object = {}) =>
  (await boss.call('POST', '/tokens', { name: 'test', accountId: guardId, ...wish })).body as {
    id: string
    token: string
  }

interface Init {
  type: string
  mime: string
  width: number
  height: number
  startAt: number
}

/** Opens a live stream. */
function watch(t: Test, query: string, headers: Record<string, string> = {}) {
  const socket = new WebSocket(`${recorder.url.replace('http', 'ws')}/ws/video?${query}`, { headers })
  t.teardown(() => socket.terminate())
  const inits: Init[] = []
  const parts: Buffer[] = []
  const refused = Promise.withResolvers<{ status: number; body: { error: string } }>()
  const closed = Promise.withResolvers<{ code: number; reason: string }>()
  socket.on('unexpected-response', async (_, reply) =>
    refused.resolve({ status: reply.statusCode ?? 0, body: JSON.parse(await text(reply)) }),
  )
  socket.on('open', () => refused.reject(new Error(`${query} is opened`)))
  // It comes after a refusal, too, which is known by then.
  socket.on('error', refused.reject)
  refused.promise.catch(() => {})
  socket.on('close', (code, reason) => closed.resolve({ code, reason: String(reason) }))
  socket.on('message', (data, isBinary) => {
    if (isBinary) parts.push(data as Buffer)
    else inits.push(JSON.parse(String(data)))
  })
  const pictures = (count: number) => until(`${count} pictures`, () => parts.length > count, LONG_MS)
  return { closed: closed.promise, inits, parts, pictures, refused: refused.promise, socket }
}

/** What a decoder says of a film that was watched. */
function filmOf(name: string, parts: Buffer[]) {
  const file = `${work}/${name}.mp4`
  writeFileSync(file, Buffer.concat(parts))
  return judged(file)
}

t.test('A.watching a camera is shown from a key frame on, a picture a message, as it is now', async (t) => {
  const beganAt = Date.now()
  const { inits, parts, pictures } = watch(t, `camera=${door}`, headersOf(boss.credentials))
  await pictures(30)
  const [init] = inits
  t.match(init, { type: 'init', width: 320, height: 240 })
  t.match(init?.mime, /^video\/mp4; codecs="avc1\.[0-9a-f]{6}"$/)
  t.ok(Math.abs((init?.startAt ?? 0) - beganAt) < LONG_MS)
  const [head, ...fragments] = parts
  t.equal(head?.toString('latin1', 4, 8), 'ftyp')
  t.ok(fragments.every((bytes) => bytes.toString('latin1', 4, 8) === 'prft'))
  const seen = await filmOf('live', parts)
  t.match(seen, { codec_name: 'h264', width: 320, height: 240, errors: '' })
  t.equal(seen.frames, fragments.length)
})

t.test('who comes later is shown the same pictures, and a camera without a sub stream its only one', async (t) => {
  const one = watch(t, `camera=${door}&profile=main`, headersOf(boss.credentials))
  await one.pictures(5)
  const other = watch(t, `camera=${door}&profile=sub`, headersOf(guard.credentials))
  await other.pictures(20)
  const last = other.parts.at(-1)
  await until('the first has it too', () => one.parts.some((bytes) => last?.equals(bytes)))
  t.equal(other.inits[0]?.startAt, one.inits[0]?.startAt)
})

t.test('a sub stream is played for who watches it, and the main one where it does not play', async (t) => {
  const small = await startCamera(t, await makeFootage(work, 60, 'small'))
  await boss.call('PATCH', `/api/cameras/${door}`, { sub_url: small.url })
  const wall = watch(t, `camera=${door}&profile=sub`, headersOf(guard.credentials))
  await wall.pictures(5)
  t.match(wall.inits, [{ width: 160, height: 120 }])
  const one = watch(t, `camera=${door}`, headersOf(guard.credentials))
  await one.pictures(5)
  t.match(one.inits, [{ width: 320, height: 240 }])
  await small.end()
  await until('the main one is shown', () => wall.inits.at(-1)?.width === 320, LONG_MS)
  t.equal(one.inits.length, 1)
  await boss.call('PATCH', `/api/cameras/${door}`, { sub_url: null })
})

t.test('A.authentication.1 a token is taken as bearer, as the password of basic, and from the address', async (t) => {
  const { token } = await tokenOf({ readOnly: true })
  const basic = `Basic ${Buffer.from(`any:${token}`).toString('base64')}`
  const foreign = { origin: 'http://elsewhere.example' }
  for (const [query, headers] of [
    ['', { authorization: `Bearer ${token}` }],
    ['', { authorization: basic }],
    [`&token=${token}`, {}],
    [`&token=${token}`, foreign],
  ] as const) {
    const { pictures, socket } = watch(t, `camera=${door}${query}`, headers)
    await pictures(1)
    socket.terminate()
  }
  for (const [query, headers, status] of [
    ['', {}, 401],
    [`&token=${token}x`, {}, 401],
    [`&ticket=${token}`, {}, 401],
    ['', { authorization: 'Bearer of another system' }, 401],
    ['', { ...headersOf(guard.credentials), ...foreign }, 403],
    [`&token=prc_${'a'.repeat(43)}`, { ...headersOf(guard.credentials), ...foreign }, 401],
    ['&profile=best', { authorization: `Bearer ${token}` }, 400],
    ['&more=1', { authorization: `Bearer ${token}` }, 400],
  ] as const)
    t.equal(
      (await watch(t, `camera=${door}${query}`, headers).refused).status,
      status,
      JSON.stringify([query, headers]),
    )
})

t.test('A.authentication.7 a camera that is not allowed is one that does not exist', async (t) => {
  const { token } = await tokenOf()
  // One id in forty has no letter.
  const otherCase = /[a-f]/.test(door) ? door.toUpperCase() : `${door}x`
  for (const headers of [headersOf(guard.credentials), headersOf({ token })]) {
    const answers = await Promise.all(
      [yard, 'ffffffff', otherCase, '..'].map((id) => watch(t, `camera=${id}`, headers).refused),
    )
    const [first, ...others] = answers
    t.match(first, { status: 404, body: { error: 'unknown_camera' } })
    for (const other of others) t.same(other, first)
  }
})

/** Whether it ends within a second of what ends it. */
async function endsWithin(t: Test, live: ReturnType<typeof watch>, what: () => Promise<unknown>): Promise<void> {
  await live.pictures(1)
  await what()
  t.match(await live.closed, { code: 1008, reason: 'signed out' })
}

t.test('a revocation, a sign-out, a change of the account and its end close what is open', async (t) => {
  const { id, token } = await tokenOf()
  const withToken = () => watch(t, `camera=${door}`, headersOf({ token }))
  await endsWithin(t, withToken(), () => boss.call('PATCH', `/api/accounts/${guardId}`, { cameras: [door, yard] }))
  await endsWithin(t, withToken(), () => boss.call('DELETE', `/tokens/${id}`))
  t.equal((await withToken().refused).status, 401)
  const brief = clientOf(recorder.url)
  await brief.signIn(guardLogin)
  const live = watch(t, `camera=${door}`, headersOf(brief.credentials))
  await endsWithin(t, live, () => brief.call('POST', '/api/logout'))
  const short = await tokenOf({ expiresAt: Date.now() + 3000 })
  await endsWithin(t, watch(t, `camera=${door}`, headersOf({ token: short.token })), async () => {})
})

t.test('A.Errors.429 live streams are bounded for each account and in all, and a plain request says so', async (t) => {
  const open = async (by: Client) => {
    const live = watch(t, `camera=${door}`, headersOf(by.credentials))
    await live.pictures(1)
    return live
  }
  const path = `/ws/video?camera=${door}`
  t.match(await guard.call('GET', path), { status: 426, body: { error: 'upgrade_required' } })
  await guard.signIn(guardLogin)
  const [first, second] = [await open(guard), await open(guard), await open(guard)]
  const refusal = await watch(t, `camera=${door}`, headersOf(guard.credentials)).refused
  t.match(refusal, { status: 429, body: { error: 'too_many_streams', message: /live\.streams allows 3/ } })
  t.same((await guard.call('GET', path)).body, refusal.body)
  await open(boss)
  const closed = once(first.socket, 'close')
  await open(boss)
  t.equal((await closed)[0], 1013, 'who has the most gives way to who has fewer by two')
  t.match(await boss.call('GET', path), { status: 429, body: { message: /live\.total_streams allows 4/ } })
  second.socket.terminate()
  await until('there is room', async () => (await boss.call('GET', path)).status === 426)
})

t.test('one that reads nothing is closed, and holds nobody up', async (t) => {
  // More than the sockets of both sides hold soon waits.
  const { url } = await startCamera(t, await makeFootage(work, 15, 'noise'))
  const noisy = (await boss.call('POST', '/api/discovery/rtsp', { name: 'Street', url })).body.id as string
  const stuck = watch(t, `camera=${noisy}`, headersOf(boss.credentials))
  await stuck.pictures(1)
  stuck.socket.pause()
  const other = watch(t, `camera=${door}`, headersOf(guard.credentials))
  await other.pictures(5)
  const open = async () => (/sockets_open (\d+)/.exec((await boss.call('GET', '/metrics')).body) ?? [])[1]
  t.equal(await open(), '2')
  await until('it has lost its place', async () => (await open()) === '1', LONG_MS)
  const seen = other.parts.length
  await other.pictures(seen + 15)
  t.match(await filmOf('beside', other.parts), { errors: '' })
  await boss.call('DELETE', `/api/cameras/${noisy}`)
})

/** Opens the status feed. */
function listen(t: Test, query: string, headers: Record<string, string>) {
  const socket = new WebSocket(`${recorder.url.replace('http', 'ws')}/ws${query}`, { headers })
  t.teardown(() => socket.terminate())
  // biome-ignore lint/suspicious/noExplicitAny: a message is what a test looks into
  const heard: any[] = []
  socket.on('message', (data) => heard.push(JSON.parse(String(data))))
  socket.on('error', () => {})
  const closed = new Promise<number>((resolve) => socket.on('close', resolve))
  const hears = (what: string, of: (message: (typeof heard)[number]) => boolean) =>
    until(what, () => heard.some(of), LONG_MS)
  return { closed, heard, hears, socket }
}

t.test('A.Events.2 the status feed tells each account of its cameras alone, and ends with its token', async (t) => {
  const { id, token } = await tokenOf()
  await boss.call('PATCH', `/api/accounts/${guardId}`, { cameras: [door] })
  const all = listen(t, '', headersOf(boss.credentials))
  const some = listen(t, `?token=${token}`, {})
  await Promise.all([all, some].map(({ hears }) => hears('a greeting', ({ type }) => type === 'hello')))
  t.match(all.heard[0].cameras, [
    { id: door, name: 'Door' },
    { id: yard, name: 'Yard' },
  ])
  t.same(Object.keys(all.heard[0].cameras[0]), Object.keys((await boss.call('GET', '/api/cameras')).body[0]))
  t.match(some.heard[0].cameras, [{ id: door, name: 'Door' }])
  await boss.call('PATCH', `/api/cameras/${yard}`, { name: 'Back yard' })
  await all.hears('the other name', ({ camera }) => camera?.name === 'Back yard')
  await boss.call('PATCH', `/api/cameras/${door}`, { enabled: false })
  await some.hears('that it is off', ({ camera }) => camera?.health.state === 'off')
  await boss.call('PATCH', `/api/cameras/${door}`, { enabled: true })
  await some.hears('that it is recorded', ({ camera }) => camera?.health.state === 'recording')
  t.notMatch(JSON.stringify(some.heard), new RegExp(yard))
  await boss.call('DELETE', `/tokens/${id}`)
  t.equal(await some.closed, 1008)
  all.socket.send('{}')
  t.equal(await all.closed, 1008)
})

t.test('A.authentication.8 the status feed takes the token as bearer or in the address', async (t) => {
  const { token } = await tokenOf()
  for (const [query, headers] of [
    ['', { authorization: `Bearer ${token}` }],
    [`?token=${token}`, {}],
    [`?token=${token}`, { authorization: 'Bearer of another system' }],
  ] as const) {
    const { hears, socket } = listen(t, query, headers)
    await hears('a greeting', ({ type }) => type === 'hello')
    socket.terminate()
  }
  for (const query of ['', `?ticket=${token}`, `?token=${token}&token=${token}`, '?token='])
    t.equal((await clientOf(recorder.url).call('GET', `/ws${query}`)).status, 401, query)
})

t.test('it takes no messages, and ends with its camera', async (t) => {
  const talker = watch(t, `camera=${door}`, headersOf(boss.credentials))
  await talker.pictures(1)
  talker.socket.send('louder')
  t.match(await talker.closed, { code: 1008, reason: /^bad_message/ })
  const last = watch(t, `camera=${door}`, headersOf(boss.credentials))
  await last.pictures(1)
  await boss.call('DELETE', `/api/cameras/${door}`)
  t.match(await last.closed, { code: 1000, reason: 'The camera was removed.' })
  t.equal((await watch(t, `camera=${door}`, headersOf(boss.credentials)).refused).status, 404)
})
