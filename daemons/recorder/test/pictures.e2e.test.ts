import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import t from 'tap'
import { until } from '#kit/test/until.ts'
import { LONG_MS } from './camera.ts'
import { clientOf, headersOf } from './client.ts'
import { FILM, FPS, numberOf, pixelsOf } from './counting-film.ts'
import { openDoor } from './door-stage.ts'
import { openPictureStream } from './picture-stream.ts'

const { recorder, boss, door } = await openDoor(t)
const yard = (await boss.call('POST', '/api/discovery/rtsp', { name: 'Yard', url: 'rtsp://127.0.0.1:1/none' })).body.id

async function accountOf(username: string, more: object = {}) {
  const login = { username, password: 'seven long words' }
  await boss.call('POST', '/api/accounts', { ...login, role: 'viewer', cameras: [door], ...more })
  const client = clientOf(recorder.url)
  await client.signIn(login)
  return client
}

async function ranges() {
  const window = `from=${Date.now() - 600_000}&to=${Date.now() + 600_000}`
  const { body } = await boss.call('GET', `/api/cameras/${door}/availability?${window}`)
  return body.ranges as { start: number; end: number }[]
}

/** A picture, and when it says that it was taken. */
async function pictureOf(path: string, client = boss) {
  const answer = await fetch(recorder.url + path, { headers: headersOf(client.credentials) })
  const bytes = new Uint8Array(await answer.arrayBuffer())
  t.equal(answer.status, 200, `${path} ${answer.status === 200 ? '' : Buffer.from(bytes)}`)
  t.equal(answer.headers.get('content-type'), 'image/jpeg')
  t.equal(answer.headers.get('cache-control'), 'no-store')
  return { bytes, number: await numberOf(bytes), shownAt: Number(answer.headers.get('x-svc-frame-at')) }
}

const framePath = (at: number, more = '') => `/api/cameras/${door}/frame.jpg?at=${at}${more}`

/** Waits for four seconds of footage. @returns their stretch */
async function footage() {
  const long = async () => (await ranges()).find(({ end, start }) => end - start >= 4000)
  await until('four seconds are kept', async () => (await long()) !== undefined, LONG_MS)
  return (await long()) ?? { start: 0, end: 0 }
}

t.test('A.rules.1 frame.jpg is the last picture at or before the moment, and says when it was', async (t) => {
  const { end, start } = await footage()
  const first = await pictureOf(framePath(start))
  t.equal(first.shownAt, start, 'what availability calls the beginning is a picture')
  for (const share of [0.03, 0.21, 0.34, 0.48, 0.55, 0.62, 0.77, 0.83, 0.99]) {
    const at = Math.floor(start + share * (end - start))
    const { number, shownAt } = await pictureOf(framePath(at))
    t.ok(shownAt <= at && at - shownAt < 150, `of ${at - shownAt} ms before`)
    t.equal(number - first.number, Math.round(((shownAt - start) * FPS) / 1000), `${at - start} ms after the first`)
    t.equal((await pictureOf(framePath(shownAt))).number, number, 'asked for by its own time it is the same')
  }
  const small = await pixelsOf((await pictureOf(framePath(start, '&width=144'))).bytes)
  t.same([small.width, small.height], [144, 96])
})

t.test('A.Errors frame.jpg is 404 where no footage is kept', async (t) => {
  const { start } = await footage()
  for (const at of [start - 1, start - 100_000, Date.now() + 60_000])
    t.match(await boss.call('GET', framePath(at)), { status: 404, body: { error: 'no_footage' } })
})

t.test('still.jpg is what the camera shows now', async (t) => {
  const { start } = await footage()
  const first = await pictureOf(framePath(start))
  const still = await pictureOf(`/api/cameras/${door}/still.jpg`)
  t.equal(still.number - first.number, Math.round(((still.shownAt - start) * FPS) / 1000))
  t.ok(still.shownAt > (await footage()).start + 3000, 'and no old one')
  const small = await pixelsOf((await pictureOf(`/api/cameras/${door}/still.jpg?width=${FILM.width / 2}`)).bytes)
  t.equal(small.width, FILM.width / 2)
  t.match(await boss.call('GET', `/api/cameras/${yard}/still.jpg`), { status: 404, body: { error: 'no_picture' } })
})

