/**
 * The verdict on a port: its units, by the frames of the last minute and by the gateway's counts, and a sentence about
 * both.
 */
import { age, capital, count, listed, sinceText, timeOf } from '#kit/web/numbers.ts'
import type { Judgement, Lit } from '#kit/web/parts.ts'
import type { UnitState } from '../core/bus/unit-health.ts'
import type { UnitView as BusUnit } from '../core/bus/units.ts'
import { noiseRemedy, noiseText } from '../wire/noise-words.ts'
import type { Port } from './api.ts'
import * as texts from './texts.ts'
import type { Row } from './traffic.ts'
import { isOfUnits, shortPath, stateSentence, type When, whyOf } from './words.ts'

// What the frames of the last minute show: units, reply times, and who occupied the line.

/** One unit, judged by the frames. */
export interface Unit {
  unit: number
  answers: number
  /** Requests without a reply in time. */
  misses: number
  late: number
  /** Without the replies to a scan. */
  exceptions: number
  /** The latest event of this unit was a reply in time. */
  isWell: boolean
  /** Median reply time; null before the first reply. */
  middleMs: number | null
  /** Reply times, oldest first. */
  history: number[]
  /** The longest late reply, ms after its request; null if there was none. */
  lateMs: number | null
}

/** How far back the page judges. */
export const JUDGED_MS = 60_000

/** The units seen since `fromMs`, sorted by number. */
export function unitsOf(rows: readonly Row[], fromMs: number): Unit[] {
  const units = new Map<number, Unit>()
  let asked: Row | undefined
  for (const row of rows) {
    if (row.unit === null || row.at < fromMs) continue
    let unit = units.get(row.unit)
    if (!unit) {
      unit = {
        unit: row.unit,
        answers: 0,
        misses: 0,
        late: 0,
        exceptions: 0,
        isWell: true,
        middleMs: null,
        history: [],
        lateMs: null,
      }
      units.set(row.unit, unit)
    }
    if (row.kind === 'ask') asked = row
    note(unit, row, asked?.isScan === true && asked.unit === row.unit)
  }
  for (const unit of units.values()) unit.middleMs = quantile(unit.history, 0.5)
  return [...units.values()]
    .filter((unit) => unit.answers + unit.misses + unit.late > 0)
    .sort((a, b) => a.unit - b.unit)
}

function note(unit: Unit, row: Row, isScanned: boolean): void {
  if (row.kind === 'answer') {
    unit.answers += 1
    unit.isWell = true
    if (row.lit === 'warn' && !isScanned) unit.exceptions += 1
    if (row.tookMs !== null) unit.history.push(row.tookMs)
  } else if (row.kind === 'miss') {
    unit.misses += 1
    unit.isWell = false
  } else if (row.kind === 'late') {
    unit.late += 1
    if (row.tookMs !== null) unit.lateMs = Math.max(unit.lateMs ?? 0, row.tookMs)
  }
}

/** The value below which `share` of the values lie; null if there are none. */
export function quantile(values: readonly number[], share: number): number | null {
  if (values.length === 0) return null
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? null
}

/** A piece of the bus strip; `x` and `width` are thousandths of its time span. */
export interface Slot {
  kind: 'ask' | 'answer' | 'late' | 'noise' | 'wait' | 'miss'
  x: number
  width: number
}

/** The time span of the strip, and the speed of the line. */
interface Span {
  /** The end of the strip, epoch ms by the gateway's clock. */
  toMs: number
  spanMs: number
  /** How long one byte takes on the line. */
  msPerByte: number
}

/** The least width, so that a frame is visible even if it is shorter than a pixel. */
const LEAST_WIDTH = 3.2

