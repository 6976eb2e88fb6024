/** The site for measuring a controller, and the controller on it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '#kit/clock.ts'
import { hashPassword } from '../../daemons/controller/io/people.ts'
import { importFirstSite } from '../../daemons/controller/io/site-import.ts'
import { askOnce, openConnection, requestBytes } from './keep-alive.ts'
import { listeningUrl } from './listening-url.ts'

/** Functions that end what was started, run in reverse. */
export type Ends = (() => unknown)[]

/** A running controller, or its baseline. */
export interface Running {
  url: string
  pid: number
  /** From the start of the process to its first answer with 200 on /api/health. */
  startMs: number
}

/** The accounts of the site, all with the same password. */
export const PEOPLE = { elevated: 'olga', plain: 'piet', disabled: 'dirk', unknown: 'ulla' }
export const PASSWORD = 'only for this measurement'

const DEVICES = 10_000
/** What counting devices change, so that each change is one of an attribute. */
const ATTRIBUTES = ['level', 'temperature', 'humidity', 'position', 'volume']
/** The kinds of rows, in turn. */
const KINDS = ['light', 'blind', 'thermostat', 'dimmer']
const FAULTS = 20
const ROOT = join(import.meta.dirname, '../..')

/**
 * A state folder with 10,000 simulated devices of one zone each and 50,000 attributes.
 * @param more columns of each device
 * @returns its path
 */
export async function prepareSite(ends: Ends, more: object = {}): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-controller-'))
  ends.push(() => rmSync(folder, { recursive: true, force: true }))
  const bytes = Buffer.from(JSON.stringify(siteOf(DEVICES, more)))
  const limits = {
    bytes: 2 ** 28,
    rows: 1_000_000,
    devices: 1_000_000,
    jsonChars: 2 ** 28,
    depth: 32,
    textChars: 262_144,
    faults: FAULTS,
  }
  const store = {
    commitMs: 5,
    busyMs: 5000,
    records: 2000,
    undoChars: 1_000_000,
    recordChars: 1_000_000,
    keptRecords: 20_000,
    faults: FAULTS,
  }
  await importFirstSite(folder, bytes, { clock: systemClock, limits, store, hashPassword })
  return folder
}

function siteOf(devices: number, more: object): object {
  const ids = Array.from({ length: devices }, (_, at) => at + 1)
  const role = (name: string, elevated: boolean) => ({ name, elevated, rules: 'allow api command, macro, query' })
  const user = (username: string, roles: string, enabled = true) => ({
    ...{ username, password: PASSWORD, enabled, roles: [roles], sites: ['Bench'] },
  })
  return {
    site: [{ name: 'Bench', timezone: 'Europe/Amsterdam' }],
    auth_role: [role('all', true), role('some', false)],
    auth_user: [user(PEOPLE.elevated, 'all'), user(PEOPLE.plain, 'some'), user(PEOPLE.disabled, 'some', false)],
    device: ids.map((id) => ({
      id,
      name: `Device ${id}`,
      driver: 'sim',
      address: `10.1.${id >> 8}.${id & 255}`,
      ...more,
    })),
    zone: ids.map((id) => ({
      ...{ id, name: `Zone ${id}`, device_id: id, address: `${id}`, type: KINDS[id % KINDS.length] },
      ...{ channel_no: id % 16, min: 0, max: 100, unit: '%', icon: 'bulb', position: id },
    })),
    attribute: ids.flatMap((id) =>
      ATTRIBUTES.map((name) => ({
        ...{ name, value: '0', type: 'number', unit: 'W' },
        ...{ system_target: 'zone', target_id: id },
      })),
    ),
  }
}

/** Starts the built controller on a state folder, and waits for its first answer. */
export async function startController(ends: Ends, folder: string): Promise<Running> {
  const sets = ['mdns.enabled=false', 'people.free_tries=10000'].flatMap((set) => ['--set', set])
  const args = ['controller', '--config', '/dev/null', '--state', folder, '--listen', '127.0.0.1:0', ...sets]
  return start(ends, 'controller', [join(ROOT, 'build/plantroom'), ...args])
}

/** Starts bare-server.ts on the database of the state folder. */
export function startBare(ends: Ends, folder: string): Promise<Running> {
  const script = join(import.meta.dirname, 'bare-server.ts')
  return start(ends, 'bare server', [process.execPath, script, join(folder, 'controller.db')])
}

async function start(ends: Ends, name: string, [program = '', ...args]: string[]): Promise<Running> {
  const beginMs = performance.now()
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  ends.push(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  })
  const url = await listeningUrl(name, child)
  const connection = await openConnection(url)
  const { status } = await connection.ask(requestBytes('GET', '/api/health'))
  const startMs = performance.now() - beginMs
  connection.close()
  if (status !== 200) throw new Error(`${name} answers ${status} to /api/health`)
  return { url, pid: child.pid ?? 0, startMs }
}

/** A sign-in request. */
export function signInRequest(username: string, password = PASSWORD): Buffer {
  return requestBytes('POST', '/api/token', { body: { username, password } })
}

/** @returns a token for that account */
export async function newToken(url: string, username: string): Promise<string> {
  const answer = await askOnce<{ token?: string }>(url, signInRequest(username))
  if (answer.token === undefined) throw new Error(`no token for ${username}: ${JSON.stringify(answer)}`)
  return answer.token
}

/** Ends everything that was started, in reverse. */
export async function endAll(ends: Ends): Promise<void> {
  for (const end of ends.splice(0).reverse()) await end()
}
