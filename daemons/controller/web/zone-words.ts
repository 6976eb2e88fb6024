/** The state of a zone in words and numbers: nothing is guessed, and unknown values are shown as unknown. */
import { age, capital, fixed, listed, many, sinceText, THIN, UNKNOWN } from '#kit/web/numbers.ts'
import type { Judgement, Lit } from '#kit/web/parts.ts'
import type { ZoneView } from '../core/live/zones.ts'
import type { PlanPlace } from '../core/site/plans.ts'
import * as texts from './texts.ts'

/** A value and its unit; the unit is drawn lighter. */
export interface Shown {
  value: string
  unit: string
}

/** The range of a slider. */
export interface Range {
  min: number
  max: number
  step: number
  unit: string
}

/** The time and zone for a text. */
export interface When {
  nowMs: number
  zone: string | undefined
}

const WORDS: Readonly<Record<string, string>> = {
  on: texts.on,
  off: texts.off,
  true: texts.on,
  false: texts.off,
  open: texts.open,
  closed: texts.closed,
  opening: texts.opens,
  closing: texts.closes,
  playing: texts.plays,
  stopped: texts.stopped,
  heating: texts.heats,
  cooling: texts.cools,
  idle: texts.idle,
  ok: '',
}

/** Whether its state is unknown: its device is away, or has reported nothing. */
export function isUnknown({ values, device }: Pick<ZoneView, 'values' | 'device'>): boolean {
  if (device && device.state !== 'online') return true
  const { state, ...others } = values
  return (state === undefined || state === 'unknown') && Object.keys(others).length === 0
}

/** The range of a slider for this zone. Levels are in percent unless the building defines something else. */
export function rangeOf({ min, max, unit, maxVolume }: ZoneView, verb: 'level' | 'volume' | 'setpoint'): Range {
  const usual = verb === 'setpoint' ? { min: 5, max: 35, unit: '°C' } : { min: 0, max: 100, unit: '%' }
  const low = min ?? usual.min
  const whole = max !== null && max > low ? max : low + (usual.max - usual.min)
  const high = verb === 'volume' && maxVolume !== undefined && maxVolume > low ? Math.min(whole, maxVolume) : whole
  const isFine = verb === 'setpoint' || high - low <= 30
  return { min: low, max: high, step: isFine ? 0.5 : 1, unit: unit ?? usual.unit }
}

/** A number of a zone with its unit: `60 %`, `21.5 °C`, `−12.0 dB`. */
export function quantity(value: number, unit: string): Shown {
  const decimals = unit === '°C' || unit === 'dB' || !Number.isInteger(value) ? 1 : 0
  return { value: fixed(value, decimals), unit }
}

/** The one value drawn large on its tile. */
export function headline(zone: ZoneView): Shown {
  if (isUnknown(zone)) return { value: UNKNOWN, unit: '' }
  const { values } = zone
  const { temperature, level, position, volume, value, setpoint } = values
  if (values.mute === true) return { value: 'Muted', unit: '' }
  if (typeof temperature === 'number') return quantity(temperature, '°C')
  if (isOff(zone)) return { value: 'Off', unit: '' }
  if (typeof level === 'number') return quantity(level, rangeOf(zone, 'level').unit)
  if (typeof position === 'number') return quantity(position, '%')
  if (typeof volume === 'number') return quantity(volume, rangeOf(zone, 'volume').unit)
  if (typeof value === 'number') return quantity(value, zone.unit ?? '')
  if (typeof value === 'string') return { value, unit: zone.unit ?? '' }
  if (typeof setpoint === 'number') return quantity(setpoint, rangeOf(zone, 'setpoint').unit)
  return { value: stateWord(zone) || UNKNOWN, unit: '' }
}

/** Its state as a word; empty if that adds nothing to the value. */
function stateWord({ values }: ZoneView): string {
  const state = values.state === 'unknown' || values.state === undefined ? values.on : values.state
  if (state === undefined) return ''
  const text = String(state)
  const word = Object.hasOwn(WORDS, text.toLowerCase()) ? WORDS[text.toLowerCase()] : undefined
  return word ?? capital(text)
}

/** Whether it is on; undefined if unknown. */
export function isOn(zone: ZoneView): boolean | undefined {
  if (isUnknown(zone)) return undefined
  const { on, state, level } = zone.values
  if (typeof on === 'boolean') return on
  if (state === 'on' || state === true) return true
  if (state === 'off' || state === false) return false
  return typeof level === 'number' ? level > 0 : undefined
}

/** On, or a sound zone that plays: it has no state of its own called on. */
function isActive(zone: ZoneView): boolean {
  return isOn(zone) === true || (zone.values.state === 'playing' && !isUnknown(zone))
}

function isOff(zone: ZoneView): boolean {
  return isOn(zone) === false && zone.verbs.includes('off')
}

