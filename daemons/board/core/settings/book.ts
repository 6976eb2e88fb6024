/** The settings of the board: a form checked against them, changed whole, kept before anybody is told so. */

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

// A form against the settings there are: everything that is wrong is told at once.

/** What a form makes of the settings. */
interface CheckedSettings {
  settings: BoardSettings
  /** Names of those that are otherwise than before, in the order of the form. */
  changed: SettingName[]
  /** Those among them that are switches, were on, and were not in the form: somebody who meant another setting is told. */
  switchedOff: SettingName[]
}

/** What a form says of a switch that is not in it: a form of a page is whole, and off; that of a script names what it changes. */
export type Absent = 'off' | 'kept'

/** What beside the settings bears on them. */
interface SettingsWorld {
  /** TCP and UDP port of the page: a stream there would be asking for trouble with every firewall. */
  httpPort: number
}

/**
 * Checks a form. What is absent stays as it is, but for switches, of which `absent` says it.
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
  // Of what is changed and was not given, only switches are: all else stays.
  return { settings: checked, changed, switchedOff: changed.filter((name) => !Object.hasOwn(given, name)) }
}

/** Settings as a file had them. */
interface ReadSettings {
  settings: BoardSettings
  /** What could not be taken over, such as a value that another version allowed: those have their first value. */
  faults: FieldFault[]
}

/**
 * Takes over what a file holds, setting by setting: a board that cannot be reached for one odd value is lost, and a file
 * of a newer version may name settings that this one does not have.
 * @throws Fault `bad_fields` for what is no object
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

/** What does not fit together, though each does alone. */
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

/** What is wrong with an address that the board is to keep, its mask and its gateway; a network without a way out has none. */
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

// The settings as they are kept.

/** The file: settings as they were saved, and how often. */
export interface SettingsFile {
  settings: unknown
  /** Grows by each save, whatever it changed: somebody has looked at the settings and wants them. */
  saves: number
}

/** What the settings need. */
interface SettingsBookParts {
  file: Kept<SettingsFile | undefined>
  /** What the board has before anybody has set it up. */
  first: BoardSettings
  world: SettingsWorld
  log: Log
}

/** The settings of one life of the board. */
export interface SettingsBook {
  readonly first: BoardSettings
  /** Those that this life runs by. */
  readonly running: Readonly<BoardSettings>
  /** How often they had been saved when this life began. */
  readonly saves: number
  /** Those that are saved, and count from the next start on. */
  saved(): BoardSettings
  /** Of what is saved: what a change may be made from. */
  revision(): string
  /**
   * Takes a form, whole or of what is to change. One at a time; resolves when the settings are on the disk.
   * @param expected asked with the revision of what is saved, when it is this form's turn
   * @throws what `expected` throws; Fault `bad_fields`, `store_write_failed`; the settings are as before then
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
    // What stays as it is must be what the save before left.
    save: (form, absent, expected) =>
      inTurn(async () => {
        expected?.(revisionOf(saved.settings))
        return saveNow(form, absent)
      }),
  }
}
