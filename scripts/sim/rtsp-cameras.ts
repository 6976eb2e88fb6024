/**
 * Simulated cameras: H.264 over RTSP on TCP to whoever asks, with no login. What they show is handed in.
 * @source RFC 2326 (RTSP); RFC 6184 clauses 5.6 and 5.8
 */
import { createServer, type Socket } from 'node:net'

/** The units of one picture after the other, the first a key frame with its parameter sets before it. */
export type Film = () => readonly Uint8Array[]

interface CameraParts {
  /** Begins a film for who asks below a path such as `/yard`; undefined: 404. */
  film(path: string): Film | undefined
  picturesPerS: number
}

export interface Cameras {
  port: number
  /** Sends no more. @returns the pictures sent to all */
  halt(): number
  stop(): void
}

const CLOCK_RATE = 90_000
const PAYLOAD_TYPE = 96
const MOST_PAYLOAD = 1400
const FU_A = 28
/** A client that reads nothing is left. */
const MOST_UNREAD = 4_000_000
const MOST_REQUEST = 16_384

const SDP = [
  'v=0',
  'o=- 1 1 IN IP4 127.0.0.1',
  's=camera',
  't=0 0',
  `m=video 0 RTP/AVP ${PAYLOAD_TYPE}`,
  'c=IN IP4 0.0.0.0',
  `a=rtpmap:${PAYLOAD_TYPE} H264/${CLOCK_RATE}`,
  `a=fmtp:${PAYLOAD_TYPE} packetization-mode=1`,
  'a=control:video',
  '',
].join('\r\n')

/** Listens on a free port of loopback. */
export async function startCameras({ film, picturesPerS }: CameraParts): Promise<Cameras> {
  const sockets = new Set<Socket>()
  let sent = 0
  let isHalted = false

  function play(socket: Socket, next: Film): void {
    const startMs = performance.now()
    let count = 0
    let sequence = 0
    const timer = setInterval(() => {
      // By the clock, not by the timer: pictures that are due go out together.
      while (!isHalted && (performance.now() - startMs) * picturesPerS >= count * 1000) {
        const payloads = next().flatMap(payloadsOf)
        socket.write(packetsOf(payloads, sequence, (count * CLOCK_RATE) / picturesPerS))
        sequence += payloads.length
        count++
        sent++
      }
      if (socket.writableLength > MOST_UNREAD) socket.destroy()
    }, 1000 / picturesPerS)
    socket.once('close', () => clearInterval(timer))
  }

  function answer(socket: Socket, request: string): void {
    const [method = '', url = ''] = request.split(' ')
    const next = film((URL.parse(url)?.pathname ?? '').replace(/\/(video)?$/, ''))
    const heads = [`CSeq: ${/^cseq: *(\d+)/im.exec(request)?.[1] ?? 0}`]
    if (method === 'OPTIONS') heads.push('Public: OPTIONS, DESCRIBE, SETUP, PLAY, GET_PARAMETER, TEARDOWN')
    if (method === 'DESCRIBE') heads.push(`Content-Base: ${url}/`, 'Content-Type: application/sdp')
    if (method === 'SETUP') heads.push('Transport: RTP/AVP/TCP;unicast;interleaved=0-1')
    if (method !== 'OPTIONS' && method !== 'DESCRIBE') heads.push('Session: 1;timeout=60')
    const body = next && method === 'DESCRIBE' ? SDP : ''
    const status = next ? '200 OK' : '404 Not Found'
    socket.write(`RTSP/1.0 ${status}\r\n${heads.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    if (next && method === 'PLAY') play(socket, next)
    if (method === 'TEARDOWN') socket.end()
  }

  const server = createServer((socket) => {
    sockets.add(socket)
    let text = ''
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (chunk) => {
      // Reports of the receiver come between requests.
      text = (text + chunk.toString('latin1')).replace(/^\$[\s\S]*?(?=[A-Z_]+ rtsp:|$)/, '')
      if (text.length > MOST_REQUEST) socket.destroy()
      for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
        answer(socket, text.slice(0, end))
        text = text.slice(end + 4)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as { port: number }).port,
    halt() {
      isHalted = true
      return sent
    },
    stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

/** One RTP payload: up to two bytes before a piece of a unit. */
interface Payload {
  lead: readonly number[]
  piece: Uint8Array
}

function payloadsOf(unit: Uint8Array): Payload[] {
  const [head = 0] = unit
  if (unit.length <= MOST_PAYLOAD) return [{ lead: [], piece: unit }]
  const payloads: Payload[] = []
  for (let at = 1; at < unit.length; at += MOST_PAYLOAD) {
    const flags = (at === 1 ? 0x80 : 0) | (at + MOST_PAYLOAD >= unit.length ? 0x40 : 0)
    payloads.push({ lead: [(head & 0xe0) | FU_A, flags | (head & 0x1f)], piece: unit.subarray(at, at + MOST_PAYLOAD) })
  }
  return payloads
}

/** The interleaved packets of one picture. */
function packetsOf(payloads: readonly Payload[], firstSequence: number, timestamp: number): Buffer {
  const all = Buffer.allocUnsafe(payloads.reduce((sum, { lead, piece }) => sum + 16 + lead.length + piece.length, 0))
  let at = 0
  for (const [index, { lead, piece }] of payloads.entries()) {
    const isLast = index === payloads.length - 1
    all[at] = 0x24
    all[at + 1] = 0
    all.writeUInt16BE(12 + lead.length + piece.length, at + 2)
    all[at + 4] = 0x80
    all[at + 5] = PAYLOAD_TYPE | (isLast ? 0x80 : 0)
    all.writeUInt16BE((firstSequence + index) & 0xffff, at + 6)
    all.writeUInt32BE(timestamp >>> 0, at + 8)
    all.writeUInt32BE(0xcafe, at + 12)
    at += 16
    for (const byte of lead) all[at++] = byte
    all.set(piece, at)
    at += piece.length
  }
  return all
}
