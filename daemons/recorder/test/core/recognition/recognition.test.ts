import fc from 'fast-check'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import type { PlateReading } from '../../../core/recognition/plates.ts'
import { cutOut, type Recognised, type Recogniser, type ThingPicture } from '../../../core/recognition/recognised.ts'
import { createRecognition } from '../../../core/recognition/recognition.ts'
import type { Box } from '../../../core/sight/boxes.ts'
import type { SightEvent } from '../../../core/sight/events.ts'
import { groupOf } from '../../../core/sight/labels.ts'
import { sightRows } from '../../../core/sight/memory.ts'

const PICTURE: ThingPicture = { width: 200, height: 100, rgb: new Uint8Array(200 * 100 * 3) }
const HALF: Box = [0.25, 0.25, 0.75, 0.75]

function eventOf(clock: { epochMs(): number }, number: number, label = 'car', cameraId = '0000000a'): SightEvent {
  const at = clock.epochMs()
  return {
    ...{ id: `${cameraId}-${at}-${number}`, cameraId, label, group: groupOf(label), score: 0.9 },
    ...{ beganAt: at, lastAt: at, endedAt: null, bestAt: at, box: HALF, source: 'external' },
  }
}

/** A detector that reads what the test says, one text after the other. */
function stage(texts: readonly (string | [string, number] | null)[], waiting = 64) {
  const clock = fakeClock()
  const told: string[] = []
  const kept: [string, Recognised][] = []
  const asked: number[] = []
  const state = { isOn: true, hasFootage: true, hasLooker: true, known: 'AB123', onPicture: () => {} }
  const looker: Recogniser = {
    recognises: () => ['plate'],
    async recognise() {
      const next = texts[asked.length - 1] ?? null
      if (next === null) return { plates: [] }
      const [text, confidence] = typeof next === 'string' ? [next, 0.9] : next
      return { plates: [{ text, confidence, box: HALF } satisfies PlateReading] }
    },
  }
  const recognition = createRecognition({
    ...{ clock, limits: { looks: 4, waiting, lookMs: 500 } },
    book: {
      isOn: () => state.isOn,
      match: (text) =>
        text === state.known ? { identityId: 'id1', state: 'known' } : { identityId: null, state: 'unknown' },
    },
    store: { recognise: async (id, recognised) => void kept.push([id, recognised]) },
    recogniser: () => (state.hasLooker ? looker : undefined),
    async pictureAt(_, at) {
      if (!state.hasFootage) throw new Fault('no_footage', 'not yet')
      asked.push(at)
      state.onPicture()
      return PICTURE
    },
    onRecognised: (event, { plate }) => told.push(`${event.id.split('-').at(-1)} ${plate?.text} ${plate?.state}`),
  })
  recognition.start()
  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 500) {
      clock.advance(500)
      for (let turn = 0; turn < 8; turn++) await new Promise(setImmediate)
    }
  }
  const seen = (number: number, box: Box = HALF, cameraId = '0000000a') =>
    recognition.sighted({
      ...{ cameraId, at: clock.epochMs() },
      boxes: [{ trackId: number, label: 'car', group: 'vehicle', score: 0.9, box }],
    })
  return { clock, recognition, told, kept, asked, state, pass, seen }
}

t.test('a vehicle is looked at where it is seen best, until two readings agree', async (t) => {
  const { asked, clock, kept, pass, recognition, seen, told } = stage(['AB123', 'AB 123', 'ZZ999'])
  const event = eventOf(clock, 1)
  recognition.happened(event, 'begin')
  await pass(1000)
  seen(1, [0.1, 0.1, 0.9, 0.9])
  const bestAt = clock.epochMs()
  await pass(1000)
  seen(1, [0.4, 0.4, 0.6, 0.6])
  await pass(10_000)
  t.equal(asked[0], bestAt, 'the largest first')
  t.equal(asked.length, 2, 'and no more once two agree')
  t.same(told, ['1 AB123 known'])
  t.match(kept, [[event.id, { identityId: 'id1', method: 'plate', plate: { confidence: 0.9 } }]])
  t.match(recognition.of(event.id), { identityId: 'id1' })
  recognition.happened({ ...event, endedAt: clock.epochMs() }, 'end')
  await pass(1000)
  t.equal(recognition.of(event.id), undefined, 'it is kept no longer')
})

t.test('what is read better later is told again, and one that nobody can read is told as looked at', async (t) => {
  const { asked, clock, pass, recognition, seen, told } = stage([['AB12', 0.6], 'AB123', ['AB123', 0.8]])
  recognition.happened(eventOf(clock, 1), 'begin')
  for (let times = 0; times < 4; times++) {
    await pass(1000)
    seen(1)
  }
  await pass(20_000)
  t.same(told, ['1 AB12 unknown', '1 AB123 known'])
  t.equal(asked.length, 3)
  const blind = stage([])
  const event = eventOf(blind.clock, 2)
  blind.recognition.happened(event, 'begin')
  await blind.pass(5000)
  t.same(blind.told, ['2 undefined undefined'])
  t.match(blind.kept, [[event.id, { identityId: null, plate: null }]])
})

