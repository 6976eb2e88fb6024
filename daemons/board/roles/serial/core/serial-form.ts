/** A form of a port's settings against those there are: everything that is wrong is told at once. */
import type { Fault } from '#kit/fault.ts'
import type { FieldFault } from '#kit/http/sentences.ts'
import { badFields, readSetting, type Setting, unknownField } from '../../../core/settings/setting.ts'
import { checkTogether } from './line-desk.ts'
import { lineOf, type PortSettings } from './serial-settings.ts'

/** What beside a port's own settings bears on them. */
export interface FormWorld {
  settings: readonly Setting[]
  /** TCP ports that others have, and who that is in words, such as `port 2`. */
  takenPorts: ReadonlyMap<number, string>
}

/**
 * @param given text by name; what is absent stays as it is
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
    const { value, fault } = readSetting(setting, given[setting.name] ?? '')
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
 * Takes over what a file holds, setting by setting; what another version allowed has its first value. Where that is the
 * list of who may connect the port is off: its first value would let everybody in.
 */
export function readPortSettings(value: unknown, first: PortSettings, settings: readonly Setting[]): PortSettings {
  if (typeof value !== 'object' || value === null) return first
  const read: Record<string, unknown> = { ...first }
  let isAllowLost = false
  for (const setting of settings) {
    if (!Object.hasOwn(value, setting.name)) continue
    const reading = readSetting(setting, String((value as Record<string, unknown>)[setting.name]))
    if (reading.fault === undefined) read[setting.name] = typed(setting.name, reading.value)
    else isAllowLost ||= setting.name === 'allow'
  }
  if (isAllowLost) read.enabled = false
  return read as unknown as PortSettings
}

/** Choices are texts, and two of them are numbers to the API. */
function typed(name: string, value: unknown): unknown {
  return name === 'data_bits' || name === 'stop_bits' ? Number(value) : value
}

function misfitOf(settings: PortSettings): string | undefined {
  try {
    checkTogether(lineOf(settings))
    return undefined
  } catch (fault) {
    return (fault as Fault).message
  }
}
