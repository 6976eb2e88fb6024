/** The settings of the board: a form is checked against them, and saved as a whole before the caller gets an answer. */

import type { FieldFault } from '#kit/http/schema.ts'
import type { Log } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import { revisionOf } from '#kit/revision.ts'
import { edgesOf, hostFault, type Ipv4, ipv4Text, isInNetwork, parseIpv4, prefixOfMask } from '../../wire/addresses.ts'
import { framesOf, LONGEST_PAYLOAD, SAMPLE_BYTES, SAMPLE_RATE } from '../../wire/streams/description.ts'
import type { Kept } from '../machine/ports.ts'
import { badFields, readSettingText, type Setting, type SettingValue, unknownField } from './setting.ts'
import { type BoardSettings, boardSettings, type SettingName } from './settings.ts'

// Checks a form against the present settings and reports all faults at once.

/** Result of checking a form. */
interface CheckedSettings {
  settings: BoardSettings
  /** Names of settings that changed, in the order of the form. */
  changed: SettingName[]
  /** Switches that this change turned off because the form left them out. Warns callers who meant another setting. */
  switchedOff: SettingName[]
}

/**
 * Meaning of a switch missing from a form: the page sends the whole form, so it is off; a script sends only what it
 * changes, so it is kept.
 */
export type Absent = 'off' | 'kept'

/** Facts beside the settings that restrict them. */
interface SettingsWorld {
  /** TCP and UDP port of the page: a stream on it would conflict with every firewall. */
  httpPort: number
}

/**
 * Checks a form. Missing settings stay as they are, except switches, for which `absent` decides.
 * @param given text by name, as the form was sent
 * @throws Fault `bad_fields` with every field that is wrong or unknown in `details.fields`
 * @source Interface 2, B, rules 3 and 4
 */
export function checkSettings(
  given: Readonly<Record<string, string>>,
  current: BoardSettings,
  world: SettingsWorld,
  absent: Absent = 'off',
): CheckedSettings {
  const faults: FieldFault[] = unknownNames(given)
  const settings: Record<string, SettingValue> = { ...current }
  for (const setting of boardSettings) {
    const text = Object.hasOwn(given, setting.name) ? given[setting.name] : undefined
    if (text === undefined) {
      if (setting.kind === 'switch' && absent === 'off') settings[setting.name] = false
      continue
    }
    const { value, fault } = readSettingText(setting, text)
    if (fault === undefined) settings[setting.name] = value
    else faults.push({ field: setting.name, message: fault })
  }
  const checked = settings as unknown as BoardSettings
  const known = new Set(faults.map(({ field }) => field))
  faults.push(...faultsTogether(checked, world).filter(({ field }) => !known.has(field)))
  if (faults.length > 0) throw badFields(faults)
  const changed = changedNames(current, checked)
  // Among changed settings, only switches can be missing from the form: all others would have stayed.
  return { settings: checked, changed, switchedOff: changed.filter((name) => !Object.hasOwn(given, name)) }
}

/** Settings as read from a file. */
interface ReadSettings {
  settings: BoardSettings
  /**
   * Values that could not be used, such as ones that another version allowed: those settings have their first value.
   */
  faults: FieldFault[]
}

/**
 * Reads the settings of a file one by one: a board must stay reachable despite one odd value, and a file of a newer
 * version may contain unknown settings.
 * @throws Fault `bad_fields` if it is not an object
 */
export function readSettings(value: unknown, first: BoardSettings): ReadSettings {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Fault('bad_fields', 'the settings are no object')
  const settings: Record<string, SettingValue> = { ...first }
  const faults: FieldFault[] = []
  for (const setting of boardSettings) {
    if (!Object.hasOwn(value, setting.name)) continue
    const reading = readSettingText(setting, String((value as Record<string, unknown>)[setting.name]))
    if (reading.fault === undefined) settings[setting.name] = reading.value
    else faults.push({ field: setting.name, message: reading.fault })
  }
  const read = settings as unknown as BoardSettings
  const misfits = read.static_ip ? networkFaults(read) : []
  return { settings: misfits.length > 0 ? { ...read, static_ip: false } : read, faults: [...faults, ...misfits] }
}

function unknownNames(given: Readonly<Record<string, string>>): FieldFault[] {
  const known = boardSettings.map((setting) => setting.name)
  const names = Object.keys(given).filter((name) => !known.includes(name))
  return names.map((name) => unknownField(name, known, 'setting'))
}

/** Faults of valid settings that do not fit together. */
function faultsTogether(settings: BoardSettings, { httpPort }: SettingsWorld): FieldFault[] {
  const faults = settings.static_ip ? networkFaults(settings) : []
  if (settings.port === httpPort)
    faults.push({
      field: 'port',
      message: `Port ${httpPort} is taken by this page. Use another one from 1024 to 65535.`,
    })
  if (settings.role === 'encoder' && settings.mcast === '')
    faults.push({ field: 'mcast', message: 'An encoder sends to a multicast group, such as 239.69.10.4.' })
  const long = settings.role === 'encoder' ? packetFault(settings) : undefined
  return long === undefined ? faults : [...faults, { field: 'packet_ms', message: long }]
}

