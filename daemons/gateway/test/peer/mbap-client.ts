/** A Modbus TCP client that sends whatever a test wants, on a bare socket. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Test } from 'tap'
import { bytesOfHex, hexOf } from '#kit/pure/bytes.ts'
import { until } from '#kit/test/until.ts'
import { createMbapCutter, mbapFrame } from '../../wire/mbap.ts'

/** A reply: its transaction id; then unit, function and data in hex. */
export type Told = readonly [transactionId: number, hex: string]

export interface MbapClient {
  socket: Socket
  /** Replies in the order in which they came. */
  told: Told[]
  isClosed(): boolean
  /** Sends a request. @param hex unit, function and data */
  ask(transactionId: number, hex: string): void
  /** Sends a request and waits for one more reply. */
  exchange(hex: string): Promise<string>
}

/** Connects to 127.0.0.1; closed with the test. */
export async function dialMbap(t: Test, port: number): Promise<MbapClient> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  const told: Told[] = []
  const cutter = createMbapCutter()
  let isClosed = false
  socket.on('close', () => {
    isClosed = true
  })
  socket.on('data', (bytes: Buffer) => {
    cutter.feed(bytes)
    for (let next = cutter.next(); next; next = cutter.next()) told.push([next.transactionId, hexOf(next.body)])
  })
  const ask = (transactionId: number, hex: string) =>
    void socket.write(mbapFrame({ transactionId, body: bytesOfHex(hex) }))
  return {
    socket,
    told,
    isClosed: () => isClosed,
    ask,
    async exchange(hex) {
      const before = told.length
      ask(before & 0xffff, hex)
      await until(`a reply to ${hex}`, () => told.length > before)
      return told[before]?.[1] ?? ''
    },
  }
}
