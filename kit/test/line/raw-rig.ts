/** A raw TCP server on a real line over a pty, with tools to inspect it. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import { openPty } from '#native/serial/index.ts'
import type { RawSocketLine } from '../../line/line.ts'
import { DEFAULT_QUEUE, type LineQueueLimits } from '../../line/line-queue.ts'
import { createRawSocketOpener } from '../../line/raw-sockets.ts'
import { createSerialOpener } from '../../line/serial-line.ts'
import { createShareOf } from '../../net/address.ts'
import { freePort } from '../free-port.ts'
import { plainLine } from './fake-line.ts'

/** Opens a server on a line over a pty. `sent` and `heard` are the reports of bytes to and from the line. */
export async function openOn(
  t: Test,
  limits: { backlogBytes?: number; maxClients?: number; clients?: number; queue?: Partial<LineQueueLimits> } = {},
) {
  const clock = fakeClock()
  const pty = openPty()
  const opened = await createSerialOpener({ log: silentLog, clock, queue: { ...DEFAULT_QUEUE, ...limits.queue } }).open(
    pty.path,
    plainLine,
  )
  const sent: Uint8Array[] = []
  const heard: Uint8Array[] = []
  const flow: string[] = []
  const line: RawSocketLine = {
    pass: (...given) => opened.pass(...given),
    settle: () => opened.settle(),
    onPassed: (bytes) => void sent.push(bytes),
    onBytes(bytes, taken, sender) {
      sent.push(bytes)
      return sender.write(bytes.subarray(taken))
    },
    sender: (...given) => opened.sender(...given),
    pause() {
      flow.push('pause')
      opened.pause()
    },
    resume() {
      flow.push('resume')
      opened.resume()
    },
  }
  const open = createRawSocketOpener({
    clock,
    log: silentLog,
    shareOf: createShareOf([]),
    limits: {
      host: '127.0.0.1',
      backlogBytes: limits.backlogBytes ?? 1000,
      leftBytes: limits.queue?.leftBytes ?? DEFAULT_QUEUE.leftBytes,
      clientsPerAddress: 64,
      clients: limits.clients ?? 64,
      slowClientMs: 2000,
      tellMs: 2,
    },
  })
  const port = await freePort()
  const server = await open({ port, maxClients: limits.maxClients ?? 8 }, line)
  opened.onBytes((bytes) => {
    heard.push(bytes)
    server.broadcast(bytes)
  })
  t.teardown(async () => {
    await server.close()
    await opened.close()
    await pty.close()
  })
  const clients = () => server.counters().tcpClients ?? 0
  /** Connects a client; resolves once the server has accepted it. */
  async function client(): Promise<Socket> {
    const before = clients()
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    t.teardown(() => socket.destroy())
    await once(socket, 'connect')
    await until(() => clients() > before)
    return socket
  }
  return { client, clients, clock, flow, heard, line, open, opened, port, pty, sent, server }
}

/** More than the kernel holds for a client that reads nothing. */
export const FILL_BYTES = 40 * 1_048_576

export async function until(isTrue: () => boolean, limitMs = 20_000): Promise<void> {
  const endMs = performance.now() + limitMs
  while (!isTrue()) {
    if (performance.now() > endMs) throw new Error(`${isTrue}: not within ${limitMs} ms`)
    await sleep(1)
  }
}

/** Collects what arrives there: how much, and all of it. */
export function heardBy(from: Socket | { onBytes(handler: (bytes: Buffer) => void): void }) {
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

/** Bytes that identify their own position; streams of other seeds differ. */
export function pattern(length: number, seed = 0): Buffer {
  const bytes = Buffer.allocUnsafe(length)
  for (let at = 0; at < length; at++) bytes[at] = ((at * 7) >> 2) + seed
  return bytes
}

/** Sizes from 1 byte to some kilobytes, mostly small; the same seed gives the same sizes. */
export function* sizes(seed: number, total: number): Generator<number> {
  let state = seed
  for (let done = 0; done < total; ) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    const size = Math.min(total - done, 1 + (state % (state % 7 === 0 ? 9000 : 300)))
    done += size
    yield size
  }
}
