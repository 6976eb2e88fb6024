/** Tests of core/secrets.ts. */
import fc from 'fast-check'
import { t } from 'tap'
import { holds } from '#kit/test/holds.ts'
import type { Json } from '../../core/json.ts'
import { withoutSecrets } from '../../core/secrets.ts'

t.test('1 Guards 3, 5 if a sensitive name is itself a value, the value next to it is null', async (t) => {
  const cases: [Json, Json][] = [
    [
      { name: 'password', value: 'x' },
      { name: 'password', value: null },
    ],
    [
      { paramName: 'API keys', note: 1, new_value: ['x'] },
      { paramName: 'API keys', note: 1, new_value: null },
    ],
    [
      { Header: 'Authorization', '#text': 'x' },
      { Header: 'Authorization', '#text': null },
    ],
    [
      { type: 'password', default: 'x', text: 'Code' },
      { type: 'password', default: null, text: 'Code' },
    ],
    [{ a: [{ key: 'pin', value: 'x' }] }, { a: [{ key: null, value: null }] }],
    [
      [
        ['Authorization', 'x'],
        ['Host', 'y'],
      ],
      [
        ['Authorization', null],
        ['Host', 'y'],
      ],
    ],
  ]
  for (const [before, after] of cases) t.same(withoutSecrets(before), after, JSON.stringify(before))
  const shown: Json[] = [
    { name: 'compass', value: 4 },
    ['pin', 'name'],
    [['x', 1], 'key'],
    { name: 'Pin pad', host: 'h' },
  ]
  for (const open of shown) t.equal(withoutSecrets(open), open, JSON.stringify(open))
})

t.test('1 Guards 3 values under a sensitive key are null at every depth, and the rest stays', async (t) => {
  const blob = { host: 'h', password: 'p', deep: [{ signingKey: { a: 1 }, list: [1, { pin: 0 }] }], token: null }
  t.same(withoutSecrets(blob), {
    host: 'h',
    password: null,
    deep: [{ signingKey: null, list: [1, { pin: null }] }],
    token: null,
  })
  t.same(blob.password, 'p')
})

t.test('1 Guards 3 keys that objects inherit are ordinary keys', async (t) => {
  const blob = JSON.parse('{"__proto__": {"password": "p", "x": 1}, "constructor": {"secret": "s"}}') as Json
  t.equal(JSON.stringify(withoutSecrets(blob)), '{"__proto__":{"password":null,"x":1},"constructor":{"secret":null}}')
})

t.test('1 Guards 3 a value nested too deep to be searched is null', async (t) => {
  let blob: Json = { password: 'p' }
  for (let level = 0; level < 100_000; level++) blob = { a: blob }
  t.notMatch(JSON.stringify(withoutSecrets(blob)), /"p"/)
})

t.test('JSON without sensitive keys comes back as the same value', async (t) => {
  const blob = { a: [1, { b: 'x' }], c: null }
  t.equal(withoutSecrets(blob), blob)
})

t.test('1 Guards 3 no text under a sensitive key is left in any JSON', async (t) => {
  const marked = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constant(1),
      fc.string(),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.string(), tie('value'), { maxKeys: 3 }),
      fc.record({ wifiPassword: fc.constant('MARK'), a_key: fc.array(fc.constant({ x: 'MARK' })), rest: tie('value') }),
    ),
  }))
  holds(
    t,
    fc.property(marked.value, (value) => {
      const said = JSON.stringify(withoutSecrets(value as Json))
      return !said.includes('MARK')
    }),
  )
})
