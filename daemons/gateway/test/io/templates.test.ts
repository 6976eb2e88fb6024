/** The templates that come with the gateway: each is complete, and reads the examples of its source correctly. */
import { join } from 'node:path'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { PlanCuts, planReads } from '../../core/modbus/points.ts'
import type { PointDefinition, PointTemplate } from '../../core/points/definition.ts'
import { createTemplateFiles } from '../../io/state-files.ts'
import { createPointReader, type PointValue, pointLength } from '../../wire/point-value.ts'

const templates = await createTemplateFiles(join(import.meta.dirname, '../../templates'), fakeClock()).list()
const limits = { mergeGap: 8, mergeRegisters: 125 }

function asPoints({ id, maxRegisters, points }: PointTemplate): PointDefinition[] {
  return points.map((point) => ({ ...point, unitId: 1, template: id, maxRegisters: maxRegisters ?? null }))
}

t.test('A.templates there are at least twelve, of every kind that a plant room has', async (t) => {
  t.ok(templates.length >= 12)
  t.same([...new Set(templates.map(({ kind }) => kind))].sort(), [
    'co2',
    'energy meter',
    'heat pump',
    'relay',
    'temperature',
    'vfd',
  ])
  t.equal(new Set(templates.map(({ id }) => id)).size, templates.length)
  for (const { id, source } of templates)
    t.match(source.note, /[Nn]ot tried on hardware/, `${id} says what it has not been checked on`)
})

for (const template of templates)
  t.test(`${template.id}: no two points share a register, except bits, and its reads are merged`, async (t) => {
    const points = asPoints(template)
    for (const [at, one] of points.entries())
      for (const other of points.slice(at + 1)) {
        const isApart =
          one.address + pointLength(one) <= other.address || other.address + pointLength(other) <= one.address
        const areBits = one.type === 'bit' && other.type === 'bit' && one.bit !== other.bit
        t.ok(one.fc !== other.fc || isApart || areBits, `${one.name} and ${other.name}`)
      }
    const blocks = planReads(points, limits, new PlanCuts())
    t.ok(blocks.length < points.length, `${points.length} points in ${blocks.length} reads`)
    for (const {
      request: { fc, quantity },
    } of blocks)
      t.ok(fc <= 2 || quantity <= (template.maxRegisters ?? 125))
  })

/** The SDM120's document rounds its example to 230.2. */
const examples: [
  id: string,
  fc: number,
  address: number,
  words: number[],
  values: Record<string, PointValue | null>,
][] = [
  ['eastron-sdm120', 4, 0, [0x4366, 0x3334], { voltage: 230.20001 }],
  ['xy-md02', 4, 1, [0x0131, 0x0222], { temperature: 30.5, humidity: 54.6 }],
  ['xy-md02', 4, 1, [0xff33], { temperature: -20.5 }],
  [
    'peacefair-pzem-016',
    4,
    0,
    [0x0898, 0x03e8, 0, 0x0898, 0, 0, 0, 0x01f4, 0x0064, 0],
    { voltage: 220, current: 1, 'active power': 220, 'import energy': 0, frequency: 50, 'power factor': 1 },
  ],
  ['r4dcb08', 3, 0, [219, 65_424, 0x8000], { 'temperature 1': 21.9, 'temperature 2': -11.2, 'temperature 3': null }],
  ['danfoss-vlt-fc', 3, 16_139, [0, 524], { 'motor current': 5.24 }],
  ['delta-vfd-f', 3, 0x2102, [0x1770], { 'frequency command': 60 }],
]
for (const [id, fc, address, words, values] of examples)
  t.test(`${id}: the example of its document reads ${JSON.stringify(values)}`, async (t) => {
    const points = templates.find((template) => template.id === id)?.points ?? []
    for (const [name, value] of Object.entries(values)) {
      const found = points.find((point) => point.name === name && point.fc === fc)
      if (!found) return t.fail(`${id} has no ${name}`)
      const at = found.address - address
      const read = () => createPointReader(found)(words.slice(at, at + pointLength(found)))
      if (value === null) t.throws(read, { code: 'point_no_value' })
      else t.equal(read(), value, name)
    }
  })

t.test('signs name points that are numbers, and a device without a code has two of them', async (t) => {
  t.ok(templates.filter(({ signs = [] }) => signs.length > 0).length >= 10)
  for (const { id, points, signs = [] } of templates) {
    const values = signs.filter((sign) => 'point' in sign)
    t.ok(signs.length === 0 || signs.length > values.length || values.length >= 2, id)
    for (const { point, from, to } of values) {
      const type = points.find(({ name }) => name === point)?.type
      t.ok(type && type !== 'bit' && type !== 'string' && from < to, `${id}: ${point}`)
    }
  }
})
