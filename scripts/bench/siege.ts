/**
 * All attacks at once, for half an hour: gateway, controller and board are flooded, their passwords guessed, their
 * answers left unread, and their connections held half-open (siege-attack.ts), while an operator works. Prints how long
 * the operator waited and each daemon's peak memory; adds it to docs/bench/siege.md; ends with 1 if a limit is missed.
 *
 *     node scripts/bench/siege.ts [--minutes N] [--note TEXT] [--print]
 *
 * --note: the conditions of the run; --print: leave docs/bench unchanged
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '#kit/test/free-port.ts'
import { residentMb } from '#kit/test/process-memory.ts'
import { type Owner, type RunningDaemon, startDaemon } from '#kit/test/running-daemon.ts'
import { openPty } from '#native/serial/index.ts'
import { startModbusLine } from '../sim/modbus-device.ts'
import { readTicks, stolenPercent } from '../stolen-time.ts'
import { chapterOf, optionOf, recordChapter, tableRow } from './chapter.ts'
import { type Ends, endAll, newToken, PASSWORD, PEOPLE, prepareSite } from './controller-site.ts'
import { sampleQuantile } from './figures.ts'

/** Arguments of siege-attack.ts: addresses, and tokens of callers who send requests without reading. */
export interface SiegeTargets {
  gateway: string
  controller: string
  board: string
  /** TCP ports of raw lines. */
  rawPorts: readonly number[]
  gatewayToken: string
  controllerToken: string
}

/** A request that the operator repeats. */
interface Errand {
  what: string
  url: string
  method: string
  headers: Record<string, string>
  body?: string
  /** Whether an answer counts as success. */
  good(status: number, body: string): boolean
  /** Minimum time of a round. */
  everyMs: number
  /** Limit of the p99; omitted if a password is hashed. */
  mostMs?: number
}

interface Done {
  ms: number[]
  failed: string[]
}

const MINUTES = 30
const MOST_P99_MS = 100
const OPERATOR = '127.0.0.2'
const ANSWER_MS = 10_000
const EVERY_MS = 100
const SIGN_IN_EVERY_MS = 5000
const SAMPLE_MS = 1000
const SETTLE_MS = 5000
const DEAD_WEBHOOKS = 8
const KEPT_FAILURES = 5
const ROOT = join(import.meta.dirname, '../..')
/** A line of 9600 baud that takes only 960 bytes per second; a plain pty takes everything at once. */
const SLOW_LINE = `
import os, pty, time, tty
own, other = pty.openpty()
tty.setraw(other)
print(os.ttyname(other), flush=True)
while True:
    os.read(own, 96)
    time.sleep(0.1)
`

/** @returns path of a line that takes 960 bytes per second */
async function slowLine(ends: Ends): Promise<string> {
  const child = spawn('python3', ['-c', SLOW_LINE], { stdio: ['ignore', 'pipe', 'inherit'] })
  ends.push(() => endOf(child))
  const [name] = await once(child.stdout, 'data')
  return String(name).trim()
}

async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

