import fc from 'fast-check'
import t from 'tap'
import { argsFaults, type Json, readArgsSchema, withArgDefaults } from '../../core/json.ts'

const faultsOf = (schema: Json, args: Record<string, Json>) =>
  argsFaults(readArgsSchema(schema), new Map(Object.entries(args)))
const of = (x: Json): Json => ({ type: 'object', properties: { x } })

const rows: [Json, Json, string | undefined][] = [
  [{ type: 'integer' }, 5, undefined],
  [{ type: 'integer' }, 5.5, 'args.x is not of type integer'],
  [{ type: 'number' }, '5', 'args.x is not of type number'],
  [{ type: ['string', 'null'] }, null, undefined],
  [{ type: 'object' }, [], 'args.x is not of type object'],
  [{ type: 'array' }, {}, 'args.x is not of type array'],
  [{ enum: ['on', 'off'] }, 'on', undefined],
  [{ enum: ['on', 'off'] }, 'ON', 'args.x is none of the values that are allowed'],
  [{ const: 0 }, false, 'args.x is none of the values that are allowed'],
  [{ minimum: 0, maximum: 100 }, 101, 'args.x breaks maximum 100'],
  [{ exclusiveMinimum: 0 }, 0, 'args.x breaks exclusiveMinimum 0'],
  [{ exclusiveMaximum: 9 }, 9, 'args.x breaks exclusiveMaximum 9'],
  [{ minimum: 5 }, 'a text is not a number', undefined],
  [{ maxLength: 2 }, '👍👍', undefined],
  [{ minLength: 3 }, '👍👍', 'args.x breaks minLength 3'],
  [{ minItems: 1 }, [], 'args.x breaks minItems 1'],
  [{ maxItems: 1 }, [1, 2], 'args.x breaks maxItems 1'],
  [{ minItems: 1, maxItems: 1 }, 'a text is not a list', undefined],
  [{ items: { type: 'string' } }, ['a', 1], 'args.x[1] is not of type string'],
  [{ properties: { y: { type: 'string' } } }, { y: 1 }, 'args.x.y is not of type string'],
  [{ additionalProperties: false }, { z: 1 }, 'args.x.z is not known'],
  [{ additionalProperties: { type: 'null' } }, { z: 1 }, 'args.x.z is not of type null'],
  [{ required: ['constructor'] }, {}, 'args.x.constructor is missing'],
]
for (const [schema, value, fault] of rows)
  t.test(`args_schema ${JSON.stringify(schema)} finds ${fault ?? 'nothing'}`, async (t) => {
    t.same(faultsOf(of(schema), { x: value }), fault === undefined ? [] : [fault])
  })

t.test('args_schema treats names of Object as ordinary names', async (t) => {
  const schema = JSON.parse('{"properties": {"__proto__": {"type": "string"}}, "additionalProperties": false}')
  t.same(faultsOf(schema, JSON.parse('{"__proto__": 1}')), ['args.__proto__ is not of type string'])
  t.same(faultsOf(schema, { constructor: 1 } as never), ['args.constructor is not known'])
  t.same(faultsOf({ required: ['toString'] }, {}), ['args.toString is missing'])
})

t.test('a keyword of args_schema that is not supported is refused, with its place', async (t) => {
  const odd: Json[] = [
    { pattern: '^(a+)+$' },
    { anyOf: [] },
    { $ref: '#' },
    { type: 'text' },
    { enum: [{}] },
    { minimum: '1' },
    { required: [1] },
    { properties: [] },
    { patternProperties: {} },
    5,
  ]
  for (const schema of odd)
    t.throws(() => readArgsSchema(of(schema)), { code: 'macro_schema', message: /^args_schema\.x / })
})

t.test('a schema that is too deep or has too many parts is refused', async (t) => {
  let deep: Json = {}
  for (let depth = 0; depth < 5000; depth++) deep = { items: deep }
  t.throws(() => readArgsSchema(deep), { code: 'macro_schema' })
  const levels = (count: number): Json => (count === 1 ? {} : { items: levels(count - 1) })
  t.ok(readArgsSchema(levels(8)))
  t.throws(() => readArgsSchema(levels(9)), { code: 'macro_schema' })
  const wide = { properties: Object.fromEntries(Array.from({ length: 600 }, (_, at) => [`p${at}`, {}])) }
  t.throws(() => readArgsSchema(wide), { code: 'macro_schema' })
})

t.test('defaults replace args that are left out, not null', async (t) => {
  const schema = readArgsSchema({ properties: { a: { default: 1 }, b: { default: 2 } } })
  t.same(
    [...withArgDefaults(schema, new Map([['b', null]]))],
    [
      ['b', null],
      ['a', 1],
    ],
  )
})

t.test('faults name places, at most 10, and hold no value', async (t) => {
  const faults = faultsOf(
    { additionalProperties: { type: 'null' } },
    Object.fromEntries(Array.from({ length: 99 }, (_, at) => [`p${at}`, 'geheim'])),
  )
  t.equal(faults.length, 10)
  t.notMatch(faults.join(), /geheim/)
  const odd = {
    type: ['null'],
    enum: [1],
    minLength: 9,
    additionalProperties: { type: 'null', enum: [1], minLength: 9 },
  }
  const args = { a: 'geheim', b: 'geheim', c: 'geheim', d: 'geheim' }
  t.equal(faultsOf(odd, args).length, 10, 'several of one value count each')
})

t.test('checking any JSON against any schema ends, with readable faults', async () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.dictionary(fc.string(), fc.jsonValue()), (schema, args) => {
      try {
        return faultsOf(schema as Json, args as Record<string, Json>).length <= 10
      } catch (thrown) {
        return (thrown as { code: string }).code === 'macro_schema'
      }
    }),
    { numRuns: 300 },
  )
})
