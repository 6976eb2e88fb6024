/** Footage on real disks that fill up, hang, are pulled, are read-only, or are other ones. */
import { execFileSync } from 'node:child_process'
import { globSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import { type LoopDisk, loopDisk, noLoopDisks } from '#kit/test/loop-disk.ts'
import { stateFolderOf } from '#kit/test/running-daemon.ts'
import {
  type FootageStage,
  facts,
  fragmentOf,
  head,
  openStage,
  record,
  START,
  settled,
  spansOf,
} from '../footage-stage.ts'

/** Two disks, and a folder of each. */
async function twoDisks(
  t: Test,
  megabytes = [24, 24],
  limits: { proveMs?: number } = {},
): Promise<{ stage: FootageStage; disks: [LoopDisk, LoopDisk] }> {
  const root = stateFolderOf(t)
  const disks = megabytes.map((size, at) => loopDisk(t, root, `disk${at}`, size)) as [LoopDisk, LoopDisk]
  const folders = disks.map(({ folder }) => ({ folder: join(folder, 'footage'), isOwn: true }))
  const stage = await openStage(t, { root, folders, limits })
  return { stage, disks }
}

/** Longer than a test: a disk is written once, and only read then. */
const NEVER_MS = 86_400_000

const stateOf = ({ footage }: FootageStage, at: number) => footage.disks()[at]?.state
const filesBelow = (folder: string) => globSync(`${folder}/footage/*/*/*.mp4`).length

/** Lets looks come due until it is so; between them the disk has its time. */
async function looked({ clock }: FootageStage, isTrue: () => boolean): Promise<void> {
  while (!isTrue()) {
    await clock.run(1000)
    for (let at = 0; at < 10 && !isTrue(); at++) await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Records a minute after the other, and sees that each is kept on the disk that is left. */
async function goesOn(t: Test, stage: FootageStage, folder: string): Promise<void> {
  const before = filesBelow(folder)
  for (const at of [1, 2]) record(stage, 'cc', START + at * 600_000, 2).close()
  await settled(() => spansOf(stage, 'cc').length >= 2)
  t.equal(filesBelow(folder), before + 2, `${basename(folder)} takes the files`)
}

t.test('a disk that is full lets its oldest go, and what is preserved stays', { skip: noLoopDisks }, async (t) => {
  const root = stateFolderOf(t)
  const disk = loopDisk(t, root, 'small', 12)
  let isHeld = false
  const stage = await openStage(t, {
    ...{ root, folders: [{ folder: disk.folder, isOwn: true }] },
    ...{ limits: { queueBytes: 4e6, totalQueueBytes: 4e6 }, keeping: { isHeld: () => isHeld } },
  })
  const { footage } = stage
  const count = { taken: 0, done: 0 }
  /** A file of 2 MB. @returns whether it was taken */
  async function fill(at: number): Promise<boolean> {
    const startAt = START + at * 60_000
    const file = footage.begin({ camera: 'aa', startAt, facts, head })
    const time = { decodeTicks: 0, durationTicks: 90_000, wallMs: startAt, isKey: true }
    const isTaken = file.append(
      fragmentOf(new Uint8Array(2e6), () => void count.done++),
      time,
    )
    if (isTaken) count.taken++
    file.close()
    const isOver = () => spansOf(stage).at(-1)?.startAt === startAt || stateOf(stage, 0) !== 'here'
    if (isTaken) await settled(isOver)
    await stage.clock.run(2000)
    return isTaken
  }
  for (let at = 0; at < 8; at++) {
    await looked(stage, () => stateOf(stage, 0) === 'here')
    await fill(at)
    await footage.trim()
  }
  t.ok((spansOf(stage)[0]?.startAt ?? 0) > START, 'the oldest went')
  isHeld = true
  footage.hold('aa', 0, START * 2, true)
  const [oldest] = spansOf(stage)
  for (let at = 8; at < 16 && (await fill(at)); at++);
  await looked(stage, () => stateOf(stage, 0) === 'full')
  t.equal(footage.isReady(), false, 'nothing more is begun')
  t.same(spansOf(stage)[0], oldest)
  t.match(footage.disks(), [{ state: 'full', fault: { code: 'disk_full' } }])
  isHeld = false
  footage.hold('aa', 0, START * 2, false)
  await footage.trim()
  await looked(stage, () => stateOf(stage, 0) === 'here')
  await footage.close()
  t.equal(count.done, count.taken, 'each is given back once, also where the disk had no room for all of it')
})

t.test(
  'a disk that becomes read-only is left, and taken again once it can be written',
  { skip: noLoopDisks },
  async (t) => {
    const { disks, stage } = await twoDisks(t, [24, 24], { proveMs: NEVER_MS })
    execFileSync('mount', ['-o', 'remount,ro', disks[0].folder])
    await looked(stage, () => stateOf(stage, 0) === 'failing')
    t.match(stage.footage.disks()[0]?.fault, { code: 'disk_failing', message: /read-only/ })
    await goesOn(t, stage, disks[1].folder)
    execFileSync('mount', ['-o', 'remount,rw', disks[0].folder])
    await looked(stage, () => stateOf(stage, 0) === 'here')
    await stage.footage.close()
  },
)

t.test(
  'a disk that hangs holds up no other, and writes what waited when it answers',
  { skip: noLoopDisks },
  async (t) => {
    const { disks, stage } = await twoDisks(t, [40, 24])
    const file = record(stage, 'aa', START, 2)
    await settled(() => spansOf(stage)[0]?.endAt === START + 2000)
    t.equal(filesBelow(disks[0].folder), 1, 'the disk with most room has it')
    disks[0].freeze()
    await looked(stage, () => stateOf(stage, 0) === 'stuck')
    t.equal(
      file.append(fragmentOf(new Uint8Array(9)), { decodeTicks: 0, durationTicks: 1, wallMs: START, isKey: true }),
      false,
    )
    await goesOn(t, stage, disks[1].folder)
    disks[0].thaw()
    await looked(stage, () => stateOf(stage, 0) === 'here')
    t.same(spansOf(stage), [{ startAt: START, endAt: START + 2000 }])
    await stage.footage.close()
  },
)

t.test(
  'alone, a disk that hangs for a while loses nothing: what comes waits for it',
  { skip: noLoopDisks },
  async (t) => {
    const root = stateFolderOf(t)
    const disk = loopDisk(t, root, 'only', 24)
    const stage = await openStage(t, { root, folders: [{ folder: disk.folder, isOwn: true }] })
    disk.freeze()
    await looked(stage, () => stateOf(stage, 0) === 'stuck')
    record(stage, 'aa', START, 3).close()
    disk.thaw()
    await looked(stage, () => spansOf(stage)[0]?.endAt === START + 3000)
    t.equal(stage.footage.lostGroups('aa'), 0)
    await stage.footage.close()
  },
)

t.test(
  'a disk that is pulled fails, what waited is counted as lost, and the others go on',
  { skip: noLoopDisks },
  async (t) => {
    const { disks, stage } = await twoDisks(t, [40, 24], { proveMs: NEVER_MS })
    record(stage, 'aa', START, 2)
    await settled(() => spansOf(stage)[0]?.endAt === START + 2000)
    disks[0].pull()
    await looked(stage, () => stateOf(stage, 0) !== 'here')
    t.match(stateOf(stage, 0), /failing|away/)
    await goesOn(t, stage, disks[1].folder)
    await stage.footage.close()
  },
)

t.test(
  'where a disk was unmounted, nothing is put below it; another one there is not written',
  { skip: noLoopDisks },
  async (t) => {
    const { disks, stage } = await twoDisks(t, [40, 24])
    const [first, second] = disks
    record(stage, 'aa', START, 2).close()
    await settled(() => spansOf(stage).length === 1 && filesBelow(first.folder) === 1)
    first.unmount()
    await looked(stage, () => stateOf(stage, 0) === 'away')
    await goesOn(t, stage, second.folder)
    t.same(globSync(`${first.folder}/*`), [], 'the folder below is empty')
    t.same(stage.footage.awaySpans('aa', 0, START * 2).length, 1)
    first.mount()
    await looked(stage, () => stateOf(stage, 0) === 'here')
    t.equal(spansOf(stage).length, 1, 'its footage is back')

    first.unmount()
    execFileSync('mount', ['--bind', second.folder, first.folder])
    t.teardown(() => execFileSync('umount', ['--lazy', first.folder]))
    await looked(stage, () => stateOf(stage, 0) === 'foreign')
    await stage.footage.close()
  },
)

t.test(
  'a disk that nothing is recorded on is read, and written once in storage.prove_s: cards wear',
  { skip: noLoopDisks },
  async (t) => {
    const { disks, stage } = await twoDisks(t, [24, 24], { proveMs: 600_000 })
    const writtenAt = () => statSync(join(disks[0].folder, 'footage/plantroom-probe'), { bigint: true }).mtimeNs
    const before = writtenAt()
    let looks = 0
    await looked(stage, () => ++looks > 300)
    t.equal(writtenAt(), before, 'after half a minute of looks')
    t.equal(stateOf(stage, 0), 'here')
    await looked(stage, () => writtenAt() !== before)
    t.equal(stateOf(stage, 0), 'here')
    await stage.footage.close()
  },
)
