import t from 'tap'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { sightRows } from '../../../core/sight/memory.ts'
import { createMotionModel, type GrayPicture } from '../../../core/sight/motion.ts'
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
  return (patches: readonly Patch[] = [], shade = 100): GrayPicture => {
    const gray = new Uint8Array(width * height)
    for (let at = 0; at < gray.length; at++) gray[at] = shade + (chance() - 0.5) * 2 * noise
    for (const patch of patches)
      for (let y = patch.y; y < patch.y + patch.height; y++)
        for (let x = patch.x; x < patch.x + patch.width; x++) gray[y * width + x] = patch.shade
    return { width, height, gray }
  }
}

t.test('noise is no motion, and what moves is boxed where it is', async (t) => {
  const model = createMotionModel()
  const picture = pictures(1)
  for (let at = 0; at < 30; at++) t.same(model.look(picture()), [], `picture ${at}`)
  for (let at = 0; at < 10; at++) {
    const patch = { x: 10 + at * 10, y: 40, width: 12, height: 24, shade: 220 }
    const [box, ...others] = model.look(picture([patch]))
    t.ok(box && others.length <= 1, 'one box, and maybe where it was')
    const [left = 0, top = 0, right = 0, bottom = 0] = box ?? []
    t.ok(Math.abs(left * width - patch.x) <= 14 && Math.abs(right * width - patch.x - 12) <= 14, `${left} to ${right}`)
    t.ok(Math.abs(top * height - 40) <= 5 && Math.abs(bottom * height - 64) <= 5)
  }
})

t.test('a lamp that is switched on is no motion, and neither is what hangs and sways for long', async (t) => {
  const model = createMotionModel()
  const picture = pictures(2)
  for (let at = 0; at < 10; at++) model.look(picture())
  t.same(model.look(picture([], 180)), [], 'all of it changed')
  for (let at = 0; at < 10; at++) t.same(model.look(picture([], 180)), [])
  const sway = (at: number) => picture([{ x: 60, y: 20, width: 16, height: 16, shade: at % 2 === 0 ? 110 : 180 }], 180)
  let seen = 0
  for (let at = 0; at < 200; at++) if (model.look(sway(at)).length > 0) seen = at
  t.ok(seen < 150, `a branch was seen until picture ${seen}`)
})

t.test('what was put down is part of the picture after a while, and another size begins anew', async (t) => {
  const model = createMotionModel()
  const picture = pictures(3)
  for (let at = 0; at < 10; at++) model.look(picture())
  const box = [{ x: 60, y: 40, width: 20, height: 20, shade: 200 }]
  t.ok(model.look(picture(box)).length > 0)
  for (let at = 0; at < 150; at++) model.look(picture(box))
  t.same(model.look(picture(box)), [])
  t.same(model.look({ width: 80, height: 45, gray: new Uint8Array(80 * 45) }), [])
})

t.test('a model takes what the memory plan says', async (t) => {
  const gray = new Uint8Array(160 * 120)
  const bytes = await heapBytesOf(() => {
    const model = createMotionModel()
    for (let at = 0; at < 5; at++) model.look({ width: 160, height: 120, gray })
    return model
  })
  t.ok(bytes <= rowOf(sightRows(), 'what cameras usually show', { 'cameras.max': 1 }).allBytes)
})