async function call(method: string, url: string, given: { token?: string; body?: object }): Promise<{ token: string }> {
  const { token, body } = given
  const headers: Record<string, string> = body ? { 'content-type': 'application/json' } : {}
  if (token !== undefined) headers.authorization = `Bearer ${token}`
  const answer = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${url} answers ${answer.status}: ${text}`)
  return JSON.parse(text || '{}')
}

const jsonFor = (token: string) => ({ authorization: `Bearer ${token}`, 'content-type': 'application/json' })
const is200 = (status: number) => status === 200

/** A gateway with a simulated Modbus line, a slow raw line on a TCP port, and webhooks that nobody answers. */
async function startGateway(ends: Ends, owner: Owner) {
  const daemon = await startDaemon(owner, 'gateway', { sets: ['ports.allow=["/dev/pts/*"]', 'mdns.enabled=false'] })
  const account = { username: PEOPLE.elevated, password: PASSWORD }
  const { token } = await call('POST', `${daemon.url}/api/setup`, { body: account })
  const pty = openPty()
  ends.push(() => pty.close(), startModbusLine(pty))
  const portUrl = (path: string) => `${daemon.url}/api/ports/${encodeURIComponent(path)}`
  await call('PUT', portUrl(pty.path), { token, body: { protocol: 'modbus-rtu' } })
  const dead = { url: `http://127.0.0.1:${await freePort()}/`, events: [] }
  for (let at = 0; at < DEAD_WEBHOOKS; at++) await call('POST', `${portUrl(pty.path)}/webhooks`, { token, body: dead })
  const rawPort = await freePort()
  const raw = { protocol: 'raw', settings: { tcp_port: rawPort } }
  await call('PUT', portUrl(await slowLine(ends)), { token, body: raw })
  const headers = jsonFor(token)
  const errands: Errand[] = [
    {
      ...{ what: 'gateway: a register read on the bus', url: `${portUrl(pty.path)}/rest/request`, method: 'POST' },
      ...{ headers, body: JSON.stringify({ unitId: 1, fc: 4, address: 0, quantity: 2 }) },
      ...{ good: is200, everyMs: EVERY_MS, mostMs: MOST_P99_MS },
    },
    {
      ...{ what: 'gateway: the list of its ports', url: `${daemon.url}/api/ports`, method: 'GET', headers },
      ...{ good: is200, everyMs: EVERY_MS, mostMs: MOST_P99_MS },
    },
    signIn('gateway', `${daemon.url}/api/login`),
  ]
  return { daemon, token, rawPort, errands }
}

function signIn(name: string, url: string): Errand {
  return {
    ...{ what: `${name}: the operator signs in`, url, method: 'POST', headers: { 'content-type': 'application/json' } },
    body: JSON.stringify({ username: PEOPLE.elevated, password: PASSWORD }),
    good: (status, body) => status === 200 && body.includes('"token"'),
    everyMs: SIGN_IN_EVERY_MS,
  }
}

/** A controller with ten thousand simulated devices. */
async function startController(ends: Ends, owner: Owner) {
  const stateFolder = await prepareSite(ends)
  const daemon = await startDaemon(owner, 'controller', { stateFolder, sets: ['mdns.enabled=false'] })
  const token = await newToken(daemon.url, PEOPLE.elevated)
  const headers = jsonFor(token)
  const often = { good: is200, everyMs: EVERY_MS, mostMs: MOST_P99_MS }
  const errands: Errand[] = [
    {
      ...{ what: 'controller: a command', url: `${daemon.url}/api/control/command`, method: 'POST', headers },
      ...{ body: JSON.stringify({ zone_id: 7, command: 'level', args: { level: 40 } }), ...often },
    },
    {
      ...{ what: 'controller: 50 zones', url: `${daemon.url}/api/data/zone?_limit=50`, method: 'GET', headers },
      ...often,
    },
    signIn('controller', `${daemon.url}/api/token`),
  ]
  return { daemon, plainToken: await newToken(daemon.url, PEOPLE.plain), errands }
}

/** A serial server with one slow raw line. */
async function startBoard(ends: Ends, owner: Owner) {
  const devices = JSON.stringify([await slowLine(ends)])
  const sets = [`serial.devices=${devices}`, 'board.role=serial', 'mdns.enabled=false']
  const daemon = await startDaemon(owner, 'board', { sets })
  const rawPort = await freePort()
  const port = new URLSearchParams({ port: '1', enabled: '1', mode: 'raw', tcp_port: String(rawPort), baud: '9600' })
  for (const [path, body] of [
    ['/api/serial', port],
    ['/api/password', new URLSearchParams({ password: PASSWORD })],
  ] as const) {
    const answer = await fetch(daemon.url + path, { method: 'POST', body })
    if (!answer.ok) throw new Error(`${path} answers ${answer.status}: ${await answer.text()}`)
  }
  const headers = { authorization: `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}` }
  const often = { good: is200, everyMs: EVERY_MS, mostMs: MOST_P99_MS }
  const errands: Errand[] = [
    { what: 'board: its state', url: `${daemon.url}/api/status`, method: 'GET', headers, ...often },
    { what: 'board: its serial ports', url: `${daemon.url}/api/serial`, method: 'GET', headers, ...often },
  ]
  return { daemon, rawPort, errands }
}

