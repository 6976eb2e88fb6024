/** Settings of a serial port: what they may be, and what they are at first. */
import type { ControlledSettings } from '#kit/line/controlled-line.ts'
import type { Setting } from '../../../core/settings/setting.ts'
import { type WriteMode, writeModes } from './write-rule.ts'

/** As the API names them. @source Interface 2, B, Serial port settings; `flow` and `write` are ours */
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
  /** Addresses and networks with commas between; empty: everyone. */
  allow: string
}

/** The first TCP port, as other makers have it too. */
const FIRST_TCP_PORT = 4001

/** The highest rate that is asked of a device, by settings and by RFC 2217 alike; a device refuses what it cannot do. */
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

/** All but `allow`, which is made with the rule of what an address is. */
function choice(name: string, choices: readonly string[], meaning: string, group = 'Line'): Setting {
  return { kind: 'choice', name, group, default: choices[0] ?? '', choices, meaning }
}

/** @param allowFault why a text is no list of addresses and networks */
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

/** Of port 1 to 4 before anybody has set it up: off, and each with a TCP port of its own. */
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

/** The part of the settings that the line has. */
export function lineOf(settings: PortSettings): ControlledSettings {
  const { baud, data_bits, parity, stop_bits, flow } = settings
  return { baud, data_bits, parity, stop_bits, flow, flow_in: flow, rs485: null, low_latency: true }
}
