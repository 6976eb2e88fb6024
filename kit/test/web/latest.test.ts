/** Tests of sending the value of a control that is being moved. */
import t from 'tap'
import { sendLatest } from '../../web/call.ts'

t.test('one is under way, and only the last of those that come meanwhile is sent', async (t) => {
  const sent: number[] = []
  const ends: (() => void)[] = []
  const send = sendLatest<number>(
    (value) => {
      sent.push(value)
      return new Promise((resolve) => ends.push(resolve))
    },
    () => t.fail('nothing is refused'),
  )
  for (const value of [1, 2, 3]) send(value)
  t.same(sent, [1])
  ends.shift()?.()
  await new Promise(setImmediate)
  t.same(sent, [1, 3])
  ends.shift()?.()
  await new Promise(setImmediate)
  send(4)
  t.same(sent, [1, 3, 4])
})

t.test('a refusal drops the value that waits behind it, and the next one is sent again', async (t) => {
  const sent: number[] = []
  const refused: unknown[] = []
  const send = sendLatest<number>(
    async (value) => {
      sent.push(value)
      if (value === 1) throw new Error('no')
    },
    (thrown) => refused.push(thrown),
  )
  send(1)
  send(2)
  await new Promise(setImmediate)
  t.same(sent, [1])
  t.equal(refused.length, 1)
  send(3)
  t.same(sent, [1, 3])
})
