import fc from 'fast-check'
import t from 'tap'
import { holds } from '#kit/test/holds.ts'
import { PlanCuts, planReads } from '../../../core/modbus/points.ts'
import { modbusFunctions } from '../../../wire/modbus-request.ts'
import { pointLength } from '../../../wire/point-value.ts'
import { point } from './points.ts'

const limits = { mergeGap: 8, mergeRegisters: 125 }

function spans(points: Parameters<typeof planReads>[0], by = limits, cuts = new PlanCuts()) {
  return planReads(points, by, cuts).map(({ request: { unitId, fc, address, quantity } }) => [
    unitId,
    fc,
    address,
    quantity,
  ])
}

t.test('neighbours of one unit, function and interval are one read', async (t) => {
  const points = [
    point('c', { address: 4, type: 'u32' }),
    point('a', { address: 0, type: 'f32' }),
    point('b', { address: 2, type: 'f32' }),
    point('other unit', { unitId: 2, address: 2 }),
    point('other function', { fc: 4, address: 2 }),
    point('other interval', { address: 2, pollMs: 5000 }),
  ]
  t.same(spans(points), [
    [1, 3, 0, 6],
    [1, 3, 2, 1],
    [1, 4, 2, 1],
    [2, 3, 2, 1],
  ])
})

t.test('a gap is read too if merge_gap allows it', async (t) => {
  const points = [point('a', { address: 0 }), point('b', { address: 9 }), point('c', { address: 19 })]
  t.same(spans(points), [
    [1, 3, 0, 10],
    [1, 3, 19, 1],
  ])
  t.same(spans(points, { ...limits, mergeGap: 0 }).length, 3)
})

t.test('coils bridge gaps sixteen times as long, and both keep to the limit of their function', async (t) => {
  const coils = [0, 128, 300].map((address) => point(`c${address}`, { fc: 1, type: 'bit', address }))
  t.same(spans(coils), [
    [1, 1, 0, 129],
    [1, 1, 300, 1],
  ])
  const all = Array.from({ length: 300 }, (_, address) => point(`r${address}`, { address }))
  t.same(spans(all), [
    [1, 3, 0, 125],
    [1, 3, 125, 125],
    [1, 3, 250, 50],
  ])
  const bits = Array.from({ length: 2100 }, (_, address) => point(`b${address}`, { fc: 2, type: 'bit', address }))
  t.same(spans(bits), [
    [1, 2, 0, 2000],
    [1, 2, 2000, 100],
  ])
  t.same(spans(all, { ...limits, mergeRegisters: 80 })[0], [1, 3, 0, 80])
})

t.test('a unit that returns few registers in one read is asked for no more', async (t) => {
  const few = (from: number, maxRegisters: number | null) =>
    Array.from({ length: 12 }, (_, at) => point(`r${from + at}`, { address: from + at, maxRegisters }))
  t.same(spans([...few(0, 5), ...few(12, null)]), [
    [1, 3, 0, 5],
    [1, 3, 5, 5],
    [1, 3, 10, 5],
    [1, 3, 15, 9],
  ])
})

t.test('two points on one register are one read', async (t) => {
  const points = [
    point('low', { type: 'bit', bit: 0, address: 7 }),
    point('high', { type: 'bit', bit: 9, address: 7 }),
    point('whole', { type: 'u32', address: 6 }),
  ]
  t.same(spans(points), [[1, 3, 6, 2]])
})

t.test('a refused read is cut at its widest gap, then in its middle, until one place is left', async (t) => {
  const points = [0, 1, 2, 6, 7, 8].map((address) => point(`p${address}`, { address }))
  const cuts = new PlanCuts()
  const learn = () => {
    const [refused] = planReads(points, limits, cuts)
    return refused ? cuts.learn(refused) : undefined
  }
  t.equal(learn(), true)
  t.same(spans(points, limits, cuts), [
    [1, 3, 0, 3],
    [1, 3, 6, 3],
  ])
  t.equal(learn(), true)
  t.same(spans(points, limits, cuts)[0], [1, 3, 0, 1])
  t.equal(learn(), false, 'one place alone cannot be cut')
  cuts.keep(points.slice(0, 3))
  t.same(spans(points, limits, cuts), [
    [1, 3, 0, 1],
    [1, 3, 1, 8],
  ])
})

t.test('a cut learned from one device of a template holds for the others, and for no other template', async (t) => {
  const device = (unitId: number, template: string | null) =>
    [0, 5].map((address) => point(`${unitId}-${address}`, { unitId, address, template }))
  const cuts = new PlanCuts()
  const [first] = planReads(device(1, 'meter'), limits, cuts)
  if (first) cuts.learn(first)
  t.equal(spans(device(2, 'meter'), limits, cuts).length, 2)
  t.equal(spans(device(1, 'relay'), limits, cuts).length, 1)
  t.equal(spans(device(1, null), limits, cuts).length, 1)
})

const anyPoints = fc
  .array(
    fc.record({
      unitId: fc.integer({ min: 1, max: 3 }),
      fc: fc.constantFrom<1 | 2 | 3 | 4>(1, 2, 3, 4),
      address: fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 65_000, max: 65_531 })),
      size: fc.constantFrom<'u16' | 'u32' | 'u64'>('u16', 'u32', 'u64'),
      pollMs: fc.constantFrom(1000, 5000),
      template: fc.constantFrom(null, 'a', 'b'),
      maxRegisters: fc.constantFrom(null, 4, 30),
    }),
    { maxLength: 60 },
  )
  .map((list) => list.map(({ size, ...keys }, at) => point(`p${at}`, { ...keys, type: keys.fc <= 2 ? 'bit' : size })))

t.test(
  'whatever the points and whatever was refused, each is covered once, within the limits of its function',
  async (t) => {
    const anyLimits = fc.record({
      mergeGap: fc.integer({ min: 0, max: 124 }),
      mergeRegisters: fc.integer({ min: 1, max: 125 }),
    })
    holds(
      t,
      fc.property(anyPoints, anyLimits, fc.array(fc.nat(50), { maxLength: 12 }), (points, by, refused) => {
        const cuts = new PlanCuts()
        for (const at of refused) {
          const before = planReads(points, by, cuts)
          const block = before[at % Math.max(1, before.length)]
          const isCut = block !== undefined && cuts.learn(block)
          if (isCut && planReads(points, by, cuts).some(({ key }) => key === block.key)) return false
        }
        const blocks = planReads(points, by, cuts)
        const covered = blocks.flatMap((block) => block.points)
        const fits = blocks.every(({ request, points: those, periodMs }) => {
          const { address, fc: code, quantity, unitId } = request
          const most = modbusFunctions.get(code)?.maxQuantity ?? 0
          const holdsAll = those.every(
            (one) =>
              one.unitId === unitId &&
              one.fc === code &&
              one.pollMs === periodMs &&
              one.address >= address &&
              one.address + pointLength(one) <= address + quantity,
          )
          return holdsAll && quantity >= 1 && quantity <= most && address + quantity <= 65_536
        })
        return fits && covered.length === points.length && new Set(covered).size === points.length
      }),
    )
  },
)