/** Who occupied the line, from the frames. */
export function slotsOf(rows: readonly Row[], { toMs, spanMs, msPerByte }: Span): Slot[] {
  const fromMs = toMs - spanMs
  const near = rows.filter((row) => row.at >= fromMs - spanMs && row.kind !== 'note')
  // The monotonic clock has the exact distances between frames; its offset to wall time is taken from the frame with
  // the least delay.
  const aheadMs = Math.min(...near.flatMap((row) => (row.monotonicMs === null ? [] : [row.at - row.monotonicMs])))
  const endOf = (row: Row): number => (row.monotonicMs === null ? row.at : row.monotonicMs + aheadMs)
  const place = (atMs: number): number => ((atMs - fromMs) / spanMs) * 1000
  const slots: Slot[] = []
  let askedAt: number | null = null
  let startedAt = fromMs - spanMs
  for (const row of near) {
    const end = endOf(row)
    if (row.kind === 'miss') {
      if (askedAt !== null) slots.push({ kind: 'wait', x: place(askedAt), width: place(end) - place(askedAt) })
      slots.push({ kind: 'miss', x: place(end), width: 2 })
      askedAt = null
    } else if (row.kind !== 'note') {
      const width = Math.max(LEAST_WIDTH, ((row.length * msPerByte) / spanMs) * 1000)
      // A sent frame has the time of its start, a received one the time of its last byte.
      const x = row.kind === 'ask' ? place(end) : Math.max(place(end) - width, place(startedAt))
      slots.push({ kind: row.kind, x, width })
      if (row.kind === 'ask') startedAt = end
      askedAt = row.kind === 'ask' ? end + row.length * msPerByte : null
    }
  }
  return slots.filter((slot) => slot.x + slot.width > 0 && slot.x < 1000).map(clipped)
}

function clipped(slot: Slot): Slot {
  const x = Math.max(0, slot.x)
  return { ...slot, x, width: Math.max(0.5, Math.min(1000, slot.x + slot.width) - x) }
}

// One unit as the page shows it: the gateway's counts, and what the frames of the last minute show.

/** One unit from both sources. */
export interface UnitView {
  unitId: number
  state: UnitState
  /** Null if the gateway has no counts of this unit. */
  bus: BusUnit | null
  /** Null if no frame of this unit was seen in the last minute. */
  seen: Unit | null
}

/**
 * The units sorted by number: those that the gateway knows, else those in the frames. @param bus null if the gateway
 * counts none
 */
export function unitViews(bus: readonly BusUnit[] | null, seen: readonly Unit[]): UnitView[] {
  const frames = new Map(seen.map((unit) => [unit.unit, unit]))
  if (bus !== null)
    return bus.map((unit) => ({
      unitId: unit.unitId,
      state: unit.state,
      bus: unit,
      seen: frames.get(unit.unitId) ?? null,
    }))
  return seen.map((unit) => ({ unitId: unit.unit, state: seenState(unit), bus: null, seen: unit }))
}

function seenState(unit: Unit): UnitState {
  if (unit.isWell) return 'well'
  if (unit.late > 0) return 'slow'
  return unit.answers > unit.misses ? 'noisy' : 'silent'
}

const LITS: Readonly<Record<UnitState, Lit>> = {
  unknown: 'off',
  well: 'ok',
  slow: 'warn',
  noisy: 'warn',
  failing: 'warn',
  silent: 'fault',
  probing: 'busy',
}

/** The lamp of a unit: one that answers with exceptions is not quite well. */
export function unitLit(view: UnitView): Lit {
  return view.state === 'well' && (view.seen?.exceptions ?? 0) > 0 ? 'warn' : LITS[view.state]
}

/** The state of a unit in a few words; a silent one shows when it is asked again. */
export function unitWord(view: UnitView, { nowMs, zone }: When): string {
  const { bus, seen, state } = view
  if (state === 'well' && seen && seen.exceptions > 0) return texts.refused(count(seen.exceptions))
  const next = bus?.nextTryAt ?? null
  if (state === 'silent' && next !== null && next > nowMs) return texts.silentAsked(timeOf(next, zone))
  if (state === 'silent' && bus?.stateSince) return texts.silentSince(sinceText(bus.stateSince, nowMs, zone))
  if (state === 'noisy' && bus) return noiseShort(bus.lately)
  return {
    unknown: texts.notAskedYet,
    well: 'answers',
    slow: texts.tooLate,
    noisy: texts.missesSome,
    failing: texts.noAnswerYet,
    silent: 'silent',
    probing: texts.askedAgain,
  }[state]
}

/** `16 of 100 damaged`; `bad` if there were several kinds, which its row names. */
function noiseShort({ damaged, exchanges, missing, twice }: BusUnit['lately']): string {
  const kinds: [number, string][] = [
    [damaged, texts.kindDamaged],
    [missing, texts.kindMissing],
    [twice, texts.kindTwice],
  ]
  const found = kinds.filter(([number]) => number > 0)
  const bad = found.reduce((all, [number]) => all + number, 0)
  return `${bad} of ${exchanges} ${found.length === 1 ? found[0]?.[1] : 'bad'}`
}

