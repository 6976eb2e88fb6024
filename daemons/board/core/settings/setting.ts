/** Settings in general: kinds, limits and meaning, and how a form of them is read and faults reported. */

import type { FieldFault } from '#kit/http/schema.ts'
import { Fault } from '#kit/pure/fault.ts'
import { counted, nearestName, readSwitch } from '#kit/pure/text.ts'
import type { RoleName } from '../../wire/names.ts'

/** A value as in `GET /api/config`. */
export type SettingValue = string | number | boolean

interface Named {
  name: string
  /** Its heading in the form. */
  group: string
  /** One sentence for people. */
  meaning: string
  unit?: string
  /** Roles in which it has an effect; absent: all. */
  roles?: readonly RoleName[]
}

/** A line of text. `fault` returns why a text is invalid, in a sentence. */
export interface TextSetting extends Named {
  kind: 'text' | 'address'
  default: string
  maxLength: number
  fault(text: string): string | undefined
  /** The stored form of a valid text; default: as typed, without surrounding blanks. */
  kept?(text: string): string
}

/** A number with at most `decimals` digits after the point. */
export interface NumberSetting extends Named {
  kind: 'number'
  default: number
  min: number
  max: number
  decimals: number
}

/** One of a few choices. */
interface ChoiceSetting extends Named {
  kind: 'choice'
  default: string
  choices: readonly string[]
}

/** On or off: present is on, absent off. */
export interface SwitchSetting extends Named {
  kind: 'switch'
  default: boolean
}

export type Setting = TextSetting | NumberSetting | ChoiceSetting | SwitchSetting

/** Result of reading a text. */
type Reading = { value: SettingValue; fault?: undefined } | { value?: undefined; fault: string }

/** A plain decimal number. */
const DECIMAL_NUMBER = /^-?(?:0|[1-9]\d{0,9})(?:\.\d{1,9})?$/

/** Reads a text as a setting's value. */
export function readSettingText(setting: Setting, given: string): Reading {
  if (setting.kind === 'switch') return readBox(given)
  const text = given.trim()
  if (setting.kind === 'number') return readNumber(setting, text)
  if (setting.kind === 'choice') return readChoice(setting, text)
  return readText(setting, text)
}

/**
 * @source Interface 2, B, rule 3: a box that is present is on; values from `GET /api/config` are read back with their
 * meaning
 */
function readBox(given: string): Reading {
  const value = given.trim() === '' ? false : readSwitch(given)
  return value === undefined ? { fault: `${shown(given)} is neither on nor off. Send 1 or 0.` } : { value }
}

function readNumber({ min, max, decimals, unit }: NumberSetting, text: string): Reading {
  const range = `${min} to ${max}${unit === undefined ? '' : ` ${unit}`}`
  if (text === '') return { fault: `It is empty. Use ${range}.` }
  if (!DECIMAL_NUMBER.test(text)) return { fault: `${shown(text)} is not a number. Use ${range}.` }
  const value = Number(text) + 0
  if (value < min) return { fault: `${value} is too low. Use ${range}.` }
  if (value > max) return { fault: `${value} is too high. Use ${range}.` }
  const digits = text.split('.')[1]?.replace(/0+$/, '').length ?? 0
  if (digits > decimals)
    return { fault: decimals === 0 ? 'Use a whole number.' : `Use ${decimals} digits behind the point at most.` }
  return { value }
}

function readChoice({ choices }: ChoiceSetting, text: string): Reading {
  if (choices.includes(text)) return { value: text }
  return { fault: `${shown(text)} is not one of ${choices.join(', ')}.` }
}

/** Control characters, and those that reverse the direction of text: no name needs them, and both can hide text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Surrogate}/u

function readText({ maxLength, fault, kept }: TextSetting, text: string): Reading {
  const length = [...text].length
  if (length > maxLength)
    return { fault: `It has ${counted(length, 'character')}, and ${maxLength} at most find room.` }
  if (UNSEEN.test(text)) return { fault: 'It holds a character that cannot be seen. Type it anew.' }
  const sentence = fault(text)
  return sentence === undefined ? { value: kept?.(text) ?? text } : { fault: sentence }
}

function shown(text: string): string {
  return JSON.stringify(text.length > 32 ? `${text.slice(0, 32)}...` : text)
}

// Reports the faults of a form: all at once, each with its field's name.

/** Most characters repeated of an unknown name. */
const LONGEST_NAME = 64

/**
 * @param what kind of name, for the sentence
 * @returns the fault of an unknown name
 */
export function unknownField(name: string, known: readonly string[], what: 'field' | 'setting' = 'field'): FieldFault {
  const field = name.slice(0, LONGEST_NAME)
  const nearest = nearestName(field, known)
  const hint = nearest === undefined ? '' : ` Do you mean ${nearest}?`
  return { field, message: `There is no such ${what}.${hint}` }
}

/** The sentence describes the first fault in full: many clients show only that. */
export function badFields(faults: readonly FieldFault[]): Fault {
  const [first] = faults
  const more = faults.length - 1
  const rest = more === 0 ? '' : ` ${more === 1 ? 'One more field does' : `${more} more fields do`} not fit either.`
  return new Fault('bad_fields', `${first?.field}: ${first?.message}${rest}`, { details: { fields: faults } })
}

// Settings used by several files: the paths of serial devices, as one line of text.

/** Most ports of a serial server. @source Interface 2, B, Limits */
export const MOST_PORTS = 4

/** Device paths of lines; a path that leaves /dev by `..` does not match. */
const DEVICE_PATH = /^\/dev(?!.*\/\.\.(?:\/|$))\/[\w.:@+/-]+$/

/** The paths in a text, separated by commas or blanks, in the order of the ports. */
export function devicePathsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((path) => path !== '')
}

/** Why a text is not a list of devices; undefined if it is one, even if empty. */
export function devicePathsFault(text: string): string | undefined {
  const paths = devicePathsOf(text)
  if (paths.length > MOST_PORTS) return `It names ${paths.length} devices, and there are ${MOST_PORTS} ports.`
  const wrong = paths.find((path) => path.length > 255 || !DEVICE_PATH.test(path))
  if (wrong !== undefined)
    return `${JSON.stringify(wrong.slice(0, 64))} is no device. Paths begin with /dev/, such as /dev/ttyUSB0.`
  const twice = paths.find((path, index) => paths.indexOf(path) !== index)
  return twice === undefined ? undefined : `${twice} stands twice. One device is one port.`
}

/** The stored form of such a text: separated by a comma and a blank. */
export function devicePathsText(text: string): string {
  return devicePathsOf(text).join(', ')
}

// The ALSA name of a sound card, in the settings of a board.

/** Letters, digits and the punctuation of ALSA names; nothing that has a meaning in a pipeline description. */
const ALSA_NAME = /^[A-Za-z0-9_][A-Za-z0-9_:,.=-]*$/

/** ALSA plugins that write to a file given in the name: not cards. @source alsa-lib, alsa.conf: pcm.file, pcm.tee */
const ALSA_FILE_PLUGIN = /^(file|tee)(:|$)/

/** Why a text is not the name of a sound card; undefined if it is one, or empty. */
export function alsaNameFault(text: string): string | undefined {
  if (text === '' || (ALSA_NAME.test(text) && !ALSA_FILE_PLUGIN.test(text))) return undefined
  return `${JSON.stringify(text.slice(0, 32))} is no ALSA name. Names look like hw:1, plughw:0,0 or default:CARD=Device.`
}
