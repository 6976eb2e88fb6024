/** Queries of every kind in every spelling, for property tests: well-formed, contradictory, encoded, and nonsense. */
import fc from 'fast-check'

const OPERATORS = ['in', 'notin', 'like', 'contains', 'gt', 'gte', 'lt', 'lte', 'between', 'notequal', 'null'] as const

interface Asked {
  column: string
  operator: (typeof OPERATORS)[number]
  values: readonly string[]
}

type Part = { asks: readonly Asked[]; or: readonly Part[] }

/** The parts of a query. */
export interface Vocabulary {
  /** Names that may be used. */
  columns: readonly string[]
  /** Values to compare with. */
  values: readonly string[]
  /** Leaves out queries that are refused for their form, so that more of them reach the rows. */
  isFair: boolean
}

const FAIR = ['_instance=true', '_instance=true', '_count=true', '_limit=1', '_limit=2', '_offset=1', '_limit=x']
const ODD = [
  '_instance=false',
  '_foo=1',
  '_LIKE[name]=a',
  '%',
  'a',
  '_count=',
  '_fields=[',
  '_or=[{}]',
  '_limit=5',
  '_offset=1',
]

export function spelledQuery({ columns, values, isFair }: Vocabulary): fc.Arbitrary<string> {
  const column = fc.constantFrom(...columns)
  const asked = askedOf(column, fc.constantFrom(...values))
  const { part } = fc.letrec<{ part: Part }>((tie) => ({
    part: fc.record({
      asks: fc.array(asked, { minLength: isFair ? 1 : 0, maxLength: 2 }),
      or: fc.oneof({ maxDepth: 2 }, fc.constant([]), fc.array(tie('part'), { maxLength: 2 })),
    }),
  }))
  const or = fc.oneof(
    { weight: 2, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(part, { maxLength: 3 }) },
  )
  const modifiers = fc.uniqueArray(modifierOf(column, isFair), {
    maxLength: 3,
    selector: (piece) => (isFair ? piece.split('=')[0] : piece),
  })
  return fc
    .tuple(
      fc.array(asked, { maxLength: 2 }),
      or,
      modifiers,
      fc.record({ style: fc.nat(7), mask: fc.nat(), change: fc.nat(40) }),
    )
    .map(([asks, or, modifiers, { style, mask, change }]) => {
      const pieces = [...asks.flatMap((ask) => spelled(ask, style, [])), ...spelledOr(or, style, []), ...modifiers]
      if (change === 1 && pieces[0] !== undefined) pieces.push(pieces[0])
      if (change === 2 && pieces[0] !== undefined) pieces[0] = pieces[0].toUpperCase()
      return pieces.map((piece) => encoded(piece, mask)).join('&')
    })
}

function askedOf(column: fc.Arbitrary<string>, value: fc.Arbitrary<string>): fc.Arbitrary<Asked> {
  const operator = fc.oneof(
    { weight: 3, arbitrary: fc.constant('in' as const) },
    { weight: 5, arbitrary: fc.constantFrom(...OPERATORS) },
  )
  return fc.record({ column, operator, values: fc.array(value, { minLength: 1, maxLength: 3 }) })
}

function modifierOf(column: fc.Arbitrary<string>, isFair: boolean): fc.Arbitrary<string> {
  const list = fc.array(column, { minLength: 1, maxLength: 3 })
  const order = fc
    .tuple(fc.constantFrom('_orderby', '_order'), list, fc.constantFrom('', '=desc'))
    .map(([name, columns, way]) => `${name}=${columns.map((column) => column + way).join(',')}`)
  const fields = list.map((columns) => `_fields=${columns.join(',')}`)
  const count = column.map((column) => `_count=${column}`)
  const pair = fc.tuple(column, fc.constantFrom('x', 'name')).map((pair) => `_fields=${JSON.stringify(['id', pair])}`)
  const fair = fc.oneof(fc.constantFrom(...FAIR), order, fields, count)
  return isFair ? fair : fc.oneof(fair, fc.constantFrom(...ODD), pair)
}

/** One condition as parts of a query, not yet encoded. */
function spelled({ column, operator, values }: Asked, style: number, around: readonly string[]): string[] {
  const fit = fitting(operator, values)
  if (style % 4 === 0 && operator === 'in') return fit.map((value) => `${nameOf([...around, column])}=${value}`)
  if (style % 4 === 1) return [`${nameOf([...around, column, `_${operator}`])}=${fit.join(',')}`]
  if (style % 4 === 2)
    return [`${nameOf([...around, `_${operator}`])}=${JSON.stringify({ [column]: jsonOf(operator, fit) })}`]
  return [`${nameOf([...around, `_${operator}`, column])}=${fit.join(',')}`]
}

function spelledOr(parts: readonly Part[], style: number, around: readonly string[]): string[] {
  if (parts.length === 0) return []
  if (style > 3) return [`${nameOf([...around, '_or'])}=${JSON.stringify(parts.map(jsonPart))}`]
  return parts.flatMap(({ asks, or }, at) => [
    ...asks.flatMap((ask) => spelled(ask, style, [...around, '_or', String(at)])),
    ...spelledOr(or, style, [...around, '_or', String(at)]),
  ])
}

function jsonPart({ asks, or }: Part): unknown {
  const conditions = asks.map(({ column, operator, values }) => [
    column,
    { [`_${operator}`]: jsonOf(operator, fitting(operator, values)) },
  ])
  return { ...Object.fromEntries(conditions), ...(or.length > 0 && { _or: or.map(jsonPart) }) }
}

function fitting(operator: string, values: readonly string[]): readonly string[] {
  if (operator === 'in' || operator === 'notin') return values
  if (operator === 'between') return [values[0] ?? '', values.at(-1) ?? '']
  return operator === 'null' ? [values.length > 1 ? 'true' : 'false'] : values.slice(0, 1)
}

function jsonOf(operator: string, values: readonly string[]): unknown {
  const typed = values.map((value) =>
    value === 'null' && operator !== 'like' && operator !== 'contains'
      ? null
      : /^\d$/.test(value) && operator !== 'like' && operator !== 'contains'
        ? Number(value)
        : value,
  )
  return operator === 'in' || operator === 'notin' || operator === 'between' ? typed : typed[0]
}

function nameOf([first = '', ...rest]: readonly string[]): string {
  return first + rest.map((name) => `[${name}]`).join('')
}

/** Encodes what must be encoded, and other characters by the bits of `mask`; the first `=` stays. */
function encoded(piece: string, mask: number): string {
  const split = piece.indexOf('=')
  return Array.from(piece, (character, at) => {
    const must = /[^!-~]|[&%+#]/.test(character) && !(piece === '%')
    const may = (mask >>> (at % 31)) & 1 && mask % 3 === 0
    if (at === split || (!must && !may)) return character
    return Array.from(new TextEncoder().encode(character), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
  }).join('')
}
