/** What this board's API answers, as far as the pages read it, and the calls they make. Instants are the board's epoch ms. */
import { call } from '#kit/web/call.ts'
import type { OtaStatus } from '../core/machine/firmware.ts'
import type { BoardStatus } from '../core/status.ts'
import type { ClientView } from '../roles/serial/core/clients.ts'
import type { AdapterDevice } from '../roles/serial/core/ports.ts'
import type { SerialPortView } from '../roles/serial/core/serial-ports.ts'
import type { DeviceView, UsbipView } from '../roles/usbip/core/usbip-view.ts'
import type { RoleName } from '../wire/names.ts'
import type {
  DecoderState,
  EncoderState,
  HeardStream,
  HistoryView,
  PtpView,
  RouteForm,
  RouteState,
  VolumeState,
} from './sound.ts'

/** Answer of `GET /api/status`, and what the feed tells. */
export type Status = BoardStatus & {
  serial?: SerialState
  usbip?: UsbipState
  encoder?: EncoderState
  decoder?: DecoderState
  ptp?: PtpView
}
export type Ota = OtaStatus

/** A port that has a device. Counters go by their names: each has a row, whatever it counts. */
export type SerialPort = Omit<SerialPortView, 'counters'> & { counters: Readonly<Record<string, number | null>> }
/** Who holds a TCP connection to a port. */
export type SerialClient = ClientView
/** How a line is set. */
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

/** Answer of what restarts the board. */
export interface Restart {
  about_s: number
}

/** One board of `GET /api/peers`, this one first. What it says of itself was heard on the network: text, nothing else. */
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

/** Restarting, taking a device away and hashing a password take their time. */
const SLOW_ANSWER_MS = 20_000

/** Every call the pages make to their own board. */
export const api = {
  status: () => call<Status>('GET /api/status'),
  config: () => call<Config>('GET /api/config'),
  configForm: () => call<ConfigForm>('GET /api/config/form'),
  saveConfig: (values: Config, ifMatch: string | undefined) =>
    call<Restart & { changed: string[]; restarts: boolean; revision: string }>('POST /api/config', formBody(values), {
      answerMs: SLOW_ANSWER_MS,
      ifMatch,
    }),
  firmwareReady: () => call<{ missing: { message: string } | null }>('GET /api/ota'),
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