/** The usual reply time: that of the last minute, else since the line was opened; null before the first reply. */
export function replyMs(view: UnitView): number | null {
  return view.seen?.middleMs ?? view.bus?.latencyMs?.p50 ?? null
}

/** The verdict on one line. */
export function judgePort(port: Port, units: readonly UnitView[], when: When): Judgement {
  const name = shortPath(port.path)
  if (!port.configured) return { lit: 'off', sentence: texts.isNotSetUp(name), why: texts.nothingIsReadOrSent }
  if (port.state === 'closed')
    return { lit: 'off', sentence: texts.isClosed(name), why: port.fault?.message ?? texts.nothingIsReadOrSent }
  if (port.state === 'absent') return { lit: 'gone', sentence: stateSentence(port, when), why: whyOf(port, when) }
  if (port.state === 'failed')
    return {
      lit: 'fault',
      sentence: port.fault?.message ?? stateSentence(port, when),
      why: whyOf({ ...port, fault: null }, when),
    }
  if (port.state === 'opening') return { lit: 'busy', sentence: stateSentence(port, when) }
  if (!isOfUnits(port)) return port.fault ? { lit: 'warn', sentence: port.fault.message } : judgeNodes(port, when)
  return port.settings?.mode === 'slave' ? judgeSlave(port) : judgeUnits(port, units, when)
}

/** Who is only heard, such as the nodes of a ring; a line without any is judged by its bytes. */
function judgeNodes(port: Port, when: When): Judgement {
  const { silent = 0, total = 0 } = port.units ?? {}
  if (total === 0) return judgeRaw(port, when)
  if (silent > 0) return { lit: 'warn', sentence: texts.nodesHaveLeft(silent, total), why: texts.ringNamesThem }
  return { lit: 'ok', sentence: texts.nodesAreThere(total) }
}

function judgeRaw(port: Port, { nowMs }: When): Judgement {
  const name = shortPath(port.path)
  const frames = (port.counters?.rxFrames ?? 0) + (port.counters?.txFrames ?? 0)
  const lost = (port.counters?.driver?.overrun ?? 0) + (port.counters?.driver?.buf_overrun ?? 0)
  if (lost > 0)
    return {
      lit: 'warn',
      sentence: texts.lostBytes(name, lost),
      why: texts.machineWasTooSlow,
    }
  if (frames === 0) {
    const openFor = age(Math.max(1000, nowMs - (port.stateSince ?? nowMs)))
    return { lit: 'ok', sentence: texts.isOpenAndQuiet(name), why: texts.openFor(openFor) }
  }
  return { lit: 'ok', sentence: texts.isOpenAndRead(name) }
}

function judgeSlave(port: Port): Judgement {
  const units = Array.isArray(port.settings?.slave_units) ? port.settings.slave_units.map(String) : []
  const who = units.length === 1 ? texts.oneUnit(units[0]) : texts.someUnits(listed(units))
  const { asked = 0, rxFrames = 0 } = port.counters ?? {}
  if (asked === 0 && rxFrames > 0)
    return {
      lit: 'warn',
      sentence: texts.masterAsksOthers(who.toLowerCase()),
      why: texts.lookAtAskedIds,
    }
  if (asked === 0)
    return {
      lit: 'ok',
      sentence: texts.waitForAMaster(who, units.length),
      why: texts.lookAtUnitId,
    }
  return {
    lit: 'ok',
    sentence: texts.answerAMaster(who, units.length),
  }
}

/** From the worst on: no replies, late replies, noisy, no reply yet, being tried again. */
const ORDER = ['silent', 'slow', 'noisy', 'failing', 'probing'] as const

function judgeUnits(port: Port, units: readonly UnitView[], when: When): Judgement {
  const asked = units.filter(({ state }) => state !== 'unknown')
  const bad = asked
    .filter(({ state }) => state !== 'well')
    .toSorted((a, b) => ORDER.indexOf(a.state as 'silent') - ORDER.indexOf(b.state as 'silent'))
  const worst = bad[0]
  if (asked.length === 0) return { lit: 'ok', sentence: texts.noUnitWasAsked }
  if (!worst) return judgeWell(port, asked)
  const same = bad.filter(({ state }) => state === worst.state)
  const rest = bad.length > same.length ? texts.notWell(bad.length - same.length) : ''
  const well = asked.length - bad.length
  const others = well === 0 ? '' : well === 1 ? texts.otherOneIsWell : texts.otherAreWell(well)
  const lit = worst.state === 'silent' && well === 0 ? 'fault' : worst.state === 'probing' ? 'busy' : 'warn'
  return { lit, sentence: `${badSentence(same)}${rest || others}`, why: badWhy(port, { same, well }, when) }
}

