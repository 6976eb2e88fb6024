import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { heapBytesOf } from '#kit/test/heap.ts'
import { createEventHub, framePayload } from '../../../core/lines/events.ts'
import { heldBytesOf } from '../../../core/modbus/protocol.ts'
import { describeReply, replyFrame } from '../../../wire/modbus-reply.ts'
import { readModbusRequest, sealed } from '../../../wire/modbus-request.ts'

t.test('A.webhooks.1 hands every event of an adapter to every listener, with port, name and epoch ms', async (t) => {
  const clock = fakeClock(1000)
  const hub = createEventHub(clock, { history: 4, historyBytes: 1000, totalBytes: 100_000 })
  const first: unknown[] = []
  const second: unknown[] = []
  hub.subscribe((event) => first.push(event))
  const leave = hub.subscribe((event) => second.push(event))
  hub.publish('/dev/a', 'frame', { hex: '01' })
  leave()
  hub.publish('/dev/a', 'port', { state: 'open' })
  t.match(first, [
    { port: '/dev/a', event: 'frame', timestamp: 1000, payload: { hex: '01' } },
    { event: 'port', payload: { state: 'open' } },
  ])
  t.equal(second.length, 1)
})

t.test('keeps the newest events of each port, oldest first, and no more than the bound', async (t) => {
  const hub = createEventHub(fakeClock(), { history: 3, historyBytes: 1000, totalBytes: 100_000 })
  for (const number of [1, 2, 3, 4, 5]) hub.publish('/dev/a', 'frame', number)
  hub.publish('/dev/b', 'frame', 9)
  const numbers = (port: string, limit: number) => hub.recent(port, limit).map((event) => event.payload)
  t.same(numbers('/dev/a', 10), [3, 4, 5])
  t.same(numbers('/dev/a', 2), [4, 5])
  t.same(numbers('/dev/b', 10), [9])
  hub.forget('/dev/a')
  t.same(numbers('/dev/a', 10), [])
})

t.test('keeps no more bytes of a port than the bound, but always its newest event', async (t) => {
  const hub = createEventHub(fakeClock(), { history: 10, historyBytes: 1000, totalBytes: 100_000 })
  const kept = () => hub.recent('/dev/a', 10).map((event) => event.payload)
  for (const number of [1, 2, 3]) hub.publish('/dev/a', 'frame', number, 400)
  t.same(kept(), [2, 3])
  hub.publish('/dev/a', 'port', 4)
  t.same(kept(), [2, 3, 4])
  hub.publish('/dev/a', 'frame', 5, 5000)
  t.same(kept(), [5])
})

t.test('makes a payload once, and only when somebody reads it', async (t) => {
  const hub = createEventHub(fakeClock(), { history: 3, historyBytes: 1000, totalBytes: 100_000 })
  let made = 0
  hub.publish('/dev/a', 'frame', () => ({ made: ++made }))
  t.equal(made, 0)
  t.equal(JSON.stringify(hub.recent('/dev/a', 1)[0]?.payload), '{"made":1}')
  t.match(JSON.parse(JSON.stringify(hub.recent('/dev/a', 1)[0])), { payload: { made: 1 } })
  t.equal(made, 1)
})

t.test('keeps no more of all ports together than the bound: the port that holds most loses its oldest', async (t) => {
  const hub = createEventHub(fakeClock(), { history: 10, historyBytes: 10_000, totalBytes: 20_480 })
  const kept = (port: string) => hub.recent(port, 10).map((event) => event.payload)
  for (const number of [1, 2, 3, 4, 5, 6, 7]) hub.publish('/dev/a', 'value', number)
  for (const number of [1, 2, 3]) hub.publish('/dev/b', 'value', number)
  t.equal(hub.keptBytes(), 20_480, 'filled to the bound')
  t.same([kept('/dev/a').length, kept('/dev/b').length], [7, 3])
  hub.publish('/dev/b', 'frame', 4, 2048)
  t.same(
    [kept('/dev/a'), kept('/dev/b')],
    [
      [3, 4, 5, 6, 7],
      [3, 4],
    ],
    'an event is 2048 bytes, and three for each byte of the frame: both took as much, and both lost',
  )
  t.equal(hub.keptBytes(), 20_480)
  hub.forget('/dev/b')
  hub.forget('/dev/c')
  t.equal(hub.keptBytes(), 5 * 2048)
})

t.test('the newest event of each port is kept, however much the others hold', async (t) => {
  const hub = createEventHub(fakeClock(), { history: 10, historyBytes: 10_000, totalBytes: 4096 })
  for (const port of ['/dev/a', '/dev/b', '/dev/c']) hub.publish(port, 'frame', port, 5000)
  for (const port of ['/dev/a', '/dev/b', '/dev/c']) t.same(hub.recent(port, 10).length, 1)
})

t.test('kept events take no more than is counted for them: raw, registers and coils alike', async (t) => {
  const values = (count: number, at: number) => Array.from({ length: count }, (_, bit) => (bit * 7 + at) & 1)
  const reply = (fc: number, quantity: number) => (at: number) => {
    const frame = sealed([1, fc, 0, at & 255, quantity >> 8, quantity & 255])
    const sent = { frame, request: readModbusRequest(frame) }
    const heard = replyFrame(sent.request, values(quantity, at))
    const seen = { direction: 'rx', frame: heard, atUs: at } as const
    return {
      payload: () => framePayload(seen, { decoded: describeReply(heard, 'reply', sent) }),
      size: heldBytesOf(heard),
    }
  }
  const raw = (at: number) => {
    const seen = { direction: 'rx', frame: new Uint8Array(4096).fill(at), atUs: at } as const
    return { payload: () => framePayload(seen, { decoded: null }), size: 4096 }
  }
  const kinds = {
    raw,
    'all registers of a read': reply(3, 125),
    'one register': reply(3, 1),
    'all coils': reply(1, 2000),
    'one coil': reply(1, 1),
  }
  for (const [title, eventOf] of Object.entries(kinds)) {
    let counted = 0
    const bytes = await heapBytesOf(() => {
      const hub = createEventHub(fakeClock(), { history: 300, historyBytes: 1e9, totalBytes: 1e9 })
      for (let at = 0; at < 310; at++) {
        const { payload, size } = eventOf(at)
        hub.publish('/dev/a', 'frame', payload, size)
      }
      // Somebody reads them all: the payloads made then are kept.
      JSON.stringify(hub.recent('/dev/a', 300))
      counted = hub.keptBytes()
      return hub
    })
    t.ok(bytes < counted, `${title}: ${bytes / 300} bytes an event, counted ${counted / 300}`)
  }
})
