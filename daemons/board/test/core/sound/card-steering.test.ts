/** Tests of how the card of an open pipeline is kept on the clock. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createCardSteering } from '../../../core/sound/card.ts'

/** A pipeline whose card uses up frames at its own rate. */
function rig(use: 'plays' | 'captures', slowPpm: number) {
  const clock = fakeClock()
  const told: Record<string, number> = { fill: 240, starts: 1, xruns: 0, dropped: 0 }
  const done: [string, string, number | boolean][] = []
  let ppm = 0
  const pipeline = {
    get: (element: string, property: string) => (element === 'card' ? told[property] : undefined),
    set(element: string, property: string, value: number | boolean) {
      done.push([element, property, value])
      if (property === 'ppm') ppm = Number(value)
    },
  }
  const steering = createCardSteering({ clock, pipeline, use, fillMs: 5, mostPpm: 1000, lookMs: 1000 })
  async function run(seconds: number) {
    for (let second = 0; second < seconds; second++) {
      if ((told.fill ?? 0) >= 0) told.fill = (told.fill ?? 0) + (slowPpm - ppm) * 0.048
      clock.advance(1000)
    }
  }
  return { clock, told, done, steering, run }
}

t.test('a card on the clock is not touched', async (t) => {
  const { done, run, steering } = rig('plays', 0)
  t.match(steering.view(), { latency_ms: null, drift_ppm: null, state: 'settling' }, 'and nothing is known yet')
  await run(100)
  t.same(done, [])
  t.same(steering.view(), { latency_ms: 5, drift_ppm: 0, state: 'resting', xruns: 0, dropped_frames: 0 })
})

t.test('a card that plays too slowly gets fewer frames, and is reported as slow', async (t) => {
  const { done, run, steering } = rig('plays', 50)
  await run(300)
  t.ok(done.every(([element, property]) => element === 'drift' && property === 'ppm'))
  t.ok(Math.abs(Number(done.at(-1)?.[2]) - 50) < 2, String(done.at(-1)))
  t.ok(Math.abs((steering.view().drift_ppm ?? 0) + 50) < 2, String(steering.view().drift_ppm))
})

t.test('a card that captures too many is reported as fast', async (t) => {
  const { run, steering } = rig('captures', 50)
  await run(300)
  t.ok(Math.abs((steering.view().drift_ppm ?? 0) - 50) < 2, String(steering.view().drift_ppm))
})

t.test('a lost fill leads to a refill', async (t) => {
  const { done, run, told } = rig('plays', 0)
  await run(10)
  told.fill = 2000
  await run(10)
  t.same(
    done.find(([, property]) => property === 'refill'),
    ['card', 'refill', true],
  )
})

t.test('a card that reports nothing has no latency', async (t) => {
  const { run, steering, told } = rig('plays', 0)
  await run(10)
  told.fill = -1
  await run(1)
  t.equal(steering.view().latency_ms, null)
})

t.test('once closed it checks no more', async (t) => {
  const { clock, done, run, steering, told } = rig('plays', 0)
  await run(10)
  steering.close()
  told.fill = 5000
  clock.advance(60_000)
  t.same(done, [])
})
