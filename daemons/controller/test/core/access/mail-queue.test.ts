import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import type { Letter } from '../../../core/access/accounts.ts'
import { createMailQueue } from '../../../core/access/mail-queue.ts'
import { codeLetter } from '../../../core/access/second-factor.ts'
import { memoryPlan } from '../../../core/memory.ts'

const letter: Letter = { to: 'ada@example.org', subject: 'code', text: 'x', lifeMs: 60_000 }
const never = () => new Promise<never>(() => {})

/** @param answers the result of each attempt in turn; the last one also applies to all further attempts */
function queueOf(...answers: ((signal: AbortSignal) => Promise<void>)[]) {
  const clock = fakeClock()
  const tries: { to: string; atMs: number }[] = []
  const signals: AbortSignal[] = []
  const queue = createMailQueue({
    clock,
    deliver(one, signal) {
      const answer = answers[Math.min(tries.length, answers.length - 1)]
      tries.push({ to: one.to, atMs: clock.monotonicMs() })
      signals.push(signal)
      return answer?.(signal) ?? Promise.resolve()
    },
    limits: { letters: 4, atOnce: 2, attemptMs: 20_000, again: { firstMs: 1000, maxMs: 8000 } },
  })
  return { clock, queue, tries, signals }
}

const failing = () => Promise.reject(new Error('ECONNREFUSED'))
const refusing = () => Promise.reject(new Fault('mail_refused', '550 no such user'))

/** The outcome of a letter, after the clock has moved. */
function outcomeOf(promise: Promise<void>) {
  const outcome: { code?: string } = {}
  promise.then(
    () => (outcome.code = 'sent'),
    (error) => (outcome.code = error.code),
  )
  return outcome
}

t.test('a letter that is accepted counts as sent', async (t) => {
  const { queue, tries } = queueOf()
  await queue.send(letter)
  t.match(tries, [{ to: 'ada@example.org', atMs: 0 }])
  t.strictSame(queue.state(), { kept: 0, sent: 1, failed: 0 })
})

t.test('a letter that is not accepted is tried again, with growing waits, until it is', async (t) => {
  const { clock, queue, tries } = queueOf(failing, failing, failing, () => Promise.resolve())
  const outcome = outcomeOf(queue.send(letter))
  await clock.run(7000)
  t.equal(outcome.code, 'sent')
  t.strictSame(
    tries.map(({ atMs }) => atMs),
    [0, 1000, 3000, 7000],
  )
})

t.test('a letter that is of no use any more is given up', async (t) => {
  const { clock, queue, tries } = queueOf(failing)
  const outcome = outcomeOf(queue.send({ ...letter, lifeMs: 5000 }))
  await clock.run(3000)
  t.equal(outcome.code, 'mail_failed')
  t.equal(tries.length, 3)
  t.equal(queue.state().kept, 0)
  await clock.run(60_000)
  t.equal(tries.length, 3)
})

for (const code of ['mail_refused', 'mail_not_set_up'])
  t.test(`${code} is not tried again`, async (t) => {
    const { queue, tries } = queueOf(() => Promise.reject(new Fault(code, 'no')))
    await t.rejects(queue.send(letter), { code })
    t.equal(tries.length, 1)
  })

t.test('a server that does not answer is abandoned after a while, whether it heeds the signal or not', async (t) => {
  const { clock, queue, tries, signals } = queueOf(never)
  const outcome = outcomeOf(queue.send(letter))
  await clock.run(20_000)
  t.equal(signals[0]?.aborted, true)
  await clock.run(1000)
  t.equal(tries.length, 2)
  await clock.run(39_000)
  t.equal(outcome.code, 'mail_failed')
})

t.test('few letters are handed over at once, the others wait; any over the limit are refused', async (t) => {
  const done: (() => void)[] = []
  const { clock, queue, tries } = queueOf(() => new Promise<void>((resolve) => void done.push(resolve)))
  const outcomes = ['a', 'b', 'c', 'd'].map((to) => outcomeOf(queue.send({ ...letter, to })))
  await t.rejects(queue.send(letter), { code: 'mail_queue_full' })
  await clock.run(0)
  t.strictSame(
    tries.map(({ to }) => to),
    ['a', 'b'],
  )
  done[1]?.()
  await clock.run(0)
  t.strictSame(
    tries.map(({ to }) => to),
    ['a', 'b', 'c'],
  )
  t.strictSame(outcomes, [{}, { code: 'sent' }, {}, {}])
  outcomeOf(queue.send(letter))
  t.equal(queue.state().kept, 4)
})

t.test('a letter that waits for its next try does not delay others', async (t) => {
  const { clock, queue } = queueOf(failing, () => Promise.resolve())
  const [one, other] = [outcomeOf(queue.send(letter)), outcomeOf(queue.send(letter))]
  await clock.run(0)
  t.strictSame([one, other], [{}, { code: 'sent' }])
})

t.test('closing gives up all letters at once, and no more are accepted', async (t) => {
  const { clock, queue, tries, signals } = queueOf(never)
  const outcomes = [1, 2, 3].map(() => outcomeOf(queue.send(letter)))
  await clock.run(0)
  queue.close()
  await clock.run(0)
  t.strictSame(outcomes, [{ code: 'mail_failed' }, { code: 'mail_failed' }, { code: 'mail_failed' }])
  t.ok(signals.every(({ aborted }) => aborted))
  await t.rejects(queue.send(letter), { code: 'mail_queue_full' })
  await clock.run(60_000)
  t.equal(tries.length, 2)
  t.equal(clock.pending(), 0)
})

t.test('closing gives up a letter that waits for its next try, and its timer', async (t) => {
  const { clock, queue, tries } = queueOf(failing, failing)
  const outcome = outcomeOf(queue.send(letter))
  await clock.run(0)
  t.equal(clock.pending(), 1)
  queue.close()
  t.equal(clock.pending(), 0)
  await clock.run(60_000)
  t.same(outcome, { code: 'mail_failed' })
  t.equal(tries.length, 1)
})

t.test('one refused letter is counted as failed', async (t) => {
  const { queue } = queueOf(refusing)
  await t.rejects(queue.send(letter))
  t.match(queue.state(), { kept: 0, sent: 0, failed: 1 })
})

t.test('letters to the longest addresses, being sent and tried again, take no more than their row says', async (t) => {
  const letters = 1000
  let kept = 0
  const bytes = await heapBytesOf(async () => {
    const clock = fakeClock()
    const limits = { letters, atOnce: letters / 2, attemptMs: 20_000, again: { firstMs: 100_000, maxMs: 100_000 } }
    let tries = 0
    const deliver = () => (tries++ % 2 === 0 ? never() : failing())
    const queue = createMailQueue({ clock, deliver, limits })
    for (let at = 0; at < letters + 1; at++)
      queue.send(codeLetter(`${at}@example.org`.padStart(320, 'a'), `${at}`, 600)).catch(() => {})
    for (let turn = 0; turn < 10; turn++) await clock.run(10)
    kept = queue.state().kept
    return [queue, clock]
  })
  t.equal(kept, letters, 'filled to the bound')
  const row = rowOf(memoryPlan().rows, 'letters on their way', { 'letters.letters': letters })
  t.ok(bytes < row.allBytes, `${bytes / letters} bytes a letter, of ${row.eachBytes}`)
})
