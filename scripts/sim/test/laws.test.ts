import fc from 'fast-check'
import t from 'tap'
import { holds } from '#kit/test/holds.ts'
import { chanceAt, type Flow, jitter, steadyLoad, swinging, switched, together, wave } from '../laws.ts'

const flows: Record<string, Flow> = {
  steady: steadyLoad(265),
  swinging: swinging(18, 3700, 2),
  switched: switched(1450, { periodMs: 9000, share: 0.6 }),
  together: together(steadyLoad(5), swinging(3, 700), switched(9, { periodMs: 300, share: 0.25 })),
}

for (const [name, { rate, total }] of Object.entries(flows))
  t.test(`the total of a ${name} flow is the area under its rate`, async (t) => {
    const stepMs = 0.5
    let area = 0
    for (let atMs = 0; atMs < 20_000; atMs += stepMs) {
      area += rate(atMs + stepMs / 2) * stepMs
      const reached = total(atMs + stepMs)
      if (Math.abs(reached - area) > 1e-4 * Math.max(Math.abs(area), 1e4)) t.equal(reached, area, `after ${atMs} ms`)
    }
    t.ok(Math.abs(total(20_000)) > 1)
  })

t.test('a wave and a jitter stay within their swing, whatever the time and the seed', async (t) => {
  holds(
    t,
    fc.property(fc.nat(), fc.integer(), fc.double({ min: 0, max: 1e9, noNaN: true }), (step, seed, swing) => {
      const atMs = step * 7
      return Math.abs(wave(swing, 61_000, 1)(atMs)) <= swing && Math.abs(jitter(swing, 500, seed)(atMs)) <= swing
    }),
  )
})

t.test('a jitter holds its value for a step, and has another with another seed', async (t) => {
  const law = jitter(1, 500, 3)
  t.equal(law(500), law(999.9))
  t.not(law(500), law(1000))
  t.not(law(500), jitter(1, 500, 4)(500))
})

t.test('chances are spread evenly from 0 up to 1', async (t) => {
  const tenths = new Array<number>(10).fill(0)
  for (let step = 0; step < 10_000; step++) {
    const chance = chanceAt(7, step)
    const tenth = Math.floor(chance * 10)
    tenths[tenth] = (tenths[tenth] ?? 0) + 1
  }
  t.equal(tenths.length, 10, 'none is 1 or more')
  for (const count of tenths) t.ok(count > 900 && count < 1100, `${count} of 1000`)
})