/** Repeats an errand until the end: every second time on a new connection, else on a persistent one. */
async function runErrand(errand: Errand, untilMs: number): Promise<Done> {
  const kept = new Agent({ keepAlive: true, maxSockets: 1, localAddress: OPERATOR })
  const done: Done = { ms: [], failed: [] }
  for (let round = 0; performance.now() < untilMs; round++) {
    const beganMs = performance.now()
    const fault = await makeRequest(errand, round % 2 === 0 ? kept : false)
    done.ms.push(performance.now() - beganMs)
    if (fault !== undefined) done.failed.push(fault)
    await sleep(Math.max(0, errand.everyMs - (performance.now() - beganMs)))
  }
  kept.destroy()
  return done
}

/** @returns what went wrong, if anything */
function makeRequest({ url, method, headers, body, good }: Errand, agent: Agent | false): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = { method, headers, agent, localAddress: OPERATOR, timeout: ANSWER_MS }
    const request = httpRequest(url, options, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part) => (text += part))
      response.on('error', (error) => resolve(error.message))
      response.on('end', () => {
        const status = response.statusCode ?? 0
        resolve(good(status, text) ? undefined : `${status} ${text.slice(0, 200)}`)
      })
    })
    request.on('timeout', () => request.destroy(new Error(`no answer in ${ANSWER_MS} ms`)))
    request.on('error', (error) => resolve(error.message))
    request.end(body)
  })
}

/** Tracks the peak resident memory of each until it is stopped. */
function watchMemory(pids: readonly number[]) {
  const mostMb = pids.map(residentMb)
  const timer = setInterval(() => {
    for (const [at, pid] of pids.entries()) mostMb[at] = Math.max(mostMb[at] ?? 0, residentMb(pid))
  }, SAMPLE_MS)
  return {
    stop() {
      clearInterval(timer)
      return mostMb
    },
  }
}

/** MemoryMax of a unit in MB (10^6 bytes); undefined if it has none. */
function memoryMaxMb(name: string): number | undefined {
  const unit = readFileSync(join(ROOT, `systemd/plantroom-${name}.service`), 'utf8')
  const [, size, letter = ''] = /^MemoryMax=(\d+)([KMG]?)$/m.exec(unit) ?? []
  return size === undefined ? undefined : (Number(size) * 2 ** (10 * ['', 'K', 'M', 'G'].indexOf(letter))) / 1e6
}

interface Figure {
  cells: readonly string[]
  isMet: boolean
}

function errandFigure({ what, mostMs }: Errand, { ms, failed }: Done): Figure {
  const [p50, p99, most] = [0.5, 0.99, 1].map((part) => sampleQuantile(ms, part))
  const times = [p50, p99, most].map((value = Number.NaN) => value.toFixed(1)).join(' / ')
  const wanted = mostMs === undefined ? 'none failed' : `p99 < ${mostMs} ms, none failed`
  const isMet = failed.length === 0 && (mostMs === undefined || (p99 ?? Number.NaN) < mostMs)
  for (const fault of failed.slice(0, KEPT_FAILURES)) console.log(`${what}: ${fault}`)
  return { cells: [what, `${ms.length} times, ${failed.length} failed: ${times} ms`, wanted], isMet }
}

