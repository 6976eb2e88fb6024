/**
 * A camera whose pictures carry their number, as a row of black and white blocks, and which knows what it sent: it reorders and
 * loses packets, restarts and changes its parameter sets where a test says so.
 */
import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Owner } from '#kit/test/running-daemon.ts'

/** Not at once: a connection that the other side closes meanwhile would be taken for a good one. */
const program = promisify(execFile)

export const FPS = 15
const BITS = 14
const BLOCK = 16
/** What a packet of RTP carries. */
const MOST_BYTES = 1200

/** A picture as its NAL units. */
interface CodedPicture {
  units: Buffer[]
  isKey: boolean
  /** Which of all it is when they are shown: what it carries. */
  number: number
}

interface FilmWish {
  seconds: number
  /** Tells one film from another by its parameter sets. */
  height: number
  /** Whether pictures refer to later ones, and are sent behind those. */
  isReordered?: boolean
}

/** Pictures that count from 0, in the order of decoding, with a key frame each second. */
export function makeNumberedFilm(folder: string, { height, isReordered = false, seconds }: FilmWish): CodedPicture[] {
  const file = join(folder, `numbered-${height}-${isReordered}`)
  // Reckoned for each block, not for each of its pixels, which takes a minute.
  const lit = '255*mod(floor(N/pow(2,X)),2)'
  const source = `color=gray:size=${BITS}x${height / BLOCK}:rate=${FPS}:duration=${seconds}`
  const blocks = `geq=lum='if(lt(Y,2),${lit},128+60*sin((X+Y+N/6)/2))':cb=128:cr=128`
  const count = `format=yuv444p,${blocks},scale=${BITS * BLOCK}:${height}:flags=neighbor`
  const order = isReordered ? ['-bf', '2', '-b_strategy', '0'] : ['-tune', 'zerolatency']
  const coding = ['-c:v', 'libx264', '-preset', 'veryfast', ...order, '-g', String(FPS), '-sc_threshold', '0']
  const both = ['-map', '0:v', '-f', 'tee', `[f=h264]${file}.h264|[f=framecrc]${file}.txt`]
  const more = ['-vf', count, ...coding, '-pix_fmt', 'yuv420p', ...both]
  execFileSync('ffmpeg', ['-loglevel', 'error', '-y', '-f', 'lavfi', '-i', source, ...more])
  // Each line is: stream, when it is decoded, when it is shown, and more.
  const lines = readFileSync(`${file}.txt`, 'utf8').split('\n')
  const numbers = lines.filter((line) => line.startsWith('0,')).map((line) => Number(line.split(',')[2]))
  return picturesOf(readFileSync(`${file}.h264`)).map((picture, at) => ({ ...picture, number: numbers[at] ?? -1 }))
}

/** @source ISO/IEC 14496-10, 7.4.1.2.4 and B.1: a slice whose first macroblock is 0 begins a picture */
function picturesOf(stream: Buffer): Omit<CodedPicture, 'number'>[] {
  const pictures: Omit<CodedPicture, 'number'>[] = []
  let before: Buffer[] = []
  for (const unit of unitsOf(stream)) {
    const type = (unit[0] ?? 0) & 31
    if (type !== 1 && type !== 5) before.push(unit)
    else if (((unit[1] ?? 0) & 0x80) === 0) pictures.at(-1)?.units.push(unit)
    else {
      pictures.push({ units: [...before, unit], isKey: type === 5 })
      before = []
    }
  }
  return pictures
}

function* unitsOf(stream: Buffer): Generator<Buffer> {
  const MARK = Buffer.from([0, 0, 1])
  for (let begin = stream.indexOf(MARK); begin >= 0; ) {
    const next = stream.indexOf(MARK, begin + 3)
    let end = next < 0 ? stream.length : next
    while (next >= 0 && stream[end - 1] === 0) end--
    yield stream.subarray(begin + 3, end)
    begin = next
  }
}

/** The numbers of the pictures in a film or a JPEG, as a decoder shows them. */
export async function numbersIn(file: string): Promise<number[]> {
  // Counted as they are shown: a decoder that writes bare pictures cannot keep uneven times.
  const picked = `crop=${BITS * BLOCK}:32:0:0,scale=${BITS}:1:flags=area,format=gray,setpts=N/25/TB`
  const rate = ['-fps_mode', 'passthrough', '-enc_time_base', '1:25']
  const args = ['-v', 'error', '-i', file, '-vf', picked, ...rate, '-f', 'rawvideo', '-']
  const { stdout: bytes } = await program('ffmpeg', args, { encoding: 'buffer', maxBuffer: 1e8 })
  return Array.from({ length: bytes.length / BITS }, (_, at) =>
    [...bytes.subarray(at * BITS, (at + 1) * BITS)].reduce((sum, lit, bit) => sum + (lit > 128 ? 2 ** bit : 0), 0),
  )
}

/** What happens to a picture on its way. */
export type Mishap = 'a packet is lost' | 'packets change places' | 'the camera restarts'

interface CameraWish {
  /** The second from `changeAt` on, the place of a key frame. */
  films: readonly [CodedPicture[], CodedPicture[]]
  changeAt: number
  /** Of the picture that is sent at a place. */
  mishap(place: number): Mishap | undefined
}

