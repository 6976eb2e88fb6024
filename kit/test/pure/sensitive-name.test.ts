/** Which names speak of a secret. */
import { t } from 'tap'
import { isSensitiveName } from '#kit/pure/sensitive-name.ts'

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
