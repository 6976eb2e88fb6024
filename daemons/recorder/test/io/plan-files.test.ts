/** Tests of io/plan-files.ts. */
import t from 'tap'
import { createLog } from '#kit/log.ts'
import { stateFolderOf } from '#kit/test/running-daemon.ts'
import type { PlansRecord } from '../../core/plans/site-plans.ts'
import { openPlanFile } from '../../io/plan-files.ts'

const log = createLog({ level: 'error' })

t.test('plans, placements and both kinds of calibration are there again after a restart', async (t) => {
  const folder = stateFolderOf(t)
  const first = await openPlanFile(folder, log)
  t.same(first.record, { plans: [], placements: {} })
  const at = { planId: 'p1', x: 1.5, y: 2, headingDeg: 359.9, hfovDeg: 70, rangePx: 80 }
  const record: PlansRecord = {
    plans: [{ id: 'p1', name: 'Ground', width: 40, height: 20, picture: `${'a'.repeat(64)}.png`, bytes: 7 }],
    placements: {
      door: { ...at, calibration: null },
      yard: {
        ...at,
        calibration: { kind: 'homography', points: [{ picture: [0.5, 1], plan: [40, 0] }], residualPx: 0.25 },
      },
      dome: {
        ...at,
        calibration: {
          ...{ kind: 'ptz', headingDeg: 12, height: null, residualDeg: 0.5 },
          samples: [{ position: { pan: -12, tilt: 0, zoom: 1 }, plan: [3, 4] }],
        },
      },
    },
  }
  await first.save(record)
  t.same((await openPlanFile(folder, log)).record, record)
})
