import t from 'tap'
import type { Box } from '../../../core/sight/boxes.ts'
import { createMotionTracker } from '../../../core/sight/motion-track.ts'

const moving = (...boxes: Box[]) => boxes.map((box) => ({ label: 'motion', score: 0.9, box }))
const [leaf, person]: Box[] = [
  [0.1, 0.1, 0.2, 0.2],
  [0.7, 0.5, 0.8, 0.9],
]

t.test('all that moves in a picture is one motion, in the box of it all, as long as anything moves', async (t) => {
  const tracker = createMotionTracker({ agree: 2, lostMs: 3000 })
  t.same(tracker.update(1000, moving(leaf as Box)), { seen: [], begun: [], ended: [] }, 'one picture may be noise')
  const { begun, seen } = tracker.update(1500, moving(leaf as Box, person as Box))
  t.match(begun, [{ track: { trackId: 1, label: 'motion', group: 'other', firstAt: 1000, lastAt: 1500 } }])
  t.same(
    begun[0]?.before.map(({ at }) => at),
    [1000, 1500],
  )
  t.same(seen[0]?.box, [0.1, 0.1, 0.8, 0.9])
  for (let at = 2000; at < 20_000; at += 500)
    t.match(tracker.update(at, moving((at % 1000 === 0 ? leaf : person) as Box)), { begun: [], ended: [] })
  t.same(tracker.update(21_000, []).ended, [], 'nothing moves, for a moment')
  t.match(tracker.update(24_000, []).ended, [{ trackId: 1, lastAt: 19_500, best: { at: 1500 } }])
  t.same(tracker.update(30_000, moving(leaf as Box)).begun, [])
  t.match(tracker.update(30_500, moving(leaf as Box)).begun, [{ track: { trackId: 2, firstAt: 30_000 } }])
  t.same(tracker.update(30_000, moving(leaf as Box)).seen, [], 'an older picture is left out')
  t.match(tracker.expire(60_000), [{ trackId: 2 }])
})

t.test('a flash that comes once is none, and what moves for hours is told in parts', async (t) => {
  const tracker = createMotionTracker({ agree: 2, lostMs: 3000 })
  tracker.update(1000, moving(leaf as Box))
  t.same(tracker.update(20_000, moving(leaf as Box)).begun, [], 'too long ago to agree')
  let [begun, ended] = [0, 0]
  for (let at = 21_000; at < 21_000 + 4 * 3_600_000; at += 1000) {
    const news = tracker.update(at, moving(person as Box))
    begun += news.begun.length
    ended += news.ended.length
  }
  t.same([begun, ended], [8, 7])
})