function memoryFigure(name: string, mostMb: number): Figure {
  const boundMb = memoryMaxMb(name)
  const wanted = boundMb === undefined ? 'MemoryMax of its unit' : `< ${boundMb.toFixed(0)} MB (MemoryMax of its unit)`
  const isMet = boundMb !== undefined && mostMb < boundMb
  return { cells: [`${name}: most resident memory`, `${mostMb.toFixed(0)} MB`, wanted], isMet }
}

/** @returns the operator's results, the memory used, and the attackers' counts */
async function besiege(minutes: number, ends: Ends): Promise<{ figures: Figure[]; attacks: Record<string, number> }> {
  const owner: Owner = { teardown: (end) => void ends.push(end as () => unknown) }
  const gateway = await startGateway(ends, owner)
  const controller = await startController(ends, owner)
  const board = await startBoard(ends, owner)
  const targets: SiegeTargets = {
    ...{ gateway: gateway.daemon.url, controller: controller.daemon.url, board: board.daemon.url },
    rawPorts: [gateway.rawPort, board.rawPort],
    ...{ gatewayToken: gateway.token, controllerToken: controller.plainToken },
  }
  const script = join(import.meta.dirname, 'siege-attack.ts')
  const attacker = spawn(process.execPath, [script, JSON.stringify(targets)], { stdio: ['ignore', 'pipe', 'inherit'] })
  ends.push(() => endOf(attacker))
  let said = ''
  attacker.stdout.setEncoding('utf8').on('data', (part) => (said += part))
  await sleep(SETTLE_MS)
  const daemons: [string, RunningDaemon][] = [
    ['gateway', gateway.daemon],
    ['controller', controller.daemon],
    ['board', board.daemon],
  ]
  const memory = watchMemory(daemons.map(([, { pid }]) => pid))
  const untilMs = performance.now() + minutes * 60_000
  const errands = [...gateway.errands, ...controller.errands, ...board.errands]
  const done = await Promise.all(errands.map((errand) => runErrand(errand, untilMs)))
  const mostMb = memory.stop()
  await endOf(attacker)
  return {
    figures: [
      ...errands.map((errand, at) => errandFigure(errand, done[at] ?? { ms: [], failed: ['never begun'] })),
      ...daemons.map(([name], at) => memoryFigure(name, mostMb[at] ?? Number.NaN)),
    ],
    attacks: JSON.parse(said || '{}'),
  }
}

const HEAD = `# Everything at once

Made by \`make bench-siege\`: gateway, controller (10,000 devices) and a board as serial server on loopback, all three
attacked at the same time from addresses of their own: 300 half-open heads each, 200 connections each that ask and never
read, 12 guessers of passwords each, raw clients that send 150 kB to a line of 960 bytes a second, leave and come again,
and eight webhooks whose targets refuse. Beside it an operator makes ten requests a second of each kind, every second one
on a new connection. The attackers run below the daemons in priority: theirs are other machines.
`

const minutes = Number(optionOf('--minutes') ?? MINUTES)
const [load = Number.NaN] = loadavg()
const ends: Ends = []
try {
  const ticks = readTicks()
  const { figures, attacks } = await besiege(minutes, ends)
  const stolen = stolenPercent(ticks, readTicks()).toFixed(1)
  const rows = figures.map(({ cells, isMet }) => tableRow([...cells, isMet ? 'yes' : 'no']))
  const did = Object.entries(attacks).map(([what, times]) => tableRow([what, String(times), '-', '-']))
  const given = optionOf('--note')
  const note = `${minutes} minutes, ${stolen} % of the time taken by the host${given ? `; ${given}` : ''}`
  const heads = ['what', 'measured', 'wanted', 'met']
  const text = chapterOf({ heads, rows: [...rows, ...did], rounds: 1, load, note })
  console.log(text)
  if (!process.argv.includes('--print')) recordChapter(join(ROOT, 'docs/bench/siege.md'), HEAD, text)
  process.exitCode = figures.every(({ isMet }) => isMet) ? 0 : 1
} finally {
  await endAll(ends)
}
