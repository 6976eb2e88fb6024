/** What a hunt makes of what it heard and was answered: each finding with its evidence, and the verdict in words. */
import { counted, durationText, nounFor } from '#kit/pure/text.ts'
import type { WrongBytes } from './hunt-line.ts'
import type { HuntProtocol, HuntSetting } from './hunted.ts'
import { settingName } from './plan.ts'

/** A setting at which a protocol was understood. */
export interface HuntFinding {
  protocol: string
  line: HuntSetting
  /** Settings that cannot be told from this one. */
  also: HuntSetting[]
  how: 'heard' | 'answered'
  /** Whether it cannot be chance. */
  isSure: boolean
  /** Frames heard, or answers. */
  frames: number
  /** Who was named in them, in order; the first of very many. */
  units: number[]
  /** What units gave that had nothing of what was asked for first: `coils`. */
  gave: string[]
  /** Bytes that the driver counted as wrong; null if it keeps no counts, or nobody listened. */
  wrong: WrongBytes
  evidence: string
}

/** Bytes at a setting, and how many of them the driver counted as wrong. */
export interface Strange {
  bytes: number
  wrong: WrongBytes
}

/** What a finding rests on. */
interface Facts {
  how: HuntFinding['how']
  frames: number
  bytes: number
  wrong: WrongBytes
  units: readonly number[]
  gave: readonly string[]
}

/** So many findings are kept: more settings than these cannot be understood with any sense. */
const MOST_FOUND = 16
/** So many units are kept of a finding, and so many are named in a sentence. */
const MOST_UNITS = 64
const MOST_NAMED = 8
/** Where the driver counts more of the bytes as wrong, what was understood is understood in spite of the setting. */
const MOST_WRONG = 0.05

/**
 * Whether the driver's counts speak against a setting: many drivers hand on bytes of a wrong parity, and find the next
 * byte after a wrong stop bit.
 */
export function isContradicted({ bytes, wrong }: Pick<Facts, 'bytes' | 'wrong'>): boolean {
  return wrong !== null && wrong > bytes * MOST_WRONG
}

export function foundAt(
  { setting, also }: { setting: HuntSetting; also: HuntSetting[] },
  [name, protocol]: readonly [string, HuntProtocol],
  { isSure, ...facts }: Facts & { isSure: boolean },
): HuntFinding {
  const { frames, how, wrong } = facts
  return {
    ...{ protocol: name, line: setting, also, how, frames, wrong },
    units: facts.units.slice(0, MOST_UNITS),
    gave: [...facts.gave],
    isSure: isSure && !isContradicted(facts),
    evidence: evidenceOf(settingName(setting), protocol, facts),
  }
}

function evidenceOf(setting: string, { member, title }: HuntProtocol, facts: Facts): string {
  const { bytes, frames, gave, how, units, wrong } = facts
  const who = units.length > 0 ? `${nounFor(units.length, member)} ${named(units)}` : ''
  if (how === 'answered') {
    const what = gave.length > 0 ? `; asked for ${gave.join(', ')}` : ''
    return `${setting}: ${counted(frames, 'answer')} to ${title} questions${who === '' ? '' : `, ${who}`}${what}.`
  }
  const seen = `${setting}: ${counted(frames, `${title} frame`)} heard with the right checksum`
  const errors = wrong ? ` The driver counted ${counted(wrong, 'error')} in ${counted(bytes, 'byte')}.` : ''
  return `${seen}${who === '' ? '' : `, ${who}`}.${errors}`
}

function named(units: readonly number[]): string {
  const first = units.slice(0, MOST_NAMED).join(', ')
  return units.length > MOST_NAMED ? `${first} and ${units.length - MOST_NAMED} more` : first
}

/** The best first: the sure ones, then by what the driver counted as wrong, then by how much was understood. */
export function rankFindings(found: readonly HuntFinding[]): HuntFinding[] {
  const order = (one: HuntFinding, other: HuntFinding) =>
    Number(other.isSure) - Number(one.isSure) || (one.wrong ?? 0) - (other.wrong ?? 0) || other.frames - one.frames
  return [...found].sort(order).slice(0, MOST_FOUND)
}

/** What a hunt did, for its verdict. */
interface Deeds {
  /** As `rankFindings` gives them. */
  found: readonly HuntFinding[]
  /** What was heard, by the names of settings. */
  heard: ReadonlyMap<string, Strange>
  /** What came after questions and was no answer, in the same way. */
  muddled: ReadonlyMap<string, Strange>
  isQuiet: boolean
  listenedMs: number
  spentMs: number
  /** How many were listened to: not those that the driver refused, nor those that it did not come to. */
  settings: number
  questions: number
  /** The caller wanted units to be asked. */
  mayAsk: boolean
  /** Why it ended early. */
  cut: 'cancelled' | 'failed' | 'talk' | 'time' | undefined
}

/** What came of it, in one or two sentences: what was found, or what was done, and what to do next. */
export function verdictOf(deeds: Deeds): string {
  const sentence = foundSentence(deeds.found) ?? nothingSentence(deeds)
  const cut = cutSentence(deeds)
  return cut === '' ? sentence : `${cut} ${sentence}`
}

function cutSentence({ cut, spentMs }: Deeds): string {
  if (cut === undefined) return ''
  if (cut === 'talk') return 'Somebody began to talk while units were asked, so nothing more was sent.'
  const after = durationText(spentMs)
  return cut === 'time'
    ? `It was ended after ${after}, as long as hunt.most_ms allows.`
    : `It was ended after ${after}.`
}

function foundSentence(found: readonly HuntFinding[]): string | undefined {
  const [best] = found
  if (!best) return undefined
  if (!best.isSure)
    return `Perhaps ${best.evidence} So little may be chance: hunt once more, at this rate alone, while the line is in use.`
  const rivals = found.filter((one) => one.isSure && one.protocol === best.protocol && one.line !== best.line)
  const others = found.filter((one) => one.isSure && one.protocol !== best.protocol)
  const same = [...best.also, ...rivals.map(({ line }) => line)].map(settingName)
  const also = same.length > 0 ? ` ${same.join(' and ')} cannot be told from it: the devices' manuals decide.` : ''
  return `${best.evidence}${also}${others.map(({ evidence }) => ` ${evidence}`).join('')}`
}

function nothingSentence({ cut, heard, isQuiet, listenedMs, mayAsk, muddled, questions, settings }: Deeds): string {
  const listened = `${durationText(listenedMs)} at ${counted(settings, 'setting')}`
  const [loudest] = [...heard].sort(([, one], [, other]) => other.bytes - one.bytes)
  if (!isQuiet && loudest)
    return `Somebody talks on the line, and nothing of it was understood in ${listened}; most was heard at ${loudest[0]}, ${counted(loudest[1].bytes, 'byte')}. Nothing was asked. It may be another protocol or rate, A and B may be swapped, or the line is disturbed.`
  if (cut === 'talk') return 'Hunt again, and let it only listen.'
  const quiet = `Nothing was heard in ${listened}`
  if (!mayAsk || questions === 0)
    return `${quiet}, and nobody was asked. If no other master is on the line, let the hunt ask.`
  const [odd] = muddled.keys()
  const answered = odd
    ? `were not answered by anything whole, but bytes came at ${[...muddled.keys()].slice(0, 4).join(', ')}: several may answer at once`
    : 'were not answered'
  return `${quiet}, and ${counted(questions, 'question')} ${answered}. Check A and B, the common wire, the power of the devices, and their addresses.`
}
