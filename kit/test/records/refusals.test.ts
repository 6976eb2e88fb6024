import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createRefusals, type RefusalNote } from '../../records/records.ts'

function refusalsOf(maxGroups = 3) {
  const clock = fakeClock()
  const told: RefusalNote[] = []
  const refusals = createRefusals({ clock, record: (note) => told.push(note), quietMs: 1000, maxGroups })
  const add = (group: string) =>
    refusals.add({ group, who: 'nobody', from: group, what: 'sign-in refused', detail: { error: 'wrong_login' } })
  return { clock, refusals, told, add }
}

const told = (notes: RefusalNote[]) => notes.map(({ from, detail }) => `${from} ${detail.times}`)

t.test('the first is reported at once, the rest as a count at the end of each quiet time', async (t) => {
  const { add, clock, told: notes } = refusalsOf()
  add('192.0.2.1')
  t.match(notes, [{ what: 'sign-in refused', detail: { error: 'wrong_login', times: 1 }, kind: 'refusal' }])
  for (let times = 0; times < 500; times++) add('192.0.2.1')
  await clock.run(999)
  t.equal(notes.length, 1)
  await clock.run(1)
  for (let times = 0; times < 7; times++) add('192.0.2.1')
  await clock.run(5000)
  t.same(told(notes), ['192.0.2.1 1', '192.0.2.1 500', '192.0.2.1 7'])
  t.equal(clock.pending(), 0)
  add('192.0.2.1')
  t.equal(notes.length, 4, 'after a quiet time it is reported at once again')
})

t.test('a guesser with a thousand addresses gets one entry per group, and one more', async (t) => {
  const { add, clock, told: notes } = refusalsOf()
  for (let address = 0; address < 1000; address++) add(`192.0.2.${address}`)
  await clock.run(1000)
  t.same(told(notes), ['192.0.2.0 1', '192.0.2.1 1', '192.0.2.2 1', '192.0.2.3 1', '192.0.2.999 996'])
})

t.test('the count is reported when it closes, and no timer is left', async (t) => {
  const { add, clock, refusals, told: notes } = refusalsOf()
  for (const group of ['a', 'a', 'a', 'b']) add(group)
  refusals.close()
  t.same(told(notes), ['a 1', 'b 1', 'a 2'])
  t.equal(clock.pending(), 0)
})
