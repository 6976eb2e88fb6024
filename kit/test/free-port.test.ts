/** Tests of test/free-port.ts. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import t, { type Test } from 'tap'
import { freePort, turnOf } from './free-port.ts'

const COUNT = 500

async function some(): Promise<number[]> {
  const ports: number[] = []
  for (let count = 0; count < COUNT; count++) ports.push(await freePort())
  return ports
}

/** As many again, held by another process until the end of the test. */
async function ofAnother(t: Test): Promise<number[]> {
  const script = `
    const { freePort } = await import(${JSON.stringify(import.meta.resolve('./free-port.ts'))})
    const ports = []
    for (let count = 0; count < ${COUNT}; count++) ports.push(await freePort())
    console.log(JSON.stringify(ports))
    process.stdin.resume()`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => child.kill())
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data')
  return JSON.parse(line)
}

t.test('two processes that ask at the same time are never given the same port', async (t) => {
  const [own, other] = await Promise.all([some(), ofAnother(t)])
  t.equal(new Set([...own, ...other]).size, 2 * COUNT)
})

t.test('the kernel gives none of them to anybody else', async (t) => {
  const lowest = Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split('\t')[0])
  const port = await freePort()
  t.ok(port < lowest, `${port}, and the kernel's begin at ${lowest}`)
  const server = createServer().listen(port)
  await once(server, 'listening')
  server.close()
})

t.test('a test waits for its turn until the one that has it has ended', async (t) => {
  const order: string[] = []
  const begun = Promise.withResolvers<void>()
  const first = t.test('has it', async (t) => {
    await turnOf(t, 'here')
    begun.resolve()
    await new Promise(setImmediate)
    order.push('first')
  })
  await begun.promise
  await turnOf(t, 'here')
  order.push('second')
  await first
  t.same(order, ['first', 'second'])
})
