import t from 'tap'
import { createTurnsByKey } from '../../core/turns.ts'

t.test('tasks of one key run one after another, those of other keys at the same time', async (t) => {
  const turns = createTurnsByKey<number>()
  const seen: string[] = []
  const step = (name: string, waitMs: number) => async () => {
    seen.push(`${name} begins`)
    await new Promise((resolve) => setTimeout(resolve, waitMs))
    seen.push(`${name} ends`)
  }
  await Promise.all([turns.run(1, step('a', 20)), turns.run(1, step('b', 0)), turns.run(2, step('c', 0))])
  t.strictSame(seen, ['a begins', 'c begins', 'c ends', 'a ends', 'b begins', 'b ends'])
})

t.test('a failed task is reported to its caller, and holds up no other', async (t) => {
  const turns = createTurnsByKey<string>()
  const fails = turns.run('a', () => Promise.reject(new Error('no')))
  const next = turns.run('a', async () => 7)
  await t.rejects(fails, { message: 'no' })
  t.equal(await next, 7)
})
