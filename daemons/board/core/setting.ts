/** What a setting is: how it is typed, what it may be, and what it means. */
import { readSwitch } from '#kit/bytes/switch-text.ts'
import { counted } from '#kit/bytes/words.ts'
import type { RoleName } from '../wire/role-name.ts'

/** A value as `GET /api/config` gives it. */
export type SettingValue = string | number | boolean

interface Named {
  name: string
  /** Heading under which the form has it. */
  group: string
  /** One sentence for people. */
  meaning: string
  unit?: string
  /** Roles in which it does something; absent: all. */
  roles?: readonly RoleName[]
}

/** A line of text. `fault` says in a sentence why a text does not do. */
export interface TextSetting extends Named {
  kind: 'text' | 'address'
  default: string
  maxLength: number
  fault(text: string): string | undefined
  /** How a text that does is kept; default: as typed, without blanks around. */
  kept?(text: string): string
}

/** A number with at most `decimals` digits behind the point. */
export interface NumberSetting extends Named {
  kind: 'number'
  default: number
  min: number
  max: number
  decimals: number
}

/** One of a few. */
export interface ChoiceSetting extends Named {
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

/** What came of reading a text. */
export type Reading = { value: SettingValue; fault?: undefined } | { value?: undefined; fault: string }

/** A plain decimal number. */
const NUMBER = /^-?(?:0|[1-9]\d{0,9})(?:\.\d{1,9})?$/

/** Reads a text as a setting's value. */
export function readSetting(setting: Setting, given: string): Reading {
  if (setting.kind === 'switch') return readBox(given)
  const text = given.trim()
  if (setting.kind === 'number') return readNumber(setting, text)
  if (setting.kind === 'choice') return readChoice(setting, text)
  return readText(setting, text)
}

/** @source Interface 2, B, rule 3: a box that is there is on; the values that `GET /api/config` gives are read back as meant */
function readBox(given: string): Reading {
  const value = given.trim() === '' ? false : readSwitch(given)
  return value === undefined ? { fault: `${shown(given)} is neither on nor off. Send 1 or 0.` } : { value }
}

function readNumber({ min, max, decimals, unit }: NumberSetting, text: string): Reading {
  const range = `${min} to ${max}${unit === undefined ? '' : ` ${unit}`}`
  if (text === '') return { fault: `It is empty. Use ${range}.` }
  if (!NUMBER.test(text)) return { fault: `${shown(text)} is no number. Use ${range}.` }
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

/** Control characters, and those that turn the direction of text around: no name needs them, and both hide others. */
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
