/** Settings of the serial server: keys of board.toml, settings of each port, and the check of a form. */
import { type Static, Type } from 'typebox'
import type { FieldFault } from '#kit/http/schema.ts'
import type { ControlledSettings } from '#kit/line/line.ts'
import type { Fault } from '#kit/pure/fault.ts'
import { queueKeys } from '#kit/pure/line.ts'
import { badFields, MOST_PORTS, readSettingText, type Setting, unknownField } from '../../../core/settings/setting.ts'
import { checkTogether } from './line.ts'
import { type WriteMode, writeModes } from './line-sharing.ts'

// The table `serial` of board.toml: devices and limits.

function milliseconds(byDefault: number, [minimum, maximum]: [number, number], description: string) {
  return Type.Integer({ default: byDefault, minimum, maximum, unit: 'ms', description })
}

function seconds(byDefault: number, [minimum, maximum]: [number, number], description: string) {
  return Type.Integer({ default: byDefault, minimum, maximum, unit: 's', description })
}

const clientKeys = {
  max_clients: Type.Integer({
    default: 64,
    minimum: 1,
    maximum: 256,
    description:
      'TCP clients of one port; where all are there, the address with most loses one to the next, else it is refused',
  }),
  max_clients_per_address: Type.Integer({
    default: 256,
    minimum: 1,
    maximum: 256,
    description: 'of them, from one address (IPv6: one /64)',
  }),
  backlog_bytes: Type.Integer({
    default: 262_144,
    minimum: 4096,
    maximum: 16_777_216,
    unit: 'bytes',
    description: 'bytes held for one client before it is too slow',
  }),
  ...queueKeys(),
  slow_client_ms: milliseconds(
    2000,
    [10, 600_000],
    'how long a line waits for its clients where all of them are too slow; where others are not, it does not wait',
  ),
  tell_ms: milliseconds(20, [1, 100], 'how long bytes that passed may wait before counters show them'),
  write_idle_ms: milliseconds(
    10_000,
    [0, 3_600_000],
    'with write=exclusive: how long the writer may be silent before another may write; 0: until it leaves',
  ),
  allow_entries: Type.Integer({
    default: 64,
    minimum: 1,
    maximum: 1024,
    description: 'addresses and networks that allow may list',
  }),
  suboption_bytes: Type.Integer({
    default: 512,
    minimum: 16,
    maximum: 65_536,
    unit: 'bytes',
    description: 'longest Telnet suboption; a client that sends a longer one is dropped',
  }),
}

/** A vanished peer is detected after idle + interval x count: 59 s. */
const peerKeys = {
  keepalive_idle_s: seconds(35, [1, 3600], 'silence before a client is asked whether it is still there'),
  keepalive_interval_s: seconds(6, [1, 600], 'time between two such questions'),
  keepalive_count: Type.Integer({
    default: 4,
    minimum: 1,
    maximum: 100,
    description: 'questions without an answer after which a client is dropped',
  }),
  user_timeout_ms: milliseconds(
    59_000,
    [1000, 3_600_000],
    'how long sent bytes may go unacknowledged before a client is dropped',
  ),
}

const lineKeys = {
  drain_ms: milliseconds(
    2000,
    [10, 600_000],
    'how long a change of settings waits for what was written before; after that it is sent with the new ones',
  ),
  look_ms: milliseconds(
    100,
    [10, 10_000],
    'how often modem lines and errors are looked at where the driver tells of none',
  ),
  break_ms: milliseconds(250, [1, 10_000], 'length of the break that a Telnet BRK makes'),
  retry_first_ms: milliseconds(500, [50, 60_000], 'wait before an absent line or TCP port is tried again; doubles'),
  retry_max_ms: milliseconds(10_000, [100, 600_000], 'longest wait between tries'),
}

export const serialKeys = Type.Object(
  {
    devices: Type.Array(Type.String({ pattern: '^/dev/', maxLength: 256 }), {
      default: [],
      maxItems: MOST_PORTS,
      description: 'device paths of ports 1 to 4; those below /dev/serial/by-id stay the same',
    }),
    host: Type.String({ default: '::', maxLength: 64, description: 'address the TCP ports listen on; :: means all' }),
    ...clientKeys,
    ...peerKeys,
    ...lineKeys,
  },
  { additionalProperties: false, default: {}, description: 'the serial server' },
)

export type SerialConfig = Static<typeof serialKeys>

// Settings of a port: limits and first values.

/** Named as in the API. @source Interface 2, B, Serial port settings; `flow` and `write` are ours */
export interface PortSettings {
  enabled: boolean
  mode: 'raw' | 'rfc2217'
  tcp_port: number
  baud: number
  data_bits: ControlledSettings['data_bits']
  parity: ControlledSettings['parity']
  stop_bits: ControlledSettings['stop_bits']
  flow: ControlledSettings['flow']
  write: WriteMode
  label: string
  /** Addresses and networks separated by commas; empty: everyone. */
  allow: string
}

/** The first TCP port, as with other makers. */
const FIRST_TCP_PORT = 4001

/** The highest rate accepted, by settings and by RFC 2217 alike; a device refuses what it cannot do. */
export const MOST_BAUD = 20_000_000

const LINE: Setting[] = [
  {
    kind: 'number',
    name: 'baud',
    group: 'Line',
    default: 9600,
    min: 1,
    max: MOST_BAUD,
    decimals: 0,
    unit: 'bit/s',
    meaning: 'Bits per second, any rate the device takes.',
  },
  choice('data_bits', ['8', '7', '6', '5'], 'Bits of a character.'),
  choice('parity', ['none', 'odd', 'even', 'mark', 'space'], 'How a character is checked.'),
  choice('stop_bits', ['1', '1.5', '2'], 'Stop bits of a character; 1.5 with 5 data bits only.'),
  choice('flow', ['none', 'rtscts', 'xonxoff'], 'How either end tells the other to wait.'),
]