const VERBS: Readonly<Record<string, readonly [one: string, more: string]>> = {
  silent: [texts.doesNotAnswer, texts.doNotAnswer],
  slow: [texts.answersTooLate, texts.answerTooLate],
  noisy: [texts.isNoisy, texts.areNoisy],
  failing: [texts.hasNotAnsweredYet, texts.haveNotAnsweredYet],
  probing: [texts.isBeingAskedAgain, texts.areBeingAskedAgain],
}

function badSentence(same: readonly UnitView[]): string {
  const names = listed(same.map(({ unitId }) => String(unitId)))
  const [first] = same
  if (same.length === 1 && first?.state === 'noisy' && first.bus)
    return texts.unitIsNoisy(names, noiseText(first.bus.lately))
  const [one = '', more = ''] = VERBS[first?.state ?? ''] ?? []
  return same.length === 1 ? texts.unitIs(names, one) : texts.unitsAre(names, more)
}

/** The units in the worst state, and how many are well. */
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
    return texts.repliesComeLate(Math.round(lateMs), waitMs)
  if (first.state === 'noisy') return noisyWhy(bad, nowMs)
  if (first.state !== 'silent') return first.bus?.lastError?.message ?? ''
  const misses = same.reduce((all, view) => all + (view.seen?.misses ?? 0), 0)
  const seen = misses > 0 ? texts.noReplyWithin(waitMs, misses) : ''
  const next = same.flatMap(({ bus }) => (bus?.nextTryAt && bus.nextTryAt > nowMs ? [bus.nextTryAt] : []))
  const again = next.length > 0 ? texts.askedAgainAt(same.length, timeOf(Math.min(...next), zone)) : ''
  return `${seen}${again}`.trim()
}

/**
 * What to check, and how long ago the last bad exchange was, so that nobody has to wait for the whole window to see
 * whether a repair has helped.
 */
function noisyWhy({ same, well }: BadUnits, nowMs: number): string {
  const all = same.flatMap(({ bus }) => (bus ? [bus.lately] : []))
  const sum = (of: 'exchanges' | 'damaged' | 'missing' | 'twice') => all.reduce((total, one) => total + one[of], 0)
  const counts = { exchanges: sum('exchanges'), damaged: sum('damaged'), missing: sum('missing'), twice: sum('twice') }
  if (counts.exchanges === 0) return ''
  const lastAt = Math.max(0, ...all.map(({ lastBadAt }) => lastBadAt ?? 0))
  const last = lastAt > 0 ? texts.lastWasAgo(age(Math.max(1000, nowMs - lastAt), 1)) : ''
  const isLine = same.length > 1 && well === 0
  const where = isLine ? texts.everyUnitIsAffected : ''
  const told = same.length > 1 ? `${capital(noiseText(counts))}. `.replace('its last', 'their last') : ''
  return `${told}${noiseRemedy(counts)}${where}${last}`
}

/** How long the line waits for the start of a reply, ms. */
export function waitOf(port: Port): number {
  return Number(port.settings?.response_timeout_ms ?? 300)
}

/** The longest reply time seen of a unit that was late, ms. */
export function lateOf({ seen, bus }: UnitView): number | null {
  return seen?.lateMs ?? (bus?.latencyMs && bus.lateReplies > 0 ? bus.latencyMs.max : null)
}

function judgeWell(port: Port, units: readonly UnitView[]): Judgement {
  const refusing = units.filter(({ seen }) => (seen?.exceptions ?? 0) > 0)
  const first = refusing[0]
  if (first) {
    const who =
      refusing.length === 1
        ? texts.unitRefuses(first.unitId)
        : texts.unitsRefuse(listed(refusing.map(({ unitId }) => String(unitId))))
    return {
      lit: 'warn',
      sentence: texts.refusesSome(who),
      why: texts.logShowsExceptions,
    }
  }
  if (port.settings?.mode === 'listen')
    return {
      lit: 'ok',
      sentence: texts.unitsAnswerAnotherMaster(units.length, units[0]?.unitId),
    }
  return {
    lit: 'ok',
    sentence: units.length === 1 ? texts.unitAnswers(units[0]?.unitId) : texts.unitsAnswer(units.length),
  }
}