t.test('A.Limits the 31st frame within a minute is refused, and stills are none', async (t) => {
  const { start } = await footage()
  const guard = await accountOf('guard')
  for (let frame = 0; frame < 30; frame++) await pictureOf(framePath(start, '&width=16'), guard)
  const refused = { status: 429, body: { error: 'too_many_frames' } }
  t.match(await guard.call('GET', framePath(start)), refused)
  await pictureOf(`/api/cameras/${door}/still.jpg?width=16`, guard)
  const { token } = (await boss.call('POST', '/tokens', { name: 'x', accountId: await idOf('guard') })).body
  t.match(await clientOf(recorder.url, { token }).call('GET', framePath(start)), refused, 'by whatever it signs in')
})

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
}

async function idOf(name: string): Promise<string> {
  const { body } = await boss.call('GET', '/api/accounts')
  return body.find(({ username }: { username: string }) => username === name).id
}

t.test('A.rules.1 a moment older than 120 seconds needs the permission export, and is audited', async (t) => {
  const old = Date.now() - 121_000
  const night = await accountOf('night')
  t.match(await night.call('GET', framePath(old)), { status: 403, body: { error: 'permission_needed' } })
  t.match(await night.call('GET', framePath(Date.now() - 119_000)), { status: 404, body: { error: 'no_footage' } })
})

t.test('A.authentication.2 a token in the address is taken for frame.jpg, and not for still.jpg', async (t) => {
  const { start } = await footage()
  const { token } = (await boss.call('POST', '/tokens', { name: 'wall', readOnly: true })).body
  const stranger = clientOf(recorder.url)
  await pictureOf(framePath(start, `&token=${token}`), stranger)
  t.equal((await stranger.call('GET', `/api/cameras/${door}/still.jpg?token=${token}`)).status, 401)
  await pictureOf(`/api/cameras/${door}/still.jpg`, clientOf(recorder.url, { token }))
})

t.test(
  'A.authentication.7 pictures of a camera that is not allowed are those of one that does not exist',
  async (t) => {
    const late = await accountOf('late')
    for (const what of ['still.jpg', `frame.jpg?at=${Date.now()}`, `frame.jpg?at=0`, 'stream.mjpg'])
      t.same(
        await Promise.all(
          [yard, 'ffffffff'].map(async (id) => (await late.call('GET', `/api/cameras/${id}/${what}`)).body.error),
        ),
        ['unknown_camera', 'unknown_camera'],
        what,
      )
  },
)

const streamUrl = (more = '') => `${recorder.url}/api/cameras/${door}/stream.mjpg${more}`

t.test('stream.mjpg shows what the camera shows now, picture after picture', async (t) => {
  const { start } = await footage()
  const first = await pictureOf(framePath(start))
  const stream = await openPictureStream(streamUrl(), boss.credentials)
  t.match(stream, { status: 200, type: 'multipart/x-mixed-replace;boundary=svc-frame' })
  for (let last = start, count = 0; count < 6; count++) {
    const { jpeg = new Uint8Array(), shownAt = 0 } = (await stream.next?.()) ?? {}
    t.ok(shownAt > last, 'each is newer')
    t.equal((await numberOf(jpeg)) - first.number, Math.round(((shownAt - start) * FPS) / 1000))
    last = shownAt
  }
  stream.leave?.()
  const small = await openPictureStream(streamUrl('?width=144&fps=1'), boss.credentials)
  t.equal((await pixelsOf((await small.next?.())?.jpeg ?? new Uint8Array())).width, 144)
  small.leave?.()
  const none = await openPictureStream(streamUrl().replace(door, yard), boss.credentials)
  t.match(none, { status: 404, error: 'no_picture' })
})

