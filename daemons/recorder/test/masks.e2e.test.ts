/** A camera with privacy masks: nothing that leaves the built recorder shows what is behind them. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import t from 'tap'
import { WebSocket } from 'ws'
import { until } from '#kit/test/until.ts'
import { LONG_MS } from './camera.ts'
import { clientOf, headersOf } from './client.ts'
import { FPS, numberIn, type Pixels, picturesIn, pixelsOf } from './counting-film.ts'
import { openDoor } from './door-stage.ts'
import { openPictureStream } from './picture-stream.ts'

const { work, recorder, boss, door } = await openDoor(t)
const login = { username: 'guard', password: 'seven long words' }
await boss.call('POST', '/api/accounts', { ...login, role: 'viewer', cameras: [door], permissions: ['export'] })
const guard = clientOf(recorder.url)
await guard.signIn(login)
const { token } = (await boss.call('POST', '/tokens', { name: 'x' })).body

async function bounds() {
  const { body } = await boss.call('GET', `/api/cameras/${door}/availability?from=0&to=1`)
  return (body.bounds ?? { start: 0, end: 0 }) as { start: number; end: number }
}
await until('four seconds are kept', async () => (await bounds()).end - (await bounds()).start > 4000, LONG_MS)

const program = promisify(execFile)

/** The lower half on the right. */
const masks = [
  [
    [0.5, 0.5],
    [1, 0.5],
    [1, 1],
    [0.5, 1],
  ],
]
const put = (list: unknown) => boss.call('PATCH', `/api/cameras/${door}`, { masks: list })

async function bytesOf(path: string): Promise<Uint8Array> {
  const answer = await fetch(recorder.url + path, { headers: headersOf(boss.credentials) })
  t.equal(answer.status, 200, path)
  return new Uint8Array(await answer.arrayBuffer())
}

/** Whether the lower right is black, and the lower left is not. */
function isPainted({ at, height, width }: Pixels): boolean {
  const darkest = (from: number) =>
    Array.from({ length: 300 }, (_, n) =>
      at(width * (from + 0.44 * ((n % 20) / 20)), height * (0.53 + 0.46 * (n / 300))),
    )
  return Math.max(...darkest(0.53)) < 24 && Math.max(...darkest(0.02)) > 60
}

const frameAt = async (at: number) => await pixelsOf(await bytesOf(`/api/cameras/${door}/frame.jpg?at=${at}`))
const frame = async () => await frameAt((await bounds()).start + 1000)
const still = async () => await pixelsOf(await bytesOf(`/api/cameras/${door}/still.jpg`))

const streamUrl = `${recorder.url}/api/cameras/${door}/stream.mjpg?token=${token}`

/** Pictures of a stream that may lie between the recorder and whoever reads it one by one. */
const MOST_UNDER_WAY = 10

/** Opens a live stream. @returns how it was closed */
function watch(query: string, headers: Record<string, string> = {}) {
  const socket = new WebSocket(`${recorder.url.replace('http', 'ws')}/ws/video?camera=${door}${query}`, { headers })
  t.teardown(() => socket.terminate())
  const shown = Promise.withResolvers<void>()
  let pictures = 0
  socket.on('message', () => {
    pictures++
    shown.resolve()
  })
  socket.on('error', () => {})
  const closed = new Promise<number>((resolve) => socket.on('close', resolve))
  return { closed, shown: shown.promise, pictures: () => pictures }
}

t.test('masks are polygons in fractions of the frame, set and seen by administrators alone', async (t) => {
  for (const bad of [
    [
      [
        [0, 0],
        [1, 1],
      ],
    ],
    [
      [
        [0, 0],
        [1, 1],
        [1, 2],
      ],
    ],
    [[[0, 0], [1, 1], [1]]],
    [
      [
        [0, 0],
        [1, 1],
        ['1', 0],
      ],
    ],
    Array(17).fill(masks[0]),
    [Array(33).fill([0, 0])],
    'all',
  ])
    t.equal((await put(bad)).status, 400, JSON.stringify(bad).slice(0, 60))
  t.same((await boss.call('GET', '/api/cameras')).body[0].masks, [])
  t.equal((await guard.call('GET', '/api/cameras')).body[0].masks, undefined)
  t.equal((await guard.call('PATCH', `/api/cameras/${door}`, { masks })).status, 403)
})