/** Why packets would be longer than networks carry. @source AES67-2018: at most 1440 bytes of sound */
function packetFault({ channels, encoding, packet_ms }: BoardSettings): string | undefined {
  const frames = framesOf({ packetMs: Number(packet_ms), sampleRate: SAMPLE_RATE })
  const bytes = frames * channels * SAMPLE_BYTES[encoding]
  if (bytes <= LONGEST_PAYLOAD) return undefined
  return `Packets of ${packet_ms} ms with ${channels} channels of ${encoding} carry ${bytes} bytes. AES67 allows ${LONGEST_PAYLOAD}: send shorter ones.`
}

/** Faults of a fixed address, its mask and its gateway; a network without a way out needs no gateway. */
function networkFaults({ ip, mask, gw }: BoardSettings): FieldFault[] {
  const missing = Object.entries({ ip, mask }).filter(([, text]) => text === '')
  const faults = missing.map(([field]) => ({ field, message: NEEDED_SENTENCES[field] ?? '' }))
  const address = parseIpv4(ip)
  const gateway = parseIpv4(gw)
  const ones = parseIpv4(mask)
  const prefix = ones === undefined ? undefined : prefixOfMask(ones)
  const own = address === undefined ? undefined : (hostFault(address) ?? edgeFault(address, prefix))
  if (own !== undefined) faults.push({ field: 'ip', message: own })
  if (gateway === undefined) return faults
  const way = hostFault(gateway) ?? (own === undefined ? wayFault(gateway, address, prefix) : undefined)
  if (way !== undefined) faults.push({ field: 'gw', message: way })
  return faults
}

const NEEDED_SENTENCES: Readonly<Record<string, string>> = {
  ip: 'A fixed address is switched on, and there is none. Type one such as 10.20.4.11.',
  mask: 'A fixed address needs the mask of its network, such as 255.255.255.0.',
}

function edgeFault(address: Ipv4, prefix: number | undefined): string | undefined {
  if (prefix === undefined) return undefined
  const { first, last } = edgesOf(address, prefix)
  const room = `Use ${ipv4Text(first + 1)} to ${ipv4Text(last - 1)}.`
  if (address === first) return `${ipv4Text(address)} is the network itself. ${room}`
  if (address === last) return `${ipv4Text(address)} means every machine of the network. ${room}`
  return undefined
}

/** Why a gateway cannot be reached from an address. */
function wayFault(gateway: Ipv4, address: Ipv4 | undefined, prefix: number | undefined): string | undefined {
  if (address === undefined || prefix === undefined) return undefined
  if (gateway === address) return "It is the board's own address. The gateway is another machine."
  const { first, last } = edgesOf(address, prefix)
  if (!isInNetwork(gateway, address, prefix))
    return `${ipv4Text(gateway)} is not in the board's network, ${ipv4Text(first + 1)} to ${ipv4Text(last - 1)}.`
  return edgeFault(gateway, prefix)
}

function changedNames(before: BoardSettings, after: BoardSettings): SettingName[] {
  const names = boardSettings.map((setting: Setting) => setting.name as SettingName)
  return names.filter((name) => before[name] !== after[name])
}

// Storage of the settings.

/** The file: settings as saved, and the number of saves. */
export interface SettingsFile {
  settings: unknown
  /** Increased by each save, even without a change: somebody has looked at the settings and confirmed them. */
  saves: number
}

/** Dependencies. */
interface SettingsBookParts {
  file: Kept<SettingsFile | undefined>
  /** Settings of a board that nobody has set up. */
  first: BoardSettings
  world: SettingsWorld
  log: Log
}

/** The settings of one run of the board. */
export interface SettingsBook {
  readonly first: BoardSettings
  /** The settings this run uses. */
  readonly running: Readonly<BoardSettings>
  /** Number of saves when this run started. */
  readonly saves: number
  /** The saved settings, which take effect at the next start. */
  saved(): BoardSettings
  /** Revision of the saved settings, for `If-Match`. */
  revision(): string
  /**
   * Saves a form, whole or with changes only. One at a time; resolves when the settings are on the disk.
   * @param expected called with the revision of the saved settings, when it is this form's turn
   * @throws what `expected` throws; Fault `bad_fields`, `store_write_failed`; the settings are then unchanged
   */
  save(
    form: Readonly<Record<string, string>>,
    absent?: Absent,
    expected?: (revision: string) => void,
  ): Promise<CheckedSettings>
}

/** @throws Fault of the file */
export async function openSettingsBook({ file, first, world, log }: SettingsBookParts): Promise<SettingsBook> {
  const found = await file.load()
  const { settings: running, faults } = found ? readSettings(found.settings, first) : { settings: first, faults: [] }
  for (const { field, message } of faults) log.warning('setting not taken over', { setting: field, why: message })
  const saves = found?.saves ?? 0
  let saved = { settings: running, saves }
  const inTurn = createSerialTurn()

  async function saveNow(form: Readonly<Record<string, string>>, absent?: Absent): Promise<CheckedSettings> {
    const checked = checkSettings(form, saved.settings, world, absent)
    const next = { settings: checked.settings, saves: saved.saves + 1 }
    await file.save(next)
    saved = next
    return checked
  }
  return {
    first,
    running,
    saves,
    saved: () => saved.settings,
    revision: () => revisionOf(saved.settings),
    // In turn: unchanged settings must come from the save before.
    save: (form, absent, expected) =>
      inTurn(async () => {
        expected?.(revisionOf(saved.settings))
        return saveNow(form, absent)
      }),
  }
}
