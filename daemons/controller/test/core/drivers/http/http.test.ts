// biome-ignore-all lint/suspicious/noTemplateCurlyInString: templates of rows are written like that
/** The driver behind the host, with a real server as its device. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { holdsLater } from '#kit/test/holds.ts'
import { until } from '#kit/test/until.ts'
import { createHttpDriver } from '../../../../core/drivers/http/http.ts'
import type { Json } from '../../../../core/json.ts'
import type { Row } from '../../../../core/site/book.ts'
import { toyStage } from '../toy-stage.ts'

interface Heard {
  method: string
  path: string
  headers: NodeJS.Dict<string | string[]>
  body: string
}

/** A device that remembers what it was asked. @param answer 204 by default */
async function httpDevice(
  t: Test,
  answer = (_heard: Heard, response: ServerResponse) => void response.writeHead(204).end(),
) {
  const heard: Heard[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text) => {
      body += text
    })
    request.on('end', () => {
      const one = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body }
      heard.push(one)
      answer(one, response)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, heard, server }
}

type Config = Readonly<Record<string, Json>>

function stage(t: Test, port: number, config: Config, device: Config = {}) {
  return toyStage(t, {
    driver: createHttpDriver(),
    transport: { kind: 'http', host: '127.0.0.1', port },
    device: { config, ...device },
    zone: { address: '7' },
    limits: { httpBytes: 4096 },
  })
}

const flawOf = (config: Json) =>
  createHttpDriver().flaw?.({ id: 1, transport: { kind: 'http', host: 'a', port: 80 }, config } as unknown as Row)

t.test('a verb is the request that the row says, and success is what it says too', async (t) => {
  const { port, heard } = await httpDevice(
    t,
    ({ path }, response) => void response.writeHead(path === '/b' ? 202 : 200).end(),
  )
  const { command, live } = stage(t, port, {
    headers: { 'X-Who': 'plantroom' },
    commands: {
      level: { method: 'PUT', path: '/light/${address}?level=${args.level|scale:0:254|round}' },
      strict: { path: '/a', success: [202] },
      lenient: { path: '/b', success: [202] },
    },
  })
  t.strictSame(await command('level', { level: 40 }), {})
  t.match(heard[0], { method: 'PUT', path: '/light/7?level=102', headers: { 'x-who': 'plantroom' }, body: '' })
  await t.rejects(command('strict'), { code: 'driver_failed', message: 'device 1: it answers 200' })
  t.equal(live.device(1).state, 'online', 'a refusal does not lose it')
  t.strictSame(await command('lenient'), {})
  await t.rejects(command('dance'), { message: /has no command "dance" in its config, it has level, strict, lenient/ })
})

t.test('each kind of body encodes the values that it takes', async (t) => {
  const { port, heard } = await httpDevice(t)
  const { command } = stage(t, port, {
    commands: {
      json: { path: '/', json: { on: '${args.value}', list: [{ text: 'a ${args.text} b' }] } },
      form: { path: '/', form: { text: '${args.text}', fixed: 'x=y' } },
      xml: { path: '/', xml: '<say>${args.text}</say>' },
      text: { path: '/', text: 'SAY ${args.text|text}' },
      plain: { path: '/', text: 'SAY ${args.text}' },
    },
  })
  const text = `"}<&'; b`
  await command('json', { value: { deep: [1] }, text })
  t.equal(heard[0]?.headers['content-type'], 'application/json')
  t.strictSame(JSON.parse(heard[0]?.body ?? ''), { on: { deep: [1] }, list: [{ text: `a ${text} b` }] })
  await command('form', { text: `${text}&x=1` })
  t.strictSame(
    [...new URLSearchParams(heard[1]?.body)],
    [
      ['text', `${text}&x=1`],
      ['fixed', 'x=y'],
    ],
  )
  await command('xml', { text })
  t.equal(heard[2]?.body, '<say>&#34;}&#60;&#38;&#39;; b</say>')
  await command('text', { text: 'two words' })
  t.equal(heard[3]?.body, 'SAY two words')
  await t.rejects(command('plain', { text: 'two words' }), { message: /args\.text is not a number or a plain word/ })
  await t.rejects(command('text', { text: 'a\nb' }), { message: /cannot be sent/ })
  await t.rejects(command('json', { value: 1 }), { message: /args\.text is missing/ })
  t.equal(heard.length, 4, 'what does not fit is not sent')
})

