/** What one point did in the last hour, day or week: drawn with its outages, and as a table. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { sentenceOf, useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { download } from '#kit/web/copy-and-save.ts'
import { type FigureFacts, figures, segments } from '#kit/web/figures.ts'
import { html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { firstAnswer, lazy } from '#kit/web/lazy.ts'
import { age, fixed, sinceText } from '#kit/web/numbers.ts'
import { Act, icon, lamp, say, toast, verdict } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import type { PointBucket } from '../core/history/buckets.ts'
import { portRoute } from './api.ts'
import {
  askHistory,
  decimalsOf,
  greatestOf,
  judgeHistory,
  lacksOf,
  leastOf,
  type Outage,
  outagesOf,
  type PointHistory,
} from './history.ts'
import { noLine } from './port-head.ts'
import { portAt } from './state.ts'
import * as texts from './texts.ts'
import { shortPath } from './words.ts'

const HistoryPlot = lazy(async () => (await import('./history-plot.ts')).HistoryPlot)

const HOUR_MS = 3_600_000
const SPANS = { hour: HOUR_MS, day: 24 * HOUR_MS, week: 7 * 24 * HOUR_MS } as const
type Span = keyof typeof SPANS

/** A minute is a pixel or two of an hour, and less of a day. */
const LOOK_HISTORY_MS = 10_000
const MOST_OUTAGES = 12
const KEYS = [
  ['h', 'hour'],
  ['d', 'day'],
  ['w', 'week'],
] as const

/** The page of the history of one point. */
export function HistoryPage({ path, name }: { path: string; name: string }): VNode {
  const port = portAt(path)
  const [span, setSpan] = useState<Span>('day')
  const [known, setKnown] = useState<{ span: Span; history: PointHistory } | null>(null)
  async function look(): Promise<void> {
    const to = Math.round(daemonNow())
    setKnown({ span, history: await askHistory(path, name, { from: to - SPANS[span], to }) })
  }
  const { refused } = useLook(look, LOOK_HISTORY_MS, `${path} ${name} ${span}`)
  useKeys(
    texts.pointHistory,
    KEYS.map(([key, to]) => ({
      key,
      what: texts.switchesSpan(texts.spans[to]),
      run() {
        setSpan(to)
        return undefined
      },
    })),
  )
  if (!port) return noLine(texts.pointHistory, path)
  const history = known?.span === span ? known.history : null
  // A device by definition has values, and no page of points.
  const isDevice = port.protocol === 'equipment'
  const back = texts.backTo(isDevice ? shortPath(path) : `points of ${shortPath(path)}`)
  const from = isDevice ? linkTo('port', path) : linkTo('port', path, 'points')
  const options = Object.entries(texts.spanChoice)
  const choose = (value: string) => setSpan(value as Span)
  return html`<div class="head"><a class="btn quiet icon" href=${from} aria-label=${back}>${icon('back')}</a>
      <h1>${name}</h1><span class="faint small later">${shortPath(path)}</span>
      <div class="acts">${segments({ label: texts.pointHistory, name: 'span', value: span, options, choose })}
        <${Act} run=${() => void save(path, name, SPANS[span])}>${texts.saveCsv}</${Act}></div></div>
    ${history ? drawn(history, span) : html`<section class="panel">${firstAnswer(refused, texts.askingForHistory(texts.spans[span]), texts.historyCouldNotBeRead)}</section>`}`
}

async function save(path: string, name: string, spanMs: number): Promise<void> {
  const from = Math.round(daemonNow()) - spanMs
  try {
    await download(portRoute(path, `/history.csv?${new URLSearchParams({ point: name, from: String(from) })}`))
    toast(texts.csvIsSaved)
  } catch (thrown) {
    toast(sentenceOf(thrown))
  }
}

function drawn(history: PointHistory, span: Span): VNode {
  const nowMs = daemonNow()
  const judged = verdict(judgeHistory(history, texts.spans[span], nowMs))
  if (history.buckets.every(({ recordedMs }) => recordedMs === 0))
    return html`${judged}<section class="panel">${say('off', texts.nothingRecorded(history.name, texts.spans[span]), texts.recordingBegins)}</section>`
  return html`${judged}${figures(figuresOf(history, nowMs))}
    <${HistoryPlot} history=${history} spanMs=${SPANS[span]} span=${texts.spans[span]} />
    ${outageList(outagesOf(history, nowMs), history.stepMs, nowMs)}`
}

function figuresOf(history: PointHistory, nowMs: number): FigureFacts[] {
  const { buckets, decimals, unit } = history
  const known = (pick: (bucket: PointBucket) => number | null) => buckets.map(pick).filter((one) => one !== null)
  const good = buckets.reduce((sum, { goodMs }) => sum + goodMs, 0)
  const recorded = buckets.reduce((sum, { recordedMs }) => sum + recordedMs, 0)
  const { offMs } = lacksOf(history, nowMs)
  const sum = buckets.reduce((all, { goodMs, mean }) => all + (mean ?? 0) * goodMs, 0)
  const figure = (name: string, value: number | null, note = ''): FigureFacts => ({
    ...{ name, value: fixed(value, decimalsOf(decimals)), unit: unit ?? '', note },
  })
  return [
    figure(texts.leastValue, leastOf(known(({ min }) => min))),
    figure(texts.meanValue, good === 0 ? null : sum / good, texts.meanOverTime),
    figure(texts.greatestValue, greatestOf(known(({ max }) => max))),
    figure(texts.newestValue, known(({ last }) => last).at(-1) ?? null),
    { name: texts.withValue, value: shareText(good, recorded), unit: '%', note: texts.ofTimeRecorded },
    { name: texts.notRecordedFor, value: offMs === 0 ? '0' : age(offMs), note: offMs === 0 ? '' : texts.gatewayWasOff },
  ]
}

/** Rounded down, so that 100 means all of it. */
function shareText(good: number, recorded: number): string {
  return fixed(recorded === 0 ? null : Math.floor((1000 * good) / recorded) / 10, 1)
}

function outageList(outages: readonly Outage[], stepMs: number, nowMs: number): VNode {
  const shown = outages.toReversed().slice(0, MOST_OUTAGES)
  const more = outages.length - shown.length
  const rows = shown.map(
    ({
      fromMs,
      lackMs,
      lit,
      toMs,
    }) => html`<tr key=${fromMs}><td class="lit">${lamp(lit, lit === 'fault' ? texts.noGoodValue : texts.notRecorded)}</td>
      <td>${lit === 'fault' ? texts.noGoodValue : texts.notRecorded}</td><td class="n">${sinceText(fromMs, nowMs, zone.value)}</td>
      <td class="n">${sinceText(toMs, nowMs, zone.value)}</td><td class="n">${age(lackMs)}</td></tr>`,
  )
  const table = html`<table class="table"><thead><tr><th><span class="sr">Kind</span></th><th>What</th><th class="n">From</th><th class="n">To</th><th class="n">Missing</th></tr></thead><tbody>${rows}</tbody></table>`
  return html`<section class="panel" aria-label=${texts.outages}><header><h2>${texts.outages}</h2><span class="faint small">${texts.exactTo(age(stepMs, 1))}</span></header>
    ${shown.length === 0 ? html`<p class="in small faint">${texts.noOutage}</p>` : table}
    ${more > 0 ? html`<p class="foot small faint">${texts.moreOutages(more)}</p>` : null}</section>`
}
