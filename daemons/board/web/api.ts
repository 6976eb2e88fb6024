/** This board's API as the pages use it: answers, calls and the password. Instants are epoch ms. */

import type { UpdateOutcome } from '#kit/release/running-image.ts'
import { type Credentials, call, createRenewal } from '#kit/web/call.ts'
import type { PtpView } from '../core/ptp/ptp.ts'
import type { Check, HistoryView } from '../core/sound/sound.ts'
import type { BoardStatus } from '../core/status.ts'
import type { HeardStream } from '../core/streams/book.ts'
import type { DecoderView, RouteView } from '../roles/decoder/core/decoder-view.ts'
import type { VolumeView } from '../roles/decoder/core/volume.ts'
import type { EncoderView } from '../roles/encoder/core/encoder-view.ts'
import type { ClientView } from '../roles/serial/core/clients.ts'
import type { AdapterDevice } from '../roles/serial/core/ports.ts'
import type { SerialPortView } from '../roles/serial/core/serial-ports.ts'
import type { DeviceView, UsbipView } from '../roles/usbip/core/usbip-view.ts'
import type { RoleName } from '../wire/names.ts'

// The board's password. The browser asked for it before the page loaded, and would ask again at every refused call. So
// the page learns the credentials once, adds them to its calls, and asks in its own dialog.

/** The one user of a board. */
const USER = 'admin'
/** The password the page signed in with. */
const AUTH = '/api/auth'

const renewal = createRenewal()
/** True while the board refuses the page's credentials. */
export const { isSignedOut } = renewal

/** Value of the `authorization` header; null if the board has no password. */
let header: string | null = null
let isLearned = false
/** While this page changes the password, refused calls wait for the new one. */
let changing: Promise<void> | null = null

/** The authorization header of calls; null without a password. */
export function signedInWith(): string | null {
  return header
}

/** Calls that carry the password; a refused one waits for the dialog. */
export const basicCredentials: Credentials = {
  isAlone: true,
  header: () => header,
  isReady: () => !isSignedOut.value,
  async renewed(used) {
    if (changing !== null) return await changing
    if (!isLearned) await learn()
    if (header !== used) return
    await renewal.wait()
  },
}

/** Learns from the board which credentials the browser signed in with. */
export async function learn(): Promise<void> {
  const answer = await fetch(AUTH).catch(() => undefined)
  if (!answer?.ok) return
  const { authorization } = (await answer.json()) as { authorization: string | null }
  header = authorization
  isLearned = true
}

/** Tries a password; if it is right, calls that waited for one go on. @returns whether it is */
export async function tryPassword(password: string): Promise<boolean> {
  const tried = basicHeader(password)
  const answer = await fetch(AUTH, { headers: { authorization: tried }, credentials: 'omit' }).catch(() => undefined)
  if (!answer?.ok) return false
  header = tried
  renewal.done()
  await tellBrowser(password)
  return true
}

/**
 * Changes the password, and uses the new one from then on. @throws what `change` throws; the old one stays in use then
 */
export async function changePassword(password: string, change: () => Promise<unknown>): Promise<void> {
  async function run(): Promise<void> {
    await change()
    header = password === '' ? null : basicHeader(password)
    isLearned = true
    if (password !== '') await tellBrowser(password)
  }
  const running = run()
  changing = running.catch(() => {})
  try {
    await running
  } finally {
    changing = null
  }
}

/** Value of the `authorization` header for a password. @source RFC 7617, 2 and 2.1: UTF-8 */
export function basicHeader(password: string): string {
  const bytes = new TextEncoder().encode(`${USER}:${password}`)
  return `Basic ${btoa(String.fromCharCode(...bytes))}`
}

/**
 * Gives the browser a correct password, so that it does not ask for it when the page is reloaded. Only a request that
 * names user and password does this: the browser does not store a header. If it stores nothing, it asks.
 */
function tellBrowser(password: string): Promise<void> {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest()
    request.onloadend = () => resolve()
    request.open('GET', AUTH, true, USER, password)
    request.send()
  })
}

// The state of encoders and decoders; unknown is null.

/** Answers of `GET /api/route` and of `GET /api/volume`. */
export type RouteState = RouteView
export type VolumeState = VolumeView

/** The stream of an encoder: `encoder` of `GET /api/status`. */
export type SentStream = Omit<EncoderView['stream'], 'dup'>
export type EncoderState = Omit<EncoderView, 'state' | 'stream' | 'sent' | 'card' | 'restarts' | 'checks'> & {
  stream: SentStream
  sent: Omit<EncoderView['sent'], 'next_timestamp' | 'late_us'>
  checks: readonly Check[]
}

/** `decoder` of `GET /api/status`. */
export type DecoderState = Omit<DecoderView, 'checks'> & {
  checks: readonly Check[]
  arrival: Arrival | null
  output: { name: string; latency_ms: number | null; drift_ppm: number | null }
}

/** When packets arrive: time left until they are played, and their jitter, in microseconds. */
interface Arrival {
  earliest_us: number
  latest_us: number
  link_us: number
  jitter_p99_us: number
  jitter_max_us: number
}

/** Fields of a route form; an empty `mcast` stops playing. */
export interface RouteForm {
  mcast: string
  port?: number
  source?: string
  encoding?: string
  link_ms?: number
  mclk_offset?: number
}

