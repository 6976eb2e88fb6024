import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import type { ChosenPicture } from '../../../core/pictures/choice.ts'
import type { Detector, Judgement, SightPicture } from '../../../core/sight/detector.ts'
import { createEventBook, type SightEvent } from '../../../core/sight/events.ts'
import { sightRows } from '../../../core/sight/memory.ts'
import { type CameraSight, createSight } from '../../../core/sight/sight.ts'

const limits = { score: 0.4, agree: 2, lostMs: 3000, tracks: 32, lookMs: 100, staleMs: 3000, waitingBytes: 1e6 }
const [width, height] = [160, 90]

/** A white square at a place of a grey picture. */
function shadesWith(x: number | undefined): Uint8Array {
  const shades = new Uint8Array(width * height).fill(100)
  if (x !== undefined) for (let y = 30; y < 60; y++) shades.fill(230, y * width + x, y * width + x + 16)
  return shades
}

/** Cameras whose pictures a test plays, and a detector that answers when the test says so. */
function stage(rgbBytes = 8) {
  const clock = fakeClock()
  const shown = new Map<string, { keyAt: number; newestAt: number; x: number | undefined }>()
  const looked: string[] = []
  const events: [string, string][] = []
  const active: [string, boolean][] = []
  const book = createEventBook({
    ...{ clock, limits: { writeMs: 1000, queue: 1000 }, store: { put: async () => {} } },
    onEvent: ({ cameraId, label }: SightEvent, phase) => events.push([`${cameraId} ${label}`, phase]),
    onFault() {},
  })
  const chosenOf = (camera: string, at: number): ChosenPicture => {
    const group = { sets: { camera }, pictures: [] } as unknown as ChosenPicture['group']
    return { group, shownAt: at }
  }
  const sight = createSight({
    ...{ clock, limits, events: book, masksOf: () => [], nowAt: () => clock.epochMs() },
    look: (camera) => ({
      moments: () => shown.get(camera),
      keyFrame: () => chosenOf(camera, shown.get(camera)?.keyAt ?? 0),
      newest: () => chosenOf(camera, shown.get(camera)?.newestAt ?? 0),
      end() {},
    }),
    decoder: {
      async look({ camera }) {
        looked.push(camera)
        const shades = { width, height, bytes: shadesWith(shown.get(camera)?.x) }
        return { width, height, rgb: new Uint8Array(rgbBytes), shades }
      },
    },
    onActivity: (camera, isActive) => active.push([camera, isActive]),
  })
  /** Shows a picture of a camera, and lets it be looked at. */
  async function show(camera: string, x?: number, isKey = true): Promise<void> {
    clock.advance(500)
    const at = clock.epochMs()
    shown.set(camera, { keyAt: isKey ? at : (shown.get(camera)?.keyAt ?? at), newestAt: at, x })
    clock.advance(100)
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
  }
  async function walk(camera: string): Promise<void> {
    for (let picture = 0; picture < 6; picture++) await show(camera)
    for (let x = 10; x < 130; x += 20) await show(camera, x)
  }
  return { active, book, clock, events, looked, show, shown, sight, walk }
}

function playedDetector() {
  const asked: { picture: SightPicture; answer: PromiseWithResolvers<Judgement> }[] = []
  const detector: Detector = {
    wants: () => ({ width, height }),
    judge(picture) {
      const answer = Promise.withResolvers<Judgement>()
      asked.push({ picture, answer })
      return answer.promise
    },
    health: () => ({ state: 'ready', name: 'x', pictures: 0, refusedBoxes: 0, tookMs: null, crashes: 0, fault: null }),
    close: async () => {},
  }
  return { asked, detector }
}

t.test('what moves is an event of motion, told picture by picture, and never a person', async (t) => {
  const { active, clock, events, sight, show, walk } = stage()
  const told: CameraSight[] = []
  sight.onSighting((one) => told.push(one))
  sight.begin(undefined)
  sight.lookAt([{ camera: 'a', fps: 2 }])
  await walk('a')
  t.same(events, [['a motion', 'begin']])
  t.ok(
    told.length >= 3 &&
      told.every(({ boxes }) => boxes.every(({ group, label }) => label === 'motion' && group === 'other')),
  )
  for (let picture = 0; picture < 10; picture++) await show('a')
  t.same(events.at(-1), ['a motion', 'end'])
  t.same(told.at(-1)?.boxes, [], 'and that it is gone')
  clock.advance(5000)
  t.same(active, [
    ['a', true],
    ['a', false],
  ])
})

t.test('key frames are looked at, and those between them while something moves', async (t) => {
  const { looked, show, sight } = stage()
  sight.begin(undefined)
  sight.lookAt([{ camera: 'a', fps: 2 }])
  for (let picture = 0; picture < 5; picture++) await show('a')
  const before = looked.length
  await show('a', undefined, false)
  t.equal(looked.length, before, 'nothing moves')
  await show('a', 20)
  await show('a', 40, false)
  t.equal(looked.length, before + 2)
  sight.lookAt([{ camera: 'a', fps: 0 }])
  await show('a', 60, false)
  t.equal(looked.length, before + 2, 'key frames alone')
  sight.lookAt([])
  await show('a', 80)
  t.equal(looked.length, before + 2, 'it is not looked at any more')
})

