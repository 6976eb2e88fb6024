/** How long a picture takes from the camera to the screen of a browser, by the number that it carries. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { noBrowser, openRig } from '#kit/test/web/page-rig.ts'
import { LONG_MS } from './camera.ts'
import { admin, clientOf } from './client.ts'
import { FPS, makeCountingFilm } from './counting-film.ts'
import { numberReader, pictureMoves } from './page-stage.ts'

/** The recorder's sheet: 300 ms and one frame. */
const MOST_MS = 300 + 1000 / FPS
const MEASURED = 20 * FPS

t.test(
  'A.watching a picture is on the screen within 300 ms and one frame',
  { skip: noBrowser, timeout: 170_000 },
  async (t) => {
    const work = stateFolderOf(t)
    const { sentAt, url } = await startTimedCamera(t, await makeCountingFilm(work, 60))
    const recorder = await startDaemon(t, 'recorder', {
      stateFolder: join(work, 'state'),
      sets: ['storage.free_bytes=0'],
    })
    const boss = clientOf(recorder.url)
    await boss.setUp()
    const door = (await boss.call('POST', '/api/discovery/rtsp', { name: 'Front door', url })).body.id
    const { page, visit } = await openRig(t, recorder.url)
    await page.getByLabel('User name').fill(admin.username)
    await page.getByLabel('Password').fill(admin.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await visit('camera', door)
    await pictureMoves(page)
    await page.evaluate(`window.shownAt = {};
    (() => {
      const video = document.querySelector('video')
      const look = (_, { presentationTime }) => {
        const number = ${numberReader}
        if (number !== null) window.shownAt[number] ??= performance.timeOrigin + presentationTime
        video.requestVideoFrameCallback(look)
      }
      video.requestVideoFrameCallback(look)
    })()`)
    const counted = () => page.evaluate<number>('Object.keys(window.shownAt).length')
    await until('enough pictures are shown', async () => (await counted()) >= MEASURED, LONG_MS)
    const shownAt = await page.evaluate<Record<string, number>>('window.shownAt')
    const all = Object.entries(shownAt)
      .map(([number, at]) => at - (sentAt.get(Number(number)) ?? Number.NaN))
      .filter((ms) => !Number.isNaN(ms))
      .sort((a, b) => a - b)
    const part = (of: number) => Math.round(all[Math.floor(of * (all.length - 1))] ?? Number.NaN)
    t.comment(
      `${all.length} pictures: p50 ${part(0.5)} ms, p95 ${part(0.95)} ms, p99 ${part(0.99)} ms, most ${part(1)} ms`,
    )
    t.ok(all.length >= MEASURED / 2)
    t.ok(part(0.95) <= MOST_MS, `95 of 100 within ${part(0.95)} ms`)
  },
)

/** A camera that sends the pictures of a film one by one, and notes when. */
async function startTimedCamera(t: Test, film: string) {
  const bare = `${film}.h264`
  execFileSync('ffmpeg', ['-loglevel', 'error', '-y', '-i', film, '-c', 'copy', '-bsf:v', 'h264_mp4toannexb', bare])
  const pictures = picturesOf(readFileSync(bare))
  const sentAt = new Map<number, number>()
  const sdp = 'v=0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:track\r\n'

  function play(socket: Socket): void {
    let sequence = 0
    let number = 0
    const timer = setInterval(() => {
      const units = pictures[number] ?? []
      sentAt.set(number, Date.now())
      for (const [at, unit] of units.entries())
        socket.write(
          packetOf(unit, { sequence: sequence++, stamp: number * (90_000 / FPS), isLast: at === units.length - 1 }),
        )
      number++
    }, 1000 / FPS)
    socket.on('close', () => clearInterval(timer))
  }

  const server = createServer((socket) => {
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      for (const request of String(chunk).split('\r\n\r\n').slice(0, -1)) {
        const head = `RTSP/1.0 200 OK\r\nCSeq: ${/CSeq: (\d+)/.exec(request)?.[1]}\r\nSession: 7\r\n`
        if (request.startsWith('DESCRIBE')) socket.write(`${head}Content-Length: ${sdp.length}\r\n\r\n${sdp}`)
        else if (request.startsWith('SETUP')) socket.write(`${head}Transport: RTP/AVP/TCP;interleaved=0-1\r\n\r\n`)
        else socket.write(`${head}\r\n`)
        if (request.startsWith('PLAY')) play(socket)
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { sentAt, url: `rtsp://127.0.0.1:${(server.address() as { port: number }).port}/live` }
}

/** The NAL units of each picture of a bare stream: a slice that begins with the first macroblock begins a picture. */
function picturesOf(bytes: Buffer): Buffer[][] {
  const pictures: Buffer[][] = []
  let begun: Buffer[] = []
  let hasSlice = false
  for (const unit of unitsOf(bytes)) {
    const kind = (unit[0] ?? 0) & 0x1f
    const isSlice = kind === 1 || kind === 5
    const begins = isSlice ? ((unit[1] ?? 0) & 0x80) !== 0 : true
    if (hasSlice && begins) {
      pictures.push(begun)
      begun = []
      hasSlice = false
    }
    begun.push(unit)
    hasSlice ||= isSlice
  }
  return [...pictures, begun]
}

function unitsOf(bytes: Buffer): Buffer[] {
  const units: Buffer[] = []
  const mark = Buffer.from([0, 0, 1])
  for (let at = bytes.indexOf(mark); at >= 0; ) {
    const next = bytes.indexOf(mark, at + 3)
    const end = next < 0 ? bytes.length : next
    units.push(bytes.subarray(at + 3, bytes[end - 1] === 0 && next >= 0 ? end - 1 : end))
    at = next
  }
  return units
}

/** One RTP packet between the messages of RTSP. */
function packetOf(
  unit: Buffer,
  { isLast, sequence, stamp }: { isLast: boolean; sequence: number; stamp: number },
): Buffer {
  const head = Buffer.alloc(16)
  head.writeUInt8(0x24, 0)
  head.writeUInt16BE(unit.length + 12, 2)
  head.writeUInt8(0x80, 4)
  head.writeUInt8(96 | (isLast ? 0x80 : 0), 5)
  head.writeUInt16BE(sequence & 0xffff, 6)
  head.writeUInt32BE(stamp, 8)
  head.writeUInt32BE(1, 12)
  return Buffer.concat([head, unit])
}
