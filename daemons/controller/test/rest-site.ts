/** A whole controller with its own site, called over HTTP by tests of document 1; the test plays its tcp devices. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { deriveArgon2id } from '#kit/auth/password.ts'
import { systemClock } from '#kit/clock.ts'
import { type Answer, ask, type Owner, type RunningDaemon, startDaemon } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { parseRoleRules } from '../core/access/accounts.ts'
import type { ImportMode } from '../core/site/rows.ts'
import { openSiteStore } from '../io/database.ts'
import { type ImportParts, importFirstSite, importInto } from '../io/site-import.ts'
import { PASSWORD, restRows } from './rest-site-rows.ts'

export interface SiteOptions {
  sets?: string[]
  /** Rows that replace or extend those of `restRows`. */
  rows?: Record<string, unknown[]>
  /** The command; default: the one in this checkout. */
  command?: string
  /** Prefix of the command line. */
  within?: (stateFolder: string) => string[]
  /** For every call, unless it has its own. */
  headers?: Record<string, string>
}

/** Options of one call; `from` is the address that the proxy reports. */
export interface CallOptions {
  token?: string | undefined
  body?: unknown
  headers?: Record<string, string>
  from?: string
}

/** An answer, and the unique address that it was requested from. */
export interface Told extends Answer {
  from: string
}

/** One call from a user's browser. */
export type PageCall = (method: string, path: string, body?: unknown) => Promise<Told>

export interface RestSite {
  stateFolder: string
  /** Where it has listened since its last start. */
  url(): string
  /** What has reached the tcp devices so far, line by line. */
  lines: string[]
  call(method: string, path: string, options?: CallOptions): Promise<Told>
  get(path: string, token?: string): Promise<Told>
  post(path: string, body: unknown, token?: string): Promise<Told>
  /** A token of a user; fails if none is issued. */
  tokenOf(username: string): Promise<string>
  /** The record of a call in request_history, read by an elevated session. */
  recordOf(told: Told): Promise<Record<string, unknown>>
  /** The current code of a user, from the database. */
  codeOf(username: string): string | null
  /** Stages changes for Apply All, like the command line; `replace` removes rows that a table leaves out. */
  stage(document: Record<string, unknown[]>, mode?: ImportMode): Promise<number>
  /** Signs a user in to the page. @returns a function that calls it like the user's browser */
  pageOf(username: string): Promise<PageCall>
  /** Apply All on the page, by an elevated session. */
  applyAll(): Promise<Told>
  /** Of the daemon's current or last process. */
  pid(): number
  output(): string
  start(): Promise<void>
  restart(): Promise<void>
  stop(signal?: NodeJS.Signals): Promise<void>
}

/** The least that argon2 takes: a sign-in takes the time of the stored hash, and these tests sign in many hundred times. */
const CHEAP = { memory: 8, passes: 1, parallelism: 1 }

/** One hash for each password, so that importing a user again does not change his. */
const hashed = new Map<string, ReturnType<typeof cheapHash>>()

async function cheapHash(text: string): Promise<{ hash: string; salt: string }> {
  const nonce = randomBytes(16)
  const tag = await deriveArgon2id({ message: Buffer.from(text), nonce, tagLength: 32, ...CHEAP })
  const [salt = '', kept] = [nonce, tag].map((bytes) => bytes.toString('base64').replaceAll('=', ''))
  return { hash: `$argon2id$v=19$m=${CHEAP.memory},t=${CHEAP.passes},p=${CHEAP.parallelism}$${salt}$${kept}`, salt }
}

const parts: ImportParts = {
  clock: systemClock,
  limits: {
    bytes: 50_000_000,
    rows: 50_000,
    devices: 50_000,
    jsonChars: 50_000_000,
    depth: 16,
    textChars: 100_000,
    faults: 100,
  },
  store: {
    commitMs: 1,
    busyMs: 2000,
    records: 100,
    recordChars: 1_000_000,
    undoChars: 1_000_000,
    keptRecords: 1000,
    faults: 100,
  },
  hashPassword: (text) => {
    const known = hashed.get(text) ?? cheapHash(text)
    hashed.set(text, known)
    return known
  },
  ruleFault: (line) => parseRoleRules(line).faults[0],
}

const bytesOf = (document: unknown) => new TextEncoder().encode(JSON.stringify(document))

