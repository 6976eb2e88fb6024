/** The sentence over one line: what is the case, why, and what its units say. */
import type { Judgement } from '#kit/web/lamp.ts'
import { age, listed, many, timeOf, whole } from '#kit/web/numbers.ts'
import { capital } from '#kit/web/sentences.ts'
import { noiseRemedy, noiseText } from '../wire/noise-words.ts'
import type { Port } from './api.ts'
import type { UnitView } from './unit-view.ts'
import { stateSentence, type When, whyOf } from './verdicts.ts'
import { nameOf } from './words.ts'

/** The verdict over one line. */
export function judgePort(port: Port, units: readonly UnitView[], when: When): Judgement {
  const name = nameOf(port.path)
  if (!port.configured)
    return { lit: 'off', sentence: `${name} is not set up.`, why: 'Nothing is read from it and nothing sent.' }
  if (port.state === 'closed')
    return { lit: 'off', sentence: `${name} is closed.`, why: 'Nothing is read from it and nothing sent.' }
  if (port.state === 'absent') return { lit: 'gone', sentence: stateSentence(port, when), why: whyOf(port, when) }
  if (port.state === 'failed')
    return {
      lit: 'fault',
      sentence: port.fault?.message ?? stateSentence(port, when),
      why: whyOf({ ...port, fault: null }, when),
    }
  if (port.state === 'opening') return { lit: 'busy', sentence: stateSentence(port, when) }
  if (port.protocol !== 'modbus-rtu') return judgeRaw(port, when)
  return port.settings?.mode === 'slave' ? judgeSlave(port) : judgeUnits(port, units, when)
}

function judgeRaw(port: Port, { nowMs }: When): Judgement {
  const name = nameOf(port.path)
  const frames = (port.counters?.rxFrames ?? 0) + (port.counters?.txFrames ?? 0)
  const lost = (port.counters?.driver?.overrun ?? 0) + (port.counters?.driver?.buf_overrun ?? 0)
  if (lost > 0)
    return {
      lit: 'warn',
      sentence: `${name} lost ${many(lost, 'byte')} in the driver.`,
      why: 'The machine was too slow to fetch them.',
    }
  if (frames === 0) {
    const openFor = age(Math.max(1000, nowMs - (port.stateSince ?? nowMs)))
    return { lit: 'ok', sentence: `${name} is open. Nothing was received or sent yet.`, why: `Open for ${openFor}.` }
  }
  return { lit: 'ok', sentence: `${name} is open and its bytes are read.` }
}

function judgeSlave(port: Port): Judgement {
  const units = Array.isArray(port.settings?.slave_units) ? port.settings.slave_units.map(String) : []
  const who = units.length === 1 ? `Unit ${units[0]}` : `Units ${listed(units)}`
  const { asked = 0, rxFrames = 0 } = port.counters ?? {}
  if (asked === 0 && rxFrames > 0)
    return {
      lit: 'warn',
      sentence: `A master is heard, but it asks nothing of ${who.toLowerCase()}.`,
      why: 'Look at the unit ids it asks.',
    }
  if (asked === 0)
    return {
      lit: 'ok',
      sentence: `${who} ${units.length === 1 ? 'waits' : 'wait'} for a master. None has asked yet.`,
      why: 'Look at rate, parity and unit id when one should have.',
    }
  return {
    lit: 'ok',
    sentence: `${who} ${units.length === 1 ? 'answers' : 'answer'} a master.`,
  }
}

/** The worst first: whoever does not answer, then late, then noisy, then not heard yet, then asked again. */
const ORDER = ['silent', 'slow', 'noisy', 'failing', 'probing'] as const

function judgeUnits(port: Port, units: readonly UnitView[], when: When): Judgement {
  const asked = units.filter(({ state }) => state !== 'unknown')
  const bad = asked
    .filter(({ state }) => state !== 'well')
    .toSorted((a, b) => ORDER.indexOf(a.state as 'silent') - ORDER.indexOf(b.state as 'silent'))
  const worst = bad[0]
  if (asked.length === 0) return { lit: 'ok', sentence: 'The line is open. No unit was asked in the last minute.' }
  if (!worst) return judgeWell(port, asked)
  const same = bad.filter(({ state }) => state === worst.state)
  const rest =
    bad.length > same.length ? ` ${capital(many(bad.length - same.length, 'more is', 'more are'))} not well.` : ''
  const well = asked.length - bad.length
  const others = well === 0 ? '' : well === 1 ? ' The other one is well.' : ` The other ${well} are well.`
  const lit = worst.state === 'silent' && well === 0 ? 'fault' : worst.state === 'probing' ? 'busy' : 'warn'
  return { lit, sentence: `${badSentence(same)}${rest || others}`, why: badWhy(port, { same, well }, when) }
}

