/** What is left of logs: no secret in whatever spelling, and all that helps. */
import fc from 'fast-check'
import { t } from 'tap'
import { holds } from '#kit/test/holds.ts'
import { masked } from '../masking.ts'

const ENTRY = '2026-11-27T08:00:00.123456+0100 house plantroom-gateway[812]: '

/** Secrets of these signs; none is so short that it stands in a line by chance, and none is a word that is left open. */
const secretOf = (signs: string) =>
  fc
    .array(fc.constantFrom(...signs), { minLength: 6, maxLength: 40 })
    .map((picked) => `q${picked.join('')}z`)
    .filter((text) => !/^(.)\1+$/.test(text))
const WORD = 'abcXYZ0189_-.~'
const word = secretOf(WORD)
/** As people choose them: no blank, no quote. */
const unquoted = secretOf(`${WORD}@/:;,!?#$%^*+=|()[]{}\\`)
/** In quotes: blanks and signs of all kinds. */
const quoted = secretOf(`${WORD}@/:;,!?#$%^*+=|()[]{}<>& '`)
const anything = secretOf(`${WORD}@/:;,!?#$%^*+=|()[]{}<>& '"\\`)

const NAMES = [
  ...['password', 'PASSWORD', 'passwordHash', 'wifi_password', 'passwords', 'secret', 'secret_key', 'client-secret'],
  ...['encryption_key', 'private_key', 'key', 'keys', 'apiKey', 'api_keys', 'token', 'accessToken', 'tokens', 'ticket'],
  ...['session', 'sessionId', 'pin', 'PIN', 'userPin', 'cookie', 'credentials', 'auth', 'passphrase', 'psk', 'jwt'],
  ...['pw', 'ftp_pw', 'pws', 'creds'],
]
const name = fc.constantFrom(...NAMES)
const header = fc.constantFrom('Authorization', 'proxy-authorization', 'Cookie', 'Set-Cookie', 'X-API-Key')

/** A law: whatever the secret, nothing of it is in what is left of these lines. */
function hidden<Case>(
  of: fc.Arbitrary<Case>,
  secretIn: (one: Case) => string,
  lines: (one: Case) => readonly string[],
) {
  return fc.property(of, (one) =>
    lines(one).every((line) => {
      const left = masked(`${ENTRY}${line}\n${ENTRY}next`)
      return !left.includes(secretIn(one)) && left.endsWith(`\n${ENTRY}next`)
    }),
  )
}

t.test('the value of a name that speaks of a secret is gone, to the end of the word', async (t) => {
  const one = fc.record({ name, secret: unquoted })
  const law = hidden(
    one,
    ({ secret }) => secret,
    ({ name, secret }) => [
      `${name}=${secret}`,
      `a=1 ${name}: ${secret} b=2`,
      `${name} = ${secret}`,
      `--${name} ${secret}`,
      `run(--${name}=${secret})`,
      `curl -u ann:${secret} -v`,
    ],
  )
  holds(t, law)
})

t.test('so it is to the end of quotes, within texts of texts too', async (t) => {
  const law = hidden(
    fc.record({ name, secret: anything }),
    ({ secret }) => secret,
    ({ name, secret }) => {
      const object = JSON.stringify({ a: 1, [name]: secret, b: 'x' })
      const lists = JSON.stringify({ [name]: ['x', secret, { deep: secret }], rest: 1 })
      const pairs = [['a', 'b'], ...[[name, secret]], { name, value: secret }]
      const texts = [object, lists, JSON.stringify(pairs), JSON.stringify(['--x', `--${name}`, secret])]
      return [...texts, ...texts.map((text) => `body=${JSON.stringify(text)}`)].concat(
        `${name}=${JSON.stringify(secret)} ok=1`,
      )
    },
  )
  // A secret with a quote or backslash stands escaped in a text: what is looked for is what would be there.
  holds(t, law)
  const plain = hidden(
    fc.record({ name, secret: quoted }),
    ({ secret }) => secret,
    ({ name, secret }) =>
      [
        `{"${name}": "${secret}"}`,
        JSON.stringify(JSON.stringify({ [name]: secret })),
        `["${name}","${secret}"]`,
        `<input name="${name}" value="${secret}">`,
        `<x:${name} Type="y">${secret.replaceAll('<', '')}</x:${name}>`,
        `set${name}("${secret}")`,
      ].filter((line) => !line.startsWith('set') || /^(?:PASSWORD|PIN)$/.test(name)),
  )
  holds(t, plain)
})

