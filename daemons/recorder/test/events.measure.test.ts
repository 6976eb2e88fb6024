import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import type { Recognised } from '../core/recognition/recognised.ts'
import type { EventWish, SightEvent } from '../core/sight/events.ts'
import { groupOf } from '../core/sight/labels.ts'
import { openEventStore } from '../io/event-store.ts'
import { LONG_MS, makeFootage, startCamera } from './camera.ts'
import { clientOf } from './client.ts'
import { chanceOf } from './core/sight/scenes.ts'

const EVENTS = 1_000_000
const AT_ONCE = 20_000
const DAY_MS = 86_400_000
const MONTH_MS = 30 * DAY_MS
const ASKED = 200
/** 100,000 readings, as `recognition.readings` has them. */
const READ_EACH = 10
const SIGNS = [...'ACDEFGHJKLMNPRTUVWXY0123456789']
const LABELS = [...Array.from({ length: 40 }, () => 'motion'), 'person', 'person', 'car', 'dog', 'bus']
const cameras = Array.from({ length: 32 }, (_, at) => at.toString(16).padStart(8, '0'))

const slow = { timeout: 900_000 }

t.test('A.events any filter over a million events is answered in less than 50 ms, 99 times of 100', slow, async (t) => {
  const chance = chanceOf(7)
  const one = <Value>(list: readonly Value[]) => list[Math.floor(chance() * list.length)] as Value
  const store = openEventStore({
    folder: t.testdir({}),
    limits: { events: 2e6, pieces: 1e6, readings: 2e5 },
    onPutAside() {},
  })
  t.teardown(() => store.close())
  const readingOf = (): Recognised => {
    const isKnown = chance() < 0.02
    const plate = {
      text: Array.from({ length: 7 }, () => one(SIGNS)).join(''),
      ...({ state: isKnown ? 'known' : 'unknown', confidence: 0.9 } as const),
    }
    return { identityId: isKnown ? `id${Math.floor(chance() * 50)}` : null, method: isKnown ? 'plate' : null, plate }
  }
  for (let put = 0; put < EVENTS / AT_ONCE; put++) {
    const events = Array.from({ length: AT_ONCE }, (_, place): SightEvent => {
      const [number, cameraId, label] = [put * AT_ONCE + place, one(cameras), one(LABELS)]
      const beganAt = Math.floor((number * MONTH_MS) / EVENTS)
      const facts = { id: `${cameraId}-${beganAt}-${number}`, cameraId, label, group: groupOf(label), score: 0.5 }
      const lastAt = beganAt + (number % 1000 === 0 ? 5 * 3_600_000 : 9000)
      const times = { beganAt, lastAt, endedAt: lastAt, bestAt: beganAt }
      return { ...facts, ...times, box: [0, 0, 1, 1], source: 'external' }
    })
    await store.put(events, [])
    await Promise.all(events.filter((_, at) => at % READ_EACH === 0).map(({ id }) => store.recognise(id, readingOf())))
  }
  // As it does by itself with time: what is over is written by stretches.
  for (let put = 0; put < 64; put++) await store.put([], [])
  const unrecognized = { certainty: 'unknown' } as const
  const some = () => Math.floor(chance() * MONTH_MS)
  const wishes: Record<string, () => EventWish> = {
    'all, the newest': () => ({ cameras, limit: 100 }),
    'all, 500': () => ({ cameras, limit: 500 }),
    'one camera': () => ({ cameras: [one(cameras)], limit: 100 }),
    'a rare label': () => ({ cameras, label: 'bus', limit: 500 }),
    'a group of two cameras': () => ({ cameras: cameras.slice(0, 2), label: 'vehicle', limit: 100 }),
    'none of a label': () => ({ cameras, label: 'zebra', limit: 100 }),
    'an hour': () =>
      [some()].map((since) => ({ cameras, since, until: since + 3_600_000, limit: 500 }))[0] as EventWish,
    'a plate': () => ({ cameras, plate: 'AC123', limit: 100 }),
    'a part of a plate': () => ({ cameras, plate: 'AC1', limit: 500 }),
    'a letter of a plate at one camera': () => ({ cameras: [one(cameras)], plate: 'X', limit: 100 }),
    'a letter that no plate has': () => ({ cameras, plate: 'Ж', limit: 100 }),
    'a plate since a moment': () => ({ cameras, plate: '1AC', since: some(), limit: 100 }),
    unrecognized: () => ({ cameras, who: unrecognized, limit: 500 }),
    'unrecognized with a label that none has': () => ({ cameras, who: unrecognized, label: 'zebra', limit: 100 }),
    'one identity since a moment': () => ({ cameras, who: { identityId: 'id7' }, since: some(), limit: 500 }),
    'a label before a moment': () => ({ cameras, label: 'person', until: some(), limit: 500 }),
  }
  for (const [name, wish] of Object.entries(wishes)) {
    const times: number[] = []
    const work = process.cpuUsage()
    for (let ask = 0; ask < ASKED; ask++) {
      const began = performance.now()
      await store.find(wish())
      times.push(performance.now() - began)
    }
    times.sort((a, b) => a - b)
    const [middle = 0, late = 0] = [times[ASKED / 2], times[Math.floor(ASKED * 0.99) - 1]]
    const { system, user } = process.cpuUsage(work)
    const own = ((system + user) / 1000 / ASKED).toFixed(1)
    t.comment(`${name}: p50 ${middle.toFixed(1)} ms, p99 ${late.toFixed(1)} ms, processor ${own} ms`)
    t.ok(late < 50, `${name}: ${late} ms`)
  }
  const began = performance.now()
  for (const camera of cameras) await store.density({ camera, from: 0, to: MONTH_MS, bucketMs: MONTH_MS / 120 })
  t.comment(`density of a month of 32 cameras: ${(performance.now() - began).toFixed(0)} ms`)
})

