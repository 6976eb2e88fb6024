/**
 * A camera whose pictures carry their number, as a row of black and white blocks, and which knows what it sent: it reorders and
 * loses packets, restarts and changes its parameter sets where a test says so.
 */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Owner } from '#kit/test/running-daemon.ts'

export const FPS = 15
const BITS = 14
const BLOCK = 16
/** What a packet of RTP carries. */
const MOST_BYTES = 1200

/** A picture as its NAL units. */
interface CodedPicture {
  units: Buffer[]
  isKey: boolean
}

/** Pictures that count from 0, with a key frame each second. @param height tells one film from another by its parameter sets */
export function makeNumberedFilm(folder: string, seconds: number, height: number): CodedPicture[] {
  const file = join(folder, `numbered-${height}.h264`)
  const lit = `255*mod(floor(N/pow(2,floor(X/${BLOCK}))),2)`
  const source = `color=gray:size=${BITS * BLOCK}x${height}:rate=${FPS}:duration=${seconds}`
  const count = `geq=lum='if(lt(Y,32),${lit},128+60*sin((X+Y+N*2)/24))':cb=128:cr=128`
  const coding = ['-c:v', 'libx264', '-preset', 'veryfast', '-tune', 'zerolatency', '-g', String(FPS)]
  const more = ['-sc_threshold', '0', '-pix_fmt', 'yuv420p', '-f', 'h264', file]
  execFileSync('ffmpeg', ['-loglevel', 'error', '-y', '-f', 'lavfi', '-i', source, '-vf', count, ...coding, ...more])
  return picturesOf(readFileSync(file))
}

/** @source ISO/IEC 14496-10, 7.4.1.2.4 and B.1: a slice whose first macroblock is 0 begins a picture */
function picturesOf(stream: Buffer): CodedPicture[] {
  const pictures: CodedPicture[] = []
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

/** The numbers of the pictures in a file, as a decoder shows them. */
export function numbersIn(file: string): number[] {
  // Counted as they are shown: a decoder that writes bare pictures cannot keep uneven times.
  const picked = `crop=${BITS * BLOCK}:32:0:0,scale=${BITS}:1:flags=area,format=gray,setpts=N/25/TB`
  const rate = ['-fps_mode', 'passthrough', '-enc_time_base', '1:25']
  const args = ['-v', 'error', '-i', file, '-vf', picked, ...rate, '-f', 'rawvideo', '-']
  const bytes = execFileSync('ffmpeg', args, { maxBuffer: 1e8 })
  return Array.from({ length: bytes.length / BITS }, (_, at) =>
    [...bytes.subarray(at * BITS, (at + 1) * BITS)].reduce((sum, lit, bit) => sum + (lit > 128 ? 2 ** bit : 0), 0),
  )
}

/** What happens to a picture on its way. */
export type Mishap = 'a packet is lost' | 'packets change places' | 'the camera restarts'

interface CameraWish {
  /** The second from `changeAt` on. */
  films: readonly [CodedPicture[], CodedPicture[]]
  changeAt: number
  /** Of the picture with a number. */
  mishap(number: number): Mishap | undefined
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
  let playing: { socket: Socket; send(number: number): void } | undefined
  let number = 0
  let timer: NodeJS.Timeout | undefined

  function tick(): void {
    const picture = wish.films[number < wish.changeAt ? 0 : 1][number]
    if (!picture) {
      clearInterval(timer)
      end()
      return
    }
    if (wish.mishap(number) === 'the camera restarts') {
      playing?.socket.destroy()
      playing = undefined
    }
    playing?.send(number)
    number++
  }

  function play(socket: Socket): void {
    const sender = createSender(socket, wish, came)
    playing = { socket, send: sender }
    timer ??= setInterval(tick, 1000 / FPS)
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
): (number: number) => void {
  const source = Math.floor(Math.random() * 2 ** 32)
  const zero = Math.floor(Math.random() * 2 ** 32)
  let sequence = Math.floor(Math.random() * 2 ** 16)
  const begunMs = performance.now()
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

  return (number) => {
    const picture = films[number < changeAt ? 0 : 1][number]
    isBegun ||= picture?.isKey === true
    if (!picture || !isBegun) return
    const payloads = picture.units.flatMap(payloadsOf)
    // By its clock, as a camera does it: a machine that stood still has pictures too few, and none at a wrong time.
    const stamp = Math.round((performance.now() - begunMs) * 90)
    const packets = payloads.map((payload, at) => packet(payload, stamp, at === payloads.length - 1))
    const event = mishap(number)
    if (event === 'packets change places') packets.reverse()
    if (event === 'a packet is lost') packets.splice(Math.floor(packets.length / 2), 1)
    socket.write(Buffer.concat(packets))
    needsKey = event === 'a packet is lost' || (needsKey && !picture.isKey)
    if (!needsKey) came.push(number)
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
