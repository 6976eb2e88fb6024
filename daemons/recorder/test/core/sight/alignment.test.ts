import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createAlignment, type FootagePicture, offsetBetween } from '../../../core/sight/alignment.ts'
import type { SightEvent, Sighting, TrackPiece } from '../../../core/sight/events.ts'
import { boxOf, chanceOf, type Thing } from './scenes.ts'

const [width, height] = [160, 90]
const walker: Thing = { label: 'person', from: [0.1, 0.5], perS: [0.13, 0], size: [0.08, 0.3] }
const stander: Thing = { ...walker, from: [0.5, 0.5], perS: [0, 0] }

/** What the footage shows at a moment: the thing as it was then, in noise. */
function pictureOf(thing: Thing, at: number, chance: () => number): FootagePicture {
  const bytes = new Uint8Array(width * height).map(() => 100 + (chance() - 0.5) * 16)
  const [left, top, right, bottom] = boxOf(thing, at)
  for (let y = Math.round(top * height); y < bottom * height; y++)
    bytes.fill(200, y * width + Math.max(0, Math.round(left * width)), y * width + Math.round(right * width))
  return { at, shades: { width, height, bytes } }
}

/** The thing as a detector saw it: so much later than the footage has it. */
function seenLate(thing: Thing, lateMs: number): Sighting[] {
  return Array.from({ length: 12 }, (_, at) => ({
    ...{ at: at * 500 + lateMs, score: 0.9 },
    box: boxOf(thing, at * 500),
  }))
}

const film = (thing: Thing, from = -2000, to = 8000) => {
  const chance = chanceOf(7)
  return Array.from({ length: (to - from) / 200 + 1 }, (_, at) => pictureOf(thing, from + at * 200, chance))
}

t.test('A.tracks the offset of boxes is measured by what moves in the footage', async (t) => {
  for (const lateMs of [-900, 0, 350, 1200]) {
    const offset = offsetBetween(film(walker), seenLate(walker, lateMs)) ?? Number.NaN
    t.ok(Math.abs(offset + lateMs) <= 100, `${lateMs} ms late: ${offset}`)
  }
})

t.test('A.tracks what cannot be measured is not made up', async (t) => {
  t.equal(offsetBetween(film(stander), seenLate(stander, 300)), undefined, 'it stands still')
  t.equal(
    offsetBetween(film(walker), seenLate({ ...walker, from: [0.1, 0.1] }, 300)),
    undefined,
    'something else moved',
  )
  t.equal(offsetBetween(film(walker).slice(0, 5), seenLate(walker, 300)), undefined, 'hardly any footage is kept')
  t.equal(offsetBetween([], []), undefined)
})

function stage() {
  const clock = fakeClock()
  const kept: [string, number, number][] = []
  const asked: string[] = []
  const sightings = seenLate(walker, 400).map((one) => ({ ...one, at: one.at + 1e6 }))
  const piece: TrackPiece = { cameraId: 'a', trackId: 4, label: 'person', sightings }
  const chance = chanceOf(3)
  const alignment = createAlignment({
    clock,
    events: { waiting: () => [] },
    store: { pieces: async () => [piece], putOffset: async (...one) => void kept.push(one) },
    async footageAt(camera, at) {
      asked.push(camera)
      return { ...pictureOf(walker, at - 1e6, chance), at }
    },
  })
  const event = { id: `a-${1e6 + 400}-4`, cameraId: 'a', beganAt: 1e6 + 400, lastAt: 1e6 + 5900, box: [0, 0, 1, 1] }
  const heard = (more: object = {}) => alignment.heard({ ...event, ...more } as unknown as SightEvent, 'end')
  async function pass(ms: number): Promise<void> {
    clock.advance(ms)
    for (let turn = 0; turn < 400; turn++) await new Promise(setImmediate)
  }
  return { alignment, asked, heard, kept, pass }
}

t.test('A.tracks one event of a camera is measured by in an hour, once its footage is kept', async (t) => {
  const { alignment, asked, heard, kept, pass } = stage()
  heard({ lastAt: 1e6 + 500 })
  heard({ box: null })
  await pass(20_000)
  t.same(asked, [], 'too short, or nowhere')
  heard()
  heard({ cameraId: 'b' })
  t.same(asked, [], 'its footage is not on the disk yet')
  await pass(15_000)
  t.match(kept, [['a', 1e6 + 400, Number]])
  t.ok(Math.abs((kept[0]?.[2] ?? 0) + 400) <= 100, `${kept[0]?.[2]}`)
  t.ok(asked.length > 20 && asked.length < 70 && asked.every((one) => one === 'a'), 'one at a time')
  heard()
  await pass(20_000)
  t.equal(kept.length, 1)
  await pass(3_600_000)
  heard()
  await pass(20_000)
  t.equal(kept.length, 2)
  await alignment.close()
  heard()
  await pass(3_700_000)
  t.equal(kept.length, 2)
})