t.test(
  'the newest picture of a camera waits for the detector, stale ones do not, and a fault is its own',
  async (t) => {
    const { clock, events, show, sight, walk } = stage()
    const { asked, detector } = playedDetector()
    sight.begin(detector)
    sight.lookAt([
      { camera: 'a', fps: 2 },
      { camera: 'b', fps: 2 },
    ])
    await walk('a')
    t.equal(asked.length, 1, 'one at a time, and nothing before something moved')
    await walk('b')
    const newest = clock.epochMs() - 100
    await show('a', 140)
    asked[0]?.answer.reject(new Error('it crashed'))
    await new Promise(setImmediate)
    t.ok((asked[1]?.picture.at ?? 0) >= newest - 600, 'a newer one took its place')
    asked[1]?.answer.resolve({ boxes: [], tookMs: 1 })
    await new Promise(setImmediate)
    t.equal(asked.length, 3, 'then that of the other camera')
    clock.advance(10_000)
    asked[2]?.answer.resolve({ boxes: [], tookMs: 1 })
    t.same(events, [])
    t.ok(sight.health().stale >= 0)
  },
)

t.test('a detector names what moves, and what it does not know is other', async (t) => {
  const { events, show, sight } = stage()
  const { asked, detector } = playedDetector()
  const numbers = new Set<number>()
  sight.onSighting(({ boxes }) => {
    for (const { trackId } of boxes) numbers.add(trackId)
  })
  sight.begin(detector)
  sight.lookAt([{ camera: 'a', fps: 2 }])
  for (let picture = 0; picture < 6; picture++) await show('a')
  async function pass(label: string | undefined): Promise<void> {
    for (let x = 10; x < 130; x += 20) {
      await show('a', x)
      const side = x / width
      const boxes = label ? [{ label, score: 0.9, box: [side, 0.3, side + 0.1, 0.7] as const }] : []
      asked.at(-1)?.answer.resolve({ boxes, tookMs: 1 })
      for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
    }
  }
  await pass('person')
  t.same(events, [['a person', 'begin']])
  sight.begin(detector)
  t.same(events.at(-1), ['a person', 'end'], 'another choice ends it')
  sight.lookAt([{ camera: 'a', fps: 2 }])
  for (let picture = 0; picture < 6; picture++) await show('a')
  await pass(undefined)
  t.same(events.at(-1), ['a other', 'begin'])
  t.equal(numbers.size, 2, 'the numbers of tracks do not begin anew: the two would be one thing')
})

t.test('what is there ends where the detector answers no more, although the camera shows pictures', async (t) => {
  const { events, show, sight } = stage()
  const { asked, detector } = playedDetector()
  sight.begin(detector)
  sight.lookAt([{ camera: 'a', fps: 2 }])
  for (let picture = 0; picture < 6; picture++) await show('a')
  const settle = async () => {
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
  }
  for (let x = 10; x < 130; x += 20) {
    await show('a', x)
    asked.at(-1)?.answer.resolve({
      boxes: [{ label: 'person', score: 0.9, box: [x / width, 0.3, x / width + 0.1, 0.7] }],
      tookMs: 1,
    })
    await settle()
  }
  t.same(events, [['a person', 'begin']])
  for (let picture = 0; picture < 70; picture++) {
    await show('a', 10 + 20 * (picture % 6))
    asked.at(-1)?.answer.reject(new Error('it fails'))
    await settle()
  }
  t.same(events.at(-1), ['a person', 'end'])
})

t.test('pictures that wait take what the memory plan says, whatever the detector does', async (t) => {
  const bytes = await heapBytesOf(async () => {
    const { sight, walk } = stage(400_000)
    sight.begin(playedDetector().detector)
    const cameras = ['a', 'b', 'c', 'd', 'e']
    sight.lookAt(cameras.map((camera) => ({ camera, fps: 2 })))
    for (const camera of cameras) await walk(camera)
    return sight
  })
  const row = rowOf(sightRows(), 'pictures that wait for the detector', {
    'detector.waiting_bytes': limits.waitingBytes,
  })
  t.ok(bytes <= row.allBytes && bytes < 3_000_000, `${bytes}`)
})

t.test('what a camera claims counts while it is believed, and is over when it no longer is', async (t) => {
  const { events, sight } = stage()
  const claim = (cameraId: string, phase: 'begin' | 'end') => sight.claim({ cameraId, label: 'person', at: 1, phase })
  claim('door', 'begin')
  t.same(events, [], 'nobody was believed yet')
  sight.believe(['door', 'yard'])
  claim('door', 'begin')
  claim('yard', 'begin')
  sight.believe(['yard'])
  claim('door', 'begin')
  sight.close()
  t.same(events, [
    ['door person', 'begin'],
    ['yard person', 'begin'],
    ['door person', 'end'],
    ['yard person', 'end'],
  ])
})
