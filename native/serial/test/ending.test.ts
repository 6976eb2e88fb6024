/** What happens to open lines when a process or a worker ends. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import t from 'tap'

const FACE = new URL('../index.ts', import.meta.url).href

/** Opens a line, reads, has a write blocked and a socket joined with something to tell, and leaves all that as it is. */
function leaving(lockFolder: string, last: string): string {
  return `
    import { once } from 'node:events'
    import { connect, createServer } from 'node:net'
    import { openPty, PlantroomBinding } from '${FACE}'
    const pty = openPty()
    const port = await PlantroomBinding.open({ path: pty.path, baudRate: 9600, lockFolder: '${lockFolder}' })
    void port.read(Buffer.alloc(8), 0, 8)
    void port.write(Buffer.alloc(1_000_000))
    const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = connect(server.address().port, '127.0.0.1')
    const [socket] = await once(server, 'connection')
    port.channel.joinSocket(socket._handle.fd, 100, { onBytes() {}, onBehind() {}, onEnded() {} })
    client.write('x')
    await new Promise((resolve) => setTimeout(resolve, 20))
    ${last}
  `
}

t.test('gives lock and descriptors back when the process exits with an open line', (t) => {
  const lockFolder = mkdtempSync(join(tmpdir(), 'lock-'))
  t.teardown(() => rmSync(lockFolder, { recursive: true }))
  const code = leaving(lockFolder, 'process.exit(7)')
  const done = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' })
  t.equal(done.status, 7, done.stderr)
  t.same(readdirSync(lockFolder), [])
  t.end()
})

t.test('gives lock and descriptors back when a worker is stopped with an open line', async (t) => {
  const lockFolder = mkdtempSync(join(tmpdir(), 'lock-'))
  t.teardown(() => rmSync(lockFolder, { recursive: true }))
  const before = readdirSync('/proc/self/fd').filter((fd) => existsSync(`/proc/self/fd/${fd}`)).length
  const code = leaving(
    lockFolder,
    `const { parentPort } = await import('node:worker_threads'); parentPort.postMessage('open'); setInterval(() => {}, 1000)`,
  )
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`))
  await once(worker, 'message')
  t.equal(readdirSync(lockFolder).length, 1)
  await worker.terminate()
  t.same(readdirSync(lockFolder), [])
  t.equal(readdirSync('/proc/self/fd').filter((fd) => existsSync(`/proc/self/fd/${fd}`)).length, before)
})