/** Starts one; it ends with the test. */
export async function openRestSite(t: Owner, options: SiteOptions = {}): Promise<RestSite> {
  const { sets = [], rows = {}, headers: common = {} } = options
  const stateFolder = mkdtempSync(join(tmpdir(), 'rest-site-'))
  t.teardown(() => rmSync(stateFolder, { recursive: true, force: true }))
  const within = options.within?.(stateFolder) ?? []
  const { lines, port } = await openLineServer(t)
  await importFirstSite(stateFolder, bytesOf({ ...restRows(port), ...rows }), parts)
  const quick = ['http.trusted_proxies=["127.0.0.1"]', 'mdns.enabled=false', 'audit.wait_ms=1', 'people.wait_ms=10']
  const command = options.command === undefined ? {} : { command: options.command }
  const start = () => startDaemon(t, 'controller', { stateFolder, within, sets: [...quick, ...sets], ...command })
  let daemon = await start()
  let asked = 0
  let admin: string | undefined
  let page: PageCall | undefined

  async function call(method: string, path: string, options: CallOptions = {}): Promise<Told> {
    const { from = addressOf(++asked) } = options
    const headers = { 'x-forwarded-for': from, ...common, ...options.headers }
    return { ...(await ask(`${daemon.url}${path}`, requestOf(method, { ...options, headers }))), from }
  }

  async function startAgain(): Promise<void> {
    daemon = await start()
    admin = page = undefined
  }

  async function tokenOf(username: string): Promise<string> {
    const { body } = await call('POST', '/api/token', { body: { username, password: PASSWORD } })
    if (typeof body.token !== 'string') throw new Error(`${username} got no token: ${JSON.stringify(body)}`)
    return body.token
  }

  async function recordOf({ from }: Told): Promise<Record<string, unknown>> {
    admin ??= await tokenOf('ada')
    const token = admin
    let found: Record<string, unknown> | undefined
    await until(`the call from ${from} is recorded`, async () => {
      const { body } = await call('GET', `/api/data/request_history?client_ip=${from}`, { token })
      found = body[0]
      return found !== undefined
    })
    return found ?? {}
  }

  return {
    stateFolder,
    url: () => daemon.url,
    lines,
    call,
    tokenOf,
    recordOf,
    get: (path, token) => call('GET', path, { token }),
    post: (path, body, token) => call('POST', path, { token, body }),
    codeOf: (username) => codeIn(stateFolder, username),
    stage: (document, mode = 'merge') => stage(stateFolder, document, mode),
    pageOf: (username) => pageOf(daemon, call, username),
    async applyAll() {
      page ??= await pageOf(daemon, call, 'ada')
      return await applyAll(page)
    },
    pid: () => daemon.pid,
    output: () => daemon.output(),
    start: startAgain,
    stop: async (signal) => void (await daemon.stop(signal)),
    async restart() {
      await daemon.stop()
      await startAgain()
    },
  }
}

function requestOf(method: string, { token, body, headers }: CallOptions): RequestInit {
  const bearer: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  return { method, headers: { ...bearer, ...headers }, ...(text === undefined ? {} : { body: text }) }
}

/** From 10.64.0.1 on: inside every building; each is used once. */
function addressOf(n: number): string {
  return `10.64.${n >> 8}.${n & 255}`
}

async function openLineServer(t: Owner): Promise<{ lines: string[]; port: number }> {
  const lines: string[] = []
  const server = createServer((socket) => {
    let rest = ''
    socket.setEncoding('utf8').on('error', () => {})
    socket.on('data', (text) => {
      const all = `${rest}${text}`.split('\n')
      rest = all.pop() ?? ''
      lines.push(...all)
    })
    t.teardown(() => socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return { lines, port: (server.address() as AddressInfo).port }
}

function codeIn(stateFolder: string, username: string): string | null {
  const db = new DatabaseSync(join(stateFolder, 'controller.db'), { readOnly: true })
  try {
    const row = db.prepare('SELECT two_factor_token AS code FROM auth_user WHERE username = ?').get(username)
    return (row?.code as string | null | undefined) ?? null
  } finally {
    db.close()
  }
}

async function stage(stateFolder: string, document: Record<string, unknown[]>, mode: ImportMode): Promise<number> {
  const store = openSiteStore(stateFolder, systemClock, parts.store)
  try {
    return await importInto(store, bytesOf(document), parts, { mode, becomes: 'pending', author: 'test' })
  } finally {
    await store.close()
  }
}

/** The page of a signed-in user. */
async function pageOf({ url }: RunningDaemon, call: RestSite['call'], username: string): Promise<PageCall> {
  const page = { origin: url, 'content-type': 'application/json' }
  const signedIn = await call('POST', '/ui/sign-in', { body: { username, password: PASSWORD }, headers: page })
  const headers = { ...page, cookie: signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '' }
  return (method, path, body = {}) => call(method, path, { headers, ...(method === 'GET' ? {} : { body }) })
}

async function applyAll(page: PageCall): Promise<Told> {
  const { revision } = (await page('GET', '/ui/pending')).body
  return page('POST', '/ui/pending/apply', { revision })
}
