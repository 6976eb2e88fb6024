import {
  appendFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import t from 'tap'
import { facts, fragmentOf, head, openStage, record, START, settled, spansOf } from '../footage-stage.ts'

t.test('what is written is found again after a start, by the index or by the files alone', async (t) => {
  const first = await openStage(t)
  const { root, known } = first
  for (const at of [0, 1]) record(first, 'aa', START + at * 60_000, 3).close()
  record(first, 'bb', START, 1).close()
  await first.footage.close()

  const second = await openStage(t, { root, known })
  const expected = [0, 60_000].map((at) => ({ startAt: START + at, endAt: START + at + 3000 }))
  t.same(spansOf(second), expected)
  t.same(second.footage.between('aa', START + 1000, START + 2000)[0]?.fragments.length, 3)
  t.same(second.footage.bounds('bb'), { startAt: START, endAt: START + 1000 })
  t.equal(second.footage.newestAt(), START + 63_000)
  const bytes = second.footage.bytes()
  await second.footage.close()

  rmSync(join(root, 'index'), { recursive: true })
  const third = await openStage(t, { root, known })
  t.same(
    spansOf(third).map(({ endAt }) => Math.round(endAt)),
    expected.map(({ endAt }) => endAt),
  )
  t.equal(third.footage.bytes(), bytes)
  await third.footage.close()
  writeFileSync(join(root, 'index/footage.db'), 'no database')
  const fourth = await openStage(t, { root, known })
  t.equal(fourth.footage.bytes(), bytes, 'a damaged index is put aside')
  await fourth.footage.close()
})

function attempt<Result>(task: () => Result): Result | Error {
  try {
    return task()
  } catch (error) {
    return error as Error
  }
}

t.test(
  'an index with a damaged page is put aside, at a start or when it is met, and made anew from the files',
  async (t) => {
    const first = await openStage(t)
    const { root, known } = first
    for (let at = 0; at < 40; at++) record(first, 'aa', START + at * 60_000, 30).close()
    await settled(() => spansOf(first).length === 40)
    await first.footage.close()
    const path = join(root, 'index/footage.db')
    const sound = readFileSync(path)
    let [met, putAside] = [0, 0]
    for (let page = 1; page < sound.length / 4096; page++) {
      const bytes = Buffer.from(sound)
      bytes.fill(0xa5, page * 4096, (page + 1) * 4096)
      writeFileSync(path, bytes)
      rmSync(`${path}.damaged`, { force: true })
      try {
        const second = await openStage(t, { root, known })
        const found = attempt(() => spansOf(second).length + second.footage.between('aa', 0, 2 * START).length)
        await second.footage.close()
        if (found instanceof Error) t.match([found, second.damaged], [{ code: 'index_damaged' }, ['index_damaged']])
        if (second.damaged.length > 0) met++
      } catch (fault) {
        t.match(fault, { code: 'index_damaged' }, 'it does not start; the next start does')
      }
      if (existsSync(`${path}.damaged`)) putAside++
      const third = await openStage(t, { root, known })
      await third.footage.found()
      if (existsSync(`${path}.damaged`)) t.equal(spansOf(third).length, 40, `page ${page}`)
      await third.footage.close()
    }
    t.ok(met > 0 && putAside > met, `${putAside} were put aside, of which ${met} were met after a start`)
  },
)

t.test('after a kill a file ends behind its last whole fragment, and one without any is removed', async (t) => {
  const first = await openStage(t)
  record(first, 'aa', START, 3)
  record(first, 'bb', START, 1)
  await settled(() => first.footage.between('bb', 0, START * 2).length === 1)
  await settled(() => first.footage.between('aa', 0, START * 2)[0]?.fragments.length === 3)
  // What a kill leaves is what lies there while it is written.
  const root = join(first.root, 'killed')
  for (const name of ['disk', 'index']) cpSync(join(first.root, name), join(root, name), { recursive: true })
  await first.footage.close()
  const [path = ''] = globSync(`${root}/disk/aa/*/*.mp4`)
  const [other = ''] = globSync(`${root}/disk/bb/*/*.mp4`)
  const whole = statSync(path).size
  appendFileSync(path, new Uint8Array(100))
  truncateSync(other, head.length + 10)

  const second = await openStage(t, { root })
  t.same(spansOf(second), [{ startAt: START, endAt: START + 3000 }])
  t.equal(statSync(path).size, whole)
  t.notOk(existsSync(dirname(other)), 'the folder of an empty day goes too')
  t.same(second.footage.bounds('bb'), undefined)
  await second.footage.close()
})

t.test(
  'after a power cut the newest files are found without their rows, and the oldest rows without their files',
  async (t) => {
    const first = await openStage(t)
    const { root } = first
    for (let at = 0; at < 3; at++) record(first, 'aa', START + at * 60_000, 3).close()
    await first.footage.close()
    // The index as it was; afterwards a file went, and others came.
    cpSync(join(root, 'index'), join(root, 'before'), { recursive: true })
    const second = await openStage(t, { root, keeping: { keepMs: () => 86_400_000 - 60_000 } })
    await second.footage.trim()
    for (const at of [3, 4]) record(second, 'aa', START + at * 60_000, 3).close()
    record(second, 'bb', START + 240_000, 3).close()
    const there = spansOf(second).length
    await second.footage.close()
    rmSync(join(root, 'index'), { recursive: true })
    renameSync(join(root, 'before'), join(root, 'index'))

    const third = await openStage(t, { root })
    t.same(
      spansOf(third).map(({ startAt }) => Math.round(startAt - START)),
      [60_000, 120_000, 180_000, 240_000],
    )
    t.equal(spansOf(third, 'bb').length, 1, 'of a camera that the index does not know')
    t.ok(there >= 2)
    await third.footage.close()
  },
)

t.test('footage goes by age, that of a camera by its own days, then the oldest of what is too much', async (t) => {
  const keepMs = (camera: string) => 86_400_000 - (camera === 'bb' ? 180_000 : 60_000)
  const held = { ...{ camera: 'aa' }, from: START + 120_000, to: START + 121_000 }
  const isHeld = (camera: string, fromAt: number, toAt: number) =>
    camera === held.camera && fromAt < held.to && toAt > held.from
  const first = await openStage(t)
  for (let at = 0; at < 5; at++) record(first, 'aa', START + at * 60_000, 3).close()
  for (let at = 0; at < 3; at++) record(first, 'bb', START + at * 60_000, 1).close()
  await first.footage.close()
  const stage = await openStage(t, { root: first.root, keeping: { keepMs, keepBytes: () => 7000, isHeld } })
  stage.footage.hold('aa', held.from, held.to, true)
  await stage.footage.trim()
  t.same(stage.faults.filter(Boolean), [])
  t.same(spansOf(stage, 'bb'), [], 'all of it is older than its days')
  t.ok(stage.footage.bytes() <= 7000)
  const starts = spansOf(stage).map(({ startAt }) => startAt - START)
  t.ok(starts.includes(120_000), 'what is preserved stays, although it is older')
  t.ok(starts.includes(240_000) && !starts.includes(60_000), `${starts}`)
  t.equal(globSync(`${stage.root}/disk/*/*/*.mp4`).length, starts.length)
  stage.footage.hold('aa', 0, START * 2, false)
  await stage.footage.close()
  const again = await openStage(t, { root: stage.root, keeping: { keepBytes: () => 0 } })
  await again.footage.trim()
  t.equal(again.footage.bytes(), 0, 'released, it goes like any other')
  await again.footage.close()
})

t.test('footage that waits for the disk is bounded, for each camera and in all', async (t) => {
  const stage = await openStage(t, { limits: { queueBytes: 2000, totalQueueBytes: 3000 } })
  const file = stage.footage.begin({ camera: 'aa', startAt: START, facts, head })
  const time = { decodeTicks: 0, durationTicks: 1, wallMs: START, isKey: true }
  const done: number[] = []
  const fragment = (bytes: number) => fragmentOf(new Uint8Array(bytes), () => void done.push(bytes))
  t.same(
    [1500, 600, 400].map((bytes) => file.append(fragment(bytes), time)),
    [true, false, true],
  )
  t.same([stage.footage.isBehind('aa'), stage.footage.isBehind('cc')], [true, false])
  const other = stage.footage.begin({ camera: 'bb', startAt: START, facts, head })
  t.same(
    [1200, 1000].map((bytes) => other.append(fragment(bytes), time)),
    [false, true],
  )
  t.equal(stage.faults.filter((fault) => fault?.code === 'footage_behind').length, 2)
  file.close()
  other.close()
  t.equal(file.append(fragment(1), time), false)
  await stage.footage.close()
  t.same(done.toSorted(), [1000, 1500, 400], 'each that was taken is given back once')
  t.equal(stage.footage.isBehind('aa'), false, 'the disk has caught up')
})

t.test('a folder that cannot be used is told, and the recorder goes on', async (t) => {
  const stage = await openStage(t, { folders: ['/dev/null/footage'] })
  t.match(stage.footage.disks(), [{ state: 'failing', fault: { code: 'disk_failing', message: /dev.null.footage/ } }])
  t.equal(stage.footage.isReady(), false)
  t.equal(
    record(stage, 'aa', START, 1).append(fragmentOf(new Uint8Array(1)), {
      decodeTicks: 0,
      durationTicks: 1,
      wallMs: START,
      isKey: true,
    }),
    false,
  )
  await stage.footage.close()
})

t.test('a folder of a disk that is not mounted is left alone, and taken once its disk is there', async (t) => {
  const root = t.testdir({ mnt: {} })
  const folder = join(root, 'mnt')
  const stage = await openStage(t, { root, folders: ['disk', { folder, isOwn: false }] })
  t.match(stage.footage.disks(), [{ state: 'here' }, { state: 'away', fault: { code: 'disk_away' } }])
  record(stage, 'aa', START, 1).close()
  await settled(() => spansOf(stage).length === 1)
  t.same(
    globSync(`${folder}/**`, {}).filter((path) => path !== folder),
    [],
    'nothing was put there',
  )
  // A disk that was begun elsewhere comes with its marker.
  writeFileSync(join(folder, 'plantroom-footage.json'), '{"version":1,"id":"11111111-2222-4333-8444-555555555555"}')
  await stage.clock.run(2000)
  await settled(() => stage.footage.disks()[1]?.state === 'here')
  t.equal(stage.known.get(folder), '11111111-2222-4333-8444-555555555555')
  await stage.footage.close()
})

t.test('a disk that is pulled takes nothing along: what is on it is not here, and comes back with it', async (t) => {
  const stage = await openStage(t, { folders: ['one', 'two'] })
  const [one = '', two = ''] = stage.folders
  record(stage, 'aa', START, 2).close()
  await settled(() => spansOf(stage).length === 1)
  const isOnOne = globSync(`${one}/*/*/*.mp4`).length === 1
  const [has, other] = isOnOne ? [one, two] : [two, one]
  const written = record(stage, 'bb', START, 2)
  await settled(() => stage.footage.between('bb', 0, START * 2)[0]?.fragments.length === 2)
  const [file] = stage.footage.between('bb', 0, START * 2)
  const pulled = file?.path.startsWith(has) ? has : other

  renameSync(pulled, `${pulled}-pulled`)
  mkdirSync(pulled)
  await stage.clock.run(2000)
  await settled(() => stage.states.includes(`${basename(pulled)} away`))
  t.equal(
    written.append(fragmentOf(new Uint8Array(10)), { decodeTicks: 0, durationTicks: 1, wallMs: START, isKey: true }),
    false,
  )
  t.same(spansOf(stage, 'bb'), [])
  t.match(stage.footage.awaySpans('bb', 0, START * 2), [{ startAt: START, endAt: START + 2000 }])
  t.throws(() => stage.footage.between('bb', 0, START * 2), { code: 'footage_away' })
  t.same(stage.footage.bounds('bb'), { startAt: START, endAt: START + 2000 })
  record(stage, 'bb', START + 60_000, 1).close()
  await settled(() => spansOf(stage, 'bb').length === 1)
  t.same(globSync(`${pulled}/*`), [], 'the folder below it is not filled')

  rmSync(pulled, { recursive: true })
  renameSync(`${pulled}-pulled`, pulled)
  await stage.clock.run(2000)
  await settled(() => spansOf(stage, 'bb').length === 2)
  t.match(spansOf(stage, 'bb'), [{ startAt: START, endAt: START + 2000 }, { startAt: START + 60_000 }])
  await stage.footage.close()
})

t.test('another disk in the place of one is not written', async (t) => {
  const stage = await openStage(t, { folders: ['one', 'two'] })
  const [one = ''] = stage.folders
  const marker = join(one, 'plantroom-footage.json')
  const own = readFileSync(marker)
  writeFileSync(marker, '{"version":1,"id":"11111111-2222-4333-8444-555555555555"}')
  await stage.clock.run(2000)
  await settled(() => stage.states.includes('one foreign'))
  for (const at of [0, 1, 2]) record(stage, 'aa', START + at * 60_000, 1).close()
  await settled(() => spansOf(stage).length === 3)
  t.same(globSync(`${one}/*/*/*.mp4`), [])
  t.match(stage.footage.disks()[0], { state: 'foreign', fault: { code: 'disk_foreign' } })
  await stage.footage.close()
  const after = await openStage(t, { root: stage.root, folders: ['one', 'two'], known: stage.known })
  t.match(after.footage.disks(), [{ state: 'foreign' }, { state: 'here' }], 'after a start too')
  writeFileSync(marker, own)
  await after.clock.run(2000)
  await settled(() => after.footage.disks()[0]?.state === 'here')
  await after.footage.close()
})

t.test('folders are taken and left while it runs, and one disk is taken once', async (t) => {
  const stage = await openStage(t, { folders: ['one'] })
  record(stage, 'aa', START, 2).close()
  await settled(() => spansOf(stage).length === 1)
  const two = join(stage.root, 'two')
  await stage.footage.setFolders([{ folder: two, isOwn: true, id: undefined }])
  t.match(stage.footage.disks(), [{ folder: two, state: 'here' }])
  t.same(spansOf(stage), [])
  t.equal(stage.footage.awaySpans('aa', 0, START * 2).length, 1)
  const [one = ''] = stage.folders
  cpSync(join(two, 'plantroom-footage.json'), join(stage.root, 'copy.json'))
  const wish = { isOwn: true, id: stage.known.get(one) }
  await stage.footage.setFolders([
    { folder: one, ...wish },
    { folder: two, isOwn: true, id: stage.known.get(two) },
  ])
  await settled(() => spansOf(stage).length === 1)
  mkdirSync(join(stage.root, 'three'))
  cpSync(join(stage.root, 'copy.json'), join(stage.root, 'three/plantroom-footage.json'))
  const three = { folder: join(stage.root, 'three'), isOwn: true, id: undefined }
  await stage.footage.setFolders([{ folder: two, isOwn: true, id: stage.known.get(two) }, three])
  t.match(stage.footage.disks(), [{ state: 'here' }, { state: 'foreign' }])
  await stage.footage.close()
})

t.test('two folders that lead to one disk are one disk: the other is left alone, and recording goes on', async (t) => {
  const root = t.testdir({ disk: {} })
  symlinkSync(join(root, 'disk'), join(root, 'link'))
  await (await openStage(t, { root })).footage.close()
  const stage = await openStage(t, { root, folders: ['disk', 'link'] })
  const states = () => stage.footage.disks().map(({ state }) => state)
  t.same(states().toSorted(), ['foreign', 'here'])
  const again = stage.folders.map((folder) => ({ folder, isOwn: true, id: stage.known.get(folder) }))
  await stage.footage.setFolders(again)
  t.same(states().toSorted(), ['foreign', 'here'], 'and it stays so where both are looked at again')
  t.equal(stage.known.size, 1)
  await stage.footage.close()

  // As they may have been saved.
  const id = [...stage.known.values()][0] ?? ''
  const known = new Map(stage.folders.map((folder) => [folder, id]))
  const both = await openStage(t, { root, folders: ['disk', 'link'], known })
  t.notOk(both.footage.isReady())
  const [disk = ''] = both.folders
  await both.footage.setFolders([{ folder: disk, isOwn: true, id }])
  t.same(
    both.footage.disks().map(({ state }) => state),
    ['here'],
    'the one that is left is looked at at once',
  )
  await both.footage.close()
})
