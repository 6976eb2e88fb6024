/** Clients over real TCP and a line on a pty: torn sessions, Telnet, held back, without a line, behind. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { createSerialOpener } from '#kit/line/serial-line.ts'
import { createLog } from '#kit/log.ts'
import { freePort } from '#kit/test/free-port.ts'
import { heldBytes } from '#kit/test/heap.ts'
import { until } from '#kit/test/until.ts'
import { openPty } from '#native/serial/index.ts'
import type { Client } from '../../core/ports.ts'
import { createListenerOpener } from '../../io/tcp.ts'
import { lineSettings } from '../core/fake-line.ts'

const log = createLog({ level: 'error' })
const patience = { idleS: 35, intervalS: 6, count: 4, userTimeoutMs: 59_000 }
const BACKLOG = 65_536
const EVERY = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
const doubled = (bytes: Buffer) => Buffer.from([...bytes].flatMap((byte) => (byte === 255 ? [255, 255] : [byte])))

interface Arrived {
  client: Client
  said: string
  behind: number
  caughtUp: number
  isEnding: boolean
  isClosed: boolean
  onEnding?: () => void
}

/** A line on a pty, and clients that it serves. */
async function rig(t: Test, { host = '127.0.0.1' } = {}) {
  const pty = openPty()
  const line = await createSerialOpener({ log }).open(pty.path, lineSettings)
  const clients = new Set<Client>()
  line.onBytes((bytes) => {
    for (const client of clients) client.fromLine(bytes)
  })
  const tcpPort = await freePort()
  const arrived: Arrived[] = []
  const listener = await createListenerOpener({ host, patience, log })(tcpPort, (arrival) => {
    const entry = { said: '', behind: 0, caughtUp: 0, isEnding: false, isClosed: false } as Arrived
    entry.client = arrival.take(
      {
        onBytes(bytes, taken) {
          entry.said += Buffer.from(bytes).toString('latin1')
          if (taken < bytes.length) void line.write(bytes.subarray(taken)).catch(() => {})
        },
        onBehind: () => entry.behind++,
        onCaughtUp: () => entry.caughtUp++,
        onEnding() {
          entry.isEnding = true
          entry.onEnding?.()
        },
        onClosed() {
          entry.isClosed = true
          clients.delete(entry.client)
        },
      },
      { backlogBytes: BACKLOG, tellMs: 5 },
    )
    clients.add(entry.client)
    arrived.push(entry)
  })
  t.teardown(async () => {
    for (const client of clients) client.destroy()
    await listener.close()
    await line.close()
    await pty.close()
  })
  async function dial() {
    const socket: Socket = connect(tcpPort, host === '::' ? '::1' : host).on('error', () => undefined)
    socket.setNoDelay(true)
    t.teardown(() => socket.destroy())
    await once(socket, 'connect')
    const count = arrived.length
    await until('it is accepted', () => arrived.length > 0 && arrived.length >= count)
    const got: Buffer[] = []
    socket.on('data', (bytes) => got.push(bytes))
    await until('it is the last', () => arrived.at(-1)?.client.port === socket.localPort)
    return { socket, got: () => Buffer.concat(got), entry: arrived.at(-1) as Arrived }
  }
  return { pty, line, dial }
}

t.test('bytes pass both ways unchanged, over IPv4 and IPv6', async (t) => {
  for (const host of ['127.0.0.1', '::']) {
    const { pty, line, dial } = await rig(t, { host })
    let atLine = ''
    pty.onBytes((bytes) => (atLine += bytes.toString('latin1')))
    const one = await dial()
    one.entry.client.attach(line)
    one.socket.write(EVERY)
    await until('the line has it', () => atLine === EVERY.toString('latin1'))
    await pty.write(EVERY)
    await until('the client has it', () => one.got().equals(EVERY))
  }
})

t.test('200 connections that send at once lose nothing to a second reader', async (t) => {
  const { line, dial } = await rig(t)
  for (let turn = 0; turn < 200; turn++) {
    const { socket, entry } = await dial()
    entry.client.steer('none')
    entry.client.attach(line)
    for (const word of ['one ', 'two ', 'three']) socket.write(word)
    await until(`all of connection ${turn} is heard`, () => entry.said === 'one two three')
    socket.destroy()
    await until('it has left', () => entry.isClosed)
  }
})

t.test('over Telnet each FF is sent twice, also in data that Node sends instead of the line', async (t) => {
  const { pty, line, dial } = await rig(t)
  const one = await dial()
  one.entry.client.setTelnet(false)
  one.entry.client.attach(line)
  await pty.write(EVERY)
  await until('the line passed it', () => one.got().equals(doubled(EVERY)))
  one.entry.client.setHeld(true)
  await pty.write(EVERY)
  await until('it was read', () => one.entry.client.waitingBytes === 257)
  one.entry.client.tell(Buffer.from([255, 241]))
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.equal(one.got().length, 257, 'nothing while it is held')
  one.entry.client.setHeld(false)
  const wanted = Buffer.concat([doubled(EVERY), doubled(EVERY), Buffer.from([255, 241])])
  await until('all of it, in order', () => one.got().equals(wanted))
  await pty.write(EVERY)
  await until('directly again', () => one.got().length === wanted.length + 257)
})

