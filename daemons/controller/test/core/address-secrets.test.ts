import t from 'tap'
import { answerData } from '../../core/data/answer-data.ts'
import type { Json } from '../../core/json.ts'
import { bodyText } from '../../core/json.ts'
import { withoutAddressSecrets, withoutLineSecrets } from '../../core/secrets.ts'
import { elevatedCaller, plainCaller, worldOf } from './data/data-house.ts'

for (const [before, after] of [
  ['rtsp://viewer:s3cret@10.0.0.9/stream', 'rtsp://***@10.0.0.9/stream'],
  ['see http://u:p@a/x and http://v@b/y', 'see http://***@a/x and http://***@b/y'],
  ['rtsp://viewer:p@ss@cam/1', 'rtsp://***@cam/1'],
  ['http://host/path@2x.png', 'http://host/path@2x.png'],
  ['ann@example.org', 'ann@example.org'],
  ['{"url":"rtsp://u:p@cam/"}', '{"url":"rtsp://***@cam/"}'],
  ['rtsp://viewer:p\\ss@cam/1', 'rtsp://***@cam/1'],
  ['http://cam/shot.cgi?usr=a&pwd=s3cret&size=2', 'http://cam/shot.cgi?usr=a&pwd=***&size=2'],
  ['/shot.cgi?password=s3;loginToken=t&x=1#key=2', '/shot.cgi?password=***;loginToken=***&x=1#key=2'],
  ['http://cam/?pass=a&auth=b&sig=c', 'http://cam/?pass=***&auth=***&sig=***'],
  ['http://cam/?passages=2&monkey=1', 'http://cam/?passages=2&monkey=1'],
  ['password=s3cret;host=a, api_keys=b c', 'password=***;host=a, api_keys=*** c'],
  ['{\\"u\\":\\"http://c/?pwd=p\\",\\"x\\":1}', '{\\"u\\":\\"http://c/?pwd=***\\",\\"x\\":1}'],
  ['a = b & key = c', 'a = b & key = c'],
] as const)
  t.test(`of an address stays ${after}`, async (t) => {
    t.equal(withoutAddressSecrets(before), after)
    t.same(withoutAddressSecrets({ streams: [{ url: before }] }), { streams: [{ url: after }] })
  })

for (const [before, after] of [
  ['Authorization: Basic YWRtaW46cHc=', 'Authorization: ***'],
  ['GET / HTTP/1.1\r\nauthorization:Bearer x\r\nHost: cam', 'GET / HTTP/1.1\r\nauthorization:***\r\nHost: cam'],
  [
    'Proxy-Authorization: Digest username="a", response="b"\nX-Api-Key: 5\nAge: 1',
    'Proxy-Authorization: ***\nX-Api-Key: ***\nAge: 1',
  ],
  ['Cookie: a=b; c=d', 'Cookie: ***'],
  ['login: admin\npassword : hunter2', 'login: admin\npassword : ***'],
  ['note: the pin: 4711', 'note: the pin: ***'],
  ['sent Bearer abcdefghij.klmnop and Basic YWRtaW46cHc= to it', 'sent Bearer *** and Basic *** to it'],
  ['bearer services, basic lighting and Basic_Scene', 'bearer services, basic lighting and Basic_Scene'],
  ['token://cam/1, monkey: 5, compass: north, 12:30', 'token://cam/1, monkey: 5, compass: north, 12:30'],
  ['the key:', 'the key:'],
] as const)
  t.test(`1 Guards 3 of lines stays ${JSON.stringify(after)}`, async (t) => t.equal(withoutLineSecrets(before), after))

t.test('long lines take no time', async (t) => {
  for (const long of [
    'a'.repeat(2_000_000),
    'a '.repeat(1_000_000),
    ' '.repeat(2_000_000),
    'a:'.repeat(1_000_000),
    'basic '.repeat(300_000),
  ])
    t.equal(withoutLineSecrets(long), long)
  t.equal(withoutLineSecrets('pin: 1\n'.repeat(200_000)), 'pin: ***\n'.repeat(200_000))
})

