/** Tests of bundle-tap.ts: what runs under it says the same as under tap as it comes, but of lists that are too long. */
import { spawnSync } from 'node:child_process'
import { dirname } from 'node:path'
import t from 'tap'
import { bundleTap } from '../bundle-tap.ts'

const ROOT = dirname(dirname(import.meta.dirname))

const SCRIPT = `import t, { type Test } from 'tap'

async function fails(t: Test): Promise<void> {
  t.equal(1, 2)
}

t.test('holds', async (t) => t.same(t.testdir({ a: 'x' }), t.testdirName))
t.test('fails', fails)
t.test('throws', async () => {
  throw new Error('no')
})
`

t.test('a failure is told with its place in the test, and nothing of tap', async (t) => {
  const folder = t.testdir({ 'a.test.ts': SCRIPT })
  const ways = [await bundleTap(ROOT, folder), []]
  const said = ways.map((args) => {
    const { status, stdout } = spawnSync(process.execPath, [...args, 'a.test.ts'], { cwd: folder, encoding: 'utf8' })
    t.match(stdout, /fileName: a\.test\.ts\s+lineNumber: 4/)
    t.notMatch(stdout, /one-file/)
    // As it comes, tap names packages that it is made of below the line of the test.
    const lean = stdout
      .replace(/stack: [|>][\s\S]*?(?=\n\s+(source|at|tapCaught):)/g, 'stack')
      .replace(/time=[\d.]+/g, '')
    return { status, lean }
  })
  t.equal(said[0]?.status, 1)
  t.same(said[0], said[1])
})

const LISTS = `import t from 'tap'

const heard = { names: ['a', 'b'], places: [{ port: 1, name: 'a' }, { port: 2, name: 'b' }] }
t.test('whole', async (t) => t.match(heard, { names: ['a', /b/], places: [{ port: 1 }, { name: 'b' }] }))
t.test('none', async (t) => t.match(heard, { names: [] }))
t.test('fewer', async (t) => t.match(heard.places, [{ port: 1 }]))
t.test('more', async (t) => t.match(heard.names, ['a', 'b', 'c']))
`

t.test('a list has as many items as it is compared with', async (t) => {
  const folder = t.testdir({ 'a.test.ts': LISTS })
  const args = await bundleTap(ROOT, folder)
  const { stdout } = spawnSync(process.execPath, [...args, 'a.test.ts'], { cwd: folder, encoding: 'utf8' })
  const said = [...stdout.matchAll(/^(ok|not ok) \d+ - (\w+)/gm)].map(([, how, title]) => `${title} ${how}`)
  t.same(said, ['whole ok', 'none not ok', 'fewer not ok', 'more not ok'])
})

const SCHEMAS = `import t from 'tap'
import Type from 'typebox'
import Schema from 'typebox/schema'
import Value from 'typebox/value'

console.log(import.meta.resolve('typebox/value'))
const pair = Type.Tuple([Type.Integer({ minimum: 1 }), Type.Optional(Type.String({ default: 'x' }))])
t.test('fits', async (t) => t.equal(Value.Check(pair, [1, 'a']), true))
t.test('does not', async (t) => t.equal(Value.Check(pair, [0, 'a']), false))
t.test('is cleaned', async (t) => t.same(Value.Clean(Type.Object({ a: Type.String() }), { a: 'x', b: 1 }), { a: 'x' }))
t.test('is compiled', async (t) => t.equal(Schema.Compile(pair).Check([0, 'a']), false))
`

t.test('typebox comes in a few files, and its ways in know each other’s schemas', async (t) => {
  const folder = t.testdir({ 'a.test.ts': SCHEMAS })
  const args = await bundleTap(ROOT, folder)
  const { status, stdout } = spawnSync(process.execPath, [...args, 'a.test.ts'], { cwd: folder, encoding: 'utf8' })
  t.equal(status, 0, stdout)
  t.match(stdout, `${folder}/node_modules/`)
})

/** Each kind of way on which an error escapes, from a test that is not the last one made. */
const ESCAPES = `import { createServer, connect } from 'node:net'
import { stat } from 'node:fs'
import t from 'tap'

const never = () => new Promise(() => {})
const fail = (text) => () => { throw new Error(text) }
t.test('timer', async () => { setTimeout(fail('of timer'), 5); await never() })
t.test('interval', async () => { setInterval(function () { clearInterval(this); fail('of interval')() }, 5); await never() })
t.test('tick', async () => { process.nextTick(fail('of tick')); await never() })
t.test('rejection', async () => { Promise.reject(new Error('of rejection')); await never() })
t.test('no error', async () => { Promise.reject('of no error'); await never() })
t.test('later', async () => { void (async () => { await new Promise((done) => setTimeout(done, 5)); fail('of later')() })(); await never() })
t.test('file', async () => { stat('/', fail('of file')); await never() })
t.test('socket', async () => {
  const server = createServer((socket) => { socket.destroy(); server.close(); fail('of socket')() })
  server.listen(0, '127.0.0.1', () => connect(server.address().port).on('error', () => {}))
  await never()
})
t.test('inside', async (t) => {
  t.test('inner', async () => { setImmediate(fail('of inner')); await never() })
  t.test('inner next', async (t) => t.equal(1 + 1, 2))
})
t.test('ends before', async () => { setTimeout(fail('of nobody'), 20) })
t.test('hears it', (t) => { process.once('uncaughtExceptionMonitor', () => setImmediate(() => t.end())) })
`

t.test('an error that nobody caught is that of the test that started it, as under tap as it comes', async (t) => {
  const folder = t.testdir({ 'a.test.mjs': ESCAPES })
  const [bundled, plain] = [await bundleTap(ROOT, folder), []].map((args) => {
    const { status, stdout } = spawnSync(process.execPath, [...args, 'a.test.mjs'], { cwd: folder, encoding: 'utf8' })
    const points = [...stdout.matchAll(/^ *((?:not )?ok) \d+ - ([^#\n]*?)(?: # time.*)?$/gm)]
    return { status, said: points.map(([, how, title]) => `${how}: ${title}`), caught: stdout.match(/tapCaught: .*/g) }
  })
  t.equal(bundled?.status, 1)
  t.ok((bundled?.said.length ?? 0) > 12)
  t.same(bundled, plain)
})