t.test('A.routes DELETE /tokens/:id ends the stream.mjpg of the token at once, and no other', async (t) => {
  const [one, other] = await Promise.all(
    ['one', 'other'].map(async (name) => (await boss.call('POST', '/tokens', { name })).body),
  )
  const streams = [one, other].map(({ token }) => openPictureStream(streamUrl(`?token=${token}`), {}))
  const [ending, going] = await Promise.all(streams)
  t.ok((await ending?.next?.()) && (await going?.next?.()))
  t.equal((await boss.call('DELETE', `/tokens/${one.id}`)).status, 204)
  await until('it has ended', async () => (await ending?.next?.()) === undefined)
  t.ok(await going?.next?.())
  going?.leave?.()
  const refused = await openPictureStream(streamUrl(`?token=${one.token}`), {})
  t.equal(refused.status, 401)
})

t.test('A.Errors live streams past what live.streams allows an account are refused with 429', async (t) => {
  const { token } = (await boss.call('POST', '/tokens', { name: 'many', accountId: await idOf('guard') })).body
  const open = () => openPictureStream(streamUrl('?width=16'), { token })
  const all = await Promise.all(Array.from({ length: 48 }, open))
  t.ok(all.every(({ status }) => status === 200))
  t.match(await open(), { status: 429, error: 'too_many_streams' })
  const video = await clientOf(recorder.url, { token }).call('GET', `/ws/video?camera=${door}`)
  t.match(video, { status: 429, body: { error: 'too_many_streams' } }, 'of whatever kind')
  const others = await openPictureStream(streamUrl('?width=16'), boss.credentials)
  t.equal(others.status, 200, 'other accounts have theirs')
  for (const { leave } of [...all, others]) leave?.()
  await until('the places are free again', async () => {
    const { leave, status } = await open()
    leave?.()
    return status === 200
  })
})

t.test('A.authentication.1 a player takes every address with each form of the token', async (t) => {
  const { start } = await footage()
  await accountOf('player')
  const { token } = (await boss.call('POST', '/tokens', { name: 'player', accountId: await idOf('player') })).body
  const url = (path: string) => `${recorder.url}/api/cameras/${door}/${path}`
  const forms = {
    bearer: (path: string) => ['-headers', `Authorization: Bearer ${token}\r\n`, '-i', url(path)],
    basic: (path: string) => ['-i', url(path).replace('://', `://any:${token}@`)],
    query: (path: string) => ['-i', `${url(path)}${path.includes('?') ? '&' : '?'}token=${token}`],
  }
  /** Pictures that ffmpeg decodes, at most two; undefined where it is not let in. */
  const decoded = async (input: string[]) => {
    const coding = ['-map', '0:v', '-frames:v', '2', '-f', 'framecrc', '-']
    const { stdout } = await promisify(execFile)('ffmpeg', ['-v', 'error', ...input, ...coding]).catch(() => ({
      stdout: undefined,
    }))
    return stdout?.split('\n').filter((line) => /^0,/.test(line)).length
  }
  for (const [path, pictures] of [
    [`playback.mp4?start=${start}&duration=2`, 2],
    ['stream.mjpg', 2],
    [`frame.jpg?at=${start}`, 1],
    ['still.jpg', 1],
  ] as const)
    for (const [form, inputOf] of Object.entries(forms)) {
      const isLetIn = !(path === 'still.jpg' && form === 'query')
      t.equal(await decoded(inputOf(path)), isLetIn ? pictures : undefined, `${path} by ${form}`)
    }
  t.equal(await decoded(['-i', url('still.jpg')]), undefined, 'and not without one')
})

t.test('health says what decodes, and a decoder that is killed is begun again while recording goes on', async (t) => {
  const { start } = await footage()
  await pictureOf(framePath(start))
  const health = async () => (await boss.call('GET', '/api/health')).body
  t.match((await health()).decoder, { state: 'ready', crashes: 0, fault: null, decoders: { h264: /264/ } })
  const before = (await health()).cameras[0].pictures
  for (const pid of childrenOf(recorder.pid)) process.kill(pid, 'SIGKILL')
  await until('its end is noticed', async () => (await health()).decoder.state === 'failed')
  // Frames are counted, also those that fail.
  const still = `/api/cameras/${door}/still.jpg`
  await until('it decodes again', async () => (await boss.call('GET', still)).status === 200, LONG_MS)
  t.match((await health()).decoder, { state: 'ready', crashes: 1, fault: null })
  await until('pictures were recorded meanwhile', async () => (await health()).cameras[0].pictures > before, LONG_MS)
})
