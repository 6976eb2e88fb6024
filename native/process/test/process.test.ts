/** What arrives at a notification socket, and what the system gets back. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { heldBytes } from '#kit/test/heap.ts'
import { notify, trimMemory } from '../index.ts'

/** Node has no datagram sockets of the Unix kind; Python, which node-gyp needs anyway, has. */
const RECEIVER = `
import json, socket, sys
name = sys.argv[1]
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind('\\0' + name[1:] if name[0] == '@' else name)
print(json.dumps('bound'), flush=True)
while True:
    print(json.dumps(receiver.recv(4096).decode()), flush=True)
`

/** Starts a receiver and points NOTIFY_SOCKET at it. @returns the next text it received */
async function receiver(t: Test, name: string): Promise<() => Promise<string>> {
  const inherited = process.env.NOTIFY_SOCKET
  const child = spawn('python3', ['-c', RECEIVER, name], { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const nextText = async () => JSON.parse((await lines.next()).value ?? 'null')
  t.teardown(async () => {
    if (inherited === undefined) delete process.env.NOTIFY_SOCKET
    else process.env.NOTIFY_SOCKET = inherited
    child.kill()
    await once(child, 'exit')
  })
  t.equal(await nextText(), 'bound')
  process.env.NOTIFY_SOCKET = name
  return nextText
}

t.test('says false and sends nothing where systemd did not start us', (t) => {
  const inherited = process.env.NOTIFY_SOCKET
  delete process.env.NOTIFY_SOCKET
  t.equal(notify('READY=1'), false)
  if (inherited !== undefined) process.env.NOTIFY_SOCKET = inherited
  t.end()
})

t.test('reaches a socket by path', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'notify-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const nextText = await receiver(t, join(folder, 'socket'))
  t.equal(notify('READY=1\nSTATUS=2 ports open, 1 absent – ok'), true)
  t.equal(await nextText(), 'READY=1\nSTATUS=2 ports open, 1 absent – ok')
})

t.test('reaches an abstract socket', async (t) => {
  const nextText = await receiver(t, `@plantroom-test-${process.pid}`)
  t.equal(notify('WATCHDOG=1'), true)
  t.equal(await nextText(), 'WATCHDOG=1')
})

t.test('names call and errno where nobody listens', (t) => {
  const inherited = process.env.NOTIFY_SOCKET
  t.teardown(() => {
    if (inherited === undefined) delete process.env.NOTIFY_SOCKET
    else process.env.NOTIFY_SOCKET = inherited
  })
  process.env.NOTIFY_SOCKET = '/nonexistent/socket'
  t.throws(() => notify('READY=1'), { code: 'ENOENT', syscall: 'connect', errno: 2 })
  process.env.NOTIFY_SOCKET = `/${'x'.repeat(200)}`
  t.throws(() => notify('READY=1'), { code: 'ENAMETOOLONG' })
  process.env.NOTIFY_SOCKET = 'vsock:2:1234'
  t.throws(() => notify('READY=1'), { code: 'EAFNOSUPPORT' })
  t.end()
})

t.test('free memory below something that stays goes back to the system', async (t) => {
  const residentBytes = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1024
  trimMemory()
  // Small pieces, so that the C library cuts them from its heap; the last one keeps the heap from shrinking.
  const pieces = Array.from({ length: 8000 }, () => Buffer.allocUnsafeSlow(4000).fill(1))
  const last = pieces.at(-1)
  pieces.length = 0
  await heldBytes()
  const before = residentBytes()
  t.equal(trimMemory(), true)
  t.ok(before - residentBytes() > 16_000_000, 'of 32 MB at least half')
  t.equal(last?.length, 4000)
})
