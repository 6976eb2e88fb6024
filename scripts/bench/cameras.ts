/**
 * Cameras for a measurement, in a process of their own: one H.264 file over RTSP on TCP to whoever asks, under any path,
 * from its beginning and round again. Started with fork: tells `{port}`, and once told `stop`, sends no more and tells
 * `{sent}`, the pictures sent to all.
 *
 *     node scripts/bench/cameras.ts FILE PICTURES_PER_SECOND
 *
 * FILE is a byte stream with an access unit delimiter before each picture, and a key frame first.
 * @source RFC 7826 (RTSP); RFC 6184 clauses 5.6 and 5.8; H.264 Annex B, clause 7.3.2.4
 */
import { readFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'

const CLOCK_RATE = 90_000
const PAYLOAD_TYPE = 96
const MOST_PAYLOAD = 1400
const FU_A = 28
const DELIMITER = 9

/** One RTP payload: up to two bytes before a piece of the file. */
interface Payload {
  lead: readonly number[]
  piece: Uint8Array
}

function unitsOf(file: Uint8Array): Uint8Array[] {
  const starts: number[] = []
  for (let at = 0; at + 3 < file.length; at++) {
    if (file[at] === 0 && file[at + 1] === 0 && file[at + 2] === 1) starts.push(at + 3)
  }
  return starts.map((start, index) => {
    let end = (starts[index + 1] ?? file.length + 3) - 3
    while (end > start && file[end - 1] === 0) end--
    return file.subarray(start, end)
  })
}

function payloadsOf(unit: Uint8Array): Payload[] {
  const [head = 0] = unit
  if (unit.length <= MOST_PAYLOAD) return [{ lead: [], piece: unit }]
  const payloads: Payload[] = []
  for (let at = 1; at < unit.length; at += MOST_PAYLOAD) {
    const isFirst = at === 1
    const isLast = at + MOST_PAYLOAD >= unit.length
    const flags = (isFirst ? 0x80 : 0) | (isLast ? 0x40 : 0)
    payloads.push({ lead: [(head & 0xe0) | FU_A, flags | (head & 0x1f)], piece: unit.subarray(at, at + MOST_PAYLOAD) })
  }
  return payloads
}

/** @returns the payloads of each picture */
function picturesOf(file: Uint8Array): Payload[][] {
  const pictures: Payload[][] = []
  for (const unit of unitsOf(file)) {
    if (((unit[0] ?? 0) & 0x1f) === DELIMITER) pictures.push([])
    else pictures.at(-1)?.push(...payloadsOf(unit))
  }
  return pictures
}

/** The interleaved packets of one picture. */
function packetsOf(picture: readonly Payload[], firstSequence: number, timestamp: number): Buffer {
  const bytes = picture.reduce((sum, { lead, piece }) => sum + 16 + lead.length + piece.length, 0)
  const all = Buffer.allocUnsafe(bytes)
  let at = 0
  for (const [index, { lead, piece }] of picture.entries()) {
    all[at] = 0x24
    all[at + 1] = 0
    all.writeUInt16BE(12 + lead.length + piece.length, at + 2)
    all[at + 4] = 0x80
    all[at + 5] = PAYLOAD_TYPE | (index === picture.length - 1 ? 0x80 : 0)
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

const [file = '', rate = '15'] = process.argv.slice(2)
const pictures = picturesOf(readFileSync(file))
const pictureMs = 1000 / Number(rate)
let sent = 0
let isStopped = false

function play(socket: Socket): void {
  let sequence = 0
  let count = 0
  const startMs = performance.now()
  const timer = setInterval(() => {
    // By the clock, not by the timer: pictures that are due go out together.
    while (!isStopped && performance.now() - startMs >= count * pictureMs) {
      const picture = pictures[count % pictures.length] ?? []
      socket.write(packetsOf(picture, sequence, count * (CLOCK_RATE / Number(rate))))
      sequence += picture.length
      count++
      sent++
    }
  }, pictureMs)
  socket.once('close', () => clearInterval(timer))
}

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

function answer(socket: Socket, request: string): void {
  const [method = '', url = ''] = request.split(' ')
  const heads = [`CSeq: ${/^cseq: *(\d+)/im.exec(request)?.[1] ?? 0}`]
  if (method === 'OPTIONS') heads.push('Public: OPTIONS, DESCRIBE, SETUP, PLAY, GET_PARAMETER, TEARDOWN')
  if (method === 'DESCRIBE') heads.push(`Content-Base: ${url}/`, 'Content-Type: application/sdp')
  if (method === 'SETUP') heads.push('Transport: RTP/AVP/TCP;unicast;interleaved=0-1')
  if (method !== 'OPTIONS' && method !== 'DESCRIBE') heads.push('Session: 1;timeout=60')
  const body = method === 'DESCRIBE' ? SDP : ''
  socket.write(`RTSP/1.0 200 OK\r\n${heads.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  if (method === 'PLAY') play(socket)
  if (method === 'TEARDOWN') socket.end()
}

const server = createServer((socket) => {
  let text = ''
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    // Reports of the receiver come interleaved, between requests.
    text = (text + chunk.toString('latin1')).replace(/^\$[\s\S]*?(?=[A-Z_]+ rtsp:|$)/, '')
    for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
      answer(socket, text.slice(0, end))
      text = text.slice(end + 4)
    }
  })
})
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as { port: number }).port }))
process.on('message', () => {
  isStopped = true
  process.send?.({ sent })
})
process.on('disconnect', () => process.exit())
