// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of macros are written like that
import fc from 'fast-check'
import t from 'tap'
import { anyText } from '#kit/test/any-text.ts'
import type { Json } from '../../../core/json.ts'
import { jsonChars, referencesOf, substitute } from '../../../core/macros/values.ts'
import { argsOf } from './macro-rig.ts'

const MOST = 10_000

const rows: [string, Json, Record<string, Json>, Json][] = [
  ['a text that is one reference becomes the value', '${args.x}', { x: 5 }, 5],
  ['a list stays a list', '${args.x}', { x: [1, { a: null }] }, [1, { a: null }]],
  ['within a text stands the text', 'level ${args.x} %', { x: 50 }, 'level 50 %'],
  ['twice in a text', '${args.x}${args.y}', { x: 1, y: true }, '1true'],
  ['of an object its JSON', 'is ${args.x}', { x: { a: [1] } }, 'is {"a":[1]}'],
  ['null in a text', '<${args.x}>', { x: null }, '<null>'],
  ['a substituted value is not searched again', '${args.x}', { x: '${args.y}', y: 'no' }, '${args.y}'],
  ['nor the text that two values form together', '${args.x}args.y}', { x: '${', y: 'no' }, '${args.y}'],
  ['nor patterns of String.replace in it', 'a ${args.x}', { x: '$& $1 $$' }, 'a $& $1 $$'],
  ['keys are structure', { '${args.x}': '${args.x}' }, { x: 1 }, { '${args.x}': 1 }],
  ['other braces are text', '${x} {args.x} $args.x', { x: 1 }, '${x} {args.x} $args.x'],
  ['names of other alphabets', '${args.größe}', { größe: 3 }, 3],
]
for (const [what, template, args, expected] of rows)
  t.test(`substitution: ${what}`, async (t) => {
    t.same(substitute(template, argsOf(args), MOST), expected)
  })

t.test('an arg that was not given is an error, even if Object has a member of that name', async (t) => {
  for (const name of ['x', '__proto__', 'constructor', 'hasOwnProperty', 'toString'])
    t.throws(() => substitute(`\${args.${name}}`, argsOf({}), MOST), { code: 'macro_arg_missing' })
})

t.test('an arg can be called __proto__, and does not change a prototype', async (t) => {
  const args = argsOf(JSON.parse('{"__proto__": {"polluted": true}}'))
  const filled = substitute(JSON.parse('{"__proto__": "${args.__proto__}", "a": 1}'), args, MOST) as Record<
    string,
    Json
  >
  t.same(Object.keys(filled), ['__proto__', 'a'])
  t.equal(filled.polluted, undefined)
  t.equal(({} as Record<string, Json>).polluted, undefined)
})

t.test('a text that begins like a reference but is not one is refused', async (t) => {
  for (const text of [
    '${args.',
    '${args.}',
    '${args.a.b}',
    '${args.x',
    'ok ${args.x} ${args.y z}',
    `\${args.${'n'.repeat(65)}}`,
  ])
    t.throws(() => referencesOf([{ deep: text }]), { code: 'macro_reference' }, text)
})

t.test('references are found quickly even in texts made to be slow', async (t) => {
  const text = '${args.'.repeat(30_000)
  const before = process.cpuUsage()
  t.throws(() => referencesOf(text), { code: 'macro_reference' })
  t.ok(process.cpuUsage(before).user < 500_000)
})

t.test('a result that would be too large is refused before it is built', async (t) => {
  const args = argsOf({ x: 'x'.repeat(30_000) })
  for (const template of ['${args.x}'.repeat(500), Array(500).fill('${args.x}'), { a: '${args.x}' }])
    t.throws(() => substitute(template, args, MOST), { code: 'macro_value_size' })
})

/** Keys that do harm if prototypes are not guarded against. */
const names = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', 'hasOwnProperty', 'toString', 'a', 'b'),
  fc.string({ maxLength: 8 }),
)
const texts = fc.oneof(
  anyText({ maxLength: 12 }),
  fc.constantFrom('${args.a}', '${args.b}', 'x ${args.a} y', '${args.a}${args.b}', '${', 'args.a}', '\ud800', '\0'),
)
const json = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    texts,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(names, tie('value')), { maxLength: 4 }).map((fields) => Object.fromEntries(fields) as Json),
  ),
})).value

t.test('substitution never changes structure, and reaches no prototype', async () => {
  fc.assert(
    fc.property(json, json, json, (template, a, b) => {
      const args = argsOf({ a, b })
      const filled = substitute(template, args, 1_000_000)
      const before = JSON.stringify([template, a, b])
      return (
        hasShape(template, filled) &&
        JSON.stringify([template, a, b]) === before &&
        ({} as Record<string, Json>).a === undefined
      )
    }),
    { numRuns: 300 },
  )
})

/** Whether everything but texts with a reference is unchanged; the results of those texts are not checked. */
function hasShape(template: Json, filled: Json): boolean {
  if (typeof template === 'string') return template.includes('${args.') || filled === template
  if (Array.isArray(template))
    return (
      Array.isArray(filled) &&
      filled.length === template.length &&
      template.every((entry, at) => hasShape(entry, filled[at] as Json))
    )
  if (typeof template !== 'object' || template === null) return Object.is(filled, template)
  const [one, other] = [template, filled] as { [key: string]: Json }[]
  if (!one || typeof other !== 'object' || other === null || Array.isArray(other)) return false
  const above = Object.getPrototypeOf(other)
  if (above === null || Reflect.ownKeys(above).length > 0 || Object.getPrototypeOf(above) !== null) return false
  const keys = Object.keys(one)
  return (
    Object.keys(other).join('\n') === keys.join('\n') &&
    keys.every((key) => hasShape(one[key] as Json, other[key] as Json))
  )
}

t.test('the result of a substitution is no larger than is allowed', async () => {
  fc.assert(
    fc.property(json, json, fc.integer({ min: 10, max: 400 }), (template, a, most) => {
      let filled: Json
      try {
        filled = substitute(template, argsOf({ a, b: a }), most)
      } catch (thrown) {
        return ['macro_value_size', 'macro_arg_missing'].includes((thrown as { code: string }).code)
      }
      // Brackets and escapes are counted only roughly.
      return jsonChars(filled, 1_000_000) <= 4 * most + 100
    }),
    { numRuns: 300 },
  )
})