t.test('no value climbs out of its segment of the path, nor begins another header', async (t) => {
  const { port, heard } = await httpDevice(t)
  const { command } = stage(t, port, {
    commands: {
      set: { path: '/zone/${args.text}/on?q=${args.text}' },
      head: { path: '/', headers: { 'x-text': '${args.text}' } },
    },
  })
  for (const text of ['..', '.', '']) await t.rejects(command('set', { text }), { message: /no part of a path/ })
  await t.rejects(command('set', { text: '\ud800' }), { message: /well-formed/ })
  await command('set', { text: '../x?a=1&b#c\r\nd' })
  const [first] = heard
  t.equal(first?.path, '/zone/..%2Fx%3Fa%3D1%26b%23c%0D%0Ad/on?q=..%2Fx%3Fa%3D1%26b%23c%0D%0Ad')
  await t.rejects(command('head', { text: 'a\r\nx-evil: 1' }), { message: /no header may have/ })
})

t.test('whatever the value, the path keeps its segments', async (t) => {
  const seen: string[] = []
  const driver = createHttpDriver()
  const context = {
    secret: () => null,
    online() {},
    async request({ path }: { path: string }) {
      seen.push(path)
      return { status: 200, body: new Uint8Array() }
    },
  }
  const config = { commands: { set: { path: '/a/${args.text}/b?c=${args.text}' } } }
  const device = { id: 1, transport: { host: 'a', port: 80 }, config } as unknown as Row
  const session = await driver.open(device, [], context as never)
  const law = fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 6 }), async (text) => {
    seen.length = 0
    await session.execute({ verb: 'set', args: { text } }, new AbortController().signal).catch(() => {})
    const [path] = seen
    if (path === undefined) return true
    const { pathname, searchParams } = new URL(path, 'http://a')
    return pathname.split('/').length === 4 && pathname.endsWith('/b') && searchParams.get('c') === text
  })
  await holdsLater(t, law)
})

t.test('a device signs in with the columns of its row', async (t) => {
  const { port, heard } = await httpDevice(t)
  const commands = { on: { path: '/${api_key}/on' } }
  const secrets = { username: 'ada', password: 'pä:ss', api_key: 'k/1' }
  const one = stage(t, port, { auth: 'basic', commands }, secrets)
  await one.command('on')
  t.match(heard[0], {
    path: '/k%2F1/on',
    headers: { authorization: `Basic ${Buffer.from('ada:pä:ss').toString('base64')}` },
  })
  const other = stage(t, port, { auth: 'bearer', commands }, secrets)
  await other.command('on')
  t.match(heard[1], { headers: { authorization: 'Bearer k/1' } })
  t.strictSame(
    [...one.said, ...other.said].filter((line) => line.includes('k/1')),
    [],
  )
})

t.test('an answer sets values by pointers and patterns', async (t) => {
  const { port } = await httpDevice(t, ({ path }, response) => {
    const bodies: Record<string, string> = {
      '/state': '{"outputs":{"7":{"power":"ON","bri":127,"na~me/x":"Hall\\u0007"}}}',
      '/plain': 'TEMP=21.5;MODE=auto;rest',
    }
    response.end(bodies[path] ?? '')
  })
  const { command, reading } = stage(t, port, {
    feedback: [{ field: 'mode', pattern: '{*}MODE={value};{*}' }],
    commands: {
      ask: {
        path: '/state',
        feedback: [
          { field: 'on', pointer: '/outputs/${address}/power', map: { ON: true, OFF: false } },
          { field: 'level', pointer: '/outputs/${address}/bri', scale: [0, 254] },
          { field: 'title', pointer: '/outputs/7/na~0me~1x' },
          { field: 'other', pointer: '/outputs/8/bri' },
          { field: 'list', pointer: '/outputs' },
        ],
      },
      plain: { path: '/plain', feedback: [{ pattern: 'TEMP={temperature:number}{*}' }] },
    },
  })
  await command('ask')
  t.match(reading(), { state: 'on', on: true, level: 50, title: 'Hall' })
  t.notOk('other' in reading() || 'list' in reading() || 'mode' in reading())
  await command('plain')
  t.match(reading(), { state: 'on', temperature: 21.5, mode: 'auto' })
})