/**
 * The text at the foot of a tile: why nothing is known, or what else there is to say.
 * @param when called only if a time is shown, so that other tiles do not redraw
 * @param isBrief something precedes it on the same line
 */
export function footnote(zone: ZoneView, when: () => When, isBrief = false): { lit: Lit | null; text: string } {
  const { device, values, refused } = zone
  if (device && device.state === 'offline') return { lit: 'gone', text: lostText(device.lastSeenAt, when(), isBrief) }
  if (device && device.state === 'unknown') return { lit: 'gone', text: texts.notHeardSinceControllerStarted }
  if (refused === 'elevation') return { lit: null, text: texts.onlyElevatedRolesCommand }
  if (refused === 'role') return { lit: null, text: texts.yourRoleMayLookNotCommand }
  if (isUnknown(zone)) return { lit: 'gone', text: texts.stateIsNotReported }
  const hasButtons = zone.verbs.includes('on') && isOn(zone) !== undefined
  const humid = typeof values.humidity === 'number' ? texts.humid(fixed(values.humidity, 0)) : ''
  const said = [hasButtons ? '' : stateWord(zone), values.source, values.mode, humid].filter(
    (text) => typeof text === 'string' && text !== '',
  )
  const head = headline(zone).value
  return { lit: null, text: said.filter((text) => text !== head).join(' · ') }
}

function lostText(lastSeenAt: number | null, { nowMs, zone }: When, isBrief: boolean): string {
  if (lastSeenAt === null) return texts.noContactWithDevice
  const since = texts.noContactSince(sinceText(lastSeenAt, nowMs, zone))
  return isBrief ? `${since}.` : texts.ago(since, age(Math.max(1000, nowMs - lastSeenAt), 1))
}

/** A sound zone with a source that is not heard: its stream does not arrive, or is silence. */
function isSilent(zone: ZoneView): boolean {
  return zone.values.state === 'silent' && !isUnknown(zone)
}

/** Sums up all zones: which are not known, which are silent, and what is on. */
export function judgeZones(zones: readonly ZoneView[]): Judgement {
  const unknown = zones.filter(isUnknown)
  const silent = zones.filter(isSilent)
  const silence = silent.length === 0 ? '' : texts.areSilent(listed(silent.map(({ name }) => name)), silent.length)
  if (unknown.length === 0) {
    if (silent.length > 0) return { lit: 'warn', sentence: silence, why: texts.silentMeans }
    const sentence = zones.length === 1 ? texts.zoneIsKnown : texts.areKnown(zones.length)
    return { lit: 'ok', sentence, why: onText(zones) }
  }
  const names = listed(unknown.map(({ name }) => name))
  if (unknown.length === zones.length && zones.length > 1)
    return {
      lit: 'fault',
      sentence: texts.areUnknown(zones.length),
      why: texts.noneReports,
    }
  const verb = unknown.length === 1 ? 'is' : 'are'
  return {
    lit: 'warn',
    sentence: texts.someUnknown(unknown.length, zones.length, verb),
    why: [texts.commandsAreStillTried(names), silence].filter(Boolean).join(' '),
  }
}

/** There is always a line below the verdict, so that the rooms do not move when it changes. */
function onText(zones: readonly ZoneView[]): string {
  const on = zones.filter(isActive)
  if (on.length === 0) return texts.nothingIsOn
  return texts.areOn(listed(on.map(({ name }) => name)), on.length)
}

/** One room in a few words: what is on, and how warm it is. */
export function roomState(zones: readonly ZoneView[]): { lit: Lit; words: string } {
  const warm = zones.find(
    ({ values }) => typeof values.temperature === 'number' && !isUnknown({ values, device: null }),
  )
  const on = zones.filter(isActive).map(({ name }) => name)
  const said = [on.length === 0 ? texts.nothingOn : texts.isOnThere(listed(on)), warm && shownText(headline(warm))]
  const lit = zones.some(isUnknown) ? 'gone' : zones.some(isSilent) ? 'warn' : 'ok'
  return { lit, words: said.filter(Boolean).join(' · ') }
}

/** The same in a few words. */
export function shortVerdict(zones: readonly ZoneView[]): { lit: Lit; words: string } {
  const unknown = zones.filter(isUnknown).length
  const silent = zones.filter(isSilent).length
  if (zones.length === 0) return { lit: 'off', words: texts.noZones }
  if (unknown > 0) return { lit: 'warn', words: texts.unknown(unknown) }
  return silent > 0 ? { lit: 'warn', words: texts.silent(silent) } : { lit: 'ok', words: many(zones.length, 'zone') }
}

/** A value as one text. */
export function shownText({ value, unit }: Shown): string {
  return unit === '' ? value : `${value}${THIN}${unit}`
}

/** Where a zone is on a floor plan, in thousandths; the middle of its mark is the place. */
export function placeStyle({ x, y }: Pick<PlanPlace, 'x' | 'y'>): { left: string; top: string } {
  return { left: `${x / 10}%`, top: `${y / 10}%` }
}
