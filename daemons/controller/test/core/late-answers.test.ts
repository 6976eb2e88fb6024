import t from 'tap'
import { createSlowDown } from '#kit/auth/slow-down.ts'
import { fakeClock } from '#kit/clock-fake.ts'
import { createLateAnswers } from '../../core/late-answers.ts'

function answersOf() {
  const clock = fakeClock()
  const table = () =>
    createSlowDown({ clock, freeTries: 3, waitMs: 250, waitMaxMs: 1000, forgetMs: 600_000, table: 10 })
  return { clock, answers: createLateAnswers({ clock, networks: table(), accounts: table(), most: 2 }) }
}

type World = ReturnType<typeof answersOf>

/** How long a wrong answer is held. */
async function heldMs({ clock, answers }: World, network: string, account: string): Promise<number> {
  const startMs = clock.monotonicMs()
  let endMs: number | undefined
  void answers.hold(network, account).then(() => (endMs = clock.monotonicMs()))
  for (let ms = 0; endMs === undefined && ms < 5000; ms += 50) await clock.run(ms === 0 ? 0 : 50)
  return (endMs ?? Number.POSITIVE_INFINITY) - startMs
}

t.test('from the last free try on answers of a network take longer and longer, up to a bound', async (t) => {
  const world = answersOf()
  const waits: number[] = []
  for (let i = 0; i < 7; i++) waits.push(await heldMs(world, 'a', `nobody ${i}`))
  t.strictSame(waits, [0, 0, 250, 500, 1000, 1000, 1000])
  t.equal(await heldMs(world, 'b', 'nobody'), 0)
})

t.test('so do those of an account that is guessed at from everywhere, until its owner has signed in', async (t) => {
  const world = answersOf()
  const waits: number[] = []
  for (let i = 0; i < 4; i++) waits.push(await heldMs(world, `network ${i}`, 'ada'))
  t.strictSame(waits, [0, 0, 250, 500])
  world.answers.forget('ada')
  t.equal(await heldMs(world, 'another', 'ada'), 0)
})

t.test('who signs in does not wipe out what was guessed from that network', async (t) => {
  const world = answersOf()
  for (let i = 0; i < 3; i++) await heldMs(world, 'a', `nobody ${i}`)
  world.answers.forget('eve')
  t.equal(await heldMs(world, 'a', 'ada'), 500)
})

t.test('the bound of a network holds only while it has been wrong too often, and others are none of it', async (t) => {
  const { answers, clock } = answersOf()
  const never = () => new Promise<never>(() => {})
  for (let i = 0; i < 5; i++) void answers.within('a', never)
  t.equal(await answers.within('a', async () => 'right'), 'right')
  for (let i = 0; i < 3; i++) void answers.hold('a', `nobody ${i}`)
  await t.rejects(
    answers.within('a', async () => 'right'),
    { code: 'busy', details: { retryAfterMs: 250 } },
  )
  t.equal(await answers.within('b', async () => 'right'), 'right')
  await clock.run(250)
  t.equal(await answers.within('a', async () => 'right'), 'right')
})

t.test('who has had an answer leaves one place, and not those of others', async (t) => {
  const { answers } = answersOf()
  const ends: (() => void)[] = []
  const under = [1, 2, 3].map(() => answers.within('a', () => new Promise<void>((resolve) => ends.push(resolve))))
  for (let i = 0; i < 3; i++) void answers.hold('a', `nobody ${i}`)
  const ask = () => answers.within('a', async () => 'right')
  ends[0]?.()
  await under[0]
  await t.rejects(ask(), { code: 'busy' }, 'two are under way still')
  ends[1]?.()
  await under[1]
  t.equal(await ask(), 'right')
})

t.test('what fails leaves its place', async (t) => {
  const { answers } = answersOf()
  for (let i = 0; i < 3; i++) void answers.hold('a', `nobody ${i}`)
  for (let i = 0; i < 5; i++)
    await t.rejects(
      answers.within('a', () => Promise.reject(new Error('no'))),
      { message: 'no' },
    )
})