t.test('so it is in what programs and people write', async (t) => {
  const lines = [
    ...['Password for ann: hidden', "wrong password 'hidden' for ann", 'PIN 1234hidden', 'the password is hidden1'],
    ...[
      "obj['password'] = 'hidden'",
      'password[0]=hidden',
      'password => hidden',
      'Pre-Shared Key: hidden',
      'PIN: 1hidden',
    ],
    ...['PGPASSWORD=hidden psql', 'openssl -passin pass:hidden', `-H 'X-Api-Key: hidden'`, `"Cookie:session=hidden"`],
    ...['client_secret%3Dhidden%26a%3Db', '%22password%22%3A%22hidden%22', '&quot;password&quot;:&quot;hidden&quot;'],
    ...[
      'password\u00a0=\u00a0hidden',
      'password：hidden',
      '//ann:hidden@host/share',
      'http:/u:hidden@h',
      'door_code=hidden',
    ],
    ...["['Authorization','Bearer hidden']", 'passwords: hidden, hidden2, hidden3'],
    ...['publishing.update_key (command line): hidden is no key', 'x.ca_file (a.toml line 3): hidden is no path'],
    ...['wpa_passphrase=hidden', 'sid=hidden', '/ws?ticket=hidden', 'C:\\token=hidden', 'postgres://u:hid"hidden@h/'],
  ]
  for (const line of lines) t.notMatch(masked(ENTRY + line), 'hidden', line)
})

t.test('headers are gone to the end of the line', async (t) => {
  const law = hidden(
    fc.record({ header, secret: anything, scheme: fc.constantFrom('Digest', 'ApiKey', 'Basic', 'Bearer', 'a=b;') }),
    ({ secret }) => secret,
    ({ header, scheme, secret }) => [
      `${header}: ${scheme} ${secret}`,
      `> ${header.toLowerCase()}: ${scheme} username="ann", response=${secret}`,
      `head="GET / HTTP/1.1\\r\\n${header}: ${scheme} ${secret}"`,
    ],
  )
  holds(t, law)
})

t.test('of an address scheme, host and port are left', async (t) => {
  const law = hidden(
    fc.record({ secret: unquoted, scheme: fc.constantFrom('rtsp', 'https', 'mqtts', 'postgres', 'ws') }),
    ({ secret }) => secret,
    ({ scheme, secret }) => [
      `${scheme}://ann:${secret}@cam.example:554/live`,
      `${scheme}://${secret}@cam.example/live?x=${secret}`,
      `url="${scheme}://ann:p@ss/${secret}@10.0.0.9/"`,
      `posted to ${scheme}://hooks.example.com/services/${secret}`,
      `{"url":"${scheme}:\\/\\/hooks.example.com\\/${secret}"}`,
      `GET ${scheme}://h/x?a=${secret}#${secret}`,
      `dialled ann:${secret}@10.0.0.9:1883`,
    ],
  )
  holds(t, law)
  t.equal(masked('rtsp://u:p@ss/w@host:554/a?b'), 'rtsp://***@host:554/***')
  t.equal(masked('(https://[2001:db8::1]:8443) wss://h.example.'), '(https://[2001:db8::1]:8443) wss://h.example.')
  t.equal(masked('rtsp://u:p'), 'rtsp://***')
})

t.test('what a refused setting had is gone', async (t) => {
  const law = hidden(
    word,
    (secret) => secret,
    (secret) => [
      `plantroom gateway: alarms.secret_file (/etc/plantroom/gateway.toml line 3): saw "${secret}", expected text`,
      `mqtt.port (command line): saw ${secret}, expected a whole number`,
      `fault="config_refused: x (a.toml line 3): saw \\"${secret}\\", expected text, and more"`,
      `saw "${secret}...`,
    ],
  )
  holds(t, law)
})

