/**
 * A camera that sends as fast as it can, in a process of its own: over TCP as fast as it is read, over UDP at over a gigabit
 * a second, while it is played. Started with fork: tells `{port}`, and once told anything, `{bytes, ms}`: what it sent, and how long it was
 * played.
 *
 *     node daemons/recorder/test/peer/flooding-camera-child.ts FILE
 *
 * FILE has the units of one key frame, the last of them a slice of at most 60,000 bytes, as a byte stream.
 */
import { createSocket } from 'node:dgram'
import { readFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { readUnits } from '../../wire/annex-b.ts'

const SDP =
  'v=0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=fmtp:96 packetization-mode=1\r\na=control:track\r\n'
const HEAD_BYTES = 12
/** Packets that are sent before others have a turn. */
const AT_ONCE = 64
/** What the kernel may hold of what is sent: of less it refuses most. */
const BUFFER_BYTES = 4_194_304

const units = readUnits(readFileSync(process.argv[2] ?? ''))
let [bytes, playedMs] = [0, 0]
let begunMs: number | undefined

function msPlayed(): number {
  return playedMs + (begunMs === undefined ? 0 : performance.now() - begunMs)
}

/** Packets of one picture after the other, each unit in one, stamped by the clock. @param before bytes of another head */
function packetsFrom(before: number): () => Buffer {
  const packets = units.map((unit, at) => {
    const packet = Buffer.alloc(before + HEAD_BYTES + unit.length)
    packet.set([0x80, at === units.length - 1 ? 0x80 | 96 : 96], before)
    packet.set(unit, before + HEAD_BYTES)
    return packet
  })
  let sequence = 0
  let stamp = 0
  return () => {
    const place = sequence % packets.length
    const packet = Buffer.from(packets[place] ?? [])
    if (place === 0) stamp = Math.round(performance.now() * 90)
    if (before > 0) packet.set([0x24, 0, (packet.length - before) >> 8, (packet.length - before) & 255])
    packet.writeUInt16BE(sequence % 2 ** 16, before + 2)
    packet.writeUInt32BE(stamp % 2 ** 32, before + 4)
    sequence++
    bytes += packet.length
    return packet
  }
}

function floodOverTcp(socket: Socket): void {
  const next = packetsFrom(4)
  const many = () => Buffer.concat(Array.from({ length: AT_ONCE }, next))
  const go = (error?: Error | null) => void (error || socket.destroyed || socket.write(many(), go))
  go()
}

function floodOverUdp(rtsp: Socket, port: number): void {
  const next = packetsFrom(0)
  const socket = createSocket({ type: 'udp4', sendBufferSize: BUFFER_BYTES })
  rtsp.once('close', () => socket.close())
  // Nobody listens between two sessions.
  socket.on('error', () => {})
  socket.connect(port, '127.0.0.1', function go() {
    if (rtsp.destroyed) return
    for (let count = 1; count < AT_ONCE; count++) socket.send(next(), () => {})
    socket.send(next(), () => setImmediate(go))
  })
}

const server = createServer((socket) => {
  let flood = floodOverTcp
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    for (const request of String(chunk).split('\r\n\r\n').slice(0, -1)) {
      const head = `RTSP/1.0 200 OK\r\nCSeq: ${/CSeq: (\d+)/.exec(request)?.[1]}\r\nSession: 7\r\n`
      const port = Number(/client_port=(\d+)/.exec(request)?.[1])
      if (port) flood = (rtsp) => floodOverUdp(rtsp, port)
      const transport = port ? `RTP/AVP;unicast;client_port=${port}-${port + 1}` : 'RTP/AVP/TCP;interleaved=0-1'
      if (request.startsWith('DESCRIBE')) socket.write(`${head}Content-Length: ${SDP.length}\r\n\r\n${SDP}`)
      else if (request.startsWith('SETUP')) socket.write(`${head}Transport: ${transport}\r\n\r\n`)
      else socket.write(`${head}\r\n`)
      if (!request.startsWith('PLAY')) continue
      begunMs = performance.now()
      socket.once('close', () => {
        playedMs = msPlayed()
        begunMs = undefined
      })
      flood(socket)
    }
  })
})
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as { port: number }).port }))
process.on('message', () => process.send?.({ bytes, ms: msPlayed() }))
process.on('disconnect', () => process.exit())
