/** Settings from file and command line: defaults, precedence, and every fault at once. */
import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { Type } from 'typebox'
import { loadConfig } from '#kit/config/load.ts'
import { commonTables, httpTable } from '#kit/config/tables.ts'
import { Fault } from '#kit/pure/fault.ts'

const schema = Type.Object({
  ...commonTables(3132),
  line: Type.Object({
    queue: Type.Integer({ default: 64, minimum: 1, maximum: 1024, description: 'requests that wait' }),
    gap_ms: Type.Number({ default: 1.75, minimum: 0, maximum: 100, unit: 'ms', description: 'silence' }),
    key: Type.String({ default: '', maxLength: 8, secret: true, description: 'a secret' }),
    push_key: Type.String({ default: '', isBare: true, description: 'named without its table elsewhere' }),
    allow: Type.Array(Type.String(), { default: ['/dev/ttyS*'], maxItems: 2, description: 'paths' }),
  }),
})

async function load(t: Test, text: string | undefined, ...sets: string[]) {
  const file = join(t.testdir(), 'gateway.toml')
  if (text !== undefined) await writeFile(file, text)
  return loadConfig({ schema, file, mustExist: false, sets })
}

async function faults(t: Test, text: string | undefined, ...sets: string[]): Promise<string[]> {
  try {
    await load(t, text, ...sets)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    t.equal(error.code, 'config_refused')
    const list = error.details?.faults as string[]
    t.same(error.message.split('\n'), list, 'the message lists every fault, one a line')
    return list.map((fault) => fault.replace(t.testdirName, ''))
  }
  return []
}

t.test('gives every key its default when there is no file', async (t) => {
  const { value, isFileRead } = await load(t, undefined)
  t.equal(isFileRead, false)
  t.equal(value.http.listen, '0.0.0.0:3132')
  t.equal(value.http.body_bytes, 65_536)
  t.equal(value.log.level, 'notice')
  t.same(value.line, { queue: 64, gap_ms: 1.75, key: '', push_key: '', allow: ['/dev/ttyS*'] })
})

t.test('refuses a named file that does not exist', async (t) => {
  const file = join(t.testdir(), 'none.toml')
  await t.rejects(loadConfig({ schema, file, mustExist: true, sets: [] }), {
    code: 'config_refused',
    message: `${file}: there is no such file`,
  })
})

t.test('reads the file, and the command line wins over it', async (t) => {
  const { value } = await load(t, '[line]\nqueue = 5\ngap_ms = 2\n[log]\nlevel = "info"\n', 'line.queue=7')
  t.equal(value.line.queue, 7)
  t.equal(value.line.gap_ms, 2)
  t.equal(value.log.level, 'info')
})

t.test('reads a value of the command line as TOML, and a bare word as a string', async (t) => {
  const { value } = await load(
    t,
    undefined,
    'log.level=debug',
    'http.listen=127.0.0.1:0',
    'line.allow=["/dev/a", "/dev/b"]',
    'line.key="a b"',
    'line.gap_ms = 0.5',
  )
  t.equal(value.log.level, 'debug')
  t.equal(value.http.listen, '127.0.0.1:0')
  t.same(value.line, { queue: 64, gap_ms: 0.5, key: 'a b', push_key: '', allow: ['/dev/a', '/dev/b'] })
})

t.test('takes a key without its table where an interface names it so', async (t) => {
  t.match((await load(t, 'push_key = "of the file"\n')).value.line, { push_key: 'of the file' })
  t.match((await load(t, undefined, 'push_key=short')).value.line, { push_key: 'short' })
  t.match((await load(t, undefined, 'line.push_key=long')).value.line, { push_key: 'long' })
})

t.test('takes the last of the same key', async (t) => {
  t.equal((await load(t, undefined, 'line.queue=7', 'line.queue=8')).value.line.queue, 8)
})

t.test('refuses unknown keys and tables with the nearest known name', async (t) => {
  t.same(await faults(t, 'queue = 1\n[line]\nqueu = 5\n[lime]\nqueue = 3\n[xylophone]\n'), [
    'queue (/gateway.toml line 1): unknown table or key; the nearest known one is line.queue',
    'line.queu (/gateway.toml line 3): unknown key; the nearest known one is line.queue',
    'lime.queue (/gateway.toml line 5): unknown table lime; the nearest known one is line.queue',
    'xylophone (/gateway.toml line 6): unknown table or key; known are http, connections, mdns, log, line',
  ])
  t.same(await faults(t, '[line]\nlisten = ":80"\n'), [
    'line.listen (/gateway.toml line 2): unknown key; the nearest known one is http.listen',
  ])
  const [port] = await faults(t, '[http]\nport = 80\n')
  t.match(port, /unknown key; known are http\.listen, /, 'http.port is not near http.hosts')
  t.same(await faults(t, undefined, '__proto__.x=1', 'line.constructor=1'), [
    '__proto__.x (command line): unknown table __proto__; known are http, connections, mdns, log, line',
    'line.constructor (command line): unknown key; known are line.queue, line.gap_ms, line.key, line.push_key, line.allow',
  ])
})