const PORT: Setting[] = [
  {
    kind: 'switch',
    name: 'enabled',
    group: 'Port',
    default: false,
    meaning: 'The line is open, and its TCP port too.',
  },
  {
    kind: 'text',
    name: 'label',
    group: 'Port',
    default: '',
    maxLength: 64,
    meaning: 'What people call it, such as the device behind it.',
    fault: () => undefined,
  },
  choice('mode', ['raw', 'rfc2217'], 'Bytes as they are, or Telnet with control of the line (RFC 2217).', 'Network'),
  {
    kind: 'number',
    name: 'tcp_port',
    group: 'Network',
    default: FIRST_TCP_PORT,
    min: 1,
    max: 65_535,
    decimals: 0,
    meaning: 'TCP port of its clients.',
  },
  choice('write', writeModes, 'Who of several clients may write; all read.', 'Network'),
]

/** Makes the setting of a choice; its first choice is the default. */
function choice(name: string, choices: readonly string[], meaning: string, group = 'Line'): Setting {
  return { kind: 'choice', name, group, default: choices[0] ?? '', choices, meaning }
}

/** @param allowFault why a text is not a list of addresses and networks */
export function serialSettings(allowFault: (text: string) => string | undefined): Setting[] {
  const allow: Setting = {
    kind: 'text',
    name: 'allow',
    group: 'Network',
    default: '',
    maxLength: 2048,
    meaning: 'Addresses and networks that may connect, with commas between; empty: everyone.',
    fault: allowFault,
    kept: (text) =>
      text
        .split(/[\s,]+/)
        .filter((entry) => entry !== '')
        .join(', '),
  }
  return [...PORT, allow, ...LINE]
}

/** Settings of port 1 to 4 before anybody has set it up: off, each with its own TCP port. */
export function firstPortSettings(port: number): PortSettings {
  return {
    enabled: false,
    mode: 'raw',
    tcp_port: FIRST_TCP_PORT + (port - 1),
    baud: 9600,
    data_bits: 8,
    parity: 'none',
    stop_bits: 1,
    flow: 'none',
    write: 'all',
    label: '',
    allow: '',
  }
}

/** The settings of the line. */
export function lineSettings(settings: PortSettings): ControlledSettings {
  const { baud, data_bits, parity, stop_bits, flow } = settings
  return { baud, data_bits, parity, stop_bits, flow, flow_in: flow, rs485: null, low_latency: true }
}

// Checks a form against the present settings and reports all faults at once.

/** Facts beside a port's own settings that restrict them. */
interface FormWorld {
  settings: readonly Setting[]
  /** TCP ports in use, and by whom in words, such as `port 2`. */
  takenPorts: ReadonlyMap<number, string>
}

/**
 * @param given text by name; missing settings stay as they are
 * @throws Fault `bad_fields` with every field that is wrong or unknown
 * @source Interface 2, B, POST /api/serial
 */
export function checkPortForm(
  given: Readonly<Record<string, string>>,
  current: PortSettings,
  world: FormWorld,
): PortSettings {
  const known = world.settings.map(({ name }) => name)
  const faults: FieldFault[] = Object.keys(given)
    .filter((name) => !known.includes(name))
    .map((name) => unknownField(name, known, 'setting'))
  const read: Record<string, unknown> = { ...current }
  for (const setting of world.settings) {
    if (!Object.hasOwn(given, setting.name)) continue
    const { value, fault } = readSettingText(setting, given[setting.name] ?? '')
    if (fault === undefined) read[setting.name] = typed(setting.name, value)
    else faults.push({ field: setting.name, message: fault })
  }
  const settings = read as unknown as PortSettings
  const isFaulty = (name: string) => faults.some(({ field }) => field === name)
  const owner = world.takenPorts.get(settings.tcp_port)
  if (owner !== undefined && !isFaulty('tcp_port'))
    faults.push({ field: 'tcp_port', message: `${settings.tcp_port} is the TCP port of ${owner}. Choose another.` })
  const misfit = misfitOf(settings)
  if (misfit !== undefined && !isFaulty('stop_bits')) faults.push({ field: 'stop_bits', message: misfit })
  if (faults.length > 0) throw badFields(faults)
  return settings
}

/**
 * Reads the settings of a file one by one; values that another version allowed become the first value. If the allow
 * list is lost that way, the port is off: its first value would let everybody in.
 */
export function readPortSettings(value: unknown, first: PortSettings, settings: readonly Setting[]): PortSettings {
  if (typeof value !== 'object' || value === null) return first
  const read: Record<string, unknown> = { ...first }
  let isAllowLost = false
  for (const setting of settings) {
    if (!Object.hasOwn(value, setting.name)) continue
    const reading = readSettingText(setting, String((value as Record<string, unknown>)[setting.name]))
    if (reading.fault === undefined) read[setting.name] = typed(setting.name, reading.value)
    else isAllowLost ||= setting.name === 'allow'
  }
  if (isAllowLost) read.enabled = false
  return read as unknown as PortSettings
}

/** Choices are texts; two of them are numbers in the API. */
function typed(name: string, value: unknown): unknown {
  return name === 'data_bits' || name === 'stop_bits' ? Number(value) : value
}

function misfitOf(settings: PortSettings): string | undefined {
  try {
    checkTogether(lineSettings(settings))
    return undefined
  } catch (fault) {
    return (fault as Fault).message
  }
}