const VERBS: Readonly<Record<string, readonly [one: string, more: string]>> = {
  silent: ['does not answer', 'do not answer'],
  slow: ['answers too late', 'answer too late'],
  noisy: ['is noisy', 'are noisy'],
  failing: ['has not answered yet', 'have not answered yet'],
  probing: ['is being asked again', 'are being asked again'],
}

function badSentence(same: readonly UnitView[]): string {
  const names = listed(same.map(({ unitId }) => String(unitId)))
  const [first] = same
  if (same.length === 1 && first?.state === 'noisy' && first.bus)
    return `Unit ${names} is noisy: ${noiseText(first.bus.lately)}.`
  const [one = '', more = ''] = VERBS[first?.state ?? ''] ?? []
  return same.length === 1 ? `Unit ${names} ${one}.` : `Units ${names} ${more}.`
}

/** Units in the worst state, and how many are well. */
interface BadUnits {
  same: readonly UnitView[]
  well: number
}

function badWhy(port: Port, bad: BadUnits, { nowMs, zone }: When): string {
  const { same } = bad
  const waitMs = waitOf(port)
  const first = same[0]
  if (!first) return ''
  const lateMs = lateOf(first)
  if (first.state === 'slow' && same.length === 1 && lateMs !== null)
    return `Its replies begin up to ${Math.round(lateMs)}\u202fms after the question; this line waits ${waitMs}\u202fms and throws later ones away.`
  if (first.state === 'noisy') return noisyWhy(bad, nowMs)
  if (first.state !== 'silent') return first.bus?.lastError?.message ?? ''
  const misses = same.reduce((all, view) => all + (view.seen?.misses ?? 0), 0)
  const seen =
    misses > 0
      ? `No reply began within ${waitMs}\u202fms, ${misses === 1 ? 'once' : `${misses} times`} in the last minute.`
      : ''
  const next = same.flatMap(({ bus }) => (bus?.nextTryAt && bus.nextTryAt > nowMs ? [bus.nextTryAt] : []))
  const again =
    next.length > 0
      ? ` ${same.length === 1 ? 'It is' : 'The first is'} asked again at ${timeOf(Math.min(...next), zone)}.`
      : ''
  return `${seen}${again}`.trim()
}

/** What to look at, and how long ago the last bad answer was: nobody waits for the window to see whether a repair has helped. */
function noisyWhy({ same, well }: BadUnits, nowMs: number): string {
  const all = same.flatMap(({ bus }) => (bus ? [bus.lately] : []))
  const sum = (of: 'exchanges' | 'damaged' | 'missing' | 'twice') => all.reduce((total, one) => total + one[of], 0)
  const counts = { exchanges: sum('exchanges'), damaged: sum('damaged'), missing: sum('missing'), twice: sum('twice') }
  if (counts.exchanges === 0) return ''
  const lastAt = Math.max(0, ...all.map(({ lastBadAt }) => lastBadAt ?? 0))
  const last = lastAt > 0 ? ` The last one was ${age(Math.max(1000, nowMs - lastAt), 1)} ago.` : ''
  const isLine = same.length > 1 && well === 0
  const where = isLine ? ' Every unit has it, so begin with what they share.' : ''
  const told = same.length > 1 ? `${capital(noiseText(counts))}. `.replace('its last', 'their last') : ''
  return `${told}${noiseRemedy(counts)}${where}${last}`
}

/** How long the line waits for a reply to begin, ms. */
export function waitOf(port: Port): number {
  return Number(port.settings?.response_timeout_ms ?? 300)
}

/** The latest reply that was seen of a unit, ms after its question. */
export function lateOf({ seen, bus }: UnitView): number | null {
  return seen?.lateMs ?? (bus?.latencyMs && bus.lateReplies > 0 ? bus.latencyMs.max : null)
}

function judgeWell(port: Port, units: readonly UnitView[]): Judgement {
  const refusing = units.filter(({ seen }) => (seen?.exceptions ?? 0) > 0)
  const first = refusing[0]
  if (first) {
    const who =
      refusing.length === 1
        ? `Unit ${first.unitId} refuses`
        : `Units ${listed(refusing.map(({ unitId }) => String(unitId)))} refuse`
    return {
      lit: 'warn',
      sentence: `${who} some questions with an exception.`,
      why: 'The log names the exception at each.',
    }
  }
  if (port.settings?.mode === 'listen')
    return {
      lit: 'ok',
      sentence: `${units.length === 1 ? `Unit ${units[0]?.unitId} is` : `${units.length} units are`} heard answering another master.`,
    }
  return {
    lit: 'ok',
    sentence: units.length === 1 ? `Unit ${units[0]?.unitId} answers.` : `${whole(units.length, 'units')} answer.`,
  }
}
