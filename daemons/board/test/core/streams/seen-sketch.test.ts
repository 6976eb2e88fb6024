/** Tests of core/streams/book.ts. */
import t from 'tap'
import { createSeenSketch } from '../../../core/streams/book.ts'

t.test('something seen before is recognised once two seconds have passed', async (t) => {
  const seen = createSeenSketch()
  t.equal(seen.meet('a', 1000), false)
  t.equal(seen.meet('a', 1500), false)
  t.equal(seen.meet('b', 3500), false)
  t.equal(seen.meet('a', 3500), true)
})

t.test('after 30,000 others most are still recognised, and few that were never seen', async (t) => {
  const seen = createSeenSketch()
  for (let number = 0; number < 30_000; number++) seen.meet(`${number}@10.1.5.20`, 0)
  let known = 0
  for (let number = 0; number < 1000; number++) if (seen.meet(`${number}@10.1.5.20`, 30_000)) known++
  t.ok(known > 700, `${known} of 1000`)
  let mistaken = 0
  for (let number = 0; number < 10_000; number++) if (seen.meet(`${number}@10.2.2.2`, 30_000)) mistaken++
  t.ok(mistaken < 5, `${mistaken} of 10000`)
})