// Answers and calls.

/** Answer of `GET /api/status`, also pushed by the feed. */
export type Status = BoardStatus & {
  serial?: SerialState
  usbip?: UsbipState
  encoder?: EncoderState
  decoder?: DecoderState
  ptp?: PtpView
}

/** A port that has a device. Counters go by name: each gets a row, whatever it counts. */
export type SerialPort = Omit<SerialPortView, 'counters'> & { counters: Readonly<Record<string, number | null>> }
/** A client with a TCP connection to a port. */
export type SerialClient = ClientView
/** Settings of a line. */
export type SerialLine = NonNullable<SerialPortView['line_now']>

/** Answer of `GET /api/serial`. */
export interface SerialState {
  adapter: { devices: AdapterDevice[]; text: string }
  ports: SerialPort[]
}

/** A USB device that is plugged in. */
export type UsbDevice = DeviceView
/** Answer of `GET /api/usbip`. */
export type UsbipState = UsbipView

/** One field of the settings. */
export interface FieldFacts {
  name: string
  kind: string
  default: string | number | boolean | null
  min?: number
  max?: number
  unit?: string
  choices?: readonly (string | number)[]
  meaning: string
  roles?: readonly RoleName[]
}

/** Answer of `GET /api/config/form`. */
export interface ConfigForm {
  revision: string
  groups: readonly { title: string; fields: readonly FieldFacts[] }[]
  /** Whether this machine has what each role needs, and if not, why. */
  roles: readonly { role: RoleName; can: boolean; text: string }[]
}

/** Answer of `GET /api/config`: every setting, flat. */
export type Config = Record<string, string | number | boolean | null>

/** Answer of `GET /api/ota`: what the board lacks to take an image, and what became of the last one. */
export interface FirmwareReady {
  missing: { message: string } | null
  last: UpdateOutcome | null
}

/** Answer of calls that restart the board. */
interface Restart {
  about_s: number
}

/**
 * One board of `GET /api/peers`, this one first. What it says of itself comes from the network: treat it as plain text.
 */
export interface Peer {
  /** Null for this board, which cannot be dismissed. */
  id: string | null
  hostname: string
  ip: string
  role: string
  name: string
  stream: string | null
  port: number
  url: string
  path: string
  version: string | null
  self: boolean
  state: 'here' | 'alive' | 'unreachable' | 'awaited' | 'absent'
  last_heard_at: number | null
  last_answer_at: number | null
}

/** A form as the API takes it; switches as 1 and 0. */
export function formBody(values: Readonly<Record<string, string | number | boolean | null>>): URLSearchParams {
  const body = new URLSearchParams()
  for (const [name, value] of Object.entries(values))
    body.set(name, typeof value === 'boolean' ? (value ? '1' : '0') : String(value ?? ''))
  return body
}

/** Restarting, detaching a device and hashing a password take long. */
const SLOW_ANSWER_MS = 20_000

/** All calls to the page's own board. */
export const api = {
  status: () => call<Status>('GET /api/status'),
  config: () => call<Config>('GET /api/config'),
  configForm: () => call<ConfigForm>('GET /api/config/form'),
  saveConfig: (values: Config, ifMatch: string | undefined) =>
    call<Restart & { changed: string[]; restarts: boolean; revision: string }>('POST /api/config', formBody(values), {
      answerMs: SLOW_ANSWER_MS,
      ifMatch,
    }),
  firmwareReady: () => call<FirmwareReady>('GET /api/ota'),
  reboot: () => call<Restart>('POST /api/reboot'),
  setPassword: (password: string) =>
    call<{ password_set: boolean }>('POST /api/password', formBody({ password }), { answerMs: SLOW_ANSWER_MS }),
  identify: (on: boolean) => call<{ identify_until: number | null }>('POST /api/identify', formBody({ on })),
  factoryReset: (hostname: string) => call<Restart>('POST /api/factory_reset', formBody({ hostname })),
  peers: () => call<Peer[]>('GET /api/peers'),
  dismissPeer: (id: string) => call<unknown>('POST /api/peers/dismiss', formBody({ id })),
  serial: () => call<SerialState>('GET /api/serial'),
  setPort: (values: Record<string, string | boolean | number>) =>
    call<SerialPort>('POST /api/serial', formBody(values)),
  dropClient: (port: number, client: string | number) =>
    call<unknown>('POST /api/serial/drop', formBody({ port, client })),
  usbip: () => call<UsbipState>('GET /api/usbip'),
  setUsbip: (values: Record<string, string | boolean>) =>
    call<UsbipState>('POST /api/usbip', formBody(values), { answerMs: SLOW_ANSWER_MS }),
  history: () => call<HistoryView>('GET /api/history'),
  streams: () => call<HeardStream[]>('GET /api/streams'),
  route: (form: RouteForm) => call<RouteState>('POST /api/route', formBody({ ...form })),
  setVolume: (volume: number) => call<VolumeState>('POST /api/volume', formBody({ volume })),
  setVolumeDb: (volume_db: number) => call<VolumeState>('POST /api/volume_db', formBody({ volume_db })),
  mute: (mute: boolean) => call<VolumeState>('POST /api/mute', formBody({ mute })),
  tone: (on: boolean) => call<unknown>('POST /api/tone', formBody({ on })),
}