t.test('footage that is not there yet is waited for, and not for ever', async (t) => {
  const { asked, clock, kept, pass, recognition, state } = stage(['AB123'])
  state.hasFootage = false
  recognition.happened(eventOf(clock, 1), 'begin')
  await pass(4000)
  state.hasFootage = true
  await pass(4000)
  t.equal(asked.length, 1)
  t.equal(kept.length, 1)
  state.hasFootage = false
  recognition.happened(eventOf(clock, 2), 'begin')
  await pass(30_000)
  t.same(recognition.counts(), { looked: 1, failed: 1, leftOut: 0 })
})

t.test('where the detector that reads plates goes, what it has not looked at is not told as looked at', async (t) => {
  const { clock, kept, pass, recognition, state, told } = stage(['AB123', 'AB123', 'AB123'])
  recognition.happened(eventOf(clock, 1), 'begin')
  state.onPicture = () => {
    state.hasLooker = false
  }
  await pass(10_000)
  t.same([told, kept, recognition.counts()], [[], [], { looked: 0, failed: 0, leftOut: 0 }])
  state.onPicture = () => {}
  state.hasLooker = true
  await pass(3000)
  t.same(told, ['1 AB123 known'], 'and it is, once there is one again')
})

t.test('persons, what moves, and everything while it is off are not looked at; so many wait at most', async (t) => {
  const { asked, clock, pass, recognition, state } = stage(['AB123'], 3)
  recognition.happened(eventOf(clock, 1, 'person'), 'begin')
  recognition.happened({ ...eventOf(clock, 2), source: 'camera', box: null }, 'begin')
  state.isOn = false
  recognition.happened(eventOf(clock, 3), 'begin')
  await pass(10_000)
  t.same(asked, [])
  state.isOn = true
  for (let number = 10; number < 20; number++) recognition.happened(eventOf(clock, number), 'begin')
  t.equal(recognition.counts().leftOut, 8, 'half of the room is for one camera')
  for (let number = 20; number < 22; number++) recognition.happened(eventOf(clock, number, 'car', '0000000b'), 'begin')
  t.equal(recognition.counts().leftOut, 9)
})

t.test('a name that is given while a vehicle is there counts at once', async (t) => {
  const { clock, pass, recognition, state, told } = stage(['XY 9'])
  recognition.happened(eventOf(clock, 1), 'begin')
  await pass(5000)
  state.known = 'XY 9'
  recognition.bookChanged()
  t.same(told, ['1 XY 9 unknown', '1 XY 9 known'])
})

t.test('a cut-out lies in its picture, has even sides, and shows the thing with a little around it', async (t) => {
  const side = fc.double({ min: 0, max: 1, noNaN: true })
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 300 }),
      fc.integer({ min: 2, max: 300 }),
      side,
      side,
      side,
      side,
      (...all) => {
        const [width, height, x1, x2, y1, y2] = all
        const box: Box = [Math.min(x1, x2), Math.min(y1, y2), Math.max(x1, x2), Math.max(y1, y2)]
        const cut = cutOut({ width, height, rgb: new Uint8Array(width * height * 3) }, box)
        if (!cut) return true
        const isEven = cut.width % 2 === 0 && cut.height % 2 === 0
        return isEven && cut.width <= width && cut.height <= height && cut.rgb.length === cut.width * cut.height * 3
      },
    ),
  )
  const marked = { ...PICTURE, rgb: PICTURE.rgb.slice() }
  marked.rgb[(50 * 200 + 100) * 3] = 255
  const cut = cutOut(marked, HALF)
  t.match(cut, { width: 120, height: 60 })
  t.equal(cut?.rgb[(30 * 120 + 60) * 3], 255, 'the middle is the middle')
  const whole = rowOf(sightRows(), 'a picture in which somebody is recognised', {})
  t.ok(whole.allBytes >= 3 * 1920 * 1080 * 3)
})

t.test('vehicles that wait take no more memory than the plan says', async (t) => {
  const MANY = 200
  const bytes = await heapBytesOf(async () => {
    const { clock, recognition, seen } = stage([], MANY)
    const cameraOf = (number: number) => (number % 2 === 0 ? '0000000a' : '0000000b')
    for (let number = 0; number < MANY; number++)
      recognition.happened(eventOf(clock, number, 'car', cameraOf(number)), 'begin')
    for (let times = 0; times < 12; times++) {
      clock.advance(499)
      for (let number = 0; number < MANY; number++) seen(number, HALF, cameraOf(number))
    }
    return recognition
  })
  const row = rowOf(sightRows(), 'vehicles that wait to be recognised', { 'recognition.waiting': MANY })
  t.ok(bytes <= row.allBytes, `${bytes} bytes of ${row.allBytes}`)
})