const CAMERAS = 4
const MEASURED_MS = 20_000
const MEASURED_SETS = ['storage.free_bytes=0', `pictures.start_ms=${LONG_MS}`, `pictures.answer_ms=${LONG_MS}`]
/** Of /proc/PID/stat. */
const TICK_MS = 10

/** Processor time of the daemon itself, its threads with it and its processes without. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}

t.test(
  'a detector costs the recorder itself little more than the small streams that it opens for it',
  slow,
  async (t) => {
    const work = stateFolderOf(t)
    const recorder = await startDaemon(t, 'recorder', {
      stateFolder: `${work}/recorder`,
      sets: MEASURED_SETS,
    })
    const boss = clientOf(recorder.url)
    await boss.setUp()
    const main = await startCamera(t, await makeFootage(work, 240, 'noise'))
    const small = await startCamera(t, await makeFootage(work, 240, 'small'))
    for (let camera = 0; camera < CAMERAS; camera++)
      await boss.call('POST', '/api/discovery/rtsp', { name: `Camera ${camera}`, url: main.url })
    const ids = (await boss.call('GET', '/api/cameras')).body.map(({ id }: { id: string }) => id) as string[]
    // Both are of one host; the ports are not.
    for (const id of ids) await boss.call('PATCH', `/api/cameras/${id}`, { sub_url: small.url })
    async function measured(): Promise<number> {
      await setTimeout(5000)
      const before = cpuMs(recorder.pid)
      await setTimeout(MEASURED_MS)
      return ((cpuMs(recorder.pid) - before) / MEASURED_MS / CAMERAS) * 100
    }
    const looked = async () => (await boss.call('GET', '/api/detector')).body.health.looked
    const lost = async () =>
      (await boss.call('GET', '/api/health')).body.cameras.reduce(
        (sum: number, { droppedPictures, lostGroups }: { droppedPictures: number; lostGroups: number }) =>
          sum + droppedPictures + lostGroups,
        0,
      )
    const off = await measured()
    await boss.call('PUT', '/api/detector', { kind: 'motion', fps: 0 })
    await until('it looks', async () => (await looked()) > 0, LONG_MS)
    const keyFrames = await measured()
    await boss.call('PUT', '/api/detector', { fps: 2 })
    const moving = await measured()
    const said = [off, keyFrames, moving].map((percent) => percent.toFixed(2))
    t.comment(
      `of a core for each camera: off ${said[0]} %, key frames ${said[1]} %, two pictures a second ${said[2]} %`,
    )
    t.equal(await lost(), 0, 'nothing of the recording was lost')
    t.ok(moving < off + 2, `${moving} % of a core`)
  },
)