t.test('to a peer without BINARY a CR is sent with a NUL', async (t) => {
  const { pty, line, dial } = await rig(t)
  const one = await dial()
  one.entry.client.setTelnet(true)
  one.entry.client.attach(line)
  await pty.write(Buffer.from('a\r\nb\rc'))
  await until('it has it', () => one.got().toString('latin1') === 'a\r\nb\r\0c')
})

t.test('without a line a client is still read, and its bytes pass again when there is one', async (t) => {
  const { pty, line, dial } = await rig(t)
  let atLine = ''
  pty.onBytes((bytes) => (atLine += String(bytes)))
  const one = await dial()
  for (let turn = 0; turn < 20; turn++) {
    one.entry.client.detach()
    one.socket.write(`away ${turn}. `)
    await until('it is heard', () => one.entry.said.endsWith(`away ${turn}. `))
    one.entry.client.attach(line)
    one.socket.write(`here ${turn}. `)
    await until('the line hears it', () => atLine.endsWith(`here ${turn}. `))
  }
})

t.test('a client that reads nothing is reported as behind once, and gets every byte when it continues', async (t) => {
  const { pty, line, dial } = await rig(t)
  const one = await dial()
  one.entry.client.setTelnet(false)
  one.entry.client.attach(line)
  one.socket.pause()
  const piece = Buffer.alloc(65_536, 255)
  let sent = 0
  while (one.entry.behind === 0 && sent < 60_000_000) {
    await pty.write(piece)
    sent += piece.length
  }
  t.equal(one.entry.behind, 1)
  one.socket.resume()
  await until('it has caught up', () => one.entry.caughtUp === 1, 30_000)
  await until('each FF is there twice', () => one.got().length === 2 * sent, 30_000)
  t.ok(one.got().every((byte) => byte === 255))
})

t.test('a client that is not read keeps what it sends, and its end is reported once', async (t) => {
  const { pty, line, dial } = await rig(t)
  let atLine = ''
  pty.onBytes((bytes) => (atLine += String(bytes)))
  const one = await dial()
  one.entry.client.setReading('resting')
  one.entry.client.attach(line)
  one.socket.write('later')
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.equal(atLine, '')
  one.entry.client.setReading('reading')
  await until('it is read', () => atLine === 'later')
  one.socket.end()
  await until('it has left', () => one.entry.isClosed)
})

t.test('a client that left during a change of the line is read, and its end seen, after the change', async (t) => {
  const { line, dial } = await rig(t)
  const one = await dial()
  const { client } = one.entry
  client.steer('none')
  client.setReading('resting')
  client.attach(line)
  one.socket.end('before it left')
  await until('its hang-up is seen', () => one.entry.said === 'before it left' || one.entry.isClosed)
  const other = await dial()
  other.entry.client.steer('none')
  other.entry.client.setReading('resting')
  other.entry.client.attach(line)
  // As the session does when its first message changes the line.
  other.entry.onEnding = () => other.entry.client.setReading('stopped')
  other.socket.end('before it left')
  await until('its end is near', () => other.entry.isEnding)
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.strictSame([other.entry.said, other.entry.isClosed], ['', false])
  other.entry.client.setReading('resting')
  await until('it has ended', () => other.entry.isClosed)
  t.equal(other.entry.said, 'before it left')
})

t.test('RFC 2217, 5 a client that suspends a line of single bytes is held no more than its bytes take', async (t) => {
  const { dial } = await rig(t)
  const { client } = (await dial()).entry
  client.setTelnet(false)
  const filled = 4 * BACKLOG
  // What V8 compiles and learns is there after the first time.
  for (const [time, byte] of [7, 7, 255].entries()) {
    client.setHeld(true)
    const before = await heldBytes()
    while (client.waitingBytes < filled) {
      client.fromLine(Uint8Array.of(byte))
      if (client.waitingBytes % 4096 === 0) client.tell(Uint8Array.of(255, 241))
    }
    const bytes = (await heldBytes()) - before
    if (time > 0) t.ok(bytes < 2 * filled, `${bytes} bytes for ${filled} of ${byte}`)
    client.dropWaiting()
    t.ok(client.waitingBytes > 0 && client.waitingBytes < BACKLOG, 'the line’s are dropped, its own are not')
    client.setHeld(false)
    await until('it has the bytes meant only for it', () => client.waitingBytes === 0)
  }
})
