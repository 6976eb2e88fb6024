/** `plantroom status`: the state of every daemon on this machine. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { get as getEncrypted } from 'node:https'
import { promisify } from 'node:util'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { loadConfig } from '#kit/config/load.ts'
import { parseListen, urlOfListen } from '#kit/config/tables.ts'
import { readJsonAnswer } from '#kit/net/json-answer.ts'
import { Fault } from '#kit/pure/fault.ts'
import { isVersion } from '#kit/pure/version.ts'
import { configFileOf, exitCodes } from '#kit/run/arguments.ts'
import { type Command, parseCommand, requireWords, type World } from './command.ts'
import { daemonNames, loadDaemon } from './daemons.ts'
import { changedSettings, changesText, memoryWarning } from './image-settings.ts'
import type { Toned } from './paint.ts'

const form = 'status [DAEMON] [--config FILE] [--listen HOST:PORT] [--set key=VALUE]... [--json]'

/** State of one daemon. */
export interface DaemonStatus {
  daemon: string
  /** systemd's state: active, activating, failed, inactive; null if there is no unit. */
  unit: string | null
  /** Whether its unit is not enabled: it does not run, and nothing starts it. */
  isOff: boolean
  /** Its address by its settings; null if they are refused. */
  url: string | null
  /** `answers` even if it asks for a password first. */
  health: 'answers' | 'off' | 'no answer' | 'wrong answer' | 'settings refused'
  /** As reported by the daemon; null if it does not answer, or not without a password. */
  version: string | null
  name: string | null
  /** Of a board: what it is. */
  role: string | null
  /** How it is, in its own words, where it says so without a password. */
  verdict: { state: string; text: string } | null
  /** As reported by the daemon, else by systemd. */
  uptimeMs: number | null
}

/** How long a daemon's answer may take in all, and how long it may be: anything may listen there. */
const ANSWER_MS = 2000
const MOST_ANSWER_BYTES = 65_536

