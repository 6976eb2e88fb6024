/** Tests of http/check.ts, numbers.ts, schema.ts, schema.ts and check.ts. */
import fc from 'fast-check'
import t from 'tap'
import { Type } from 'typebox'
import { Fault } from '#kit/pure/fault.ts'
import { holds } from '#kit/test/holds.ts'
import { createCheck, createReader } from '../../http/check.ts'

const closed = { additionalProperties: false }

const silence = Type.Object(
  { mode: Type.Literal('silence'), silence_ms: Type.Integer({ default: 5, minimum: 1 }) },
  closed,
)
const length = Type.Object({ mode: Type.Literal('length'), length: Type.Integer({ minimum: 1 }) }, closed)

const settings = Type.Object(
  {
    framing: Type.Union([silence, length, Type.Null()], { default: { mode: 'silence' } }),
    parity: Type.Union([Type.Literal('none'), Type.Literal('odd')], { default: 'none' }),
    stop_bits: Type.Union([Type.Literal(1), Type.Literal(1.5)], { default: 1 }),
    tags: Type.Array(Type.String({ minLength: 1 }), { default: [], maxItems: 3 }),
    headers: Type.Record(Type.String(), Type.String(), { default: {} }),
    password: Type.Optional(Type.String({ minLength: 8 })),
    note: Type.Optional(Type.Union([Type.String({ maxLength: 5 }), Type.Null()])),
  },
  closed,
)
const read = createReader(settings)

/** The fields of a refusal with their sentences. */
function faultsOf(value: unknown, reader: (value: unknown) => unknown = read): Record<string, string> {
  try {
    reader(value)
    return {}
  } catch (fault) {
    if (!(fault instanceof Fault) || fault.code !== 'bad_fields') throw fault
    const fields = fault.details?.fields as { field: string; message: string }[]
    return Object.fromEntries(fields.map(({ field, message }) => [field, message]))
  }
}

t.test('fills in defaults, inside unions too, without sharing them', async (t) => {
  const [one, other] = [read({}), read({})]
  t.same(one, { framing: { mode: 'silence', silence_ms: 5 }, parity: 'none', stop_bits: 1, tags: [], headers: {} })
  t.not(one.tags, other.tags)
  t.same(read({ framing: { mode: 'silence' } }).framing, { mode: 'silence', silence_ms: 5 })
  t.equal(read({ framing: null }).framing, null)
})

t.test('reports only the branch of a union that was meant', async (t) => {
  t.same(faultsOf({ framing: { mode: 'length' } }), {
    'framing.length': 'is missing, expected a whole number of at least 1',
  })
  t.same(faultsOf({ framing: { mode: 'silence', silence_ms: 0, lenght: 1 } }), {
    'framing.lenght': 'is not known; known here: mode, silence_ms',
    'framing.silence_ms': 'is 0, expected a whole number of at least 1',
  })
  const unknownMode = { framing: 'needs `mode` to be one of "silence", "length"' }
  for (const framing of [{ mode: 'z' }, {}, { length: 4 }, { mode: null }]) t.same(faultsOf({ framing }), unknownMode)
  t.same(faultsOf({ framing: 4 }), { framing: 'is 4, expected an object or null' })
  t.same(faultsOf({ note: 'too long' }), { note: 'is text "too long", expected text of at most 5 characters or null' })
})

t.test('tells branches of a union apart by a choice of several, too', async (t) => {
  const plain = Type.Object({ type: Type.Enum(['button', 'detection']), level: Type.Enum(['low', 'high']) }, closed)
  const counted = Type.Object({ type: Type.Literal('count'), level: Type.Enum(['low', 'high']) }, closed)
  const reader = createReader(Type.Object({ trigger: Type.Union([plain, counted]) }, closed))
  const sentence = (trigger: unknown) => {
    try {
      return void reader({ trigger })
    } catch (fault) {
      return (fault as Error).message
    }
  }
  t.match(sentence({ type: 'bell' }), /trigger needs `type` to be one of "button", "detection", "count"/)
  t.match(sentence({ type: 'button', level: 'full' }), /trigger\.level is text "full", expected one of "low", "high"/)
  t.match(sentence({ type: 'count', level: 'low', count: 1 }), /trigger\.count is not known/)
  t.equal(sentence({ type: 'detection', level: 'high' }), undefined)
})

