/** Which of several clients may write. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { type WriteMode, WriteRule } from '../../core/line-sharing.ts'

function ruleHere(mode: WriteMode, idleMs = 10_000) {
  const clock = fakeClock()
  let changes = 0
  const rule = new WriteRule<string>(mode, { clock, idleMs, onChange: () => changes++ })
  for (const name of ['ann', 'bob', 'cid']) rule.came(name)
  return { clock, rule, changes: () => changes, who: () => ['ann', 'bob', 'cid'].filter((one) => rule.mayWrite(one)) }
}

t.test('B.serial.write all: every client may', async (t) => {
  const { rule, who } = ruleHere('all')
  t.strictSame(who(), ['ann', 'bob', 'cid'])
  t.equal(rule.write('cid'), true)
  t.equal(rule.mayPass('bob'), true)
})

t.test('B.serial.write first: the longest connected client may, and then the next', async (t) => {
  const { rule, who } = ruleHere('first')
  t.strictSame(who(), ['ann'])
  t.equal(rule.write('bob'), false)
  t.equal(rule.mayPass('ann'), true)
  rule.left('ann')
  t.strictSame(who(), ['bob'])
})

t.test('B.serial.write exclusive: the client that writes first has the line until it leaves', async (t) => {
  const { rule, who } = ruleHere('exclusive')
  t.strictSame(who(), ['ann', 'bob', 'cid'])
  t.equal(rule.mayPass('bob'), false, 'its first bytes have to be seen')
  t.equal(rule.write('bob'), true)
  t.equal(rule.write('ann'), false)
  t.equal(rule.mayPass('bob'), true)
  t.strictSame(who(), ['bob'])
  rule.left('bob')
  t.strictSame(
    who(),
    ['ann', 'cid']
      .concat('bob')
      .sort()
      .filter((one) => rule.mayWrite(one)),
  )
  t.equal(rule.write('ann'), true)
})

t.test('B.serial.write exclusive: a silent writer gives way, one that keeps writing does not', async (t) => {
  const { clock, rule, who } = ruleHere('exclusive', 1000)
  rule.write('bob')
  for (let second = 0; second < 5; second++) {
    clock.advance(900)
    t.equal(rule.write('bob'), true)
  }
  clock.advance(999)
  t.strictSame(who(), ['bob'])
  clock.advance(2)
  t.strictSame(who(), ['ann', 'bob', 'cid'])
  t.equal(clock.pending(), 0)
})

t.test('without a limit for silence the writer keeps the line', async (t) => {
  const { clock, rule, who } = ruleHere('exclusive', 0)
  rule.write('cid')
  clock.advance(86_400_000)
  t.strictSame(who(), ['cid'])
})

t.test('every client is told when another mode is set, and the right to write is open again', async (t) => {
  const { rule, changes, who } = ruleHere('exclusive')
  rule.write('bob')
  const before = changes()
  rule.setMode('all')
  t.ok(changes() > before)
  t.strictSame(who(), ['ann', 'bob', 'cid'])
})
