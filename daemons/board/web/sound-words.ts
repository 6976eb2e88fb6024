/** How the pages say what encoders and decoders do. */
import type { Link } from '#kit/web/figures.ts'
import { fixed, many, UNKNOWN } from '#kit/web/numbers.ts'
import type { Lit } from '#kit/web/parts.ts'
import type { PtpView } from '../core/ptp/ptp.ts'
import type { Check, CheckState } from '../core/sound/sound.ts'
import type { RefClock } from '../wire/streams/description.ts'
import * as texts from './texts.ts'

const LITS: Readonly<Record<CheckState, Lit>> = {
  ok: 'ok',
  warn: 'warn',
  fault: 'fault',
  off: 'off',
  not_judged: 'off',
}

/** Labels of checks; an unknown check is shown by its own name. */
const HEADS: Readonly<Record<string, string>> = {
  input: texts.input,
  level: texts.level,
  clock: texts.clock,
  sending: texts.sending,
  announced: texts.announced,
  stream: texts.soundStream,
  packets: texts.packets,
  sender: texts.sender,
  format: texts.format,
  grandmaster: texts.master,
  loss: texts.loss,
  volume: texts.volume,
  output: texts.output,
}

/** The links of a chain. */
export function linksOf(checks: readonly Check[]): Link[] {
  return checks.map((check) => {
    const { name, state, text } = check
    const isJudged = state !== 'not_judged'
    const head = Object.hasOwn(HEADS, name) ? (HEADS[name] ?? name) : name
    return { key: name, lit: litOfCheck(check), head, text: isJudged ? text : texts.notJudged }
  })
}

/** The lamp of a check; from another board the check may be anything. */
function litOfCheck({ state, code }: Pick<Check, 'state' | 'code'>): Lit {
  if (state === 'off' && (code === 'muted' || code === 'volume_zero')) return 'mute'
  return Object.hasOwn(LITS, state) ? LITS[state] : 'off'
}

/** Whether something stops the sound, or nearly. A board that was stopped on purpose is not broken. */
export function isBroken(checks: readonly Check[]): boolean {
  return checks.some(
    ({ state, code }) => state === 'fault' || state === 'warn' || (state === 'off' && code !== 'stopped'),
  )
}

/** `239.69.10.4:5004` */
export function groupText({ mcast, port }: { mcast: string; port: number }): string {
  return `${mcast}:${port}`
}

/** `L24, 2 channels` */
export function formatText({ encoding, channels }: { encoding: string | null; channels: number | null }): string {
  return [encoding ?? UNKNOWN, channels === null ? null : many(channels, 'channel')].filter(Boolean).join(', ')
}

/** `−12.0`, or a word for silence. */
export function volumeText({ volume, volume_db }: { volume: number; volume_db: number }): string {
  return volume === 0 ? texts.silent : fixed(volume_db, 1)
}

/** The clock that a stream follows. */
export function refClockWords(refclk: RefClock | null): string {
  if (refclk === null) return texts.namesNoClock
  if (refclk.kind === 'other') return refclk.text
  if (refclk.kind === 'localmac') return texts.ownClock(refclk.mac)
  return texts.ptpDomain(refclk.grandmaster, refclk.domain)
}

/** Whether a route plays a stream: same group and port, and the same sender where both are known. */
export function isRouted(
  stream: { mcast: string; port: number; source: string | null },
  route: { mcast: string; port: number; source: string | null },
  sender: string | null = null,
): boolean {
  if (route.mcast === '' || stream.mcast !== route.mcast || stream.port !== route.port) return false
  const played = route.source ?? sender
  return played === null || stream.source === null || stream.source === played
}

/** The clock as a lamp. */
export function ptpLit({ state }: Pick<PtpView, 'state'>): Lit {
  if (state === 'locked' || state === 'master') return 'ok'
  if (state === 'fault') return 'fault'
  if (state === 'off') return 'off'
  return state === 'absent' || state === 'holdover' ? 'warn' : 'busy'
}

/** With its sign, for values around zero: `+38`. */
export function signed(value: number | null, decimals: number): string {
  const text = fixed(value, decimals)
  return value !== null && value > 0 && /[1-9]/.test(text) ? `+${text}` : text
}

/** Microseconds as milliseconds of sound: `2.31`. */
export function msOfUs(us: number | null | undefined): string {
  return us === null || us === undefined ? UNKNOWN : fixed(us / 1000, 2)
}
