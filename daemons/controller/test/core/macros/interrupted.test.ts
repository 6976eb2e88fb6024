import t from 'tap'
import { tellInterrupted } from '../../../core/macros/engine.ts'
import type { Row } from '../../../core/site/book.ts'
import { argsOf, rig } from './macro-rig.ts'

t.test('runs that were active when the daemon was killed are reported as interrupted at the next start', async (t) => {
  const house = rig([
    { name: 'Slow', mode: 'queued', steps: [{ type: 'delay', args: { ms: 60_000 } }] },
    { name: 'Quick' },
  ])
  for (const id of [1, 2, 1]) {
    const plan = house.book.plan(house.book.find({ id }) as Row)
    house.engine.start({ plan, args: argsOf({}), caller: null })
  }
  await house.clock.run(100)
  // The engine is abandoned here, as after SIGKILL.
  t.equal(await tellInterrupted(house.ports.keeper, 1_900_000_100_000), 2)
  t.same(
    house.rows.map(({ end }) => [end?.result, end?.ended_at === 1_900_000_100_000]),
    [
      ['interrupted', true],
      ['done', false],
      ['interrupted', true],
    ],
  )
  t.equal(await tellInterrupted(house.ports.keeper, 1), 0)
})
