/** Routes of the history: what a point or a unit did, as buckets, and the points of a port as a table for spreadsheets. */
import { Readable } from 'node:stream'
import { Type } from 'typebox'
import { type Caller, count, instant, object, orNull, Reply, type Route, route, text } from '#kit/http/route.ts'
import { csvCell } from '#kit/pure/text.ts'
import type { PointBucket } from '../core/history/buckets.ts'
import type { Asked, History } from '../core/history/history.ts'
import type { PortRegistry } from '../core/lines/port-registry.ts'
import { requirePoint } from '../core/points/book.ts'
import { type AnyPoint, pointName } from '../core/points/definition.ts'
import { unitStates } from '../wire/history-block.ts'
import { nameOf } from './live-routes.ts'
import { portParams } from './port-routes.ts'
import { unitParams } from './unit-routes.ts'

const epochMs = (description: string) => Type.Optional(Type.Integer({ minimum: 0, maximum: 8.64e15, description }))

const stepOf = (otherwise: string) =>
  Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 31_622_400,
      description: `seconds of a bucket, a multiple of history.slot_s; left out: ${otherwise}`,
    }),
  )

const range = {
  from: epochMs('epoch milliseconds, rounded down to a whole step; left out: a day before to'),
  to: epochMs('epoch milliseconds; left out: now'),
  step: stepOf('as few as give 400 buckets at most'),
}
const rangeQuery = Type.Object(range, { additionalProperties: false })
const exportQuery = Type.Object(
  {
    ...range,
    step: stepOf('history.slot_s itself'),
    point: Type.Optional(pointName),
  },
  { additionalProperties: false },
)

const duration = Type.Integer({ minimum: 0, description: 'milliseconds' })
const number = orNull(Type.Number())
const rangeAnswer = { from: instant, to: instant, stepMs: count }

const pointHistoryAnswer = object({
  name: text,
  unit: orNull(text),
  decimals: orNull(count),
  ...rangeAnswer,
  buckets: Type.Array(
    object({
      at: instant,
      min: number,
      mean: number,
      max: number,
      last: number,
      goodMs: { ...duration, description: 'how long its value was good, milliseconds' },
      recordedMs: {
        ...duration,
        description: 'how long it was recorded; 0: the gateway did not run, or had no such point',
      },
    }),
    { description: 'all of them in the order of time; null: no good value' },
  ),
})

const unitHistoryAnswer = object({
  unitId: count,
  ...rangeAnswer,
  buckets: Type.Array(
    object({
      at: instant,
      requests: count,
      replies: count,
      exceptions: count,
      missing: Type.Integer({ minimum: 0, description: 'requests that no valid reply followed' }),
      damaged: Type.Integer({ minimum: 0, description: 'wrong checksums, and bytes that were no reply' }),
      recordedMs: duration,
      state: orNull(Type.Enum([...unitStates], { description: 'at the end; null: not recorded' })),
    }),
  ),
})

interface HistoryRouteParts {
  registry: PortRegistry
  history: History
}

export function historyRoutes({ history, registry }: HistoryRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/ports/:path/points/:name/history',
      who: 'user',
      reply: pointHistoryAnswer,
      summary: 'What a point did: least, mean, greatest and last value of each step, and where it had none',
      params: Type.Object({ ...portParams.properties, name: pointName }),
      query: rangeQuery,
      async handle({ caller, params: { name, path }, query }) {
        const { decimals, unit } = recordedAs(registry, path, name)
        const asked = await history.points(path, [name], { ...query, client: clientOf(caller) })
        return { name, unit, decimals, ...rangeOf(asked), buckets: asked.series.get(name) ?? [] }
      },
    }),
    route({
      method: 'GET',
      path: '/api/ports/:path/units/:unitId/history',
      who: 'user',
      reply: unitHistoryAnswer,
      summary: 'How a unit did: requests, replies, exceptions, missing and damaged ones of each step, and its state',
      params: unitParams,
      query: rangeQuery,
      async handle({ caller, params: { path, unitId }, query }) {
        registry.require(path)
        const asked = await history.units(path, [unitId], { ...query, client: clientOf(caller) })
        return { unitId, ...rangeOf(asked), buckets: asked.series.get(String(unitId)) ?? [] }
      },
    }),
    route({
      method: 'GET',
      path: '/api/ports/:path/history.csv',
      who: 'user',
      ticket: true,
      summary: 'The history of the points of a port as a table, CSV, in the order of time',
      params: portParams,
      query: exportQuery,
      replyType: 'text/csv',
      handle({ caller, params: { path }, query: { point, ...wish } }) {
        const chosen = point === undefined ? allRecorded(registry, path) : [recordedAs(registry, path, point)]
        const names = chosen.map(({ name }) => name)
        const pieces = history.pieces(path, names, { ...wish, client: clientOf(caller) })
        const file = Readable.from(tableOf(pieces, chosen), { objectMode: false })
        file.once('close', () => pieces.leave())
        return new Reply(200, file, {
          'content-type': 'text/csv; charset=utf-8',
          'content-disposition': `attachment; filename="${nameOf(path)}-history.csv"`,
        })
      },
    }),
  ]
}

/** What is shown with a history: of a point, or of a value beside points. */
type Recorded = Pick<AnyPoint, 'name' | 'unit' | 'decimals'>

/** @throws Fault `unknown_point`, `unknown_port` */
function recordedAs(registry: PortRegistry, path: string, name: string): Recorded {
  const beside = registry.require(path).adapter.faces?.recorded?.about(name)
  if (beside) return { name, unit: beside.unit, decimals: null }
  return requirePoint(registry.record(path).points, name)
}

/** @throws Fault `unknown_port` */
function allRecorded(registry: PortRegistry, path: string): readonly Recorded[] {
  const recorded = registry.require(path).adapter.faces?.recorded
  const beside = recorded?.list() ?? []
  const { points } = registry.record(path)
  return [...points, ...beside.map(({ name }) => ({ name, unit: recorded?.about(name)?.unit ?? null, decimals: null }))]
}

/** A key may have the name of a person. */
function clientOf(caller: Caller | undefined): string {
  return `${caller?.isKey ? 'key' : 'person'} ${caller?.name ?? ''}`
}

function rangeOf({ count, from, stepMs }: Asked<unknown>) {
  return { from, to: from + count * stepMs, stepMs }
}

const COLUMNS = ['min', 'mean', 'max', 'last', 'goodMs', 'recordedMs'] as const

/** A row for each point and step; where it had no value its cells are empty. @source RFC 4180 */
async function* tableOf(
  pieces: AsyncIterable<Asked<PointBucket>>,
  points: readonly Recorded[],
): AsyncGenerator<string> {
  yield `time,point,unit,${COLUMNS.join(',')}\r\n`
  for await (const { count, series } of pieces) {
    for (let n = 0; n < count; n++) {
      const rows = points.flatMap((point) => rowOf(point, series.get(point.name)?.[n]))
      yield rows.join('')
    }
  }
}

function rowOf({ name, unit }: Recorded, bucket: PointBucket | undefined): string[] {
  if (!bucket) return []
  const cells = [csvCell(name), csvCell(unit), ...COLUMNS.map((column) => csvCell(bucket[column]))]
  return [`${new Date(bucket.at).toISOString()},${cells.join(',')}\r\n`]
}
