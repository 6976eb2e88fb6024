import t from 'tap'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import type { Shades } from '../../../core/ports.ts'
import { createHabits } from '../../../core/sight/habits.ts'
import { sightRows } from '../../../core/sight/memory.ts'
import { createMotionModel } from '../../../core/sight/motion.ts'
import { chanceOf } from './scenes.ts'

const [width, height] = [160, 90]

interface Patch {
  x: number
  y: number
  width: number
  height: number
  shade: number
}

function pictures(seed: number, noise = 8) {
  const chance = chanceOf(seed)
  return (patches: readonly Patch[] = [], shade = 100): Shades => {
    const bytes = new Uint8Array(width * height)
    for (let at = 0; at < bytes.length; at++) bytes[at] = shade + (chance() - 0.5) * 2 * noise
    for (const patch of patches)
      for (let y = patch.y; y < patch.y + patch.height; y++)
        for (let x = patch.x; x < patch.x + patch.width; x++) bytes[y * width + x] = patch.shade
    return { width, height, bytes }
  }
}

t.test('noise is no motion, and what moves is boxed where it is', async (t) => {
  const model = createMotionModel()
  const picture = pictures(1)
  for (let at = 0; at < 30; at++) t.same(model.look(picture(), 0), [], `picture ${at}`)
  for (let at = 0; at < 10; at++) {
    const patch = { x: 10 + at * 10, y: 40, width: 12, height: 24, shade: 220 }
    const [box, ...others] = model.look(picture([patch]), 0)
    t.ok(box && others.length <= 1, 'one box, and maybe where it was')
    const [left = 0, top = 0, right = 0, bottom = 0] = box ?? []
    t.ok(Math.abs(left * width - patch.x) <= 14 && Math.abs(right * width - patch.x - 12) <= 14, `${left} to ${right}`)
    t.ok(Math.abs(top * height - 40) <= 5 && Math.abs(bottom * height - 64) <= 5)
  }
})

t.test('a lamp that is switched on is no motion, and neither is what hangs and sways for long', async (t) => {
  const model = createMotionModel()
  const picture = pictures(2)
  for (let at = 0; at < 10; at++) model.look(picture(), 0)
  t.same(model.look(picture([], 180), 0), [], 'all of it changed')
  for (let at = 0; at < 10; at++) t.same(model.look(picture([], 180), 0), [])
  const sway = (at: number) => picture([{ x: 60, y: 20, width: 16, height: 16, shade: at % 2 === 0 ? 110 : 180 }], 180)
  let seen = 0
  for (let at = 0; at < 200; at++) if (model.look(sway(at), 0).length > 0) seen = at
  t.ok(seen < 150, `a branch was seen until picture ${seen}`)
})

t.test('what was put down is part of the picture after a while, and another size begins anew', async (t) => {
  const model = createMotionModel()
  const picture = pictures(3)
  for (let at = 0; at < 10; at++) model.look(picture(), 0)
  const box = [{ x: 60, y: 40, width: 20, height: 20, shade: 200 }]
  t.ok(model.look(picture(box), 0).length > 0)
  for (let at = 0; at < 150; at++) model.look(picture(box), 0)
  t.same(model.look(picture(box), 0), [])
  t.same(model.look({ width: 80, height: 45, bytes: new Uint8Array(80 * 45) }, 0), [])
})

/** Six glyphs that differ, as a clock at the lower edge of the picture draws them: `hh:mm:ss`, two cells high. */
function clockPatches(atS: number): Patch[] {
  const digits = new Date(atS * 1000).toISOString().slice(11, 19).replaceAll(':', '')
  return [...digits].flatMap((digit, place) =>
    Array.from({ length: 8 }, (_, row) => ({
      ...{ x: 8 + place * 8 + (Number(digit) % 3), y: 76 + row, width: 6, height: 1 },
      shade: (Number(digit) * 7 + row * 3) % 5 < 2 ? 20 : 240,
    })),
  )
}

t.test('the clock in a picture is no motion once it has ticked for a while, and who passes it is', async (t) => {
  const model = createMotionModel()
  const picture = pictures(5)
  const [startS, stepS] = [10 * 3600 + 50 * 60, 3]
  /** How often it was seen in each tenth of an hour, in which all its digits change. */
  const seen = Array.from({ length: 10 }, () => 0)
  for (let atS = 0; atS < 3600; atS += stepS) {
    const boxes = model.look(picture(clockPatches(startS + atS)), (startS + atS) * 1000)
    if (boxes.length > 0) seen[Math.floor(atS / 360)] = (seen[Math.floor(atS / 360)] ?? 0) + 1
  }
  t.ok((seen[0] ?? 0) > 0, 'it is learned, not known')
  t.same(seen.slice(3), [0, 0, 0, 0, 0, 0, 0], 'it is left out')
  const atS = startS + 3600
  const passer = { x: 20, y: 50, width: 12, height: 36, shade: 230 }
  t.equal(model.look(picture([...clockPatches(atS), passer]), atS * 1000).length, 1, 'in front of the clock')
  const small = { x: 120, y: 20, width: 10, height: 10, shade: 230 }
  t.equal(
    model.look(picture([...clockPatches(atS + 1), small]), (atS + 1) * 1000).length,
    1,
    'what is as small elsewhere',
  )
})

t.test('places that change all the time are at most a twentieth of a picture, those that do so most', async (t) => {
  const habits = createHabits({ columns: 40, rows: 30 })
  const patch = (x: number, y: number) => ({
    cells: [y * 40 + x, y * 40 + x + 1],
    left: x,
    right: x + 1,
    top: y,
    bottom: y,
  })
  const all = Array.from({ length: 150 }, (_, at) => patch((at % 10) * 4, Math.floor(at / 10) * 2))
  // Of these some miss a minute.
  for (let minute = 1; minute < 40; minute++)
    habits.note(
      all.filter((_, at) => at < 30 || minute % 20 !== 19),
      minute * 60_000,
    )
  const left = all.filter((one) => habits.isHabit(one))
  t.ok(left.length >= 10 && left.length <= 60, `${left.length} of 150`)
  t.notOk(habits.isHabit({ ...patch(0, 0), bottom: 9 }), 'what is large is none')
})

t.test('a model takes what the memory plan says', async (t) => {
  const shades = new Uint8Array(160 * 120)
  const bytes = await heapBytesOf(() => {
    const model = createMotionModel()
    for (let at = 1; at < 6; at++) model.look({ width: 160, height: 120, bytes: shades }, at)
    return model
  })
  t.ok(bytes <= rowOf(sightRows(), 'what cameras usually show', { 'cameras.max': 1 }).allBytes)
})
