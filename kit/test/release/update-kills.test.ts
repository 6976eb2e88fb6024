/** An update that is cut off between two changes of the disk leaves the old or the new version, whole: a sample. */
import { cpSync, statfsSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { loopDisk, noLoopDisks } from '../loop-disk.ts'
import { cutPower } from './power-cuts.ts'
import { fillOnce, killStage, killThrice } from './update-kills.ts'
import { startedVersion } from './update-stage.ts'

t.test('an update that is killed three times and run again is applied, or taken back', async (t) => {
  const stage = await killStage(t)
  for (let n = 1; await killThrice(t, stage, n); n += 29);
  await killThrice(t, stage, 70, 'sick')
})

t.test('so is one by a delta, which goes on where it was', async (t) => {
  const stage = await killStage(t, true)
  for (let n = 1; await killThrice(t, stage, n); n += 31);
  t.ok(stage.server.pulled.length > 0)
  t.ok(
    stage.server.pulled.every((one) => one === 'delta from 1.0.0'),
    'no kill makes the archive come',
  )
})

t.test(
  'after a power cut the old or the new version runs, and the update goes on',
  { skip: noLoopDisks },
  async (t) => {
    await cutPower(t, { cuts: 3, isSick: false, mostChanges: 88 })
  },
)

t.test('a disk that is full leaves the old or the new version, whole, and says how much is missing', async (t) => {
  const stage = await killStage(t)
  for (const n of [1, 9, 19, 30]) await fillOnce(t, stage, n)
  await fillOnce(t, stage, 32, 'sick')
  const byDelta = await killStage(t, true)
  for (const n of [9, 19, 30]) await fillOnce(t, byDelta, n)
})

t.test('as much room as was said to be missing is enough', { skip: noLoopDisks }, async (t) => {
  const stage = await killStage(t)
  const disk = loopDisk(t, t.testdir(), 'small', 8)
  const folder = join(disk.folder, 'machine')
  cpSync(stage.machine(), folder, { recursive: true, verbatimSymlinks: true })
  const filler = join(disk.folder, 'filler')
  const { bavail, bsize } = statfsSync(disk.folder)
  // Room for the archive and the half of its files.
  writeFileSync(filler, Buffer.alloc(bavail * bsize - 260_000))
  const said = await stage.apply(folder, 0)
  t.match(said, { fault: 'update_disk_full' })
  t.equal(await startedVersion(join(folder, 'root')), '1.0.0')
  truncateSync(filler, statSync(filler).size - Number(said?.missingBytes) - 65_536)
  t.match(await stage.apply(folder, 0), { outcome: 'applied' }, JSON.stringify(said))
})
