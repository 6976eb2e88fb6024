/** Looks: one at a time, and none is forgotten. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Looks } from '../../core/usb-sharing.ts'

function rig(nextMs = 3000) {
  const clock = fakeClock()
  const waiting: ((value: string | Error) => void)[] = []
  const heeded: [string, number][] = []
  const failures: unknown[] = []
  const looks = new Looks<string>({
    clock,
    look: () =>
      new Promise((resolve, reject) => {
        waiting.push((value) => (value instanceof Error ? reject(value) : resolve(value)))
      }),
    heed(seen, number) {
      heeded.push([seen, number])
      return nextMs
    },
    failed(error) {
      failures.push(error)
      return nextMs
    },
    own: (promise) => void promise.catch((error) => t.fail(String(error))),
  })
  return { clock, looks, waiting, heeded, failures }
}

t.test('a caller that asks while a look runs gets another one, which begins later', async (t) => {
  const { looks, waiting, heeded } = rig()
  const first = looks.now()
  const second = looks.now()
  const third = looks.now()
  waiting.shift()?.('old')
  await new Promise((resolve) => setImmediate(resolve))
  t.same(heeded, [['old', 1]])
  waiting.shift()?.('new')
  await Promise.all([first, second, third])
  t.same(heeded, [
    ['old', 1],
    ['new', 2],
  ])
  t.equal(waiting.length, 0)
})

t.test('looks again in time, sooner when asked, and never after a stop', async (t) => {
  const { clock, looks, waiting } = rig()
  const first = looks.now()
  waiting.shift()?.('one')
  await first
  await clock.run(2999)
  t.equal(waiting.length, 0)
  await clock.run(1)
  t.equal(waiting.length, 1)
  waiting.shift()?.('two')
  await clock.run(0)
  looks.soon()
  looks.soon()
  await clock.run(100)
  t.equal(waiting.length, 1)
  looks.stop()
  waiting.shift()?.('three')
  await clock.run(10_000)
  t.equal(waiting.length, 0)
})

t.test('a caller that asks at the moment a look ends gets one that begins later', async (t) => {
  const { looks, waiting, heeded } = rig()
  for (let turns = 0; turns < 8; turns++) {
    const first = looks.now()
    waiting.shift()?.('old')
    for (let turn = 0; turn < turns; turn++) await Promise.resolve()
    const [seen, second] = [heeded.length, looks.now()]
    await new Promise((resolve) => setImmediate(resolve))
    waiting.shift()?.('new')
    await Promise.all([first, second])
    t.ok(heeded.slice(seen).some(([what]) => what === 'new'))
  }
})

t.test('a look that fails is reported, and the next one follows', async (t) => {
  const { clock, looks, waiting, failures, heeded } = rig()
  const first = looks.now()
  waiting.shift()?.(new Error('EIO'))
  await first
  t.match(failures, [{ message: 'EIO' }])
  await clock.run(3000)
  waiting.shift()?.('well')
  await clock.run(0)
  t.same(heeded, [['well', 2]])
})
