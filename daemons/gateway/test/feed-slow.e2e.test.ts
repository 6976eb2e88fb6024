/** A listener that reads nothing: its cost to the gateway, and to other listeners. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { residentMb } from '#kit/test/process-memory.ts'
import { until } from '#kit/test/until.ts'
import { openPty } from '#native/serial/index.ts'
import { type RunningGateway, startGateway } from './running-gateway.ts'

/** Bytes of one frame on the line; its event is three times as long. */
const FRAME_BYTES = 8192
const MESSAGES = 6000
/** Frames written before all listeners that read have them: no listener is behind by more than these. */
const BATCH = 10

/** Unsent bytes of one socket, as the test sets them. */
const BUFFER_BYTES = 1_048_576

/** Messages that all listeners read first: after their garbage the resident memory stays where it is. */
const BEFORE = 2500

/** How far garbage can still move it. If kept for the one that reads nothing, the messages would take 144 MB. */
const MARGIN_MB = 80

/** The start of an event: enough to hold the number of its frame, and less than a whole event. */
const HEAD_BYTES = 300

/** What matters of a message: the number of an event, which its frame begins with, or the count of a summary. */
interface Message {
  type: string
  frame: number
  dropped: number
}

/** A WebSocket on a bare TCP socket, which can stop reading. */
async function dial(t: Test, gateway: RunningGateway) {
  const { hostname, port } = new URL(gateway.url)
  const socket = connect(Number(port), hostname)
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  const head = ['GET /ws HTTP/1.1', `Host: ${hostname}:${port}`, 'Connection: Upgrade', 'Upgrade: websocket']
  const keys = ['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==']
  socket.write([...head, ...keys, `Authorization: Bearer ${gateway.token()}`, '', ''].join('\r\n'))
  const [reply] = await once(socket, 'data')
  t.match(String(reply), /^HTTP\/1\.1 101 /)
  socket.write(masked(JSON.stringify({ type: 'subscribe', events: ['frame'] })))
  return { socket, messages: reader(socket) }
}

/** A text message of a client, under 126 bytes. The mask is all zeros. */
function masked(text: string): Buffer {
  return Buffer.concat([Buffer.of(0x81, 0x80 | text.length, 0, 0, 0, 0), Buffer.from(text)])
}

/** Cuts whole messages from what the server sends. */
function reader(socket: Socket): Message[] {
  const messages: Message[] = []
  let held = Buffer.alloc(0)
  socket.on('data', (bytes: Buffer) => {
    held = Buffer.concat([held, bytes])
    for (;;) {
      const short = (held[1] ?? 0) & 0x7f
      const from = short === 127 ? 10 : short === 126 ? 4 : 2
      if (held.length < from) return
      const length = short === 127 ? Number(held.readBigUInt64BE(2)) : short === 126 ? held.readUInt16BE(2) : short
      if (held.length < from + length) return
      if (((held[0] ?? 0) & 0x0f) === 1)
        messages.push(messageOf(held.toString('latin1', from, from + Math.min(length, HEAD_BYTES))))
      held = held.subarray(from + length)
    }
  })
  return messages
}

/** Reads only the head: whole events, three times over, would be a gigabyte of text. */
function messageOf(head: string): Message {
  const found = (what: RegExp) => what.exec(head)?.[1] ?? ''
  return {
    type: found(/^{"type":"(\w+)"/),
    frame: Number.parseInt(found(/"hex":"(.{11})/).replaceAll(' ', ''), 16),
    dropped: Number(found(/"dropped":(\d+)/)),
  }
}

t.test('a listener that reads nothing costs only its limit, and no other listener loses a message', async (t) => {
  // By default a client that reads nothing for so long is disconnected.
  const sets = [
    `http.socket_buffer_bytes=${BUFFER_BYTES}`,
    'http.socket_ping_ms=600000',
    'http.stalled_ms=600000',
    'feed.summary_ms=100',
  ]
  const gateway = await startGateway(t, { sets })
  await gateway.setUp()
  const device = openPty()
  t.teardown(() => device.close())
  const settings = { framing: 'length', frame_bytes: FRAME_BYTES, max_frame_bytes: FRAME_BYTES }
  await gateway.call('PUT', gateway.portPath(device.path), { protocol: 'raw', settings })
  const [good, other, slow] = [await dial(t, gateway), await dial(t, gateway), await dial(t, gateway)]
  const residents: number[] = []
  let written = 0

  async function say(count: number): Promise<void> {
    for (const goal = written + count; written < goal; ) {
      const frames = Array.from({ length: Math.min(BATCH, goal - written) }, () => {
        const frame = Buffer.alloc(FRAME_BYTES, 0x55)
        frame.writeUInt32BE(written++)
        return frame
      })
      await device.write(Buffer.concat(frames))
      await until(
        `listeners have ${written} messages`,
        () => [good, other].every((one) => one.messages.length >= written),
        60_000,
      )
      residents.push(residentMb(gateway.pid))
    }
  }

  await say(BEFORE)
  await until('the slow one has them too', () => slow.messages.length === BEFORE)
  slow.socket.pause()
  const from = residents.length
  await say(MESSAGES)

  const total = BEFORE + MESSAGES
  for (const { messages } of [good, other])
    t.strictSame(
      [messages.length, messages.findIndex((one, at) => one.type !== 'event' || one.frame !== at)],
      [total, -1],
      'every message, in order, and nothing dropped',
    )
  const [before, meanwhile] = [Math.max(...residents.slice(0, from)), Math.max(...residents.slice(from))]
  t.comment(`resident: ${before.toFixed(1)} MB while all read, ${meanwhile.toFixed(1)} MB while one did not`)
  t.ok(meanwhile < before + MARGIN_MB, `${MESSAGES} messages of 24 kB went unread`)

  slow.socket.resume()
  await until('the slow one gets a summary of what it missed', () =>
    slow.messages.some(({ type }) => type === 'summary'),
  )
  const at = slow.messages.findIndex(({ type }) => type === 'summary')
  t.equal(
    slow.messages.findIndex((one, n) => n < at && one.frame !== n),
    -1,
    'what it got is in order, without a hole',
  )
  t.equal(at + (slow.messages[at]?.dropped ?? 0), total, 'what it got and what it missed is all there was')
  t.ok((slow.messages[at]?.dropped ?? 0) > MESSAGES / 4, `${slow.messages[at]?.dropped} were dropped`)
  await say(10)
  await until('it gets new events', () => slow.messages.length === at + 11)
  t.strictSame(
    slow.messages.slice(at + 1).map(({ frame }) => frame),
    Array.from({ length: 10 }, (_, n) => total + n),
  )
})
