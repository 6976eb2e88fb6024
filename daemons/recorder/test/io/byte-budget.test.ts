import t from 'tap'
import type { Fault } from '#kit/pure/fault.ts'
import { createByteBudget } from '../../io/byte-budget.ts'

function stage() {
  const told: (string | undefined)[] = []
  const budget = createByteBudget(1000, 500, (fault: Fault | undefined) => told.push(fault?.message))
  let nowMs = 500
  const seconds = (count: number, bytes: number) => {
    for (let second = 0; second < count; second++) {
      budget.spend(bytes)
      nowMs += 1000
      budget.passTo(nowMs)
    }
  }
  return { budget, told, seconds }
}

const sentence =
  'The camera has sent more than the 1000 bytes a second that cameras.bytes_per_s allows, for 10 s: the rest waits in it, or is lost. Have it send less.'

t.test('a camera that sends too much in each of ten seconds is named once, until it sends less', async (t) => {
  const { seconds, told } = stage()
  seconds(9, 1001)
  t.same(told, [], 'a burst is waited out')
  seconds(20, 1001)
  t.same(told, [sentence])
  seconds(5, 1000)
  t.same(told, [sentence, undefined])
})

t.test('nothing is said of a camera that has ended, or of one that was within its bounds', async (t) => {
  const { budget, seconds, told } = stage()
  seconds(100, 1000)
  budget.end()
  t.same(told, [])
  seconds(10, 5000)
  budget.end()
  budget.end()
  t.same(told, [sentence, undefined])
})

t.test('what cannot be told to wait may send four times as much', async (t) => {
  const { budget } = stage()
  budget.spend(4000)
  t.ok(budget.isSpent())
  budget.refuseFlood()
  budget.spend(1)
  t.throws(() => budget.refuseFlood(), { code: 'camera_floods', message: /over UDP more than 4 times the 1000 bytes/ })
})

t.test('a second in which nothing came was not too much, however late that is seen', async (t) => {
  const { budget, seconds, told } = stage()
  seconds(10, 1001)
  budget.spend(1001)
  budget.passTo(12_500)
  t.same(told, [sentence, undefined])
  budget.spend(1001)
  budget.passTo(13_499)
  t.ok(budget.isSpent())
  t.equal(budget.restMs(13_499), 1)
  budget.passTo(13_500)
  t.notOk(budget.isSpent())
})

t.test('the second of a camera that was told to wait lasts until it is read on', async (t) => {
  const { budget, told } = stage()
  for (let second = 0; second < 10; second++) {
    budget.spend(1001)
    budget.goOn(500 + 3000 * (second + 1))
    t.notOk(budget.isSpent())
  }
  t.same(told, [sentence])
  t.equal(budget.restMs(30_600), 900)
  t.equal(budget.restMs(40_000), 0)
})
