import t from 'tap'
import { heldBytes, rowOf } from '#kit/test/heap.ts'
import { memoryPlan } from '../../../core/memory.ts'
import { createHeldSound } from '../../../core/recording/held-sound.ts'

const frame = (at: number, ticks = 160) => ({ timestamp: at, ticks, bytes: Uint8Array.of(at & 0xff) })
const placeOf = (endTicks = 0) => ({ zeroMs: 1000, rate: 8000, endTicks })

t.test('sound goes with the fragment of its moment, and what is early waits for the next', async (t) => {
  const held = createHeldSound(10_000)
  for (const [at, positionMs] of [2000, 2020, 2040, 2060].entries()) held.add(frame(at), positionMs)
  const place = placeOf()
  t.match(held.take(place, { fromMs: 2000, toMs: 2040 }), {
    decodeTicks: 8000,
    frames: [{ durationTicks: 160 }, { durationTicks: 160 }],
  })
  t.equal(place.endTicks, 8320)
  t.match(held.take(place, { fromMs: 2040, toMs: Number.POSITIVE_INFINITY }), { decodeTicks: 8320 })
  t.equal(held.take(place, { fromMs: 2040, toMs: 9999 }), undefined)
})

t.test('sound that comes late goes with the next fragment, at its own time, for up to a second', async (t) => {
  const held = createHeldSound(10_000)
  held.add(frame(0), 1990)
  held.add(frame(1), 2010)
  held.add(frame(2), 2900)
  t.match(held.take(placeOf(), { fromMs: 3000, toMs: 4000 }), {
    decodeTicks: 8080,
    frames: [{ durationTicks: 7120 }, {}],
  })
})

t.test('what overlaps is moved by up to half a frame, else left out', async (t) => {
  const held = createHeldSound(10_000)
  for (const positionMs of [2000, 2015, 2022, 2042]) held.add(frame(0), positionMs)
  const run = held.take(placeOf(), { fromMs: 2000, toMs: 3000 })
  t.equal(run?.decodeTicks, 8000)
  t.same(
    run?.frames.map(({ durationTicks }) => durationTicks),
    [160, 176, 160],
    'the third would begin where most of the second is heard',
  )
})

t.test('what is held is bounded: the oldest is forgotten', async (t) => {
  const settings = { 'cameras.max': 1, 'cameras.sound_bytes': 1_048_576 }
  const row = rowOf(memoryPlan().rows, 'sound that waits', settings)
  const before = await heldBytes()
  const held = createHeldSound(1_048_576)
  for (let at = 0; at < 100_000; at++) held.add(frame(at), 2000 + at * 20)
  const bytes = (await heldBytes()) - before
  t.ok(bytes < row.allBytes, `${bytes} bytes, of ${row.allBytes}`)
  const run = held.take(placeOf(), { fromMs: 2000, toMs: Number.POSITIVE_INFINITY })
  t.ok((run?.frames.length ?? 0) <= 4095)
  t.equal(run?.frames.at(-1)?.bytes[0], 99_999 & 0xff)
})
