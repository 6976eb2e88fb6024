/** An update that is cut off between any two changes of the disk leaves the old or the new version, whole. */
import { t } from 'tap'
import { noLoopDisks } from '../loop-disk.ts'
import { cutPower } from './power-cuts.ts'
import { fillOnce, killStage, killThrice } from './update-kills.ts'

for (const how of [undefined, 'sick'] as const)
  t.test(`killed before each change of the disk, and twice more: ${how ?? 'well'}`, { timeout: 900_000 }, async (t) => {
    const stage = await killStage(t)
    let n = 1
    while (await killThrice(t, stage, n, how)) n++
    t.comment(`${n - 1} changes of the disk`)
    t.ok(n > 50, 'the library saw them')
  })

t.test('killed before each change of the disk, and twice more: by a delta', { timeout: 900_000 }, async (t) => {
  const stage = await killStage(t, true)
  let n = 1
  while (await killThrice(t, stage, n)) n++
  t.comment(`${n - 1} changes of the disk`)
  t.ok(n > 50, 'the library saw them')
  t.ok(stage.server.pulled.every((one) => one === 'delta from 1.0.0'))
})

for (const isSick of [false, true])
  t.test(
    `the power is cut 25 times: ${isSick ? 'the release is taken back' : 'the release is applied'}`,
    { skip: noLoopDisks, timeout: 900_000 },
    async (t) => {
      const found = await cutPower(t, { cuts: 25, isSick, mostChanges: isSick ? 116 : 88 })
      t.comment(`ran after the cut: ${found.join(' ')}`)
    },
  )

for (const how of [undefined, 'sick'] as const)
  t.test(`full from each call that needs room on: ${how ?? 'well'}`, { timeout: 900_000 }, async (t) => {
    const stage = await killStage(t)
    for (let n = 1; await fillOnce(t, stage, n, how); n++);
  })

t.test('full from each call that needs room on: by a delta', { timeout: 900_000 }, async (t) => {
  const stage = await killStage(t, true)
  for (let n = 1; await fillOnce(t, stage, n); n++);
})