t.test(
  'polls ask for each zone whose address they name, and a device that is away is lost and comes back',
  async (t) => {
    let level = 10
    const { port, heard, server } = await httpDevice(
      t,
      (_heard, response) => void response.end(JSON.stringify({ level })),
    )
    const { reading, live } = stage(
      t,
      port,
      { polls: [{ path: '/zone/${address}', feedback: [{ field: 'level', pointer: '/level' }] }] },
      { poll_ms: 20 },
    )
    await until('it is read', () => reading().level === 10)
    t.match(reading(), { state: 'on', on: true })
    t.equal(heard[0]?.path, '/zone/7')
    level = 0
    await until('it is read again', () => reading().level === 0)
    t.match(reading(), { state: 'off', on: false })
    server.close()
    server.closeAllConnections()
    await until('it is lost', () => live.device(1).state === 'offline')
    t.match(live.device(1).error, /refuses connections/)
    t.match(reading(), { state: 'unknown' })
    server.listen(port, '127.0.0.1')
    await until('it is back', () => reading().level === 0)
  },
)

t.test('a poll that is refused is logged, and the next is asked all the same', async (t) => {
  const { port } = await httpDevice(
    t,
    ({ path }, response) => void response.writeHead(path === '/a' ? 500 : 200).end('5'),
  )
  const { reading, said, live } = stage(
    t,
    port,
    { polls: [{ path: '/a' }, { path: '/b', feedback: [{ field: 'level', pointer: '' }] }] },
    { poll_ms: 20 },
  )
  await until('the second is read', () => reading().level === 5)
  t.equal(live.device(1).state, 'online')
  t.match(said, ['a poll failed: it answers 500'])
})

t.test('answers of a megabyte, of bytes, and of deep JSON do no harm', async (t) => {
  const answers: Record<string, string | Buffer> = {
    '/long': 'x'.repeat(1_000_000),
    '/bytes': Buffer.from([0xff, 0x00, 0x1b, 0xc3]),
    '/deep': `${'['.repeat(2000)}${']'.repeat(2000)}`,
  }
  const { port } = await httpDevice(t, ({ path }, response) => void response.end(answers[path]))
  const feedback: Json = [
    { field: 'mode', pattern: '{value}' },
    { field: 'level', pointer: '/0/0' },
  ]
  const { command, reading, live } = stage(t, port, {
    commands: {
      long: { path: '/long', feedback },
      bytes: { path: '/bytes', feedback },
      deep: { path: '/deep', feedback },
    },
  })
  await t.rejects(command('long'), { message: /answers more than drivers\.http_bytes \(4096\) bytes/ })
  await command('bytes')
  t.notMatch(String(reading().mode), /\p{Cc}/u)
  await command('deep')
  t.equal(live.device(1).state, 'online')
  t.notOk('level' in reading())
})

t.test('what is wrong with a row is said with its place', async (t) => {
  t.equal(flawOf({}), undefined)
  t.equal(flawOf(null), undefined)
  const wrong: [Json, RegExp][] = [
    [{ commands: { on: { path: 'x' } } }, /^config\.commands\.on\.path has to begin with \//],
    [{ commands: { on: { path: '/a b' } } }, /no blank/],
    [{ commands: { on: {} } }, /config\.commands\.on\.path is nothing, expected text/],
    [{ commands: { on: { path: '/', method: 'BREW' } } }, /method has to be one of GET, POST/],
    [{ commands: { on: { path: '/', jsn: 1 } } }, /has the key "jsn", the nearest known one is json/],
    [{ commands: { on: { path: '/', json: 1, text: 'a' } } }, /has json and text, expected one of them/],
    [{ commands: { on: { path: '/${args.a|double}' } } }, /has a filter "double", known are round/],
    [{ commands: { on: { path: '/${process}' } } }, /slot that is none of address/],
    [{ commands: { on: { path: '/${args.a' } } }, /its \} is missing/],
    [{ commands: { on: { path: '/', headers: { Host: 'a' } } } }, /follows from the rest/],
    [{ commands: { on: { path: '/', headers: { 'a b': 'a' } } } }, /not the name of a header/],
    [{ commands: { on: { path: '/', success: ['ok'] } } }, /success\[0\] is text, expected a whole number from 100/],
    [{ polls: {} }, /config\.polls is an object, expected a list/],
    [{ polls: [{ path: '/', feedback: [{ pointer: '/a' }] }] }, /polls\[0\]\.feedback\[0\]\.field is nothing/],
    [{ feedback: [{ field: 'a', pointer: 'a' }] }, /not a JSON pointer/],
    [{ feedback: [{ field: 'a', scale: [1, 1] }] }, /two different numbers/],
    [{ feedback: [{ pattern: '{a}{b}' }] }, /two slots in a row/],
    [{ auth: 'digest' }, /auth has to be one of none, basic, bearer/],
  ]
  for (const [config, words] of wrong) t.match(flawOf(config), words)
  t.match(createHttpDriver().flaw?.({ id: 1, transport: {} } as unknown as Row), /transport\.host/)
})
