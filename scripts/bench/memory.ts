/**
 * Resident memory of an idle gateway with four open lines: the real command, started, set up, used a little, then left
 * alone.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openPty, type Pty } from '#native/serial/index.ts'
import { isMain } from '../is-main.ts'

/** Memory of the process by the kernel, in MB (10^6 bytes), as in docs/decisions/idle-memory-and-speed.md. */
export interface IdleMemory {
  /** VmRSS: the figure with the limit. */
  rssMb: number
  /** Part of it: the process's own memory. */
  anonMb: number
  /** Part of it: pages of mapped files, mostly Node's own program, which all daemons of a machine share. */
  fileMb: number
  /** Memory that ending the process would free: shared pages are divided among their users. */
  pssMb: number
}

/** Options; all have defaults. */
export interface IdleMemoryOptions {
  command?: string
  ports?: number
  /** How long it idles before it is measured; memory is swept half a minute after the start. */
  idleMs?: number
}

const COMMAND = join(import.meta.dirname, '../../build/plantroom')
const START_MS = 20_000
const BOUND_MB = 75
/** The kernel's kB are KiB. */
const MB_PER_KIB = 1024 / 1e6

/** Starts `plantroom gateway`, opens raw lines on ptys, sends a few requests, waits, reads /proc, and ends it. */
export async function measureIdleMemory(options: IdleMemoryOptions = {}): Promise<IdleMemory> {
  const { command = COMMAND, ports = 4, idleMs = 45_000 } = options
  const folder = mkdtempSync(join(tmpdir(), 'gateway-memory-'))
  const args = ['gateway', '--listen', '127.0.0.1:0', '--state', folder, '--set', 'ports.allow=["/dev/pts/*"]']
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const devices: Pty[] = []
  try {
    const url = await listeningUrl(child)
    for (let index = 0; index < ports; index++) devices.push(openPty())
    await use(url, devices)
    await sleep(idleMs)
    return processMemory(child.pid ?? 0)
  } finally {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM')
      await once(child, 'exit')
    }
    for (const device of devices) await device.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Does what an installer does on the first day: sets it up, opens the page, configures the lines, looks at them. */
async function use(url: string, devices: readonly Pty[]): Promise<void> {
  const login = { username: 'admin', password: 'correct horse battery' }
  await ask(url, 'POST', '/api/setup', { body: login })
  const { token } = await ask<{ token: string }>(url, 'POST', '/api/login', { body: login })
  for (const device of devices) {
    const path = `/api/ports/${encodeURIComponent(device.path)}`
    device.onBytes(() => {})
    const view = await ask<{ state: string }>(url, 'PUT', path, { token, body: { protocol: 'raw' } })
    if (view.state !== 'open') throw new Error(`${device.path} is ${view.state}, not open`)
    await ask(url, 'POST', `${path}/rest/tx`, { token, body: { hex: '50 49 4E 47 0D 0A' } })
    await device.write(Buffer.from('PONG\r\n'))
    await ask(url, 'GET', `${path}/frames`, { token })
  }
  for (const path of ['/api/status', '/api/system', '/api/ports', '/api/me', '/metrics'])
    await ask(url, 'GET', path, { token })
}

async function ask<Answer>(
  url: string,
  method: string,
  path: string,
  given: { token?: string; body?: unknown },
): Promise<Answer> {
  const response = await fetch(url + path, {
    method,
    headers: {
      connection: 'close',
      ...(given.token ? { authorization: `Bearer ${given.token}` } : {}),
      ...(given.body ? { 'content-type': 'application/json' } : {}),
    },
    ...(given.body ? { body: JSON.stringify(given.body) } : {}),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${text}`)
  return (response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text) as Answer
}

async function listeningUrl(child: ChildProcess): Promise<string> {
  let output = ''
  child.stderr?.setEncoding('utf8').on('data', (part) => (output += part))
  const endMs = performance.now() + START_MS
  while (performance.now() < endMs) {
    const ended = child.exitCode ?? child.signalCode
    if (ended !== null) throw new Error(`the gateway ended with ${ended} before it listened; it said:\n${output}`)
    const url = /listening url=(\S+)/.exec(output)?.[1]
    if (url) return url
    await sleep(20)
  }
  throw new Error(`the gateway did not listen within ${START_MS} ms; it said:\n${output}`)
}

/** Memory of a running process. @source proc(5): status, smaps_rollup */
export function processMemory(pid: number): IdleMemory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  const mbOf = (text: string, key: string) => {
    const kib = new RegExp(`^${key}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]
    if (kib === undefined) throw new Error(`/proc/${pid} does not tell ${key}`)
    return Number(kib) * MB_PER_KIB
  }
  return {
    rssMb: mbOf(status, 'VmRSS'),
    anonMb: mbOf(status, 'RssAnon'),
    fileMb: mbOf(status, 'RssFile'),
    pssMb: mbOf(rollup, 'Pss'),
  }
}

if (isMain(import.meta)) {
  const { rssMb, anonMb, fileMb, pssMb } = await measureIdleMemory(process.argv[2] ? { command: process.argv[2] } : {})
  const [rss, anon, file, pss] = [rssMb, anonMb, fileMb, pssMb].map((mb) => mb.toFixed(1))
  console.log(`resident ${rss} MB (at most ${BOUND_MB}): own ${anon}, of files ${file}; proportional ${pss}`)
  process.exitCode = rssMb <= BOUND_MB ? 0 : 1
}
