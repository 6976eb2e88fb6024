/**
 * A fake board behind the real pages: it can be in any state, including those that need a host, a device or a power
 * cut.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { Test } from 'tap'
import { WebSocketServer } from 'ws'
import { loadPages, type Page } from '#kit/http/static-pages.ts'
import type { JournalEntry } from '#kit/records/journal.ts'
import type { HistoryView } from '../core/sound/sound.ts'
import type { HeardStream } from '../core/streams/book.ts'
import type { Config, ConfigForm, DecoderState, Peer, SerialState, Status, UsbipState } from '../web/api.ts'
import { fakeMeters } from './fake-sound.ts'
import { fakeConfig, fakeForm, fakeStatus } from './fake-states.ts'

const PAGES = join(import.meta.dirname, '../../../build/web/board')

/** Its answers; tests change them while the page is open. */
export interface FakeState {
  status: Status
  config: Config
  form: ConfigForm
  serial: SerialState | null
  usbip: UsbipState | null
  streams: HeardStream[]
  history: HistoryView | null
  /** Sends levels over the socket. */
  hasMeters: boolean
  peers: Peer[]
  journal: JournalEntry[]
  /** Required by Basic authentication, user admin; null for none. */
  password: string | null
  /** Origins whose pages may call it. */
  allowedOrigins: string[]
}

/** One call that changed something. */
export interface Asked {
  path: string
  form: Record<string, string>
}

/** An answer given by a test: status and body. */
export type Answer = [status: number, body: unknown]

export interface FakeBoard {
  url: string
  state: FakeState
  /** Every POST so far. */
  asked: Asked[]
  /** Sends the present state to every page. */
  tell(): void
  /** Overrides the answer to a call such as `POST /api/config`. */
  on(target: string, answer: (form: Record<string, string>) => Answer | Promise<Answer>): void
  /** Simulates a restart: connections end, nothing answers for `awayMs`, and then it has started again. */
  restart(awayMs: number): void
}

/** Read once for all boards that serve them. */
let pages: Map<string, Page> | undefined

/** Starts one on a free port of 127.0.0.1; ended with the test. */
export async function startFakeBoard(t: Test, change: Partial<FakeState> = {}): Promise<FakeBoard> {
  const state: FakeState = { ...usualState(), ...change }
  pages ??= new Map(
    loadPages({ folder: PAGES, also: { '/matrix': '/' }, asksOthers: true }).map((page) => [page.path, page]),
  )
  const answers = new Map<string, (form: Record<string, string>) => Answer | Promise<Answer>>()
  const asked: Asked[] = []
  let awayUntilMs = 0

  const server = createServer((request, response) => void serve(request, response))
  const sockets = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, socket, head) => {
    if (isAway()) return socket.destroy()
    sockets.handleUpgrade(request, socket, head, (client) => client.send(message()))
  })
  const beat = setInterval(() => tell(), 1000)
  const meters = setInterval(() => {
    if (!state.hasMeters) return
    const text = JSON.stringify({ type: 'meters', meters: fakeMeters(Date.now()) })
    for (const client of sockets.clients) client.send(text)
  }, 50)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  t.teardown(async () => {
    clearInterval(beat)
    clearInterval(meters)
    for (const client of sockets.clients) client.terminate()
    server.closeAllConnections()
    server.close()
  })

  function isAway(): boolean {
    return Date.now() < awayUntilMs
  }
  function message(): string {
    state.status.time.now = Date.now()
    return JSON.stringify({ type: 'status', status: state.status })
  }
  function tell(): void {
    for (const client of sockets.clients) client.send(message())
  }
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (isAway()) return void request.socket.destroy()
    const path = request.url?.split('?', 1)[0] ?? '/'
    allowOrigin(state, request.headers.origin, response)
    if (request.method === 'OPTIONS') return void response.writeHead(204).end()
    const { authorization } = request.headers
    if (!isSignedIn(state, authorization)) return refuse(response)
    const page = request.method === 'GET' ? pages?.get(path) : undefined
    if (page) return sendPage(page, response)
    const target = `${request.method} ${path}`
    const form = Object.fromEntries(new URLSearchParams(path === '/api/ota' ? '' : await bodyOf(request)))
    if (request.method === 'POST') asked.push({ path, form })
    const own = answers.get(target)
    send(response, own ? await own(form) : usual(state, { target, form, authorization }))
  }
  return {
    url,
    state,
    asked,
    tell,
    on: (target, answer) => void answers.set(target, answer),
    restart(awayMs) {
      awayUntilMs = Date.now() + awayMs
      state.status = { ...state.status, started_at: awayUntilMs, set_up: true }
      for (const client of sockets.clients) client.terminate()
      server.closeAllConnections()
    },
  }
}

