/** Cameras that do what none should, for tests of what becomes of the others. */
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import type { Owner } from '#kit/test/running-daemon.ts'

/** What a camera does, and the fault that it is left with. */
export const HOSTILITIES = {
  'sends pictures as fast as they are taken': 'camera_no_picture',
  'sends empty packets as fast as they are taken': 'camera_no_picture',
  'never sends a key frame': 'camera_no_picture',
  'begins an answer and never ends it': 'rtsp_broken',
  'answers forever what nobody asked': 'camera_unreachable',
  'asks forever and reads no answer': 'camera_no_picture',
  'sends to localhost': 'camera_unsupported',
} as const

type Hostility = keyof typeof HOSTILITIES

const SDP = 'v=0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:track\r\n'

/** @returns the address of its stream */
export async function startHostileCamera(t: Owner, kind: Hostility): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (chunk) => {
      for (const request of String(chunk).split('\r\n\r\n').slice(0, -1)) answer(socket, kind, request)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `rtsp://127.0.0.1:${(server.address() as { port: number }).port}/live`
}

function answer(socket: Socket, kind: Hostility, request: string): void {
  const cseq = /CSeq: (\d+)/.exec(request)?.[1]
  const head = `RTSP/1.0 200 OK\r\nCSeq: ${cseq}\r\nSession: 7\r\n`
  if (request.startsWith('DESCRIBE')) {
    if (kind === 'begins an answer and never ends it') pump(socket, Buffer.from(`${head}${'x: y\r\n'.repeat(500)}`))
    else if (kind === 'answers forever what nobody asked')
      pump(socket, Buffer.from(`RTSP/1.0 200 OK\r\nCSeq: 0\r\n\r\n`))
    else if (kind === 'sends to localhost')
      socket.write(`RTSP/1.0 302 Moved\r\nCSeq: ${cseq}\r\nLocation: rtsp://localhost:${socket.localPort}/\r\n\r\n`)
    else socket.write(`${head}Content-Length: ${SDP.length}\r\n\r\n${SDP}`)
  } else if (request.startsWith('SETUP')) socket.write(`${head}Transport: RTP/AVP/TCP;interleaved=0-1\r\n\r\n`)
  else socket.write(`${head}\r\n`)
  if (request.startsWith('PLAY')) play(socket, kind)
}

function play(socket: Socket, kind: Hostility): void {
  if (kind === 'sends pictures as fast as they are taken') pump(socket, pictureOf(60_000))
  else if (kind === 'sends empty packets as fast as they are taken') pump(socket, Buffer.from([0x24, 0, 0, 0]))
  else if (kind === 'asks forever and reads no answer') {
    socket.pause()
    pump(socket, Buffer.from('OPTIONS * RTSP/1.0\r\nCSeq: 7\r\n\r\n'))
  } else {
    const timer = setInterval(() => socket.write(pictureOf(500)), 1000 / 15)
    socket.on('close', () => clearInterval(timer))
  }
}

/** The same again and again, as fast as it is read. */
function pump(socket: Socket, bytes: Buffer): void {
  const many = Buffer.concat(Array.from({ length: Math.ceil(60_000 / bytes.length) }, () => bytes))
  const go = (error?: Error | null) => void (error || socket.destroyed || socket.write(many, go))
  go()
}

/** A picture that refers to others, whole in one packet between the messages. */
function pictureOf(length: number): Buffer {
  const bytes = Buffer.alloc(16 + length, 0x55)
  bytes.set([0x24, 0], 0)
  bytes.writeUInt16BE(12 + length, 2)
  bytes.set([0x80, 0x80 | 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x41, 0x9a], 4)
  return bytes
}
