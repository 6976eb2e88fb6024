/** A hundred kills and twenty power cuts of a process that writes footage, and the start with a month of footage. */
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { systemClock } from '#kit/clock.ts'
import { loopDisk, noLoopDisks } from '#kit/test/loop-disk.ts'
import { stateFolderOf } from '#kit/test/running-daemon.ts'
import { openFootageIndex } from '../io/footage-index.ts'
import { judged, judgeGroups, startWriter, type TakenGroup } from './footage-cuts.ts'
import { openStage } from './footage-stage.ts'

const KILLS = 100
const CUTS = 20
const FLUSH_MS = 1000
/** What a sync may take on this machine, beside its turn. */
const SYNC_MS = 1000
/** The sheet: a start after a kill, with whatever is there. */
const START_MS = 2000

t.test('killed at a hundred random instants, no group that the disk took is lost', { timeout: 600_000 }, async (t) => {
  const root = stateFolderOf(t)
  const taken: TakenGroup[] = []
  for (let at = 0; at < KILLS; at++) {
    const writer = startWriter(root, FLUSH_MS)
    await writer.wrote(1)
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 400))
    await writer.kill()
    taken.push(...writer.taken())
  }
  const { groups, startMs } = await judged(t, root)
  judgeGroups(t, groups, taken)
  t.comment(`${taken.length} groups were taken; the last start took ${Math.round(startMs)} ms`)
  t.ok(startMs < START_MS)
})

t.test(
  'with the power cut at twenty random instants, what is lost is younger than the last sync',
  {
    skip: noLoopDisks,
    timeout: 600_000,
  },
  async (t) => {
    const work = stateFolderOf(t)
    const disk = loopDisk(t, work, 'present', 120)
    const writer = startWriter(disk.folder, FLUSH_MS)
    await writer.wrote(10)
    for (let at = 0; at < CUTS; at++) {
      await new Promise((resolve) => setTimeout(resolve, 200 + Math.random() * 800))
      process.kill(writer.pid, 'SIGSTOP')
      const cutMs = systemClock.monotonicMs()
      // What has reached the device, and nothing of what the kernel holds above it.
      const cut = loopDisk(t, work, `cut${at}`, 1)
      cut.unmount()
      copyFileSync(disk.image, cut.image)
      process.kill(writer.pid, 'SIGCONT')
      cut.mount()
      const { groups, startMs } = await judged(t, cut.folder)
      const safe = writer.taken().filter(({ atMs }) => atMs < cutMs - FLUSH_MS - SYNC_MS)
      judgeGroups(t, groups, safe)
      const kept = [...groups.values()].reduce((sum, one) => sum + one.length, 0)
      t.comment(
        `cut ${at}: ${kept} of ${writer.taken().length} groups, ${safe.length} had to be there; start ${Math.round(startMs)} ms`,
      )
      cut.unmount()
      rmSync(cut.image)
    }
    await writer.kill()
  },
)

t.test('with a month of 32 cameras the index is open in less than two seconds', { timeout: 600_000 }, async (t) => {
  const root = stateFolderOf(t)
  const stage = await openStage(t, { root, folders: ['disk'] })
  const [{ id } = { id: null }] = stage.footage.disks()
  await stage.footage.close()
  const index = openFootageIndex(join(root, 'index'))
  const disk = index.diskOf(id ?? '')
  const DAYS = 30
  const BEGIN = 1_900_000_000_000
  const fragments = Array.from({ length: 15 }, (_, at) => ({
    ...{ offset: at * 1e6, length: 1e6, decodeTicks: at * 360_000, durationTicks: 360_000 },
    ...{ wallMs: BEGIN + at * 4000, isKey: true },
  }))
  index.together(() => {
    for (let camera = 0; camera < 32; camera++)
      for (let minute = 0; minute < DAYS * 1440; minute++) {
        const startAt = BEGIN + minute * 60_000
        const name = `camera${String(camera).padStart(2, '0')}`
        const path = `${name}/2030-03-17/${startAt}.mp4`
        index.put({ disk, path, camera: name, startAt, endAt: startAt + 60_000, bytes: 15e6, fragments }, 'kept', false)
      }
  })
  for (const camera of index.cameras()) {
    const path = join(root, 'disk', index.oldest(disk, camera)?.path ?? '')
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, '')
  }
  index.close()
  const begunMs = performance.now()
  const again = await openStage(t, { root, folders: ['disk'] })
  const startMs = performance.now() - begunMs
  const { footage } = again
  t.equal(footage.newestAt(), BEGIN + DAYS * 86_400_000)
  const askedMs = performance.now()
  t.equal(footage.spans('camera07', BEGIN + 86_400_000, BEGIN + 5 * 86_400_000).length, 4 * 1440)
  const spansMs = performance.now() - askedMs
  t.comment(`start ${Math.round(startMs)} ms, four days of one camera ${Math.round(spansMs)} ms`)
  t.ok(startMs < START_MS)
  await footage.close()
})
