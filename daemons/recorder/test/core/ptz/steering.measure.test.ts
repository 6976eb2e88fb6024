import t from 'tap'
import { aimAt, SPACES } from './aim-points.ts'

for (const space of Object.keys(SPACES) as (keyof typeof SPACES)[])
  t.test(`A.ptz.aim a hundred points come into the middle, and the picture tells how near: ${space}`, async (t) => {
    const { apart, clamped, corrections, errors, unseen } = await aimAt(space, 100)
    const worst = errors.at(-1) ?? 1
    t.comment(`median ${errors[50]}, worst ${worst}, told wrong by ${apart.at(-1)} at most, ${corrections} corrections`)
    t.same([unseen, clamped, errors.length], [0, 0, 100])
    t.ok(worst < 0.025, `${worst} of the frame`)
    t.ok((apart.at(-1) ?? 1) < 0.02, `${apart.at(-1)} apart`)
  })
