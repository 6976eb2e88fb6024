import t from 'tap'
import type { Fault } from '#kit/pure/fault.ts'
import { createByteBudget } from '../../io/byte-budget.ts'

function stage() {
  const told: (string | undefined)[] = []
  const budget = createByteBudget(1000, (fault: Fault | undefined) => told.push(fault?.message))
  const seconds = (count: number, bytes: number) => {
    for (let second = 0; second < count; second++) {
      budget.spend(bytes)
      budget.nextSecond()
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
