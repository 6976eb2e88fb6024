/** A proxy between client and server that records both as a pcap file for any dissector. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import type { Test } from 'tap'

/** The recording, in order. */
export interface Recorded {
  port: number
  /** A pcap of raw IPv4 packets; the server has TCP port 23. */
  pcap(): Buffer
}

const SERVER = { address: [192, 0, 2, 1], port: 23 }
const CLIENT = { address: [192, 0, 2, 2], port: 40_000 }

/** Serves one client after another on a free port; ended with the test. */
export async function recordingProxy(t: Test, toPort: number): Promise<Recorded> {
  const said: { isServer: boolean; bytes: Buffer }[] = []
  const server = createServer((client) => {
    const board = connect(toPort, '127.0.0.1')
    for (const socket of [client, board]) socket.on('error', () => undefined)
    for (const [from, to, isServer] of [
      [client, board, false],
      [board, client, true],
    ] as const)
      from.on('data', (bytes) => said.push({ isServer, bytes })).pipe(to)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { port: (server.address() as AddressInfo).port, pcap: () => pcapOf(said) }
}

function pcapOf(said: readonly { isServer: boolean; bytes: Buffer }[]): Buffer {
  const header = Buffer.alloc(24)
  header.writeUInt32LE(0xa1b2c3d4, 0)
  header.writeUInt16LE(2, 4)
  header.writeUInt16LE(4, 6)
  header.writeUInt32LE(65_535, 16)
  header.writeUInt32LE(101, 20) // LINKTYPE_RAW
  const sequence = { server: 1, client: 1 }
  const packets = said.flatMap(({ isServer, bytes }, index) => {
    const own = isServer ? 'server' : 'client'
    const [from, to] = isServer ? [SERVER, CLIENT] : [CLIENT, SERVER]
    // Packets must not exceed IP's limit.
    const pieces = Array.from({ length: Math.ceil(bytes.length / 1400) }, (_, at) =>
      bytes.subarray(at * 1400, at * 1400 + 1400),
    )
    return pieces.map((piece) => {
      const numbers = { from, to, at: sequence[own], seen: sequence[isServer ? 'client' : 'server'] }
      sequence[own] += piece.length
      return record(index, packet(numbers, piece))
    })
  })
  return Buffer.concat([header, ...packets])
}

function record(second: number, bytes: Buffer): Buffer {
  const head = Buffer.alloc(16)
  head.writeUInt32LE(second, 0)
  head.writeUInt32LE(bytes.length, 8)
  head.writeUInt32LE(bytes.length, 12)
  return Buffer.concat([head, bytes])
}

/** IPv4 and TCP without checksums, which tshark does not verify by default. */
function packet(
  { from, to, at, seen }: { from: typeof SERVER; to: typeof SERVER; at: number; seen: number },
  payload: Buffer,
): Buffer {
  const head = Buffer.alloc(40)
  head[0] = 0x45
  head.writeUInt16BE(40 + payload.length, 2)
  head[8] = 64
  head[9] = 6
  head.set(from.address, 12)
  head.set(to.address, 16)
  head.writeUInt16BE(from.port, 20)
  head.writeUInt16BE(to.port, 22)
  head.writeUInt32BE(at, 24)
  head.writeUInt32BE(seen, 28)
  head[32] = 0x50
  head[33] = 0x18
  head.writeUInt16BE(65_535, 34)
  return Buffer.concat([head, payload])
}
