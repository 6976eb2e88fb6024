/** Every setting of a board: its limits, first value and meaning, and the form that a page shows. */
import { groupFault, hostFault, ipv4Fault, parseIpv4, prefixOfMask } from '../../wire/addresses.ts'
import { hostLabelFault, type RoleName, roleNames } from '../../wire/names.ts'
import type { StreamEncoding } from '../../wire/streams/description.ts'
import {
  alsaNameFault,
  devicePathsFault,
  devicePathsText,
  type NumberSetting,
  type Setting,
  type SettingValue,
  type SwitchSetting,
  type TextSetting,
} from './setting.ts'

/**
 * The settings, named as in the interface, both in the file and in forms.
 * @source Interface 2, B, Settings
 */
export interface BoardSettings {
  role: RoleName
  hostname: string
  name: string
  mcast: string
  port: number
  channels: number
  encoding: StreamEncoding
  packet_ms: string
  link_ms: number
  ext_link_ms: number
  audio_device: string
  ptp_priority1: number
  sap: boolean
  static_ip: boolean
  ip: string
  mask: string
  gw: string
  dns: string
  serial_devices: string
}

export type SettingName = keyof BoardSettings

/** Factory values of a board that nobody has set up. */
interface FirstSettings {
  role: RoleName
  /** A name accepted by `hostLabelFault`. */
  hostname: string
  mcast: string
}

const sound = ['encoder', 'decoder'] as const satisfies RoleName[]

const NAME: Setting[] = [
  text('name', {
    group: 'Name',
    meaning: 'What people call this board, such as the place it stands in.',
    maxLength: 64,
    fault: (name) => (name === '' ? 'A board needs a name, such as Lobby ceiling.' : undefined),
  }),
  text('hostname', {
    group: 'Name',
    meaning: 'Its name on the network; with .local behind it browsers find it.',
    maxLength: 63,
    fault: hostLabelFault,
    kept: (name) => name.toLowerCase(),
  }),
]

const ROLE: Setting[] = [
  {
    kind: 'choice',
    name: 'role',
    group: 'Role',
    default: 'serial',
    choices: roleNames,
    meaning: 'What this board does.',
  },
]

const NETWORK: Setting[] = [
  toggle('static_ip', {
    group: 'Network',
    default: false,
    meaning: 'The board keeps the address below; off, it asks for one by DHCP.',
  }),
  address('ip', 'The address the board keeps.', optional(ipv4Fault)),
  address('mask', 'The mask of its network, such as 255.255.255.0.', optional(maskFault)),
  address('gw', 'The gateway of its network; empty: none.', optional(ipv4Fault)),
  text('dns', {
    group: 'Network',
    meaning: 'Servers that answer for names (DNS), up to three with commas between; empty: the gateway.',
    maxLength: 64,
    fault: serversFault,
    kept: (given) => serversOf(given).join(', '),
  }),
]

const AUDIO: Setting[] = [
  {
    ...address(
      'mcast',
      'The multicast group the stream goes to; a decoder plays it from its start on.',
      optional(groupFault),
    ),
    group: 'Audio',
    roles: sound,
  },
  number('port', {
    group: 'Audio',
    roles: sound,
    default: 5004,
    min: 1024,
    max: 65_535,
    meaning: 'UDP port of the stream.',
  }),
  number('channels', { group: 'Audio', roles: sound, default: 2, min: 1, max: 8, meaning: 'Channels of the stream.' }),
  {
    kind: 'choice',
    name: 'encoding',
    group: 'Audio',
    roles: ['encoder'],
    default: 'L24',
    choices: ['L24', 'L16'],
    meaning: 'Bits of a sample on the wire: 24 or 16.',
  },
  {
    kind: 'choice',
    name: 'packet_ms',
    group: 'Audio',
    roles: ['encoder'],
    default: '1',
    choices: ['0.125', '0.25', '1', '4'],
    unit: 'ms',
    meaning: 'Sound in one packet; every AES67 receiver takes 1 ms.',
  },
  text('audio_device', {
    group: 'Audio',
    roles: sound,
    meaning: 'Sound card by its ALSA name, such as hw:1; empty takes that of board.toml.',
    maxLength: 128,
    fault: alsaNameFault,
  }),
  number('link_ms', {
    group: 'Audio',
    roles: ['decoder'],
    default: 10,
    min: 0.25,
    max: 2000,
    decimals: 2,
    unit: 'ms',
    meaning: 'Time from the sample at the sender to its sound here, equal in all decoders that play together.',
  }),
  number('ext_link_ms', {
    group: 'Audio',
    roles: ['decoder'],
    default: 20,
    min: 0,
    max: 2000,
    decimals: 2,
    unit: 'ms',
    meaning: 'Added to it where the sender is beyond this network.',
  }),
  toggle('sap', { group: 'Audio', roles: ['encoder'], default: true, meaning: 'The stream is announced over SAP.' }),
]

