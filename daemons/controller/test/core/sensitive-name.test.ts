/** Tests of core/secrets.ts. */
import fc from 'fast-check'
import { t } from 'tap'
import { holds } from '#kit/test/holds.ts'
import type { Json } from '../../core/json.ts'
import { isSensitiveName, withoutSecrets } from '../../core/secrets.ts'

const WORDS = 'password passwd pwd passphrase secret token key pin hash salt credential'.split(' ')

t.test('1 Guards 2 a name with a sensitive word in it is sensitive, however its words are joined', async (t) => {
  for (const word of WORDS)
    for (const name of [
      word,
      word.toUpperCase(),
      `wifi_${word}`,
      `${word}-2`,
      `a.${word}.b`,
      `my ${word}`,
      `wifi${word[0]?.toUpperCase()}${word.slice(1)}`,
      `${word}Value`,
      `${word}2`,
    ])
      t.equal(isSensitiveName(name), true, name)
})

t.test('1 Guards 2 camel case is split in every possible way', async (t) => {
  for (const name of [
    'apiKey',
    'APIKey',
    'apiKEY',
    'PINcode',
    'PINCode',
    'userPIN',
    'passWord',
    'push signing key',
    'WIFIPassword',
  ])
    t.equal(isSensitiveName(name), true, name)
})

t.test('1 Guards 2, 5 words written together, and plurals, are sensitive', async (t) => {
  for (const name of [
    'apikey',
    'wifi_psk',
    'passcode',
    'door_pincode',
    'camera credentials',
    'clientSecrets',
    'Authorization',
    'set-cookie',
    'accesstoken',
  ])
    t.equal(isSensitiveName(name), true, name)
})

t.test('1 Guards 2 a word that only begins or ends like a sensitive one is not', async (t) => {
  for (const name of [
    'monkey',
    'keyboard',
    'pinned',
    'spinning',
    'hashtag',
    'salty',
    'tokenize',
    'passwordless',
    'passage',
    'compass',
    'bypass',
    'pinsetter',
    'tokenless',
    'hairpins',
    'turnkey',
    'donkeys',
    'low_pass',
    'highPassHz',
    'pass-through',
    'subscription',
    'push_button',
  ])
    t.equal(isSensitiveName(name), false, name)
  for (const name of ['', '__proto__', 'constructor', 'level', 'p_i_n', 'pas_sword', 'ke_y', '\0', '\ud800'])
    t.equal(isSensitiveName(name), false, JSON.stringify(name))
})

t.test(
  '1 Guards 2, 5 plurals, names of several words, and other cases are sensitive like the plain name',
  async (t) => {
    for (const name of [
      ...['session_keys', 'integration_keys', 'api_keys', 'private_keys', 'signing_keys', 'tokens', 'pins', 'hashes'],
      ...['rfid', 'RFIDs', 'duress_pins', 'push_subscription', 'pushSubscriptions', 'web-push-subscription'],
      ...['pass', 'wifiPass', 'bearer', 'bearer_auth', 'jwt', 'JWTs', 'pass_word', 'passes'],
      ...[
        'SESSION_KEYS',
        'sessionKEYS',
        'SESSIONkeys',
        'SESSIONKeys',
        'sessionkeys',
        'secretaccesskey',
        'camerapasswords',
      ],
      ...['\uff50\uff41\uff53\uff53', 'P\u0130N', 'pa\u00adssword', 'cl\u00e9 key', 'to\u200bken'],
    ])
      t.equal(isSensitiveName(name), true, name)
  },
)

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

t.test('takes time in proportion to the length of the name', async (t) => {
  for (const part of [
    'pin',
    'A',
    'aA',
    'AAa',
    ' ',
    'pinA',
    '_pinx',
    'ÄÖüpinx',
    'user',
    'push ',
    'auth',
    'password',
    'low pass ',
  ]) {
    // CPU time: the machine may be busy with other work.
    const before = process.cpuUsage()
    isSensitiveName(`${part.repeat(40_000)}pin`)
    t.ok(process.cpuUsage(before).user < 1_000_000, part)
  }
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
