import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import { until } from '#kit/test/until.ts'
import type { HistoryBlock } from '../../core/history/disk.ts'
import { openHistoryFile } from '../../io/history-file.ts'

const MINUTE_MS = 60_000
const MOST = 1_000_000_000
const ALL = { from: 0, to: Number.MAX_SAFE_INTEGER, at: 0, id: 0 }
const OF = { port: 'bus', kind: 'point' } as const

function open(t: Test, stateFolder = t.testdir()) {
  const told: string[] = []
  const clock = fakeClock()
  const onPutAside = (sentence: string) => void told.push(sentence)
  const file = openHistoryFile({ clock, stateFolder, log: silentLog, onPutAside })
  t.teardown(() => file.close())
  return { ...file, clock, told, stateFolder }
}

function block(id: number, keys: Partial<HistoryBlock> = {}): HistoryBlock {
  return { id, ...OF, at: id * 5 * MINUTE_MS, slotMs: MINUTE_MS, slots: 5, data: new Uint8Array([id % 256]), ...keys }
}

async function idsOf(
  { read }: ReturnType<typeof open>,
  of: { port: string; kind: 'point' | 'unit' } = OF,
  range = ALL,
) {
  const ids: number[] = []
  for (let place = range; ; ) {
    const blocks = await read(of, place)
    const last = blocks.at(-1)
    if (!last) return ids
    ids.push(...blocks.map(({ id }) => id))
    place = { ...place, at: last.at, id: last.id }
  }
}

t.test('what was written is read in pieces, in the order of time, also after a new start', async (t) => {
  const file = open(t)
  t.same(await file.load(), { series: [], lastId: 0 })
  const series = { id: 1, ...OF, name: 'flow', usedAt: 5 }
  await file.write(
    [series],
    Array.from({ length: 30 }, (_, n) => block(30 - n)),
    MOST,
  )
  await file.write([], [block(31, { port: 'other' }), block(32, { kind: 'unit' })], MOST)
  t.same(
    await idsOf(file),
    Array.from({ length: 30 }, (_, n) => n + 1),
  )
  t.same(await idsOf(file, { port: 'other', kind: 'point' }), [31])
  t.same(await idsOf(file, { port: 'bus', kind: 'unit' }), [32])
  const range = { ...ALL, from: 12 * MINUTE_MS, to: 21 * MINUTE_MS }
  t.same(await idsOf(file, OF, range), [2, 3, 4], 'blocks that reach into the range')
  await file.close()
  const again = open(t, file.stateFolder)
  t.same(await again.load(), { series: [series], lastId: 32 })
  t.match(await again.read(OF, ALL), [...Array.from({ length: 8 }, (_, n) => block(n + 1))])
})

t.test('history that is too old goes, in the order of writing', async (t) => {
  const file = open(t)
  const old = { id: 1, ...OF, name: 'gone', usedAt: 0 }
  const young = { id: 2, ...OF, name: 'flow', usedAt: 30 * 86_400_000 }
  await file.write([old, young], [block(1), block(2), block(3, { at: 0 }), block(4)], MOST)
  await file.trim(2 * 5 * MINUTE_MS)
  t.same(await idsOf(file), [3, 2, 4], 'a clock that was set back removes nothing that is younger')
  await file.trim(10 * 86_400_000)
  t.same(await file.load(), { series: [young], lastId: 0 })
})

t.test('the file stays below history.max_bytes: the oldest goes', async (t) => {
  const file = open(t)
  const data = new Uint8Array(40_000)
  for (let id = 1; id <= 60; id++) await file.write([], [block(id, { data })], 1_000_000)
  const ids = await idsOf(file)
  t.equal(ids.at(-1), 60)
  t.ok(ids.length > 15 && ids.length < 26, String(ids.length))
  await file.close()
  t.ok(statSync(join(file.stateFolder, 'history.db')).size < 1_200_000)
})

t.test('a damaged file is put aside and said, and the next write works', async (t) => {
  const stateFolder = t.testdir({ 'history.db': 'noise'.repeat(5000) })
  const file = open(t, stateFolder)
  t.same(await file.load(), { series: [], lastId: 0 })
  t.match(file.told, [/^history\.db was damaged \(.+\) and is now history\.db\.damaged; a new history has begun\.$/])
  await file.write([], [block(1)], MOST)
  t.same(await idsOf(file), [1])
  t.equal(readFileSync(join(stateFolder, 'history.db.damaged'), 'utf8'), 'noise'.repeat(5000))
})

t.test('a file that cannot be made costs a fault at each try, and works once it can', async (t) => {
  const folder = t.testdir({ state: 'a file, not a folder' })
  const file = open(t, join(folder, 'state'))
  await t.rejects(file.write([], [block(1)], MOST))
  rmSync(join(folder, 'state'))
  mkdirSync(join(folder, 'state'))
  await file.write([], [block(1)], MOST)
  t.same(await idsOf(file), [1])
})

t.test('where nothing was ever written there is no file and no thread; without work the thread ends', async (t) => {
  const threads = () => readdirSync('/proc/self/task').length
  const before = threads()
  const file = open(t)
  t.same(await file.load(), { series: [], lastId: 0 })
  await file.trim(1)
  await file.write([], [], MOST)
  t.same(await idsOf(file), [])
  t.notOk(existsSync(join(file.stateFolder, 'history.db')))
  t.equal(threads(), before)
  await file.write([], [block(1)], MOST)
  t.ok(threads() > before)
  file.clock.advance(10_000)
  await until('its thread has ended', () => threads() === before)
  await Promise.all([idsOf(file), file.write([], [block(2)], MOST)])
  t.same(await idsOf(file), [1, 2])
})
