import fc from 'fast-check'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { heldBytes, rowOf } from '#kit/test/heap.ts'
import { memoryPlan } from '../../../core/memory.ts'
import { Reorder } from '../../../core/recording/reorder.ts'
import type { RtpPacket } from '../../../wire/rtp.ts'

const packetOf = (sequence: number, source = 1): RtpPacket => ({
  ...{ payloadType: 96, isMarked: false, sequence: sequence % 0x1_0000, timestamp: 0, source },
  payload: new Uint8Array(0),
})

function through(packets: RtpPacket[], most = 4, clock = fakeClock()): (number | string)[] {
  const out: (number | string)[] = []
  const reorder = new Reorder({
    ...{ clock, most, mostBytes: 1000, mostMs: 300 },
    onPacket: ({ sequence }) => out.push(sequence),
    onGap: (count) => out.push(`lost ${count}`),
  })
  for (const packet of packets) reorder.take(packet)
  reorder.end()
  return out
}

t.test('packets that changed places are put back, over the wrap of their numbers too', async (t) => {
  t.same(through([65_534, 0, 65_535, 2, 1, 3].map((at) => packetOf(at))), [65_534, 65_535, 0, 1, 2, 3])
})

t.test('the first packets of a camera are put in order too: a key frame would be lost with them', async (t) => {
  t.same(through([65_535, 65_534, 0].map((at) => packetOf(at))), [65_534, 65_535, 0])
  const out: number[] = []
  const reorder = new Reorder({
    ...{ clock: fakeClock(), most: 64, mostBytes: 1e6, mostMs: 300 },
    onPacket: ({ sequence }) => out.push(sequence),
    onGap() {},
  })
  for (const sequence of [6, 5]) reorder.take(packetOf(sequence))
  t.same(out, [], 'they wait for the next picture')
  reorder.take({ ...packetOf(7), timestamp: 6000 })
  t.same(out, [5, 6, 7])
  for (const sequence of [9, 8]) reorder.take(packetOf(sequence))
  t.same(out, [5, 6, 7, 8, 9], 'and then only what comes behind one that is missing')
})

t.test('what is missing counts as lost once enough wait behind it, and what comes late or twice is left', async (t) => {
  t.same(through([1, 2, 5, 6, 7, 8, 9, 3, 9, 10].map((at) => packetOf(at))), [1, 2, 'lost 2', 5, 6, 7, 8, 9, 10])
  t.same(
    through(
      [1, 3].map((at) => packetOf(at)),
      0,
    ),
    [1, 'lost 1', 3],
    'none may wait',
  )
})

t.test('what is missing counts as lost after its time too', async (t) => {
  const clock = fakeClock()
  const out: (number | string)[] = []
  const reorder = new Reorder({
    ...{ clock, most: 64, mostBytes: 1000, mostMs: 300 },
    onPacket: ({ sequence }) => out.push(sequence),
    onGap: (count) => out.push(`lost ${count}`),
  })
  for (const sequence of [1, 3]) reorder.take(packetOf(sequence))
  await clock.run(301)
  reorder.take(packetOf(4))
  t.same(out, [1, 'lost 1', 3, 4])
  reorder.take(packetOf(6))
  await clock.run(299)
  reorder.take(packetOf(5))
  t.same(out, [1, 'lost 1', 3, 4, 5, 6])
})

t.test('what waits when a session ends, or a camera begins anew, goes on behind what it waited for', async (t) => {
  t.same(through([1, 3, 4, 6].map((at) => packetOf(at))), [1, 'lost 1', 3, 4, 'lost 1', 6])
  t.same(through([packetOf(1), packetOf(3), packetOf(40_000, 2)]), [1, 'lost 1', 3, 'lost 0', 40_000])
  t.same(through([]), [])
})

t.test('a camera that begins anew is followed at once', async (t) => {
  t.same(through([packetOf(9), packetOf(40_000, 2), packetOf(40_001, 2)]), [9, 'lost 0', 40_000, 40_001])
})

t.test('any order of packets gives ascending numbers, each once, and the rest is counted', async () => {
  fc.assert(
    fc.property(fc.array(fc.nat(40), { maxLength: 80 }), fc.nat(8), (numbers, most) => {
      const out = through(
        [0, ...numbers].map((at) => packetOf(at)),
        most,
      ).filter((one) => typeof one === 'number')
      return out.every((one, at) => at === 0 || one > (out[at - 1] as number))
    }),
  )
})

t.test('a packet that waits is not changed by what is read into its bytes meanwhile', async (t) => {
  const out: number[] = []
  const reorder = new Reorder({
    ...{ clock: fakeClock(), most: 4, mostBytes: 1000, mostMs: 300 },
    onPacket: ({ payload }) => out.push(...payload),
    onGap() {},
  })
  const buffer = new Uint8Array(1)
  for (const sequence of [1, 3, 2]) {
    buffer[0] = sequence
    reorder.take({ ...packetOf(sequence), payload: buffer })
  }
  reorder.end()
  t.same(out, [1, 2, 3])
})

t.test('what waits is bounded in bytes too, and keeps nothing else alive', async (t) => {
  const settings = { 'cameras.max': 1, 'cameras.reorder_bytes': 100_000 }
  const row = rowOf(memoryPlan().rows, 'packets that wait', settings)
  const before = await heldBytes()
  const out: (number | string)[] = []
  const reorder = new Reorder({
    ...{ clock: fakeClock(), most: 10_000, mostBytes: 100_000, mostMs: 300 },
    onPacket: ({ sequence }) => out.push(sequence),
    onGap: (count) => out.push(`lost ${count}`),
  })
  for (const timestamp of [0, 1]) reorder.take({ ...packetOf(timestamp), timestamp })
  // Each was read with much else.
  for (let at = 3; at < 71; at++) reorder.take({ ...packetOf(at), payload: new Uint8Array(65_536).subarray(0, 1460) })
  t.same(out, [0, 1])
  const held = (await heldBytes()) - before
  // 99 kB wait, but V8 may let go of tens of kilobytes of its own meanwhile.
  t.ok(held > 50_000 && held < row.allBytes, `${held} bytes, of ${row.allBytes}`)
  reorder.take({ ...packetOf(71), payload: new Uint8Array(1460) })
  t.equal(out[2], 'lost 1')
  t.equal(out.length, 72)
})
