/** When memory is given back. */
import { t } from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { startMemorySweep, sweepMemory } from '#kit/run/daemon.ts'

const QUIET_US = 3000
const BUSY_US = 300_000

function setup() {
  const clock = fakeClock()
  const world = { cpuUs: 0, heapBytes: 20_000_000, sweeps: 0 }
  const sweep = startMemorySweep({
    clock,
    cpuUs: () => world.cpuUs,
    heapBytes: () => world.heapBytes,
    collect: () => {
      world.sweeps++
      world.heapBytes = 15_000_000
    },
  })
  /** Lets `count` periods pass, each using the processor for `us`. */
  function periods(count: number, us: number): void {
    for (let index = 0; index < count; index++) {
      world.cpuUs += us
      clock.advance(3000)
    }
  }
  return { clock, world, sweep, periods }
}

t.test('sweeps three times when the daemon is quiet half a minute after its start', async (t) => {
  const { world, periods } = setup()
  periods(9, QUIET_US)
  t.equal(world.sweeps, 0, 'too early')
  periods(5, BUSY_US)
  t.equal(world.sweeps, 0, 'too busy')
  periods(300, QUIET_US)
  t.equal(world.sweeps, 3)
})

t.test('sweeps again when the daemon has grown, is quiet, and the last sweep is ten minutes ago', async (t) => {
  const { world, periods } = setup()
  periods(12, QUIET_US)
  world.heapBytes += 4_000_000
  periods(199, QUIET_US)
  t.equal(world.sweeps, 3, 'too early')
  periods(50, BUSY_US)
  t.equal(world.sweeps, 3, 'too busy')
  periods(1, QUIET_US)
  t.equal(world.sweeps, 4)
})

t.test('ends when stopped', async (t) => {
  const { clock, sweep } = setup()
  sweep.cancel()
  t.equal(clock.pending(), 0)
})

t.test('does nothing if Node does not offer it', async (t) => {
  const clock = fakeClock()
  const { gc } = globalThis
  t.teardown(() => {
    globalThis.gc = gc
  })
  globalThis.gc = undefined
  sweepMemory(clock).cancel()
  t.equal(clock.pending(), 0)
})

t.test('collects with Node if it is offered, completely and at once', async (t) => {
  const clock = fakeClock()
  const { gc } = globalThis
  t.teardown(() => {
    globalThis.gc = gc
  })
  const asked: unknown[] = []
  globalThis.gc = ((options: unknown) => void asked.push(options)) as typeof globalThis.gc
  const sweep = sweepMemory(clock)
  clock.advance(30_000)
  t.same(asked, [{ type: 'major', execution: 'sync', flavor: 'last-resort' }])
  sweep.cancel()
})
