import { createHash } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import fc from 'fast-check'
import t from 'tap'
import { rowOf } from '#kit/test/heap.ts'
import { memoryPlan } from '../../../core/memory.ts'
import { createStreamMemory, type StreamMemory } from '../../../core/recording/stream-memory.ts'

/** One who gives up half of what it holds when it is asked to, or all. */
function holderIn(memory: StreamMemory, part = 0.5) {
  const state = { bytes: 0, gave: 0 }
  const holder = memory.holder(() => {
    state.gave++
    state.bytes = state.bytes < 2 ? 0 : Math.floor(state.bytes * part)
    holder.hold(state.bytes)
  })
  const hold = (bytes: number) => {
    state.bytes = bytes
    return holder.hold(bytes)
  }
  return { hold, state }
}

t.test('whoever holds most gives, and who holds little keeps what it has', async (t) => {
  const memory = createStreamMemory(1000)
  const [small, large, other] = [holderIn(memory), holderIn(memory, 0), holderIn(memory)]
  t.ok(small.hold(100))
  t.ok(large.hold(800))
  t.ok(other.hold(200), 'another one gave')
  t.same([small.state.bytes, large.state.bytes, other.state.bytes], [100, 0, 200])
  t.notOk(other.hold(950), 'it holds most itself')
  t.same([small.state.gave, large.state.gave, other.state.gave], [0, 1, 1])
  t.equal(other.state.bytes, 475)
})

t.test('all together never hold more, whatever they do', async () => {
  const step = fc.record({ who: fc.nat(5), bytes: fc.nat(1000) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const memory = createStreamMemory(1000)
      const all = [0, 0, 0.1, 0.5, 0.9, 0.9].map((part) => holderIn(memory, part))
      return steps.every(({ bytes, who }) => {
        all[who]?.hold(bytes)
        return all.reduce((sum, { state }) => sum + state.bytes, 0) <= 1000
      })
    }),
  )
})

t.test('pictures that are let go of are collected before more than their row are held', async (t) => {
  // As the recorder is started: scripts/bundle.ts.
  for (const flag of ['--no-incremental-marking', '--single-threaded-gc']) setFlagsFromString(flag)
  const row = rowOf(memoryPlan().rows, 'pictures that V8')
  const held: Uint8Array[] = []
  const work = createHash('sha256')
  const before = process.memoryUsage().external
  let most = 0
  // Pictures of 32 cameras, up to the next key frame; twenty seconds of them. Each gives the processor something to do, as
  // it does while it comes in, is put together and written.
  for (let at = 0; at < 20_000; at++) {
    const picture = new Uint8Array(30_000)
    for (let times = 0; times < 4; times++) work.update(picture)
    held[at % 1000] = picture
    if (at % 10 > 0) continue
    most = Math.max(most, process.memoryUsage().external - before)
    await new Promise(setImmediate)
  }
  const uncollected = most - held.length * 30_000
  t.ok(uncollected < row.allBytes, `${uncollected} bytes, of ${row.allBytes}`)
})
