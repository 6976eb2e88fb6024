/** Tests of core/sensitive-name.ts. */
import fc from 'fast-check'
import { t } from 'tap'
import { holds } from '#kit/test/holds.ts'
import type { Json } from '../../core/row.ts'
import { isSensitiveName, withoutSecrets } from '../../core/sensitive-name.ts'

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

t.test('1 Guards 2 camel case is read in every way that it can be', async (t) => {
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

t.test('1 Guards 2, 5 words that people write in one, or of many, are sensitive', async (t) => {
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
    'keys',
    'pins',
    'pinned',
    'spinning',
    'hashtag',
    'salty',
    'tokenize',
    'passwordless',
  ])
    t.equal(isSensitiveName(name), false, name)
  for (const name of ['', '__proto__', 'constructor', 'level', 'p_i_n', 'pass_word', 'ke_y', '\0', '\ud800'])
    t.equal(isSensitiveName(name), false, JSON.stringify(name))
})

t.test('takes time in proportion to the name', async (t) => {
  for (const part of ['pin', 'A', 'aA', 'AAa', ' ', 'pinA', '_pinx', 'ÄÖüpinx']) {
    const startMs = performance.now()
    isSensitiveName(`${part.repeat(40_000)}pin`)
    t.ok(performance.now() - startMs < 1000, part)
  }
})

t.test('1 Guards 3 what stands under a sensitive key is null at every depth, and the rest stays', async (t) => {
  const blob = { host: 'h', password: 'p', deep: [{ signingKey: { a: 1 }, list: [1, { pin: 0 }] }], token: null }
  t.same(withoutSecrets(blob), {
    host: 'h',
    password: null,
    deep: [{ signingKey: null, list: [1, { pin: null }] }],
    token: null,
  })
  t.same(blob.password, 'p')
})

t.test('1 Guards 3 keys that objects inherit are keys like any other', async (t) => {
  const blob = JSON.parse('{"__proto__": {"password": "p", "x": 1}, "constructor": {"secret": "s"}}') as Json
  t.equal(JSON.stringify(withoutSecrets(blob)), '{"__proto__":{"password":null,"x":1},"constructor":{"secret":null}}')
})

t.test('1 Guards 3 what is nested too deep to be looked through is null', async (t) => {
  let blob: Json = { password: 'p' }
  for (let level = 0; level < 100_000; level++) blob = { a: blob }
  t.notMatch(JSON.stringify(withoutSecrets(blob)), /"p"/)
})

t.test('JSON without sensitive keys comes back as the same value', async (t) => {
  const blob = { a: [1, { b: 'x' }], c: null }
  t.equal(withoutSecrets(blob), blob)
})

t.test('1 Guards 3 no text that stands under a sensitive key is left in any JSON', async (t) => {
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
