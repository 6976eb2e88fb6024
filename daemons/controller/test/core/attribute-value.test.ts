import fc from 'fast-check'
import t from 'tap'
import { holds } from '#kit/test/holds.ts'
import type { Json } from '../../core/json.ts'
import { holdsSecret, seenValue } from '../../core/secrets.ts'
import { schema } from './data/data-house.ts'

function seen(value: Json): Json {
  return seenValue(schema, value)
}

/** Nested lists. */
function nested(levels: number): Json {
  return levels === 0 ? 1 : [nested(levels - 1)]
}

const shown: [string, Json, Json][] = [
  ['a text that is not JSON', 'auto', 'auto'],
  ['a number in a text', '21.50', '21.50'],
  ['null', null, null],
  ['a word that names a secret', 'password', 'password'],
  ['brackets that are not JSON', '[off]', '[off]'],
  ['JSON without secrets', '{"a": [1, 2]}', '{"a":[1,2]}'],
  ['a secret', '{"a":1,"password":"x"}', '{"a":1,"password":null}'],
  [
    'a secret at every depth',
    '[{"a":[{"sftp":{"wifiPassword":"x","port":22}}]}]',
    '[{"a":[{"sftp":{"wifiPassword":null,"port":22}}]}]',
  ],
  [
    'a secret that is not a text',
    '{"api_key":{"a":[1]},"pin":4711,"token":true}',
    '{"api_key":null,"pin":null,"token":null}',
  ],
  ['space around', ' \n\t\ufeff{"pin":1} ', '{"pin":null}'],
  ['an escaped name', '{"p\\u0061ssword":"x"}', '{"password":null}'],
  ['a name given twice', '{"a":{"password":"x"},"a":1}', '{"a":1}'],
  [
    'JSON in JSON',
    JSON.stringify({ a: JSON.stringify({ pin: 1, b: 2 }) }),
    JSON.stringify({ a: '{"pin":null,"b":2}' }),
  ],
  ['JSON in a text of JSON', JSON.stringify(JSON.stringify({ pin: 1 })), JSON.stringify('{"pin":null}')],
  ['JSON in a list of JSON', JSON.stringify([JSON.stringify({ pin: 1 })]), JSON.stringify(['{"pin":null}'])],
  ['broken JSON that names a secret', '{"password":"x"', null],
  ['what a script would read', "{password: 'x'}", null],
  ['broken JSON that names none', '{"mode":"x"', '{"mode":"x"'],
  ['a value that is JSON itself', { password: 'x', b: '{"pin":1}' }, { password: null, b: '{"pin":null}' }],
  ['deeper than anybody writes', '['.repeat(100_000), null],
  ['deep and whole', `${'['.repeat(5000)}${']'.repeat(5000)}`, null],
  ['deep, and JSON itself', nested(65), null],
  ['as deep as is allowed', nested(64), nested(64)],
]

for (const [title, value, expected] of shown)
  t.test(`1 Guards 3 ${title}`, async (t) => {
    t.strictSame(seen(value), expected)
  })

t.test('1 Guards 3 a key called __proto__ is an ordinary key', async (t) => {
  t.equal(seen('{"__proto__":{"password":"x","a":1}}'), '{"__proto__":{"password":null,"a":1}}')
  t.equal(({} as Record<string, unknown>).a, undefined)
})

t.test('1 Guards 3 a long list is not a deep one', async (t) => {
  const list = Array.from({ length: 300_000 }, () => 1)
  t.equal(seen(JSON.stringify(list)), JSON.stringify(list))
})

t.test('1 Guards 3 the value under a sensitive name decides nothing', async (t) => {
  const secret = fc.jsonValue({ maxDepth: 2 })
  const around = fc.constantFrom(
    (secret: unknown) => JSON.stringify({ a: 1, password: secret }),
    (secret: unknown) => JSON.stringify([{ apiKey: secret }, 'x'], null, 2),
    (secret: unknown) => JSON.stringify({ a: JSON.stringify({ 'push signing key': secret }) }),
    (secret: unknown) => JSON.stringify(JSON.stringify([JSON.stringify({ pin: secret })])),
  )
  holds(
    t,
    fc.property(around, secret, secret, (around, one, other) => seen(around(one)) === seen(around(other))),
    { numRuns: 500 },
  )
})

t.test('1 Guards 3 a value holds a secret if a part of it is not shown, whatever its spelling', (t) => {
  const holding: [Json, boolean][] = [
    ['{"a":1,"password":"x"}', true],
    ['"{\\"pin\\":1}"', true],
    ['{ "a" :\n1 }', false],
    ['{"a":1,"password":null}', false],
    ['auto', false],
    [null, false],
    ['['.repeat(1000), true],
    [{ deep: [{ token: 'x' }] }, true],
    [{ deep: [{ a: 'x' }] }, false],
  ]
  for (const [value, isHolding] of holding) t.equal(holdsSecret(schema, value), isHolding, JSON.stringify(value))
  t.end()
})
