/** What a bundle does not load. */
import { execFileSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { bundleFile } from '../bundle.ts'

const ROOT = dirname(dirname(import.meta.dirname))

/** What a program prints when it runs from a bundle. */
async function outputOf(t: Test, program: string): Promise<string> {
  const folder = t.testdir({ daemons: { 'main.ts': program } })
  const outfile = join(folder, 'out.mjs')
  await bundleFile(ROOT, { entry: join(folder, 'daemons/main.ts'), outfile })
  return execFileSync(process.execPath, [outfile], { encoding: 'utf8', env: {} })
}

t.test("a bundle that serves HTTP loads neither Node's fetch nor TLS", async (t) => {
  const said = await outputOf(
    t,
    `import { createServer } from 'node:http'
     import https from 'node:https'
     const has = (name: string) => process.moduleLoadList.some((loaded: string) => loaded.endsWith(name))
     createServer()
     console.log(has(' http'), has('undici/undici'), has(' tls'))
     new https.Agent()
     console.log(has(' tls'))`,
  )
  t.equal(said, 'true false false\ntrue\n')
})

t.test('what holds is asserted without the module for what does not', async (t) => {
  const said = await outputOf(
    t,
    `import assert, { AssertionError } from 'node:assert'
     const isLoaded = () => process.moduleLoadList.some((loaded: string) => loaded.endsWith(' assert'))
     const failed = (check: () => void) => { try { check() } catch (error) { return (error as Error).message } }
     assert(true)
     console.log(isLoaded())
     console.log(failed(() => assert(0, 'none')), failed(() => assert.equal(1, 2, 'unequal')), isLoaded(), typeof AssertionError)`,
  )
  t.equal(said, 'false\nnone unequal true function\n')
})

t.test('schemas by TypeBox work without the rest of TypeBox', async (t) => {
  const program = `import { Type } from 'typebox'
    console.log(JSON.stringify(Type.Object({ a: Type.Integer({ minimum: 1 }) })))`
  t.equal(
    await outputOf(t, program),
    '{"type":"object","required":["a"],"properties":{"a":{"type":"integer","minimum":1}}}\n',
  )
})

t.test('a package that asks no more for what is left out of it fails the bundle', async (t) => {
  const folder = t.testdir({
    daemons: { 'main.ts': "import pino from 'pino'\nconsole.log(pino)" },
    node_modules: { pino: { 'package.json': '{"main": "pino.js"}', 'pino.js': "require('./x')", 'x.js': '' } },
  })
  const job = { entry: join(folder, 'daemons/main.ts'), outfile: join(folder, 'out.mjs') }
  await t.rejects(bundleFile(ROOT, job), { message: /nobody asks for \.\/lib\/transport of pino\/pino\.js any more/ })
})

t.test('what of a package was left out is not missed by the rest of it', async (t) => {
  const said = await outputOf(
    t,
    `import pino from 'pino'
     import { Counter, Registry } from 'prom-client'
     import modbusSerial from 'modbus-serial'
     const registry = new Registry()
     new Counter({ name: 'x', help: 'x', registers: [registry] }).inc()
     pino({ base: null, timestamp: false }, { write: (line: string) => console.log(line.trim()) }).info('hello')
     console.log((await registry.metrics()).includes('x 1'), typeof modbusSerial.default)`,
  )
  t.equal(said, '{"level":30,"msg":"hello"}\ntrue function\n')
})