/** The answers of a healthy board. */
function usual(
  state: FakeState,
  { target, form, authorization }: { target: string; form: Record<string, string>; authorization: string | undefined },
): Answer {
  switch (target) {
    case 'GET /api/status':
      return [200, { ...state.status, time: { ...state.status.time, now: Date.now() } }]
    case 'GET /api/config':
      return [200, state.config]
    case 'GET /api/config/form':
      return [200, state.form]
    case 'GET /api/serial':
      return state.serial ? [200, state.serial] : OTHER_ROLE
    case 'GET /api/usbip':
      return state.usbip ? [200, state.usbip] : OTHER_ROLE
    case 'GET /api/streams':
      return [200, state.streams]
    case 'GET /api/ota':
      return [200, { takes_images: true, missing: null, last: null }]
    case 'GET /api/history':
      return state.history ? [200, state.history] : OTHER_ROLE
    case 'GET /api/peers':
      return [200, state.peers]
    case 'POST /api/peers/dismiss':
      if (!state.peers.some(({ id }) => id === form.id))
        return [404, { error: 'unknown_peer', message: 'No such board.' }]
      state.peers = state.peers.filter(({ id }) => id !== form.id)
      return [200, { dismissed: form.id }]
    case 'GET /api/auth':
      return [200, { username: 'admin', password: state.password, authorization: authorization ?? null }]
    case 'GET /api/journal':
      return [200, state.journal]
    case 'POST /api/ticket':
      return [200, { ticket: 'x', life_ms: 1000 }]
    case 'POST /api/password':
      state.password = form.password || null
      state.status.password_set = state.password !== null
      return [200, { password_set: state.status.password_set }]
    case 'POST /api/identify':
      state.status.identify_until = form.on === '1' ? Date.now() + 60_000 : null
      return [200, { identify_until: state.status.identify_until }]
    default:
      return state.status.decoder ? ofDecoder(state.status.decoder, target, form) : NOTHING
  }
}

/** Routes and volume of a decoder, changed as requested. */
function ofDecoder(decoder: DecoderState, target: string, form: Record<string, string>): Answer {
  const { route, volume } = decoder
  switch (target) {
    case 'POST /api/route':
      Object.assign(route, {
        mcast: form.mcast,
        port: Number(form.port ?? route.port),
        source: form.source || null,
        name: null,
      })
      Object.assign(decoder, { playing: form.mcast !== '', sender: null })
      return [200, route]
    case 'POST /api/volume':
      Object.assign(volume, { volume: Number(form.volume), volume_db: dbOfVolume(Number(form.volume)) })
      return [200, volume]
    case 'POST /api/volume_db':
      Object.assign(volume, { volume: volumeOfDb(Number(form.volume_db)), volume_db: Number(form.volume_db) })
      return [200, volume]
    case 'POST /api/mute':
      volume.mute = form.mute === '1'
      return [200, volume]
    default:
      return NOTHING
  }
}

/** A board's volume curve. */
function dbOfVolume(volume: number): number {
  return Math.round((12 - 92 * (1 - volume / 100) ** 1.5) * 100) / 100
}

function volumeOfDb(db: number): number {
  return db <= -80 ? 0 : Math.max(1, Math.round(100 * (1 - ((12 - db) / 92) ** (2 / 3))))
}

/** Healthy, alone and without a password. */
function usualState(): FakeState {
  return {
    status: fakeStatus(),
    config: fakeConfig(),
    form: fakeForm(),
    serial: null,
    usbip: null,
    streams: [],
    history: null,
    hasMeters: false,
    peers: [],
    journal: [],
    password: null,
    allowedOrigins: [],
  }
}

const NOTHING: Answer = [404, { error: 'not_found', message: 'Nothing is served under this path.' }]
const OTHER_ROLE: Answer = [409, { error: 'other_role', message: 'This board is in another role.' }]

function isSignedIn({ password }: FakeState, authorization: string | undefined): boolean {
  return password === null || authorization === `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`
}

function refuse(response: ServerResponse): void {
  response.setHeader('www-authenticate', 'Basic realm="board", charset="UTF-8"')
  send(response, [401, { error: 'unauthorized', message: 'A password is set.' }])
}

function allowOrigin({ allowedOrigins }: FakeState, origin: string | undefined, response: ServerResponse): void {
  if (!origin || !allowedOrigins.includes(origin)) return
  response.setHeader('access-control-allow-origin', origin)
  response.setHeader('access-control-allow-headers', 'authorization')
}

function sendPage(page: Page, response: ServerResponse): void {
  response.writeHead(200, { 'content-security-policy': page.policy, 'content-type': page.type })
  response.end(page.isPacked ? gunzipSync(page.bytes) : page.bytes)
}

function send(response: ServerResponse, [status, body]: Answer): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body))
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const part of request.setEncoding('utf8')) text += part
  return text
}
