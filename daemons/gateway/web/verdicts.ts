/** The sentence over the numbers: what is the case with all lines, and with one. */
import type { Judgement, Lit } from '#kit/web/lamp.ts'
import { age, count, many, sinceText, whole } from '#kit/web/numbers.ts'
import type { Port } from './api.ts'
import { nameOf } from './words.ts'

/** When it is, for sentences with times in them. */
export interface When {
  nowMs: number
  zone?: string
}

/** Lines that need somebody, worst first: refused, absent, being opened. */
function needy(ports: readonly Port[]): Port[] {
  const order = ['failed', 'absent', 'opening']
  return ports
    .filter((port) => port.configured && port.state !== null && order.includes(port.state))
    .sort((a, b) => order.indexOf(a.state ?? '') - order.indexOf(b.state ?? ''))
}

/** Bad lines on top, then open ones, closed ones, and what is not set up. */
export function sortPorts(ports: readonly Port[]): Port[] {
  const order = ['failed', 'absent', 'opening', 'open', 'closed']
  const rank = (port: Port): number => (port.configured ? order.indexOf(port.state ?? 'closed') : order.length)
  return ports.toSorted((a, b) => rank(a) - rank(b) || a.path.localeCompare(b.path))
}

/** Everything in a few words, for the phone's bar. */
export function shortVerdict(ports: readonly Port[]): { lit: Lit; words: string } {
  const wanted = ports.filter((port) => port.configured && port.state !== 'closed')
  const open = wanted.filter((port) => port.state === 'open').length
  const worst = needy(ports)[0]
  const lit =
    worst === undefined
      ? open > 0
        ? 'ok'
        : 'off'
      : worst.state === 'failed'
        ? 'fault'
        : worst.state === 'absent'
          ? 'warn'
          : 'busy'
  return { lit, words: wanted.length === 0 ? 'no line runs' : `${open} of ${wanted.length} lines` }
}

/** The verdict over all lines. */
export function judgePorts(ports: readonly Port[], when: When): Judgement {
  const configured = ports.filter((port) => port.configured)
  const wanted = configured.filter((port) => port.state !== 'closed')
  const open = wanted.filter((port) => port.state === 'open')
  const bad = needy(ports)
  const first = bad[0]
  if (ports.length === 0) return { lit: 'off', sentence: 'No serial line was found on this machine.' }
  if (configured.length === 0)
    return {
      lit: 'off',
      sentence: `${many(ports.length, 'line')} found, none is set up.`,
      why: 'Set one up to see what is on it.',
    }
  if (!first) {
    if (open.length === 0)
      return { lit: 'off', sentence: `${configured.length === 1 ? 'The line is' : 'All lines are'} closed.` }
    const sentence = open.length === 1 ? `${nameOf(open[0]?.path ?? '')} runs.` : `${whole(open.length, 'lines')} run.`
    return { lit: 'ok', sentence, why: spareText(ports, configured) }
  }
  const lead = `${open.length} of ${many(wanted.length, 'line')} ${open.length === 1 ? 'runs' : 'run'}.`
  const rest =
    bad.length > 1 ? ` So ${bad.length === 2 ? 'does one more need' : `do ${bad.length - 1} more need`} a look.` : ''
  return {
    lit: litOf(first),
    sentence: `${lead} ${stateSentence(first, when)}`,
    why: `${whyOf(first, when)}${rest}`.trim(),
  }
}

function litOf(port: Port): Lit {
  return port.state === 'failed' ? 'fault' : port.state === 'absent' ? 'warn' : 'busy'
}

function spareText(ports: readonly Port[], configured: readonly Port[]): string {
  const closed = configured.filter((port) => port.state === 'closed').length
  const spare = ports.length - configured.length
  const parts = [closed > 0 && `${count(closed)} closed`, spare > 0 && `${count(spare)} not set up`].filter(Boolean)
  return parts.length > 0 ? `${parts.join(', ')}.` : ''
}

/** A line that does not run, in a sentence. */
export function stateSentence(port: Port, { nowMs, zone }: When): string {
  const name = nameOf(port.path)
  if (port.state === 'failed') return `${name} will not open.`
  if (port.state === 'absent') return `${name} is absent since ${sinceText(port.stateSince ?? nowMs, nowMs, zone)}.`
  return `${name} is being opened.`
}

/** What was refused, and when it is tried again. */
export function whyOf(port: Port, { nowMs }: When): string {
  const inMs = port.nextTryAt === null ? null : port.nextTryAt - nowMs
  const next = inMs !== null && inMs > 0 ? `Tried again in ${age(Math.max(1000, inMs))}.` : ''
  return `${port.fault?.message ?? ''} ${next}`.trim()
}
