/** Plots of the last hour of a board with sound: when packets arrived or left, and the offset of its clock. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLook } from '#kit/web/call.ts'
import { zone } from '#kit/web/contact.ts'
import { type Child, html } from '#kit/web/html.ts'
import { fixed, THIN, UNKNOWN } from '#kit/web/numbers.ts'
import { say } from '#kit/web/parts.ts'
import { legend, Plot, type PlotFacts, type Points } from '#kit/web/plot.ts'
import type { HistoryView } from '../core/sound/sound.ts'
import { api } from './api.ts'
import { msOfUs, signed } from './sound-words.ts'
import { status } from './state.ts'
import * as texts from './texts.ts'

/** An hour is long: between two polls it moves by a pixel or two. */
const LOOK_HISTORY_MS = 10_000
const HOUR_MS = 3_600_000

/** Packets at a decoder, and its clock. */
export function DecoderPlots(): VNode {
  const { history, words } = useHistory()
  const decoder = status.value?.decoder
  if (!history) return words
  const link = decoder?.route.effective_link_ms ?? null
  return html`${panel({ title: texts.packetArrival, about: texts.arrivalUnit, now: afterText(decoder?.arrival?.latest_us, link), nowName: texts.latestNow, unit: 'ms', facts: arrivalFacts(history, link) })}${clockPanel(history)}`
}

/** Packets of an encoder, and its clock. */
export function EncoderPlots(): VNode {
  const { history, words } = useHistory()
  const spacing = status.value?.encoder?.sent.spacing_us
  if (!history) return words
  return html`${panel({ title: texts.packetSpacing, about: texts.lastHour, now: msOfUs(spacing?.p99), nowName: '99 % now', unit: 'ms', facts: spacingFacts(history) })}${clockPanel(history)}`
}

function useHistory(): { history: HistoryView | null; words: VNode } {
  const [history, setHistory] = useState<HistoryView | null>(null)
  const { refused } = useLook(async () => setHistory(await api.history()), LOOK_HISTORY_MS)
  const words =
    refused === null
      ? say('busy', texts.askingBoardForHistory, texts.historyIsBrief)
      : say('fault', texts.historyCouldNotBeRead, refused)
  return { history, words: html`<section class="panel">${words}</section>` }
}

interface PanelFacts {
  title: string
  about: string
  /** The newest value in large type: nobody should have to read it from a curve. */
  now: string
  nowName: string
  unit: string
  facts: PlotFacts | null
}

function panel({ title, about, now, nowName, unit, facts }: PanelFacts): VNode {
  const body: Child = facts
    ? html`<div class="in stack"><${Plot} ...${facts} />${facts.traces.length > 1 || facts.limit ? legend(facts) : null}</div>`
    : say('off', texts.nothingWasMeasuredInHour, texts.isDrawnAsSoon)
  return html`<section class="panel" aria-label=${title}><header><h2>${title}</h2><span class="faint later">${about}</span>
    <div class="acts"><span class="unit">${nowName} <b class="now">${now}</b>${now === UNKNOWN ? '' : `${THIN}${unit}`}</span></div></header>${body}</section>`
}

function clockPanel(history: HistoryView): VNode {
  const ptp = status.value?.ptp
  return panel({
    title: texts.clockAgainstGrandmaster,
    about: texts.lastHour,
    now: signed(ptp?.offset_ns ?? null, 0),
    nowName: 'now',
    unit: 'ns',
    facts: clockFacts(history),
  })
}

/** The remaining link offset, as the time since the sample was sent. */
function afterText(leftUs: number | null | undefined, linkMs: number | null): string {
  if (leftUs === null || leftUs === undefined || linkMs === null) return UNKNOWN
  return msOfUs(linkMs * 1000 - leftUs)
}

/** Arrivals relative to the link offset; null if nothing arrived in the whole hour. */
export function arrivalFacts(history: HistoryView, linkMs: number | null): PlotFacts | null {
  const { earliest_us: earliest, latest_us: latest, link_us: links, lost, middle_us: middle } = history.series
  if (!earliest || !latest || linkMs === null || latest.every((each) => each === null)) return null
  // A margin refers to the link offset of its own second: a later change does not move past packets.
  const after = (points: Points): (number | null)[] =>
    points.map((left, at) => (left === null ? null : ((links?.[at] ?? linkMs * 1000) - left) / 1000))
  const traces = [
    { name: texts.latest, points: after(latest), kind: 'read' as const },
    { name: texts.earliest, points: after(earliest), kind: 'read' as const },
    ...(middle ? [{ name: texts.middle, points: after(middle), kind: 'line' as const }] : []),
  ]
  return {
    ...usual(history),
    label: texts.arrivalSpoken(spanText(after(earliest), after(latest), 2), linkMs),
    traces,
    unit: 'ms',
    decimals: 2,
    band: [0, 1],
    limit: { name: texts.linkOffsetMs(linkMs), value: linkMs },
    ...(lost ? { lost: { name: texts.lostTrace, points: lost } } : {}),
    least: [0, linkMs],
    heightPx: 176,
  }
}

/** Intervals between packets as they left. */
export function spacingFacts(history: HistoryView): PlotFacts | null {
  const { spacing_p50_us: middle, spacing_p99_us: most, spacing_max_us: worst } = history.series
  if (!middle || !most || middle.every((each) => each === null)) return null
  const ms = (points: Points): (number | null)[] => points.map((us) => (us === null ? null : us / 1000))
  return {
    ...usual(history),
    label: texts.spacingSpoken(spanText(ms(middle), ms(worst ?? most), 2)),
    traces: [
      { name: texts.middle, points: ms(middle), kind: 'line' },
      { name: '99 %', points: ms(most), kind: 'dashed' },
      ...(worst ? [{ name: texts.worst, points: ms(worst), kind: 'dotted' as const }] : []),
    ],
    unit: 'ms',
    decimals: 2,
    least: [0, 1],
    heightPx: 144,
  }
}

/** Offset of the clock; null if it was never known. */
export function clockFacts(history: HistoryView): PlotFacts | null {
  const { ptp_offset_ns: offset } = history.series
  if (!offset || offset.every((each) => each === null)) return null
  return {
    ...usual(history),
    label: texts.clockSpoken(spanText(offset, offset, 0)),
    traces: [{ name: texts.offsetTrace, points: offset, kind: 'line' }],
    unit: 'ns',
    decimals: 0,
    least: [-100, 100],
    heightPx: 112,
  }
}

function usual({
  from_at: fromMs,
  step_s: stepS,
}: HistoryView): Pick<PlotFacts, 'fromMs' | 'stepMs' | 'spanMs' | 'zone'> {
  return { fromMs, stepMs: stepS * 1000, spanMs: HOUR_MS, zone: zone.value }
}

function spanText(low: Points, high: Points, decimals: number): string {
  const known = (points: Points): number[] => points.filter((each) => each !== null)
  const least = known(low).reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
  const most = known(high).reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)
  return texts.between(fixed(least, decimals), fixed(most, decimals))
}