export interface NumberedCamera {
  url: string
  /** Pictures that can be in the files: whole, and behind a key frame with nothing missing between. */
  came: number[]
  /** Resolves once the last picture was sent. */
  over: Promise<void>
}

/** Sends in the pace of the pictures, from the first connection on. */
export async function startNumberedCamera(t: Owner, wish: CameraWish): Promise<NumberedCamera> {
  const came: number[] = []
  const { promise: over, resolve: end } = Promise.withResolvers<void>()
  let playing: { socket: Socket; send(place: number): void } | undefined
  let place = 0
  let begunMs = 0
  let timer: NodeJS.Timeout | undefined

  function send(): void {
    if (wish.mishap(place) === 'the camera restarts') {
      playing?.socket.destroy()
      playing = undefined
    }
    playing?.send(place)
    place++
  }

  /** By the clock, not by the timer: on a machine that stood still the pictures that are due go out together. */
  function tick(): void {
    const due = ((performance.now() - begunMs) * FPS) / 1000
    while (place <= due && place < wish.films[1].length) send()
    if (place < wish.films[1].length) return
    clearInterval(timer)
    end()
  }

  function play(socket: Socket): void {
    playing = { socket, send: createSender(socket, wish, came) }
    if (timer) return
    begunMs = performance.now()
    timer = setInterval(tick, 1000 / FPS)
  }

  const server = createServer((socket) => answer(socket, () => play(socket)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    clearInterval(timer)
    playing?.socket.destroy()
    server.close()
  })
  return { url: `rtsp://127.0.0.1:${(server.address() as { port: number }).port}/live`, came, over }
}

const SDP =
  'v=0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=fmtp:96 packetization-mode=1\r\na=control:track\r\n'

function answer(socket: Socket, onPlay: () => void): void {
  let text = ''
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
      const request = text.slice(0, end)
      text = text.slice(end + 4)
      const head = `RTSP/1.0 200 OK\r\nCSeq: ${/CSeq: (\d+)/.exec(request)?.[1]}\r\n`
      if (request.startsWith('DESCRIBE')) socket.write(`${head}Content-Length: ${SDP.length}\r\n\r\n${SDP}`)
      else if (request.startsWith('SETUP'))
        socket.write(`${head}Session: 7;timeout=60\r\nTransport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n\r\n`)
      else socket.write(`${head}Session: 7\r\n\r\n`)
      if (request.startsWith('PLAY')) onPlay()
    }
  })
}

/** Sends pictures of one session, from its first key frame on, with numbers and stamps that begin anywhere. */
function createSender(
  socket: Socket,
  { changeAt, films, mishap }: CameraWish,
  came: number[],
): (place: number) => void {
  const source = Math.floor(Math.random() * 2 ** 32)
  const zero = Math.floor(Math.random() * 2 ** 32)
  let sequence = Math.floor(Math.random() * 2 ** 16)
  let isBegun = false
  let needsKey = true

  function packet(payload: Buffer, stamp: number, isLast: boolean): Buffer {
    const bytes = Buffer.alloc(16 + payload.length)
    bytes.writeUInt8(0x24, 0)
    bytes.writeUInt16BE(12 + payload.length, 2)
    bytes.writeUInt8(0x80, 4)
    bytes.writeUInt8(96 + (isLast ? 128 : 0), 5)
    bytes.writeUInt16BE(sequence, 6)
    bytes.writeUInt32BE((zero + stamp) % 2 ** 32, 8)
    bytes.writeUInt32BE(source, 12)
    payload.copy(bytes, 16)
    sequence = (sequence + 1) % 2 ** 16
    return bytes
  }

  return (place) => {
    const picture = films[place < changeAt ? 0 : 1][place]
    isBegun ||= picture?.isKey === true
    if (!picture || !isBegun) return
    const payloads = picture.units.flatMap(payloadsOf)
    const stamp = (picture.number * 90_000) / FPS
    const packets = payloads.map((payload, at) => packet(payload, stamp, at === payloads.length - 1))
    const event = mishap(place)
    if (event === 'packets change places') packets.reverse()
    if (event === 'a packet is lost') packets.splice(Math.floor(packets.length / 2), 1)
    socket.write(Buffer.concat(packets))
    needsKey = event === 'a packet is lost' || (needsKey && !picture.isKey)
    if (!needsKey) came.push(picture.number)
  }
}

/** @source RFC 6184, 5.6 and 5.8 */
function payloadsOf(unit: Buffer): Buffer[] {
  if (unit.length <= MOST_BYTES) return [unit]
  const head = unit[0] ?? 0
  const parts: Buffer[] = []
  for (let at = 1; at < unit.length; at += MOST_BYTES) {
    const part = unit.subarray(at, at + MOST_BYTES)
    const edge = (at === 1 ? 0x80 : 0) + (at + MOST_BYTES >= unit.length ? 0x40 : 0)
    parts.push(Buffer.concat([Buffer.from([(head & 0xe0) + 28, edge + (head & 31)]), part]))
  }
  return parts
}