t.test('says what was seen and what is expected, with the unit', async (t) => {
  const text = '[line]\nqueue = "5"\ngap_ms = 101\nallow = ["a", 2]\n[log]\nlevel = "loud"\n'
  t.same(await faults(t, text), [
    'line.queue (/gateway.toml line 2): saw "5", expected a whole number from 1 to 1024',
    'line.gap_ms (/gateway.toml line 3): saw 101, expected a number from 0 to 100 (ms)',
    'line.allow (/gateway.toml line 4): saw 2 as item 2, expected a list of at most 2, each text',
    'log.level (/gateway.toml line 6): saw "loud", expected one of "error", "warning", "notice", "info", "debug"',
  ])
})

t.test('names a duplicate, such as a table pasted below an existing one, and where the first one is', async (t) => {
  t.same(await faults(t, '[line]\n#queue = 64\n[http]\n\n[line]\nqueue = 5\n'), [
    '/gateway.toml line 5: [line] stands a second time; the first is in line 1: put the keys below that one',
  ])
  t.same(await faults(t, '[http]\n[line]\nqueue = 5\ngap_ms = 1\nqueue = 6\n'), [
    '/gateway.toml line 5: line.queue is set a second time; the first is in line 3: remove one',
  ])
})

t.test('reports a fault of the file even if the command line sets the key', async (t) => {
  t.equal((await faults(t, '[line]\nqueue = 0\n', 'line.queue=1')).length, 1)
})

t.test('reports faults of the file, of the arguments and of values together', async (t) => {
  t.same(await faults(t, '[line]\nqueue = \n', 'nonsense', 'line.allow=["a"', 'log.level=x', 'line=5'), [
    '/gateway.toml line 2: invalid value',
    '--set "nonsense": expected key=VALUE, such as log.level=debug',
    'line.allow (command line): "[\\"a\\"" is not a TOML value: expected comma or end of structure',
    'log.level (command line): saw "x", expected one of "error", "warning", "notice", "info", "debug"',
    'line (command line): saw a value, expected a table: write [line]',
  ])
})

t.test('does not show the value of a secret', async (t) => {
  const [fault] = await faults(t, undefined, 'line.key="hunter2hunter2"')
  t.equal(fault, 'line.key (command line): saw something else, expected text of at most 8 characters')
})

t.test('lets no line break smuggle a second key in', async (t) => {
  const { value } = await load(t, undefined, 'line.key=1\nx = 2').catch(() => ({ value: undefined }))
  t.equal(value?.line.queue ?? 64, 64)
  t.equal((await faults(t, undefined, 'http.body_bytes=5000\nx=1')).length, 1)
})

t.test('refuses TLS where a daemon does not serve it', async (t) => {
  const plain = Type.Object({ http: httpTable(3132, {}) }, { additionalProperties: false })
  const missing = join(t.testdir({}), 'x.toml')
  await t.rejects(loadConfig({ schema: plain, file: missing, mustExist: false, sets: ['http.tls=true'] }), {
    message: /HTTPS is not there yet: leave it false and put a TLS proxy in front/,
  })
})

t.test('refuses an invalid address', async (t) => {
  t.same(await faults(t, undefined, 'http.listen=nowhere', 'http.listen=host:70000'), [
    'http.listen (command line): "host:70000" is not a listen address: expected HOST:PORT such as 127.0.0.1:3132 or [::]:3132, port 0 to 65535',
  ])
})

t.test('refuses a file that is not text', async (t) => {
  const file = join(t.testdir(), 'x.toml')
  await writeFile(file, Uint8Array.of(0xff, 0xfe, 0))
  await t.rejects(loadConfig({ schema, file, mustExist: true, sets: [] }), { message: `${file}: is not UTF-8 text` })
  const folder = t.testdirName
  await t.rejects(loadConfig({ schema, file: folder, mustExist: true, sets: [] }), {
    message: `${folder}: cannot be read (EISDIR)`,
  })
})

t.test('refuses a pipe and a device in the place of the file, and does not wait for them', async (t) => {
  const pipe = join(t.testdir(), 'pipe.toml')
  execFileSync('mkfifo', [pipe])
  for (const [file, what] of [
    [pipe, 'a pipe'],
    ['/dev/zero', 'a device'],
  ] as const)
    await t.rejects(loadConfig({ schema, file, mustExist: false, sets: [] }), {
      code: 'config_refused',
      message: `${file}: cannot be read (it is ${what}, expected a file)`,
    })
})
