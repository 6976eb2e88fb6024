import t from 'tap'
import { nextPointQuality, type PointEvent, type PointQuality } from '../../../core/points/values.ts'

const rows: [PointQuality, PointEvent, PointQuality][] = [
  ['unknown', 'read', 'good'],
  ['unknown', 'refused', 'bad'],
  ['unknown', 'unanswered', 'bad'],
  ['good', 'refused', 'bad'],
  ['good', 'aged', 'stale'],
  ['stale', 'read', 'good'],
  ['stale', 'refused', 'bad'],
  ['bad', 'read', 'good'],
]
for (const [quality, event, next] of rows)
  t.test(`a point that is ${quality} becomes ${next} on ${event}`, async (t) => {
    t.equal(nextPointQuality(quality, event), next)
  })

t.test('every other pair leaves it as it is', async (t) => {
  const listed = new Set(rows.map(([quality, event]) => `${quality} ${event}`))
  for (const quality of ['unknown', 'good', 'stale', 'bad'] as const)
    for (const event of ['read', 'refused', 'unanswered', 'aged'] as const)
      if (!listed.has(`${quality} ${event}`))
        t.equal(nextPointQuality(quality, event), quality, `${quality} on ${event}`)
})
