import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { bytesOfHex, hexOf } from '#kit/pure/bytes.ts'
import { type CaptureSink, createCaptures } from '../../../core/lines/capture.ts'
import { createEventHub } from '../../../core/lines/events.ts'
import { linkTypeOf } from '../../../core/protocols.ts'
import { LINK_TYPES, pcapFileHead, pcapRecord } from '../../../wire/pcap.ts'

const EPOCH_MS = 1_900_000_000_000

/** Captures of a hub that the test publishes on, and a sink that takes everything unless it is full. */
function capturesHere(max = 2) {
  const clock = fakeClock(EPOCH_MS)
  const hub = createEventHub(clock, { history: 10, historyBytes: 1000, totalBytes: 100_000 })
  const broken: string[] = []
  const captures = createCaptures({ hub, clock, max, linkTypeOf, onBrokenOff: (port) => void broken.push(port) })
  const frame = (port: string, monotonicUs: number, hex: string) =>
    hub.publish(port, 'frame', () => ({ direction: 'rx', monotonicUs, hex, length: 0, decoded: null }))
  return { broken, captures, clock, frame, hub }
}

/** A sink that records what it gets. */
interface NotedSink extends CaptureSink {
  told: string[]
  isFull: boolean
}

function sinkHere(): NotedSink {
  const told: string[] = []
  const sink: NotedSink = {
    told,
    isFull: false,
    write(bytes) {
      if (!sink.isFull) told.push(hexOf(bytes))
      return !sink.isFull
    },
    end: () => void told.push('end'),
    breakOff: ({ code }) => void told.push(code),
  }
  return sink
}

const modbusHead = hexOf(pcapFileHead(LINK_TYPES.modbusRtu))
const record = (afterUs: number, hex: string) => hexOf(pcapRecord(EPOCH_MS * 1000 + afterUs, bytesOfHex(hex)))

t.test('is a file of the frames of one port from now on, stamped by wall time', async (t) => {
  const { captures, frame, hub } = capturesHere()
  frame('/dev/a', 1, '01')
  const sink = sinkHere()
  captures.start('/dev/a', 'modbus-rtu', sink)
  t.strictSame(sink.told, [modbusHead], 'the head comes before any frame')
  frame('/dev/a', 1_500_000, '01 03 00 00 00 01 84 0A')
  frame('/dev/b', 2_000_000, '02')
  hub.publish('/dev/a', 'error', { code: 'modbus_timeout' })
  frame('/dev/a', 2_000_001, 'FF')
  t.strictSame(sink.told, [modbusHead, record(1_500_000, '01 03 00 00 00 01 84 0A'), record(2_000_001, 'FF')])
})

t.test('a step of wall time does not move frames against each other', async (t) => {
  const { captures, clock, frame } = capturesHere()
  const sink = sinkHere()
  captures.start('/dev/a', 'modbus-rtu', sink)
  frame('/dev/a', 1000, '01')
  clock.stepEpoch(-3_600_000)
  frame('/dev/a', 2000, '02')
  t.strictSame(sink.told.slice(1), [record(1000, '01'), record(2000, '02')])
})

t.test('frames of raw lines have a link type of their own', async (t) => {
  const { captures } = capturesHere()
  const sink = sinkHere()
  captures.start('/dev/a', 'raw', sink)
  t.strictSame(sink.told, [hexOf(pcapFileHead(LINK_TYPES.raw))])
})

t.test('the file of a slow reader is cut off and counted, and never has a hole', async (t) => {
  const { broken, captures, frame } = capturesHere()
  const [slow, quick] = [sinkHere(), sinkHere()]
  captures.start('/dev/a', 'modbus-rtu', slow)
  captures.start('/dev/a', 'modbus-rtu', quick)
  frame('/dev/a', 1, '01')
  slow.isFull = true
  frame('/dev/a', 2, '02')
  slow.isFull = false
  frame('/dev/a', 3, '03')
  t.strictSame(slow.told, [modbusHead, record(1, '01'), 'capture_too_slow'])
  t.equal(quick.told.length, 4)
  t.strictSame(broken, ['/dev/a'])
  t.strictSame(captures.counts(), { running: 1, brokenOff: 1 })
})

t.test('one capture over the limit is refused, and accepted once another has ended', async (t) => {
  const { captures } = capturesHere(1)
  const stop = captures.start('/dev/a', 'modbus-rtu', sinkHere())
  t.throws(() => captures.start('/dev/b', 'raw', sinkHere()), { code: 'too_many_captures' })
  stop()
  stop()
  captures.start('/dev/b', 'raw', sinkHere())
  t.match(captures.counts(), { running: 1 })
})

t.test('ends with its port, and all of them with the gateway', async (t) => {
  const { captures, frame } = capturesHere()
  const [one, other] = [sinkHere(), sinkHere()]
  captures.start('/dev/a', 'modbus-rtu', one)
  captures.start('/dev/b', 'modbus-rtu', other)
  captures.endOf('/dev/a')
  frame('/dev/a', 1, '01')
  t.strictSame(one.told, [modbusHead, 'end'])
  t.strictSame(other.told, [modbusHead])
  captures.close()
  frame('/dev/b', 1, '01')
  t.strictSame(other.told, [modbusHead, 'end'])
  t.strictSame(captures.counts(), { running: 0, brokenOff: 0 })
})
