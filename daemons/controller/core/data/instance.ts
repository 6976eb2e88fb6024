/** `_instance=true`: a row with what it is doing now, made of what the caller may see. */
import type { Json, Row } from '../row.ts'
import { seenValue } from './attribute-value.ts'
import type { Steps } from './data-turns.ts'
import type { DataWorld } from './data-world.ts'
import type { JsonPieces } from './json-pieces.ts'
import { type Projection, projectionOf } from './projection.ts'
import type { TableFace } from './schema-face.ts'
import { jsonOf, memberOf, type View } from './views.ts'

/** Writes a view as JSON, with a pause behind each of what hangs on it: one device may have every zone there is. */
export type Merge = (view: View, out: JsonPieces) => Steps<void>

/** Attributes that are written before others may have their turn. */
const ATTRIBUTES_A_STEP = 64

/**
 * How rows of a table are written with their live state; rows that have none are written as they are.
 * A device: state, ip_address (the one it has now, where that is known), last_seen, error, zones. A zone: state, what its
 * driver reports beside, attributes. What is live never stands for a column of the row, but for a device's ip_address.
 * @source document 1, Entity rows, Guards 5
 */
export function mergeOf(world: DataWorld, table: TableFace, projection: Projection, isElevated: boolean): Merge {
  if (table.name === 'device') return deviceMerge(world, projection, isElevated)
  if (table.name === 'zone') return zoneMerge(world, table, projection, isElevated)
  return plainMerge(projection)
}

function plainMerge(projection: Projection): Merge {
  return function* (view, out) {
    yield
    out.add(projection.json(view))
  }
}

function deviceMerge(world: DataWorld, projection: Projection, isElevated: boolean): Merge {
  const table = world.schema.table('zone')
  if (table === undefined) return plainMerge(projection)
  const mergeZone = zoneMerge(world, table, projectionOf(table, undefined), isElevated)
  const zonesOf = zonesByDevice(world.book.rows('zone'))
  return function* (view, out) {
    const { state, ipAddress, lastSeenAt, error } = world.live.device(view.row.id)
    const said = isElevated ? error : seenValue(world.schema, error)
    const facts = { state, ip_address: ipAddress ?? view.cells.ip_address ?? null, last_seen: lastSeenAt, error: said }
    const isMoved = ipAddress !== null && projection.names.has('ip_address')
    const base = isMoved ? projection.jsonWithout(view, 'ip_address') : projection.json(view)
    const isTaken = (name: string) => projection.names.has(name) && !(isMoved && name === 'ip_address')
    const members = Object.entries(facts).flatMap(([name, value]) => (isTaken(name) ? [] : [memberOf(name, value)]))
    const json = withMembers(base, members)
    if (isTaken('zones')) {
      out.add(json)
      return
    }
    out.add(openedFor(json, 'zones'))
    for (const [at, row] of zonesOf(view.row.id).entries()) {
      if (at > 0) out.add(',')
      yield* mergeZone(world.views.view(table, row, isElevated), out)
      yield
    }
    out.add(']}')
  }
}

function zoneMerge(
  { live, book, schema, views }: DataWorld,
  table: TableFace,
  projection: Projection,
  isElevated: boolean,
): Merge {
  const attributes = schema.table('attribute')
  const attributesOf = attributesByZone(book.rows('attribute'))
  const isTaken = (name: string) => projection.names.has(name) || table.columns.has(name) || name === 'attributes'
  /** Secret-bearing names are null for everyone, sensitive ones for who is not elevated. */
  const seen = (facts: Readonly<Record<string, Json>>) =>
    Object.entries(isElevated ? facts : (schema.withoutSecrets(facts) ?? {})).map(([name, value]): [string, Json] => [
      name,
      schema.isSecretName(name) ? null : isElevated ? value : seenValue(schema, value),
    ])
  return function* (view, out) {
    const facts = seen(live.zone(view.row.id)).flatMap(([name, value]) =>
      isTaken(name) ? [] : [memberOf(name, value)],
    )
    const json = withMembers(projection.json(view), facts)
    if (!attributes || projection.names.has('attributes')) {
      out.add(json)
      return
    }
    out.add(openedFor(json, 'attributes'))
    for (const [at, row] of attributesOf(view.row.id).entries()) {
      out.add(`${at > 0 ? ',' : ''}${jsonOf(views.view(attributes, row, isElevated), attributes)}`)
      if ((at + 1) % ATTRIBUTES_A_STEP === 0) yield
    }
    out.add(']}')
  }
}

/** @param json an object of at least one member, or `{}` */
function withMembers(json: string, members: readonly string[]): string {
  if (members.length === 0) return json
  const own = json.slice(1, -1)
  return `{${own === '' ? '' : `${own},`}${members.join(',')}}`
}

/** The object without its end, and with a list begun in it. */
function openedFor(json: string, name: string): string {
  return `${json.slice(0, -1)}${json === '{}' ? '' : ','}"${name}":[`
}

const zonesByDevice = createIndex((row) => row.device_id)
const attributesByZone = createIndex((row) => (row.system_target === 'zone' ? row.target_id : null))

/** Rows by the number of what they hang on; made anew when the table has changed, as its array is another then. */
function createIndex(keyOf: (row: Row) => Json | undefined) {
  const kept = new WeakMap<readonly Row[], Map<Json | undefined, Row[]>>()
  return (rows: readonly Row[]): ((id: number) => readonly Row[]) => {
    let index = kept.get(rows)
    if (index === undefined) {
      index = Map.groupBy(rows, keyOf)
      kept.set(rows, index)
    }
    const byKey = index
    return (id) => byKey.get(id) ?? []
  }
}
