import t from 'tap'
import { createDataTurns, type Steps } from '../../../core/data/turns.ts'

/** A clock that each step advances by 1 ms, and an event loop that the test runs. */
function stage({ turnMs = 10, queries = 100, sideBySide = 100 } = {}) {
  let nowMs = 0
  const arounds: (() => void)[] = []
  const limits = { turnMs, queries, sideBySide }
  const turns = createDataTurns({ nowMs: () => nowMs, onceAround: (run) => void arounds.push(run), limits })
  /** The longest time of work without a turn of the loop. */
  const longest = { ms: 0 }
  let sinceMs = 0
  function* work(steps: number, name = ''): Steps<string> {
    for (let step = 0; step < steps; step++) {
      nowMs++
      sinceMs++
      longest.ms = Math.max(longest.ms, sinceMs)
      yield
    }
    return name
  }
  async function goAround(): Promise<boolean> {
    sinceMs = 0
    const run = arounds.shift()
    run?.()
    for (let at = 0; at < 8; at++) await Promise.resolve()
    return run !== undefined
  }
  async function untilIdle(): Promise<void> {
    while (await goAround());
  }
  return { turns, work, goAround, untilIdle, longest }
}

t.test('a short query is answered at once', async (t) => {
  const { turns, work } = stage()
  t.equal(turns.run(1, work(9, 'done')), 'done')
})

t.test('a long query is answered in pieces of one turn', async (t) => {
  const { turns, work, untilIdle, longest } = stage()
  const asked = turns.run(1, work(95, 'done'))
  t.type(asked, Promise)
  await untilIdle()
  t.equal(await asked, 'done')
  t.ok(longest.ms <= 11, `${longest.ms}`)
})

t.test('a hundred queries at once delay others no longer than one', async (t) => {
  const { turns, work, untilIdle, longest } = stage()
  const asked = Array.from({ length: 100 }, (_, at) => turns.run(at, work(9, `${at}`)))
  t.ok(longest.ms <= 20, `${longest.ms}`)
  await untilIdle()
  t.same(
    await Promise.all(asked),
    asked.map((_, at) => `${at}`),
  )
  t.ok(longest.ms <= 20, `${longest.ms}`)
})

t.test('an account with many queries waits for itself, and others do not wait for it', async (t) => {
  const { turns, work, goAround, untilIdle } = stage()
  const ended: string[] = []
  const ask = (userId: number, name: string) =>
    void Promise.resolve(turns.run(userId, work(25, name))).then((one) => ended.push(one))
  for (let at = 0; at < 20; at++) ask(1, `greedy ${at}`)
  ask(2, 'modest')
  for (let at = 0; at < 8; at++) await goAround()
  t.ok(ended.includes('modest'), ended.join())
  t.ok(ended.length < 4)
  await untilIdle()
  t.equal(ended.length, 21)
})

t.test('an account at its limit of queries is full, and no other account is', async (t) => {
  const { turns, work, untilIdle } = stage({ queries: 2 })
  const asked = [turns.run(1, work(50)), turns.run(1, work(50))]
  t.same([turns.isFull(1), turns.isFull(2)], [true, false])
  await untilIdle()
  await Promise.all(asked)
  t.equal(turns.isFull(1), false)
})

t.test('a query that throws is rejected, and frees its place', async (t) => {
  const { turns, work, untilIdle } = stage({ queries: 1 })
  function* broken(): Steps<string> {
    yield* work(30)
    throw new Error('broken')
  }
  const asked = turns.run(1, broken())
  const refused = t.rejects(Promise.resolve(asked), { message: 'broken' })
  await untilIdle()
  await refused
  t.equal(turns.isFull(1), false)
  t.throws(() => turns.run(1, throwing()), { message: 'at once' })
})

// biome-ignore lint/correctness/useYield: it never gets there
function* throwing(): Steps<string> {
  throw new Error('at once')
}

t.test(
  'a limited number of queries of one account take turns; the others wait, and hold nothing until then',
  async (t) => {
    const { turns, work, untilIdle } = stage({ sideBySide: 2 })
    const begun = new Set<string>()
    let most = 0
    const ended: string[] = []
    function* watched(name: string, steps: number): Steps<void> {
      begun.add(name)
      most = Math.max(most, begun.size)
      yield* work(steps)
      begun.delete(name)
      ended.push(name)
    }
    const first = turns.run(1, work(95))
    const asked = ['a', 'b', 'c', 'd', 'e'].map((name, at) => turns.run(1, watched(name, at === 0 ? 200 : 30)))
    await untilIdle()
    await Promise.all([first, ...asked])
    t.equal(most, 2)
    t.same(ended.toSorted(), ['a', 'b', 'c', 'd', 'e'])
    t.not(ended[0], 'a', 'short ones overtake the long one')
  },
)