t.test(
  'A.rules.2 from the moment that it is set, a mask is in each picture, and what showed more has ended',
  async (t) => {
    t.notOk(isPainted(await frame()))
    const open = watch(`&token=${token}`)
    const stream = await openPictureStream(streamUrl, {})
    await open.shown
    t.notOk(isPainted(await pixelsOf((await stream.next?.())?.jpeg ?? new Uint8Array())))
    t.same((await put(masks)).body.masks, masks)
    t.equal(await open.closed, 1008)
    // What was sent before the answer is still read after it, and its time may be a little ahead of the clock here.
    const isNextPainted = async () => isPainted(await pixelsOf((await stream.next?.())?.jpeg ?? new Uint8Array()))
    let before = 0
    while (!(await isNextPainted())) before++
    t.ok(before <= MOST_UNDER_WAY, `${before} pictures were under way`)
    for (let after = 0; after < 3; after++) t.ok(await isNextPainted(), 'stream.mjpg goes on')
    stream.leave?.()
    t.ok(isPainted(await frame()), 'frame.jpg')
    t.ok(isPainted(await still()), 'still.jpg')
    const journal = (await boss.call('GET', '/api/journal')).body
    t.match(JSON.stringify(journal), /"masks":"1 mask"/)
  },
)

t.test('A.rules.2 /ws/video of a masked camera closes with 1008, to a token and to a session', async (t) => {
  for (const [query, headers] of [
    [`&token=${token}`, {}],
    ['', { authorization: `Bearer ${token}` }],
    ['&profile=sub', headersOf(boss.credentials)],
    ['', headersOf(guard.credentials)],
  ] as const) {
    const { closed, pictures } = watch(query, headers)
    t.equal(await closed, 1008)
    t.equal(pictures(), 0)
  }
})

t.test('A.rules.2 stream.mjpg of a masked camera is there for a token, painted', async (t) => {
  for (const width of ['', '&width=144']) {
    const stream = await openPictureStream(streamUrl + width, {})
    for (let count = 0; count < 2; count++)
      t.ok(isPainted(await pixelsOf((await stream.next?.())?.jpeg ?? new Uint8Array())), `${count} ${width}`)
    stream.leave?.()
  }
})

t.test('A.rules.2 playback of a masked camera is coded anew, and starts at the moment asked for', async (t) => {
  const { start } = await bounds()
  const at = start + 1400
  const path = `/api/cameras/${door}/playback.mp4?start=${at}&duration=2`
  const film = `${work}/masked.mp4`
  writeFileSync(film, await bytesOf(path))
  const { stdout } = await program('ffprobe', [
    '-v',
    'error',
    '-show_entries',
    'packet=pts_time',
    '-of',
    'csv=p=0',
    film,
  ])
  const times = stdout.match(/^[\d.]+/gm)?.map(Number) ?? []
  t.equal(times[0], 0, 'nothing is hidden by an edit list')
  const first = numberIn(await frameAt(at))
  const pictures = await picturesIn(film)
  t.ok(pictures.length >= 2 * FPS && pictures.length <= 2 * FPS + 1, `${pictures.length} pictures`)
  t.ok(pictures.every(isPainted), 'each is painted')
  t.same(
    pictures.map(numberIn),
    pictures.map((_, n) => first + n),
    'each is the right one',
  )
  t.ok(
    times.every((seconds, n) => Math.abs(seconds - n / FPS) < 1.1 / FPS),
    'at its time',
  )
})

t.test('without masks everything is as it was', async (t) => {
  t.same((await put([])).body.masks, [])
  t.notOk(isPainted(await frame()))
  const { pictures, shown } = watch(`&token=${token}`)
  await shown
  t.ok(pictures() > 0)
  t.match((await boss.call('GET', '/api/health')).body.decoder, { state: 'ready', crashes: 0 })
})
