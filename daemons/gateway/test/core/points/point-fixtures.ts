/** A point book over ports in memory. */
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { registerPoints } from '../../../core/modbus/points.ts'
import { createPointBook } from '../../../core/points/book.ts'
import type { PointBase, PointDefinition, PointTemplate, TemplatePoint } from '../../../core/points/definition.ts'
import { type PointsFace, PointTable } from '../../../core/points/values.ts'
import { point } from './points.ts'

function templatePoint(name: string, keys: Partial<PointDefinition>): TemplatePoint {
  const { unitId: _unitId, template: _template, ...rest } = point(name, keys)
  return rest
}

const meter: PointTemplate = {
  id: 'meter',
  maker: 'Maker',
  model: 'One',
  kind: 'energy meter',
  title: 'Meter',
  source: { title: 'Manual', revision: '1', note: 'none' },
  line: { baud: 9600, parity: 'none', stop_bits: 1 },
  unitId: 1,
  points: [templatePoint('volts', { unit: 'V', pollMs: 5000 }), templatePoint('amperes', { address: 6 })],
}

/** Ports `bus` and `other` have points, `raw` has none. */
export function bookOf(setup: { limits?: { max: number; total: number }; saving?: () => Promise<void> } = {}) {
  const kept = new Map<string, PointDefinition[]>([
    ['bus', []],
    ['other', [point('x'), point('y', { address: 1 })]],
    ['raw', []],
  ])
  const table = new PointTable({
    clock: fakeClock(),
    protocol: registerPoints({ mergeGap: 8, mergeRegisters: 125 }),
    staleAfterMs: undefined,
    publish: () => {},
  })
  const polling = { reads: 0, pointsPerRead: null, periodSlipMs: null, overruns: 0 }
  const face: PointsFace<PointBase> = {
    takes: 'registers',
    set: (points) => table.set(points as readonly PointDefinition[]),
    list: () => table.list(),
    polling: () => polling,
  }
  const list = (path: string) => {
    const points = kept.get(path)
    if (!points) throw new Fault('unknown_port', path)
    return points
  }
  const book = createPointBook({
    keeper: {
      port: (path) => ({ path, adapter: { faces: list(path) && path === 'raw' ? {} : { points: face } } }),
      list,
      async change(path, apply) {
        const after = apply(list(path))
        await setup.saving?.()
        kept.set(path, after as PointDefinition[])
      },
      total: () => [...kept.values()].reduce((sum, points) => sum + points.length, 0),
    },
    templates: { list: async () => [meter] },
    limits: setup.limits ?? { max: 10, total: 20 },
  })
  return { book, kept, table }
}
