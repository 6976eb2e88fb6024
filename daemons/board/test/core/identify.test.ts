import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import { createIdentify } from '../../core/status.ts'

function setup(fault?: Error) {
  const clock = fakeClock()
  const done: string[] = []
  const call = (name: string) => async () => {
    done.push(name)
    if (fault) throw fault
    return true
  }
  const blinker = { start: call('start'), stop: async () => void (await call('stop')()) }
  let changes = 0
  const identify = createIdentify({ clock, log: silentLog, blinker, lifeMs: 60_000, onChange: () => changes++ })
  return { clock, done, identify, changes: () => changes }
}

t.test('B.endpoints identify blinks for its time and ends on its own', async (t) => {
  const { clock, done, identify, changes } = setup()
  t.equal(identify.until(), null)
  identify.set(true)
  t.equal(identify.until(), clock.epochMs() + 60_000)
  await clock.run(59_999)
  t.same(done, ['start'])
  await clock.run(1)
  t.same(done, ['start', 'stop'])
  t.equal(identify.until(), null)
  t.equal(changes(), 2)
})

t.test('asked again its time starts over, and the lamp keeps blinking', async (t) => {
  const { clock, done, identify } = setup()
  identify.set(true)
  await clock.run(30_000)
  identify.set(true)
  await clock.run(59_999)
  t.same(done, ['start'])
  identify.set(false)
  identify.set(false)
  await clock.run(100_000)
  t.same(done, ['start', 'stop'])
})

t.test('if the lamp fails the banner is still shown', async (t) => {
  const { clock, identify } = setup(new Error('EACCES'))
  identify.set(true)
  await clock.run(1)
  t.not(identify.until(), null)
  await identify.close()
  t.equal(identify.until(), null)
})