const LINES: Setting[] = [
  text('serial_devices', {
    group: 'Lines',
    roles: ['serial'],
    meaning: 'Device paths of ports 1 to 4, with commas between; empty takes those of board.toml.',
    maxLength: 1024,
    fault: devicePathsFault,
    kept: devicePathsText,
  }),
]

const CLOCK: Setting[] = [
  number('ptp_priority1', {
    group: 'Clock',
    roles: sound,
    default: 128,
    min: 0,
    max: 255,
    meaning: 'PTP priority: of the boards that could be the clock, the one with the lowest number is.',
  }),
]

/** All settings, in the order of the form. */
export const boardSettings: readonly Setting[] = [...NAME, ...ROLE, ...NETWORK, ...AUDIO, ...LINES, ...CLOCK]

/** Settings of a board that nobody has set up. */
export function firstSettings(first: FirstSettings): BoardSettings {
  const defaults = Object.fromEntries(boardSettings.map((setting) => [setting.name, setting.default]))
  return { ...(defaults as unknown as BoardSettings), ...first, name: first.hostname }
}

function text(name: SettingName, rest: Omit<TextSetting, 'kind' | 'name' | 'default'>): TextSetting {
  return { kind: 'text', name, default: '', ...rest }
}

function address(name: SettingName, meaning: string, fault: TextSetting['fault']): TextSetting {
  return { kind: 'address', name, group: 'Network', default: '', maxLength: 15, meaning, fault }
}

function number(name: SettingName, rest: Omit<NumberSetting, 'kind' | 'name' | 'decimals'> & { decimals?: number }) {
  return { kind: 'number', name, decimals: 0, ...rest } satisfies NumberSetting
}

function toggle(name: SettingName, rest: Omit<SwitchSetting, 'kind' | 'name'>): SwitchSetting {
  return { kind: 'switch', name, ...rest }
}

/** Accepts empty text as well: the check of all settings together reports it where it is needed. */
function optional(fault: TextSetting['fault']): TextSetting['fault'] {
  return (given) => (given === '' ? undefined : fault(given))
}

/** As the C library asks. @source resolv.conf(5), MAXNS */
const MOST_SERVERS = 3

function serversOf(given: string): string[] {
  return given.split(/[\s,]+/).filter((one) => one !== '')
}

function serversFault(given: string): string | undefined {
  const servers = serversOf(given)
  if (servers.length > MOST_SERVERS) return `It names ${servers.length} servers, and ${MOST_SERVERS} are asked at most.`
  return servers.map(serverFault).find((fault) => fault !== undefined)
}

function serverFault(given: string): string | undefined {
  const address = parseIpv4(given)
  return address === undefined ? ipv4Fault(given) : hostFault(address)
}

function maskFault(given: string): string | undefined {
  const mask = parseIpv4(given)
  if (mask === undefined) return ipv4Fault(given)
  const prefix = prefixOfMask(mask)
  if (prefix === undefined) return `${given} has gaps. A mask is ones and then zeros, such as 255.255.255.0.`
  if (prefix < 8) return `${given} takes in a part of the whole internet. Masks begin at 255.0.0.0.`
  if (prefix > 30) return `${given} leaves no room for a board and its gateway. Masks end at 255.255.255.252.`
  return undefined
}

// The form of the settings, for the page that shows it.

/** One field of the form. */
interface FormField {
  name: string
  kind: Setting['kind']
  default: SettingValue
  /** Present value. */
  value: SettingValue
  min?: number
  max?: number
  /** Most digits after the point. */
  decimals?: number
  max_length?: number
  unit?: string
  choices?: readonly string[]
  meaning: string
  /** Roles in which it has an effect; absent: all. */
  roles?: readonly RoleName[]
}

/** The form: groups in order, fields in order within each. */
interface SettingsForm {
  groups: { title: string; fields: FormField[] }[]
}

/** @param first what each setting was before anybody set it */
export function settingsForm(current: BoardSettings, first: BoardSettings): SettingsForm {
  const fields = Map.groupBy(boardSettings, ({ group }) => group)
  const groups = [...fields].map(([title, settings]) => ({
    title,
    fields: settings.map((setting) => fieldOf(setting, current, first)),
  }))
  return { groups }
}

function fieldOf(setting: Setting, current: BoardSettings, first: BoardSettings): FormField {
  const { kind, meaning, unit, roles } = setting
  const name = setting.name as SettingName
  return {
    name,
    kind,
    default: first[name],
    value: current[name],
    ...boundsOf(setting),
    ...(unit === undefined ? {} : { unit }),
    meaning,
    ...(roles === undefined ? {} : { roles }),
  }
}

function boundsOf(setting: Setting): Partial<FormField> {
  if (setting.kind === 'number') return { min: setting.min, max: setting.max, decimals: setting.decimals }
  if (setting.kind === 'choice') return { choices: setting.choices }
  return setting.kind === 'switch' ? {} : { max_length: setting.maxLength }
}
