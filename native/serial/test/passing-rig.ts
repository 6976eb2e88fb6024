/** A line on a pty with sockets that take part, and all their reports. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { openPty, PlantroomBinding, type Pty } from '../index.ts'
import type { PassedSocket } from '../passing.ts'

/** A report of one read, or of a socket. */
export interface Told {
  kind: 'line' | 'socket' | 'behind' | 'ended'
  /** Bytes of the line, of a socket, or the rest that a socket did not take. */
  bytes: Buffer
  taken: number
  atUs: number
  /** For a socket that fell behind over Telnet. */
  isHalf?: boolean
}

/** A socket that takes part. */
export interface Member {
  /** The far end. */
  client: Socket
  /** The gateway's end, which Node neither reads nor writes. */
  own: Socket
  passed: PassedSocket
  told: Told[]
}

/** Opens a line on a pty, with sockets that take part; keeps all reports in order. */
export async function bench(t: Test, { tellMs = 5 } = {}) {
  const pty = openPty()
  const { channel } = await PlantroomBinding.open({ path: pty.path, baudRate: 115_200 })
  const told: Told[] = []
  channel.listen((bytes, atUs) => told.push({ kind: 'line', bytes, taken: bytes.length, atUs }))
  const server = createServer({ pauseOnConnect: true, noDelay: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(async () => {
    await channel.close()
    await pty.close()
    server.close()
  })

  /** @param writeRest gets the bytes the line did not take; default: they are lost */
  async function join(writeRest: (rest: Buffer) => void = () => {}): Promise<Member> {
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const [own] = (await once(server, 'connection')) as [Socket]
    for (const socket of [client, own]) socket.on('error', () => undefined)
    const mine: Told[] = []
    const keep = (note: Told) => {
      told.push(note)
      mine.push(note)
    }
    const passed = channel.joinSocket(descriptorOf(own), tellMs, {
      onBytes(bytes, taken, atUs) {
        if (taken < bytes.length) writeRest(bytes.subarray(taken))
        keep({ kind: 'socket', bytes, taken, atUs })
      },
      onBehind: (rest, isHalf) => keep({ kind: 'behind', bytes: rest, taken: 0, atUs: 0, ...(isHalf && { isHalf }) }),
      onEnded: (errno) => keep({ kind: 'ended', bytes: Buffer.alloc(0), taken: errno, atUs: 0 }),
    })
    t.teardown(() => {
      passed.leave()
      own.destroy()
      client.destroy()
    })
    return { client, own, passed, told: mine }
  }
  return { channel, join, pty, told }
}

export function descriptorOf(socket: Socket): number {
  return (socket as unknown as { _handle: { fd: number } })._handle.fd
}

export async function until(isTrue: () => boolean, limitMs = 10_000): Promise<void> {
  const endMs = performance.now() + limitMs
  while (!isTrue()) {
    if (performance.now() > endMs) throw new Error(`${isTrue}: not within ${limitMs} ms`)
    await sleep(1)
  }
}

/** How many times the event loop of this process turns until then. */
export async function turnsUntil(over: Promise<unknown>): Promise<number> {
  const turns = () => performance.nodeTiming.uvMetricsInfo.loopCount
  const before = turns()
  await over
  return turns() - before
}

/** Collects what arrives there: how much, and all of it. */
export function heardBy(from: Socket | Pty) {
  const pieces: Buffer[] = []
  const heard = { length: 0, bytes: () => Buffer.concat(pieces) }
  const keep = (bytes: Buffer) => {
    pieces.push(bytes)
    heard.length += bytes.length
  }
  if ('onBytes' in from) from.onBytes(keep)
  else from.on('data', keep)
  return heard
}

/** Bytes that identify their own position. */
export function pattern(length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length)
  for (let at = 0; at < length; at++) bytes[at] = (at * 7) >> 3
  return bytes
}

export const bytesOf = (told: Told[], kind: Told['kind']) =>
  Buffer.concat(told.filter((note) => note.kind === kind).map((note) => note.bytes))