t.test('a value without secrets is returned unchanged, and a long one takes no time', async (t) => {
  const value: Json = { url: 'rtsp://cam/1', list: [1, null, 'x'] }
  t.equal(withoutAddressSecrets(value), value)
  // If each position were searched again, these would exceed the time limit of a test file.
  for (const long of [
    '://'.repeat(500_000),
    `://${'a'.repeat(2_000_000)}`,
    '?a='.repeat(500_000),
    '&'.repeat(1_000_000),
    `?monkeys=${'\\'.repeat(2_000_000)}`,
  ])
    t.equal(withoutAddressSecrets(long), long)
})

t.test('1 Guards 5 camera credentials and codes in overrides are for elevated sessions only', async (t) => {
  const world = worldOf({
    device: [{ name: 'Camera', config: { url: 'rtsp://viewer:s3cret@cam/1' } }],
    zone: [{ name: 'Door', device_id: 1, overrides: { unlock: { zone_id: 1, args: { pin: '4711', level: 5 } } } }],
    attribute: [
      { name: 'stream', value: 'rtsp://viewer:s3cret@cam/1', secure: false, system_target: 'zone', target_id: 1 },
    ],
  })
  const read = async (caller: typeof plainCaller, query: string) => {
    const { body } = await answerData(world, caller, ...(query.split('?') as [string, string]))
    return bodyText(body)
  }
  for (const query of [
    'device?',
    'device?_instance=true',
    'zone?_instance=true',
    'zone?',
    'attribute?',
    'zone?_fields=overrides',
  ])
    t.notMatch(await read(plainCaller, query), /s3cret|4711/, query)
  t.match(await read(plainCaller, 'zone?'), /"unlock":\{"zone_id":1,"args":\{"pin":null,"level":5\}\}/)
  t.equal(await read(plainCaller, 'zone?_contains[overrides]=4711'), '[]', 'and no filter finds them')
  t.equal(await read(plainCaller, 'device?_contains[config]=s3cret'), '[]')
  t.match(await read(elevatedCaller, 'zone?'), /4711/)
  t.match(await read(elevatedCaller, 'device?'), /s3cret/)
})

t.test('1 Guards 3 headers with credentials in plain texts are for elevated sessions only', async (t) => {
  const header = 'Authorization: Basic YWRtaW46cHc='
  const world = worldOf({
    device: [
      { name: 'Amp', transport: { kind: 'tcp', hello: `GET /\r\n${header}\r\n` }, config: { greeting: header } },
    ],
    zone: [{ name: 'Hall', device_id: 1, overrides: { on: { args: { text: header } } } }],
    attribute: [{ name: 'hello', value: header, secure: false, system_target: 'zone', target_id: 1 }],
  })
  const read = async (caller: typeof plainCaller, query: string) => {
    const { body } = await answerData(world, caller, ...(query.split('?') as [string, string]))
    return bodyText(body)
  }
  for (const query of ['device?', 'device?_instance=true', 'zone?', 'attribute?']) {
    t.notMatch(await read(plainCaller, query), /YWRtaW46cHc/, query)
    t.match(await read(elevatedCaller, query), /YWRtaW46cHc/, query)
  }
  t.equal(await read(plainCaller, 'device?_contains[config]=YWRtaW46cHc'), '[]', 'and no filter finds them')
})

t.test(
  'keys that objects inherit are ordinary keys, and an address used as a key is stripped of credentials too',
  async (t) => {
    const value = JSON.parse('{"__proto__": "http://u:p@c/", "rtsp://u:p@c/": 1}') as Json
    t.equal(JSON.stringify(withoutAddressSecrets(value)), '{"__proto__":"http://***@c/","rtsp://***@c/":1}')
  },
)