t.test('says what was seen and what was expected', async (t) => {
  t.same(faultsOf({ parity: 'mark', stop_bits: '1', tags: ['a', '', 3], headers: { a: 1 } }), {
    parity: 'is text "mark", expected one of "none", "odd"',
    stop_bits: 'is text "1", expected one of 1, 1.5',
    'tags[1]': 'is text "", expected text of at least 1 character',
    'tags[2]': 'is 3, expected text of at least 1 character',
    'headers.a': 'is 1, expected text',
  })
  t.same(faultsOf([]), { '': 'is a list with 0 entries, expected an object' })
  t.same(faultsOf(undefined), { '': 'is missing, expected an object' })
})

t.test('quotes neither secrets nor long texts', async (t) => {
  t.match(faultsOf({ password: 'short' }).password, /^is text with 5 characters, expected/)
  t.match(faultsOf({ parity: 'x'.repeat(100) }).parity, /^is text with 100 characters/)
  t.match(faultsOf({ headers: { Authorization: 12_345 } })['headers.Authorization'], /^is a number,/)
})

t.test('refuses names of a record that a pattern with an unescaped dot would let through', async (t) => {
  t.same(Object.keys(faultsOf({ headers: { 'a\nb': 1 } })), ['headers["a\\nb"]'])
})

t.test('does not find names on the prototype', async (t) => {
  const reader = createReader(Type.Object({ toString: Type.String() }, closed))
  t.throws(() => reader({}), { code: 'bad_fields', message: /toString is missing/ })
  t.match(faultsOf({ constructor: 1 }), { constructor: /is not known/ })
})

t.test('lists at most 32 faults of a body that has thousands', async (t) => {
  const body = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`unknown${i}`, 1]))
  t.equal(Object.keys(faultsOf(body)).length, 32)
})

t.test('reads text as the declared type if it comes from a query or path', async (t) => {
  const query = Type.Object(
    {
      limit: Type.Integer({ default: 10 }),
      all: Type.Optional(Type.Boolean()),
      ports: Type.Optional(Type.Array(Type.String())),
    },
    closed,
  )
  const check = createCheck(query, 'text', '?')
  t.same(check({ limit: '5', all: 'true', ports: '/dev/ttyS0' }).value, { limit: 5, all: true, ports: ['/dev/ttyS0'] })
  t.same(check({}).value, { limit: 10 })
  t.same(
    check({ limit: '5x', al: '' }).faults.map(({ field }) => field),
    ['?al', '?limit'],
  )
})

t.test('puts its prefix before each field', async (t) => {
  const reader = createReader(Type.Object({ a: Type.Integer() }, closed), 'settings.')
  t.same(Object.keys(faultsOf({ a: 'x' }, reader)), ['settings.a'])
  t.same(Object.keys(faultsOf(4, reader)), ['settings'])
})

t.test('throws nothing but its Fault, whatever the input', async (t) => {
  holds(
    t,
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => void faultsOf(value)),
  )
  const near = fc.record(
    {
      framing: fc.jsonValue(),
      parity: fc.jsonValue(),
      tags: fc.jsonValue(),
      headers: fc.jsonValue(),
      x: fc.jsonValue(),
    },
    { requiredKeys: [] },
  )
  holds(
    t,
    fc.property(near, (value) => void faultsOf(value)),
  )
})

t.test('of objects without a mark, the one is meant that needs a field which no other knows', async (t) => {
  const strict = { additionalProperties: false }
  const named = Type.Object({ name: Type.String(), record: Type.String(), every: Type.Number({ default: 60 }) }, strict)
  const placed = Type.Object(
    { name: Type.String(), address: Type.Integer(), every: Type.Number({ default: 10 }) },
    strict,
  )
  const checkOne = createCheck(Type.Object({ point: Type.Union([placed, named]) }, strict))
  t.same(checkOne({ point: { name: 'a', record: 'energy' } }), {
    value: { point: { name: 'a', record: 'energy', every: 60 } },
    faults: [],
  })
  t.same(checkOne({ point: { name: 'a', address: 3 } }).value, { point: { name: 'a', address: 3, every: 10 } })
  t.match(checkOne({ point: { name: 'a', adress: 1, record: 'energy' } }).faults, [
    { field: 'point.adress', message: /is not known/ },
  ])
  t.match(checkOne({ point: { name: 'a', address: 'x' } }).faults, [{ field: 'point.address' }])
  t.match(checkOne({ point: { name: 'a' } }).faults, [{ field: 'point' }], 'neither is meant')
})