t.test('tokens and hashes are gone wherever they stand', async (t) => {
  const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((all) => Buffer.from(all))
  // Bytes as chance makes them: others, such as 32 zeros, are no key.
  const random = bytes.filter((all) => new Set(all).size > 24)
  holds(
    t,
    fc.property(random, (key) => {
      const text = key.toString('base64url')
      const lines = [`made plk_0123456789abcdef_${text}`, `uses eyJhbGciOiJIUzI1NiJ9.${text}.${text}`]
      lines.push(`hash $argon2id$v=19$m=65536,t=3,p=4$c2FsdA$${text}`, `hex ${key.toString('hex')} is it`)
      return lines.every((line) => !masked(line).includes(text) && !masked(line).includes(key.toString('hex')))
    }),
  )
  t.equal(masked('bundle 0123456789abcdef0123456789abcdef of'), 'bundle 01234567… of')
  t.equal(masked('key hT3kd9-Zk2mQp0xLw8Rr5Tt1Yy6Uu3Ii9Oo2Pp4Aa7_Ss is it'), 'key *** is it')
})

t.test('a value that goes on in further lines is gone to its end', async (t) => {
  const lines = ['tokens: [', "  'hidden1',", "  'hidden2'", '],', 'x: 1', 'password:', '  - hidden3', 'y: 2']
  lines.push('key: -----BEGIN RSA PRIVATE KEY-----', 'hidden4', '  hidden5', '-----END RSA PRIVATE KEY-----', 'z: 3')
  for (const before of ['', ENTRY]) {
    const left = masked(lines.map((line) => before + line).join('\n'))
    t.notMatch(left, /hidden/)
    for (const open of ['x: 1', 'y: 2', 'z: 3']) t.ok(left.split('\n').includes(before + open), open)
  }
  const indent = ' '.repeat(ENTRY.length)
  const entry = masked(`${ENTRY}secret="hidden1\n${indent}hidden2"\n${indent}hidden3\n${ENTRY}next x=1`)
  t.notMatch(entry, /hidden/)
  t.match(entry, `${ENTRY}next x=1`)
  t.equal(masked('key: [\n  a\nb: 1').split('\n').at(-1), 'b: 1', 'what is indented less is another value')
})

t.test('a line without a secret is as it was', async (t) => {
  const lines = [
    'listening url=http://127.0.0.1:3132 sockets=64 tls=false',
    'port lost port=/dev/ttyUSB0 fault="EIO: i/o error, read" at=12:30:01',
    'monkey=3 keyframe=12 sessions=3 keyboard=us pinned=true compass=4 bypass=off passed=3 spinning: yes',
    '"hasPassword":true,"key":null,"x":1',
    'Started plantroom-board.service - Plantroom board.',
    'user@1000.service: Succeeded.',
    'last uses of keys are not saved fault=EACCES',
    'a new session of ann begins; the token was refused, try again',
    '    at read (file:///usr/lib/plantroom/gateway.mjs:12:34)',
    '/dev/serial/by-id/usb-FTDI_FT232R_USB_UART_A50285BI-if00-port0 -> ../../ttyUSB0',
    'plantroom-recorder.service: Main process exited, code=exited, status=1/FAILURE',
    'MemoryCurrent=73400320',
    'id 6c378055-52d1-4f0e-9d3e-0123456789ab mac 00:11:22:33:44:55 fe80::1/64',
    'saw 3 bytes, expected at least 5',
  ]
  for (const line of lines) t.equal(masked(ENTRY + line), ENTRY + line)
  t.equal(masked(lines.join('\n')), lines.join('\n'))
})

t.test('takes time in proportion to the length of the line', async (t) => {
  const parts = ['a', '=', 'a=', '"', '//', 'a:', '//a', 'http://a', '(', '\\', 'password=[', '<a ', '<password>', ' ']
  parts.push('-a ', 'key=" ', 'saw "', '@', '%3D', '&a', 'A1b', '(x line 1', '["a",', "['", 'a:@', '=a:', 'keys=a, ')
  for (const part of parts) {
    // Processor time: the machine may be busy with other work.
    const before = process.cpuUsage()
    masked(part.repeat(60_000 / part.length))
    t.ok(process.cpuUsage(before).user < 1_000_000, part)
  }
})
