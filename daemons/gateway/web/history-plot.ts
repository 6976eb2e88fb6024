/** The plot of a point's history; loaded with the library that draws it. */
import type { VNode } from 'preact'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { html } from '#kit/web/html.ts'
import { fixed, THIN, UNKNOWN } from '#kit/web/numbers.ts'
import { legend, Plot, type PlotFacts } from '#kit/web/plot.ts'
import { decimalsOf, greatestOf, leastOf, outagesOf, type PointHistory } from './history.ts'
import * as texts from './texts.ts'

interface HistoryPlotProps {
  history: PointHistory
  spanMs: number
  /** In words. */
  span: string
}

/** The panel: the newest value large, the curve, and what its shades mean. */
export function HistoryPlot({ history, span, spanMs }: HistoryPlotProps): VNode {
  const { buckets, decimals, name, unit } = history
  const last = fixed(buckets.findLast((bucket) => bucket.last !== null)?.last, decimalsOf(decimals))
  const facts = plotFacts(history, spanMs, daemonNow())
  return html`<section class="panel" aria-label=${name}><header><h2>${name}</h2><span class="faint later">${span}</span>
    <div class="acts"><span class="unit">${texts.lastValue} <b class="now">${last}</b>${last === UNKNOWN || !unit ? '' : `${THIN}${unit}`}</span></div></header>
    <div class="in stack"><${Plot} ...${facts} />${legend(facts)}</div></section>`
}

/** The mean as a line, least to greatest as a band, and what is missing as shades. */
export function plotFacts(history: PointHistory, spanMs: number, nowMs: number): PlotFacts {
  const { buckets, decimals, from, name, stepMs, unit } = history
  const low = leastOf(buckets.flatMap(({ min }) => (min === null ? [] : [min]))) ?? 0
  const high = greatestOf(buckets.flatMap(({ max }) => (max === null ? [] : [max]))) ?? 1
  const flat = low === high ? Math.max(1, Math.abs(low) * 0.01) : 0
  const places = decimalsOf(decimals)
  return {
    label: texts.historySpoken(name, fixed(low, places), fixed(high, places), unit ?? ''),
    fromMs: from,
    stepMs,
    spanMs,
    traces: [
      { name: texts.greatestValue, points: buckets.map(({ max }) => max), kind: 'read' },
      { name: texts.leastValue, points: buckets.map(({ min }) => min), kind: 'read' },
      { name: texts.meanValue, points: buckets.map(({ mean }) => mean), kind: 'line' },
    ],
    unit: unit ?? '',
    decimals: places,
    band: [0, 1],
    bandName: texts.leastToGreatest,
    gaps: outagesOf(history, nowMs)
      .filter(({ isWhole }) => isWhole)
      .map(({ fromMs, lit, toMs }) => ({
        ...{ fromMs, toMs, lit, name: lit === 'fault' ? texts.noGoodValue : texts.notRecorded },
      })),
    least: [low - flat, high + flat],
    heightPx: 260,
    zone: zone.value,
  }
}
