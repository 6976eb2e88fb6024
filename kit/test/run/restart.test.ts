/** A daemon that restarts in the same process: what stays, what goes, and what systemd hears. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Test, t } from 'tap'
import { nextProgram } from '#kit/run/parts.ts'
import { builtProgram } from '../built-program.ts'

const program = builtProgram(t, fileURLToPath(new URL('small-daemon.ts', import.meta.url)))
/** Compiled once, with a compile cache: starting is most of the time of these tests. */
const compiled = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '' }
const PATIENCE_MS = 15_000

interface Started {
  child: ChildProcess
  err(): string
  /** Resolves once `pattern` has matched this many times. @returns the last match */
  times(pattern: RegExp, count: number): Promise<RegExpMatchArray>
  ended: Promise<{ code: number | null; signal: string | null }>
}

function start(
  t: Test,
  { trouble = 'restart', env = {} }: { trouble?: string; env?: Record<string, string> },
): Started {
  const args = ['--state', join(t.testdir(), 'state'), '--listen', '127.0.0.1:0', '--set', `small.trouble=${trouble}`]
  const child = spawn(process.execPath, ['--enable-source-maps', program, ...args], { env: { ...compiled, ...env } })
  t.teardown(() => child.kill('SIGKILL'))
  let err = ''
  child.stderr.on('data', (chunk) => {
    err += chunk
  })
  const ended = new Promise<Awaited<Started['ended']>>((resolve) =>
    child.on('close', (code, signal) => resolve({ code, signal })),
  )
  return { child, err: () => err, times: (pattern, count) => matched(() => err, pattern, count), ended }
}

async function matched(text: () => string, pattern: RegExp, count: number): Promise<RegExpMatchArray> {
  const untilMs = performance.now() + PATIENCE_MS
  while (performance.now() < untilMs) {
    const found = [...text().matchAll(new RegExp(pattern, 'g'))]
    const last = found[count - 1]
    if (last) return last
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error(`${pattern} was not seen ${count} times:\n${text()}`)
}

/** What the process has open, by kind, without the numbers that the kernel assigns. */
function openFiles(pid: number | undefined): string[] {
  const folder = `/proc/${pid}/fd`
  return readdirSync(folder)
    .map((fd) => readlinkSync(join(folder, fd)).replace(/\d+/g, 'N'))
    .sort()
}

t.test('continues as the same process at the same port, with its flags and nothing left open', async (t) => {
  const { child, times, ended } = start(t, {})
  const [, firstPort] = await times(/listening url=http:\/\/127\.0\.0\.1:(\d+)/, 1)
  const before = openFiles(child.pid)
  for (const round of [1, 2, 3]) {
    child.kill('SIGUSR2')
    await times(/starting anew reason=asked/, round)
    const [, port] = await times(/listening url=http:\/\/127\.0\.0\.1:(\d+)/, round + 1)
    t.equal(port, firstPort)
  }
  t.match(await times(/starting daemon=small .* pid=(\d+)/, 4), { 1: String(child.pid) })
  t.same(openFiles(child.pid), before)
  t.match(
    readFileSync(`/proc/${child.pid}/cmdline`, 'utf8'),
    /--enable-source-maps.*127\.0\.0\.1:0.*small\.trouble=restart/,
  )
  child.kill('SIGTERM')
  t.match(await ended, { code: 0 })
})

t.test('still holds the lock of its state folder', async (t) => {
  const { child, times } = start(t, {})
  await times(/listening/, 1)
  child.kill('SIGUSR2')
  await times(/listening/, 2)
  const rival = spawn(process.execPath, [program, '--state', join(t.testdirName, 'state'), '--listen', '127.0.0.1:0'])
  t.teardown(() => rival.kill('SIGKILL'))
  let said = ''
  rival.stderr.on('data', (chunk) => {
    said += chunk
  })
  const code = await new Promise((resolve) => rival.on('close', resolve))
  t.equal(code, 1)
  t.match(said, /is in use by a daemon that runs/)
})

t.test('a signal while it stops ends the daemon instead', async (t) => {
  const { child, err, times, ended } = start(t, { trouble: 'restart-slowly' })
  await times(/listening/, 1)
  child.kill('SIGUSR2')
  await times(/starting anew/, 1)
  child.kill('SIGTERM')
  t.match(await ended, { code: 0 })
  t.equal(err().match(/listening/g)?.length, 1)
  t.match(err(), /stopped daemon=small code=0\n$/)
})

t.test('sd_notify(3): systemd hears ready, reloading, and ready again', async (t) => {
  // The path of a socket has 107 bytes at most.
  const folder = mkdtempSync(join(tmpdir(), 'notify-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'socket')
  const listener = spawn('python3', ['-uc', LISTEN, path])
  t.teardown(() => listener.kill('SIGKILL'))
  let heard = ''
  listener.stdout.on('data', (chunk) => {
    heard += chunk
  })
  await matched(() => heard, /bound/, 1)
  const { child, times } = start(t, { env: { NOTIFY_SOCKET: path } })
  await times(/listening/, 1)
  await matched(() => heard, /READY=1\n/, 1)
  child.kill('SIGUSR2')
  await matched(() => heard, /READY=1\n/, 2)
  t.match(heard, /READY=1\nSTATUS=all is well\nRELOADING=1\nMONOTONIC_USEC=\d+\nSTATUS=starting anew\nREADY=1\n/)
})

const LISTEN = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('bound')
while True: print(s.recv(4096).decode())
`

t.test('appends further arguments, and restores the socket of systemd', async (t) => {
  const next = nextProgram({ reason: 'asked', args: ['--listen', '[::1]:1'] }, '@socket')
  t.equal(next.file, process.execPath)
  t.same(next.argv, [process.execPath, ...process.execArgv, ...process.argv.slice(1), '--listen', '[::1]:1'])
  t.match(next.env, { NOTIFY_SOCKET: '@socket', PATH: process.env.PATH })
  t.notOk('NOTIFY_SOCKET' in nextProgram({ reason: 'asked' }, '').env)
})