/** What a daemon says of itself, where it needs no password. */
const plain = (maxLength: number) => Type.String({ maxLength, pattern: '^\\P{Cc}*$' })
const said = Type.Object({
  version: Type.Refine(Type.String(), isVersion),
  name: Type.Optional(Type.Union([plain(64), Type.Null()])),
  role: Type.Optional(plain(32)),
  verdict: Type.Optional(Type.Object({ state: plain(16), text: plain(500) })),
  uptimeMs: Type.Optional(Type.Number({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  uptime_s: Type.Optional(Type.Number({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
})
const refusal = Type.Object({ error: Type.String(), message: Type.String() })

/** Queries systemd and the daemon itself. */
export const status: Command = {
  name: 'status',
  summary: 'state, address, health and version of every daemon on this box',
  help: `plantroom ${form}

Asks systemd for the unit, and the daemon itself at the address in its settings. Needs no rights and no password.
Health: answers; off, since its unit is not enabled and does not run; no answer; something else answers there (wrong
answer in JSON); settings refused (plantroom check-config says why). A board says more of itself in the last column.
  --config, --listen, --set    as the daemon was started with; need DAEMON
  --json                       one JSON list
Exit codes: 0 all answer but those that are off, 2 wrong usage, 3 one does not answer; with DAEMON also when it is off.
`,
  stateUse: () => undefined,
  async run(argv, world) {
    const { values, positionals } = parseCommand(argv, {
      config: { type: 'string' },
      listen: { type: 'string' },
      set: { type: 'string', multiple: true },
      json: { type: 'boolean' },
    })
    requireWords(positionals, 0, 1, form)
    const [only] = positionals
    if (only === undefined && (values.config ?? values.set ?? values.listen) !== undefined)
      throw new Fault('bad_usage', '--config, --listen and --set need the daemon they are for')
    const sets = [...(values.set ?? [])]
    if (values.listen !== undefined) sets.push(`http.listen=${JSON.stringify(values.listen)}`)
    const names = only === undefined ? daemonNames(world.daemonsFolder) : [only]
    const all = await Promise.all(names.map((name) => statusOf(world, name, values.config, sets)))
    const changes = only === undefined && !values.json ? await changedSettings(world) : null
    world.out(
      values.json
        ? `${JSON.stringify(all, null, 2)}\n`
        : [...tableOf(all), ...memoryWarning(world), changesText(changes)],
    )
    const isFine = ({ health }: DaemonStatus) => health === 'answers' || (health === 'off' && only === undefined)
    return all.every(isFine) ? exitCodes.fine : exitCodes.notRunning
  },
}

/** State of every daemon with its settings in /etc/plantroom. */
export function daemonStatuses(world: World): Promise<DaemonStatus[]> {
  return Promise.all(daemonNames(world.daemonsFolder).map((name) => daemonStatus(world, name)))
}

/** State of one daemon with its settings in /etc/plantroom. */
export function daemonStatus(world: World, name: string): Promise<DaemonStatus> {
  return statusOf(world, name, undefined, [])
}

const NOTHING_SAID = { version: null, name: null, role: null, verdict: null }

async function statusOf(
  world: World,
  name: string,
  config: string | undefined,
  sets: readonly string[],
): Promise<DaemonStatus> {
  const { config: schema, statusPath } = await loadDaemon(world.daemonsFolder, name)
  const unit = await askSystemd(name, world.env)
  const { state, isOff } = unit
  const silent = { daemon: name, unit: state, isOff, url: null, ...NOTHING_SAID, uptimeMs: unit.uptimeMs }
  try {
    const file = config ?? configFileOf(name, world.env)
    const { value } = await loadConfig({ schema, file, mustExist: config !== undefined, sets })
    const { listen, tls } = (value as { http: { listen: string; tls: boolean } }).http
    const url = urlOfListen(parseListen(listen), tls ? 'https' : 'http')
    const found = await ask(`${url}${statusPath}`)
    const health = found.health === 'no answer' && isOff ? 'off' : found.health
    return { ...silent, ...found, url, health, uptimeMs: found.uptimeMs ?? unit.uptimeMs }
  } catch (error) {
    if (!(error instanceof Fault && error.code === 'config_refused')) throw error
    return { ...silent, health: 'settings refused' }
  }
}

/** Requests the daemon's version, which mostly needs no credentials. */
async function ask(url: string): Promise<Pick<DaemonStatus, 'health'> & Partial<DaemonStatus>> {
  const answer = await answerOf(url).catch(() => undefined)
  if (answer === undefined) return { health: 'no answer' }
  const { body, status } = answer
  if (asksForPassword(status, body)) return { health: 'answers' }
  if (status !== 200 || !Value.Check(said, body)) return { health: 'wrong answer' } // something else listens there
  const { name = null, role = null, uptimeMs, uptime_s: uptimeS, verdict = null, version } = body
  return { health: 'answers', version, name, role, verdict, uptimeMs: asMs(uptimeMs, 1) ?? asMs(uptimeS, 1000) }
}

/**
 * All of it comes within `ANSWER_MS`. Nothing is sent that is secret, and the root is in a folder that only the daemon
 * reads: it is not verified.
 */
async function answerOf(url: string): Promise<{ status: number; body: unknown }> {
  const by = { agent: false, signal: AbortSignal.timeout(ANSWER_MS) }
  const request = url.startsWith('https:') ? getEncrypted(url, { ...by, rejectUnauthorized: false }) : get(url, by)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  // What ends the answer ends the request too, which nobody else listens to.
  request.on('error', () => {})
  return await readJsonAnswer(response, MOST_ANSWER_BYTES).catch(() => ({ status: 0, body: undefined }))
}

/**
 * Whether an answer is one of our daemons asking for a password, in its own words: other servers answer differently.
 */
function asksForPassword(status: number, body: unknown): boolean {
  if (!Value.Check(refusal, body)) return false
  const { error } = body
  return (status === 401 && error === 'unauthorized') || (status === 429 && error === 'slow_down')
}

function asMs(value: number | undefined, unitMs: number): number | null {
  return value === undefined ? null : value * unitMs
}

/** systemd's state of a unit; `state` is null without systemd or such a unit. */
async function askSystemd(
  name: string,
  env: NodeJS.ProcessEnv,
): Promise<{ state: string | null; isOff: boolean; uptimeMs: number | null }> {
  const properties = ['LoadState', 'ActiveState', 'UnitFileState', 'ActiveEnterTimestampMonotonic']
  const command = ['show', `plantroom-${name}.service`, `--property=${properties.join(',')}`]
  try {
    const { stdout } = await promisify(execFile)('systemctl', command, { timeout: ANSWER_MS, env })
    const [load, state = null, file, enteredUs] = properties.map(
      (key) => new RegExp(`^${key}=(.*)$`, 'm').exec(stdout)?.[1],
    )
    // A masked unit is off too, although the unit itself is hidden.
    if (load !== 'loaded' && load !== 'masked') throw new Error('there is no such unit')
    const isOff = state === 'inactive' && !/^(enabled|alias|generated)/.test(file ?? '')
    const uptimeMs = state === 'active' ? Number(process.hrtime.bigint() / 1000n - BigInt(enteredUs || 0)) / 1000 : null
    return { state, isOff, uptimeMs }
  } catch {
    // No systemctl, or systemd is not running: the daemon's own answer counts.
    return { state: null, isOff: false, uptimeMs: null }
  }
}

function tableOf(all: readonly DaemonStatus[]): (string | Toned)[] {
  if (all.length === 0) return ['There is no daemon here.\n']
  const rows = all.map(({ daemon, unit, url, health, version, uptimeMs, verdict }) => [
    daemon,
    unit ?? '-',
    url ?? '-',
    health === 'wrong answer' ? 'something else answers there' : health,
    version ?? '-',
    uptimeMs === null ? '-' : durationText(uptimeMs),
    verdict?.text ?? '',
  ])
  const headings = ['daemon', 'unit', 'address', 'health', 'version', 'up', '']
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  const lineOf = (row: string[], tone: (cell: string, column: number) => string | Toned) => {
    const last = row.findLastIndex((cell) => cell !== '')
    const gap = (cell: string, column: number) =>
      column === last ? '\n' : ' '.repeat((widths[column] ?? 0) - cell.length + 2)
    return row.slice(0, last + 1).flatMap((cell, column) => [tone(cell, column), gap(cell, column)])
  }
  return [
    ...lineOf(headings, (text) => ({ tone: 'quiet', text })),
    ...rows.flatMap((row, at) => lineOf(row, (text, column) => tonedCell(text, column, all[at]))),
  ]
}

const VERDICT_TONES = new Map<string, Toned['tone']>([
  ['warn', 'warning'],
  ['fault', 'bad'],
])

/** Health and what the daemon says of itself stand out. */
function tonedCell(text: string, column: number, of: DaemonStatus | undefined): string | Toned {
  if (column === 3) return { tone: of?.health === 'answers' ? 'good' : of?.health === 'off' ? 'quiet' : 'bad', text }
  const tone = column === 6 ? VERDICT_TONES.get(of?.verdict?.state ?? '') : undefined
  return tone === undefined ? text : { tone, text }
}

/** 3 d 4 h, 4 h 5 min, 5 min 6 s. */
function durationText(ms: number): string {
  const s = Math.floor(ms / 1000)
  if (s >= 86_400) return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3600)} h`
  if (s >= 3600) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`
  return s >= 60 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${s} s`
}
