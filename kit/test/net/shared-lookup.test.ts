/** Tests of net/target.ts. */
import t from 'tap'
import { type Answered, createSharedLookup } from '../../net/target.ts'

function sharedOver() {
  const asked: { hostname: string; answer: Answered }[] = []
  const lookup = createSharedLookup((hostname, _options, answer) => void asked.push({ hostname, answer }))
  return { asked, lookup }
}

const found = [{ address: '192.0.2.1', family: 4 }]

t.test('looks up a name once for many callers, and answers them all', async (t) => {
  const { asked, lookup } = sharedOver()
  const answers: unknown[] = []
  for (let i = 0; i < 100; i++) lookup('a.example', { all: true }, (error, list) => answers.push([error, list]))
  t.equal(asked.length, 1)
  asked[0]?.answer(null, found)
  t.same(answers, new Array(100).fill([null, found]))
})

t.test('looks up again after the answer, or its failure', async (t) => {
  const { asked, lookup } = sharedOver()
  const failed: unknown[] = []
  lookup('a.example', { all: true }, (error) => failed.push(error?.message))
  asked[0]?.answer(new Error('no resolver'), [])
  lookup('a.example', { all: true }, () => {})
  t.same(failed, ['no resolver'])
  t.equal(asked.length, 2)
})

t.test('looks up another name, or another family, separately', async (t) => {
  const { asked, lookup } = sharedOver()
  lookup('a.example', { all: true }, () => {})
  lookup('b.example', { all: true }, () => {})
  lookup('a.example', { all: true, family: 6 }, () => {})
  t.equal(asked.length, 3)
})
