/** What this board's API answers, as far as the pages read it, and the calls they make. Instants are the board's epoch ms. */
import { call } from '#kit/web/call.ts'
import type { RoleName } from '../wire/role-name.ts'

/** Lamp and sentence of the board as a whole. */
export interface Verdict {
  state: 'ok' | 'busy' | 'warn' | 'fault' | 'off'
  text: string
}

/** How the firmware stands. */
export interface Ota {
  state: 'idle' | 'receiving' | 'verifying' | 'installing' | 'installed' | 'failed'
  received_bytes: number
  total_bytes: number | null
  version: string | null
  fault: { code: string; message: string } | null
  at: number | null
}

/** How the board is reached, and whether a new address still waits for somebody to reach it. */
export interface Network {
  state: 'dhcp' | 'static' | 'unconfirmed' | 'fallen_back' | 'refused' | 'not_owned'
  confirm_until: number | null
  text: string
}

/** Answer of `GET /api/status`, and what the feed tells. */
export interface Status {
  role: RoleName
  /** False until somebody has saved settings for the first time. */
  set_up: boolean
  name: string
  hostname: string
  version: string
  verdict: Verdict
  uptime_s: number
  started_at: number
  machine: { owned: boolean; model: string | null }
  addresses: { interface: string; address: string; prefix: number; family: string }[]
  temperature_c: number | null
  memory: { total_bytes: number; available_bytes: number; process_bytes: number }
  load: readonly [number, number, number]
  time: { now: number; synchronised: boolean | null }
  last_start: { at: number; reason: string }
  identify_until: number | null
  password_set: boolean
  network: Network
  /** Absent where this version installs nothing. */
  ota?: Ota
  serial?: SerialState
  usbip?: UsbipState
}

/** Who holds a TCP connection to a port. */
export interface SerialClient {
  id: number | string
  address: string
  client_port: number
  since_at: number
  may_write: boolean
  rfc2217: boolean
  bytes_in: number
  bytes_out: number
}

/** How a line is set. */
export interface SerialLine {
  baud: number
  data_bits: number
  parity: string
  stop_bits: number
  flow: string
}

/** A port that has a device. */
export interface SerialPort extends SerialLine {
  port: number
  enabled: boolean
  mode: 'raw' | 'rfc2217'
  tcp_port: number
  write: string
  label: string
  allow: string
  path: string
  state: 'off' | 'opening' | 'open' | 'absent' | 'failed'
  fault: { code: string; message: string } | null
  /** What this driver cannot do. */
  unsupported: string[]
  /** The line as a client has set it, where that is otherwise than saved. */
  line_now: SerialLine | null
  clients: SerialClient[]
  /** Since the daemon started; null where the driver does not count it. */
  counters: Record<string, number | null>
}

/** Answer of `GET /api/serial`. */
export interface SerialState {
  adapter: { devices: SerialDevice[]; text: string }
  ports: SerialPort[]
}

/** What a port is plugged into. */
export interface SerialDevice {
  port: number
  path: string
  found: boolean
  maker: string | null
  product: string | null
  serial_number: string | null
}

/** A host that has a device. */
export interface AttachedHost {
  address: string
  since_at: number
}

/** A USB device that is plugged in. */
export interface UsbDevice {
  busid: string
  vendor_id: string
  product_id: string
  vendor: string | null
  product: string | null
  serial: string | null
  class: string | null
  speed: string | null
  /** What the setting `device` takes to mean this one. */
  key: string
  state: string
  /** What the board itself would lose with it. */
  carries: 'network' | 'disk' | null
  attached: AttachedHost | null
}

/** Answer of `GET /api/usbip`. */
export interface UsbipState {
  enabled: boolean
  allow: string
  /** A key of `devices`, or empty: the first that is plugged in. */
  choice: string
  supported: boolean
  text: string
  device: UsbDevice | null
  devices: UsbDevice[]
  attached: AttachedHost | null
  traffic: { in_bytes: number; out_bytes: number } | null
  hold_until: number | null
  last_error: { at: number; code: string; message: string } | null
}

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
  state: 'here' | 'alive' | 'unreachable'
  last_heard_at: number | null
  last_answer_at: number | null
}

/** A form as the API takes it; switches as 1 and 0. */
export function formBody(values: Record<string, string | number | boolean | null>): URLSearchParams {
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
  saveConfig: (values: Config) =>
    call<Restart & { changed: string[]; restarts: boolean }>('POST /api/config', formBody(values), {
      answerMs: SLOW_ANSWER_MS,
    }),
  reboot: () => call<Restart>('POST /api/reboot'),
  setPassword: (password: string) =>
    call<{ password_set: boolean }>('POST /api/password', formBody({ password }), { answerMs: SLOW_ANSWER_MS }),
  identify: (on: boolean) => call<{ identify_until: number | null }>('POST /api/identify', formBody({ on })),
  factoryReset: (hostname: string) => call<Restart>('POST /api/factory_reset', formBody({ hostname })),
  peers: () => call<Peer[]>('GET /api/peers'),
  serial: () => call<SerialState>('GET /api/serial'),
  setPort: (values: Record<string, string | boolean | number>) =>
    call<SerialPort>('POST /api/serial', formBody(values)),
  dropClient: (port: number, client: string | number) =>
    call<unknown>('POST /api/serial/drop', formBody({ port, client })),
  usbip: () => call<UsbipState>('GET /api/usbip'),
  setUsbip: (values: Record<string, string | boolean>) =>
    call<UsbipState>('POST /api/usbip', formBody(values), { answerMs: SLOW_ANSWER_MS }),
}
