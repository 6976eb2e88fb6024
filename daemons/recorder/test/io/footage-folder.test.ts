import { appendFileSync, cpSync, existsSync, globSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import type { Fault } from '#kit/pure/fault.ts'
import { type FolderLimits, openFootageFolder } from '../../io/footage-folder.ts'
import { readSps } from '../../wire/h264-sps.ts'
import { writeFragment, writeHead } from '../../wire/mp4-write.ts'

const sps = Uint8Array.from(Buffer.from('6764000cacb40a0fd80880000003008000000f478a1550', 'hex'))
const pps = Uint8Array.from(Buffer.from('68ef0fcb', 'hex'))
const facts = readSps(sps)
const head = writeHead({ sets: { sps, pps }, facts, hiddenTicks: 0 })
const START = 1_900_000_000_000

const usual: FolderLimits = {
  ...{ flushMs: 5000, queueBytes: 1e6, totalQueueBytes: 2e6, keepBytes: 1e12, keepMs: 1e12, freeBytes: 0 },
}

async function opened(t: Test, limits: Partial<FolderLimits> = {}, folder = t.testdir({})) {
  const clock = fakeClock(START + 86_400_000)
  const faults: (Fault | undefined)[] = []
  const onFault = (fault: Fault | undefined) => void faults.push(fault)
  const footage = await openFootageFolder({ folder, clock, limits: { ...usual, ...limits }, onFault })
  return { clock, faults, folder, footage }
}

type Opened = Awaited<ReturnType<typeof opened>>

/** A file of fragments of one second. */
function begin({ footage }: Pick<Opened, 'footage'>, camera: string, startAt: number, seconds: number) {
  const file = footage.begin({ camera, startAt, facts, head })
  for (let at = 0; at < seconds; at++) {
    const time = { decodeTicks: at * 90_000, durationTicks: 90_000, wallMs: startAt + at * 1000, isKey: true }
    const samples = [{ units: [new Uint8Array(500)], isKey: true, durationTicks: 90_000, offsetTicks: 0 }]
    file.append(writeFragment({ ...time, sequence: at + 1, samples }), time)
  }
  return file
}

const spansOf = ({ footage }: Pick<Opened, 'footage'>, camera = 'aa') => footage.spans(camera, 0, START * 2)

t.test('what is written is found again after a start, by the index or by the files alone', async (t) => {
  const first = await opened(t)
  for (const at of [0, 1]) begin(first, 'aa', START + at * 60_000, 3).close()
  begin(first, 'bb', START, 1).close()
  await first.footage.close()

  const second = await opened(t, {}, first.folder)
  const expected = [0, 60_000].map((at) => ({ startAt: START + at, endAt: START + at + 3000 }))
  t.same(spansOf(second), expected)
  t.same(second.footage.between('aa', START + 1000, START + 2000)[0]?.fragments.length, 3)
  t.same(second.footage.bounds('bb'), { startAt: START, endAt: START + 1000 })
  t.equal(second.footage.newestAt(), START + 63_000)
  const bytes = second.footage.bytes()
  await second.footage.close()

  for (const name of globSync(join(first.folder, 'footage.db*'))) rmSync(name)
  const third = await opened(t, {}, first.folder)
  t.same(
    spansOf(third).map(({ endAt }) => Math.round(endAt)),
    expected.map(({ endAt }) => endAt),
  )
  t.equal(third.footage.bytes(), bytes)
  await third.footage.close()
  writeFileSync(join(first.folder, 'footage.db'), 'no database')
  const fourth = await opened(t, {}, first.folder)
  t.equal(fourth.footage.bytes(), bytes, 'a damaged index is put aside')
  await fourth.footage.close()
})

t.test('after a kill a file ends behind its last whole fragment, and one without any is removed', async (t) => {
  const first = await opened(t)
  begin(first, 'aa', START, 3)
  begin(first, 'bb', START, 1)
  await until(() => first.footage.between('bb', 0, START * 2).length === 1)
  await until(() => first.footage.between('aa', 0, START * 2)[0]?.fragments.length === 3)
  // What a kill leaves is what lies there while it is written.
  const folder = `${first.folder}-copy`
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  cpSync(first.folder, folder, { recursive: true })
  await first.footage.close()
  const [path = ''] = globSync(`${folder}/aa/*/*.mp4`)
  const [other = ''] = globSync(`${folder}/bb/*/*.mp4`)
  const whole = statSync(path).size
  appendFileSync(path, new Uint8Array(100))
  truncateSync(other, head.length + 10)

  const second = await opened(t, {}, folder)
  t.same(spansOf(second), [{ startAt: START, endAt: START + 3000 }])
  t.equal(statSync(path).size, whole)
  t.notOk(existsSync(other))
  t.same(second.footage.bounds('bb'), undefined)
  await second.footage.close()
})

t.test('the oldest footage goes first: what is too old, and what is more than may be kept', async (t) => {
  const stage = await opened(t, { keepMs: 86_400_000 - 60_000, keepBytes: 7000 })
  for (let at = 0; at < 4; at++) begin(stage, 'aa', START + at * 60_000, 3).close()
  await until(() => stage.footage.between('aa', 0, START * 2).length === 4 && spansOf(stage).length === 4)
  await stage.footage.close()
  const again = await opened(t, { keepMs: 86_400_000 - 60_000, keepBytes: 7000 }, stage.folder)
  await again.footage.trim()
  t.ok(again.footage.bytes() <= 7000)
  const spans = spansOf(again)
  t.equal(spans.at(-1)?.startAt, START + 180_000)
  t.ok(spans.every(({ endAt }) => endAt >= START + 60_000))
  t.equal(globSync(`${stage.folder}/*/*/*.mp4`).length, spans.length)
  await again.footage.close()
})

t.test('footage that waits for the disk is bounded, for each camera and in all', async (t) => {
  const stage = await opened(t, { queueBytes: 2000, totalQueueBytes: 3000 })
  const file = stage.footage.begin({ camera: 'aa', startAt: START, facts, head })
  const time = { decodeTicks: 0, durationTicks: 1, wallMs: START, isKey: true }
  t.same(
    [1500, 600, 400].map((bytes) => file.append(new Uint8Array(bytes), time)),
    [true, false, true],
  )
  const other = stage.footage.begin({ camera: 'bb', startAt: START, facts, head })
  t.same(
    [1200, 1000].map((bytes) => other.append(new Uint8Array(bytes), time)),
    [false, true],
  )
  t.equal(stage.faults.filter((fault) => fault?.code === 'footage_behind').length, 2)
  file.close()
  other.close()
  t.equal(file.append(new Uint8Array(1), time), false)
  await stage.footage.close()
})

t.test('a folder that cannot be used is a fault that names it', async (t) => {
  await t.rejects(opened(t, {}, '/dev/null/footage'), { code: 'footage_unusable', message: /\/dev\/null\/footage/ })
})

/** Waits for the disk. */
async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve))
}
