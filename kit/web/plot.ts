/**
 * Plots over time: traces, the band between earliest and latest, a limit, ticks for losses, and a crosshair that reads
 * all of them.
 */
import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { type Child, html } from './html.ts'
import { dateOf, fixed, timeOf } from './numbers.ts'
import { adoptStyle } from './style.ts'

// What uPlot needs of a style sheet, the newest value, and the marks of a legend: only who shows a plot loads them.
adoptStyle(`
.uplot-in { min-width: 0; overflow: hidden; font-size: .6875rem; }
.uplot { position: relative; }
.u-wrap { position: relative; user-select: none; }
.u-over, .u-under, .u-axis { position: absolute; }
.u-under { overflow: hidden; }
.u-over { box-shadow: inset 0 0 0 1px var(--line); border-radius: 2px; }
.uplot canvas { display: block; position: relative; width: 100%; height: 100%; }
.u-cursor-x { position: absolute; left: 0; top: 0; height: 100%; border-right: 1px solid var(--ink); pointer-events: none; }
.u-select, .u-off { display: none; }
.read-out { position: absolute; top: .375rem; left: calc(var(--x) + .5rem); display: grid; padding: .35rem .55rem; border: 1px solid var(--line); border-radius: var(--radius); background: var(--raised); box-shadow: var(--shadow); font-size: var(--t-label); line-height: 1.5; white-space: nowrap; pointer-events: none; z-index: 1; }
.read-out[data-side="left"] { left: auto; right: calc(100% - var(--x) + .5rem); }
.now { font-size: var(--t-lead); color: var(--ink); }
.legend { display: flex; flex-wrap: wrap; gap: var(--s1) var(--s4); font-size: var(--t-label); color: var(--ink-2); }
.legend span { display: inline-flex; align-items: center; gap: .4rem; }
.legend :where(i:not(.lamp)) { width: 1rem; border-top: 2px solid var(--trace-1); }
.legend .k-2 { border-top: 2px dashed var(--trace-2); }
.legend .k-3 { border-top: 2px dotted var(--trace-3); }
.legend .k-band { height: .6rem; border: 0; background: var(--trace-1); opacity: .25; }
.legend .k-limit { border-top: 1.5px dashed var(--ink-2); }
.legend .k-gap { height: .6rem; border: 0; background: var(--lamp-fault); opacity: .22; }
.legend .k-gap[data-s="off"] { background: var(--ink-3); }
.legend .k-tick { width: 2px; height: .6rem; border: 0; background: var(--lamp-fault); }
@media (forced-colors: active) { .uplot-in { forced-color-adjust: none; } }`)

/** One value at each instant; null if unknown. */
export type Points = readonly (number | null)[]

/** A line of the plot. */
export interface Trace {
  name: string
  points: Points
  /** Line style: traces also differ by dash. `read` has no line and is shown only by the crosshair. */
  kind: 'line' | 'dashed' | 'dotted' | 'read'
}

/** A time without a value, epoch ms: `fault` where something failed, `off` where nobody looked. */
export interface Gap {
  fromMs: number
  toMs: number
  lit: 'fault' | 'off'
  name: string
}

/** Contents of a plot. */
export interface PlotFacts {
  /** Description for screen readers. */
  label: string
  /** Epoch ms of the first point, and the interval between two. */
  fromMs: number
  stepMs: number
  /** Width from the left end to the newest point, however few there are. */
  spanMs: number
  traces: readonly Trace[]
  unit: string
  decimals: number
  /** The band, by the indexes of its traces. */
  band?: readonly [upper: number, lower: number]
  /** What the band spans; default: earliest to latest. */
  bandName?: string
  limit?: { name: string; value: number }
  /** Losses at each instant; above 0 a tick is drawn at the bottom. */
  lost?: { name: string; points: Points }
  /** Times without a value, shaded from top to bottom. Each has its word in the legend. */
  gaps?: readonly Gap[]
  /** The scale covers at least this range. */
  least: readonly [bottom: number, top: number]
  heightPx: number
  zone?: string | undefined
}

const DASHES: Readonly<Record<Trace['kind'], number[]>> = { line: [], dashed: [6, 2], dotted: [2, 2], read: [] }
const INK: readonly string[] = ['--trace-1', '--trace-2', '--trace-3']
const TICK_PX = 9
const DAY_MS = 86_400_000

/** The plot, with the page's font and colours. */
export function Plot(facts: PlotFacts): VNode {
  const ref = useRef<HTMLDivElement>(null)
  const latest = useRef(facts)
  latest.current = facts
  const drawn = useRef<uPlot | undefined>(undefined)
  const shape = `${facts.traces.map(({ name, kind }) => `${name} ${kind}`)} ${facts.heightPx} ${facts.zone}`
  useEffect(() => {
    const place = ref.current
    if (!place) return
    const made = new uPlot(optionsOf(place, latest), dataOf(latest.current), place)
    drawn.current = made
    const fit = (): void => made.setSize({ width: place.clientWidth, height: latest.current.heightPx })
    const resized = new ResizeObserver(fit)
    resized.observe(place)
    const dark = matchMedia('(prefers-color-scheme: dark)')
    const recolour = (): void => made.redraw(false, true)
    dark.addEventListener('change', recolour)
    return () => {
      resized.disconnect()
      dark.removeEventListener('change', recolour)
      made.destroy()
      drawn.current = undefined
    }
  }, [shape])
  useEffect(() => drawn.current?.setData(dataOf(facts)), [facts.fromMs, facts.traces, facts.limit?.value, facts.gaps])
  return html`<div class="uplot-in" role="img" aria-label=${facts.label} ref=${ref}></div>`
}

/** Legend of a plot's lines, bands and ticks. */
export function legend(
  { traces, band, bandName = 'earliest to latest', gaps = [], limit, lost }: PlotFacts,
  words?: Child,
): VNode {
  const kinds = [...new Map(gaps.map(({ lit, name }) => [name, lit]))]
  const lines = traces.filter(({ kind }, at) => kind !== 'read' && !band?.includes(at))
  return html`<div class="legend">${band ? html`<span><i class="k-band"></i>${bandName}</span>` : null}
    ${lines.map(({ name }, at) => html`<span key=${name}><i class=${`k-line k-${at + 1}`}></i>${name}</span>`)}
    ${limit ? html`<span><i class="k-limit"></i>${limit.name}</span>` : null}
    ${kinds.map(([name, lit]) => html`<span key=${name}><i class="k-gap" data-s=${lit}></i>${name}</span>`)}
    ${lost ? html`<span><i class="k-tick"></i>${lost.name}</span>` : null}${words}</div>`
}

function dataOf({ fromMs, stepMs, traces }: PlotFacts): uPlot.AlignedData {
  const length = traces[0]?.points.length ?? 0
  const xs = Array.from({ length }, (_, at) => (fromMs + at * stepMs) / 1000)
  return [xs, ...traces.map(({ points }) => [...points])]
}

/** The value of a CSS token at an element. */
function token(place: Element, name: string): string {
  return getComputedStyle(place).getPropertyValue(name).trim()
}

function optionsOf(place: HTMLElement, latest: { current: PlotFacts }): uPlot.Options {
  const { traces, band, heightPx, decimals } = latest.current
  const isLine = ({ kind }: Trace, at: number): boolean => kind !== 'read' && !band?.includes(at)
  const ink = (name: string) => (): string => token(place, name)
  const font = `11px ${getComputedStyle(place).fontFamily}`
  const axis: uPlot.Axis = {
    stroke: ink('--ink-3'),
    font,
    grid: { stroke: ink('--grid'), width: 1 },
    ticks: { show: false },
  }
  return {
    width: place.clientWidth,
    height: heightPx,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    padding: [8, 18, 0, 0],
    scales: {
      x: { time: true, range: () => timesOf(latest.current) },
      y: { range: (_plot, low, high) => rangeOf(latest.current, low, high) },
    },
    axes: [
      {
        ...axis,
        size: 22,
        gap: 4,
        space: 84,
        values: (_plot, splits) => splits.map((s) => splitText(s * 1000, latest.current)),
      },
      {
        ...axis,
        size: 46,
        gap: 6,
        space: 26,
        values: (_plot, splits) => splits.map((each) => fixed(each, decimalsOf(splits, decimals))),
      },
    ],
    series: [
      {},
      ...traces.map((trace, at) =>
        seriesOf(trace, isLine(trace, at), ink(INK[traces.slice(0, at).filter(isLine).length % INK.length] ?? '')),
      ),
    ],
    bands: band ? [{ series: [band[0] + 1, band[1] + 1], fill: () => faint(token(place, '--trace-1')) }] : [],
    hooks: {
      drawClear: [(plot) => drawGaps(plot, place, latest.current)],
      draw: [(plot) => drawLimit(plot, place, latest.current), (plot) => drawLost(plot, place, latest.current)],
      setCursor: [(plot) => readCursor(plot, latest.current)],
    },
  }
}

function seriesOf({ name, kind }: Trace, isLine: boolean, stroke: () => string): uPlot.Series {
  return { label: name, stroke, width: isLine ? 1.5 : 0, dash: DASHES[kind], points: { show: false } }
}

/** The trace's own colour, light enough to be under a line. Tokens are hexadecimal. */
function faint(colour: string): string {
  return `${colour}2e`
}

/** Both ends of the plot, epoch s. */
function timesOf({ fromMs, stepMs, spanMs, traces }: PlotFacts): [number, number] {
  const end = fromMs + Math.max(0, (traces[0]?.points.length ?? 0) - 1) * stepMs
  return [(end - spanMs) / 1000, end / 1000]
}

function rangeOf({ least, limit }: PlotFacts, low: number | null, high: number | null): [number, number] {
  const bottom = Math.min(least[0], low ?? least[0])
  const top = Math.max(least[1], high ?? least[1], limit ? limit.value * 1.15 : least[1])
  const air = (top - bottom) * 0.05
  return [bottom === 0 ? 0 : bottom - air, top + air]
}

/** Beyond a day the day is said too. */
function splitText(atMs: number, { spanMs, zone }: PlotFacts): string {
  const time = timeOf(atMs, zone, 'min')
  if (spanMs <= DAY_MS) return time
  const day = dateOf(atMs, zone).slice(5)
  return time === '00:00' ? day : `${day} ${time}`
}

/** As many decimals as the steps of the scale need, at most those of the quantity. */
function decimalsOf(splits: number[], most: number): number {
  return splits.every((each) => Number.isInteger(each)) ? 0 : most
}

function drawGaps({ ctx, bbox, valToPos }: uPlot, place: Element, { gaps = [] }: PlotFacts): void {
  ctx.save()
  for (const { fromMs, lit, toMs } of gaps) {
    const left = Math.max(bbox.left, valToPos(fromMs / 1000, 'x', true))
    const right = Math.min(bbox.left + bbox.width, valToPos(toMs / 1000, 'x', true))
    ctx.fillStyle = faint(token(place, lit === 'fault' ? '--lamp-fault' : '--ink-3'))
    if (right > left) ctx.fillRect(left, bbox.top, right - left, bbox.height)
  }
  ctx.restore()
}

function drawLimit({ ctx, bbox, valToPos }: uPlot, place: Element, { limit }: PlotFacts): void {
  if (!limit) return
  const y = Math.round(valToPos(limit.value, 'y', true))
  const dpr = devicePixelRatio
  ctx.save()
  ctx.strokeStyle = token(place, '--ink-2')
  ctx.lineWidth = 1.25 * dpr
  ctx.setLineDash([5 * dpr, 4 * dpr])
  ctx.beginPath()
  ctx.moveTo(bbox.left, y)
  ctx.lineTo(bbox.left + bbox.width, y)
  ctx.stroke()
  ctx.fillStyle = token(place, '--ink-2')
  ctx.font = `${11 * dpr}px ${getComputedStyle(place).fontFamily}`
  ctx.textAlign = 'left'
  ctx.textBaseline = 'bottom'
  ctx.fillText(limit.name, bbox.left + 8 * dpr, y - 3 * dpr)
  ctx.restore()
}

function drawLost({ ctx, bbox, data, valToPos }: uPlot, place: Element, { lost }: PlotFacts): void {
  if (!lost) return
  ctx.save()
  ctx.fillStyle = token(place, '--lamp-fault')
  const height = TICK_PX * devicePixelRatio
  lost.points.forEach((count, at) => {
    const second = data[0][at]
    if (!count || second === undefined) return
    ctx.fillRect(Math.round(valToPos(second, 'x', true)), bbox.top + bbox.height - height, 2 * devicePixelRatio, height)
  })
  ctx.restore()
}

/** Shows beside the crosshair the value of every trace at its instant. */
function readCursor(plot: uPlot, facts: PlotFacts): void {
  const { idx, left = -1 } = plot.cursor
  let words = plot.over.querySelector<HTMLElement>('.read-out')
  if (idx === null || idx === undefined || left < 0) {
    words?.remove()
    return
  }
  if (!words) {
    words = document.createElement('div')
    words.className = 'read-out'
    plot.over.append(words)
  }
  words.replaceChildren(...linesAt(facts, idx).map((line, at) => wordOf(line, at === 0)))
  words.dataset.side = left > plot.over.clientWidth / 2 ? 'left' : 'right'
  words.style.setProperty('--x', `${left}px`)
}

/** The crosshair's text, line by line: the time, then each trace, then losses. */
export function linesAt(
  { fromMs, stepMs, spanMs, traces, unit, decimals, lost, zone }: PlotFacts,
  at: number,
): string[] {
  const atMs = fromMs + at * stepMs
  const day = spanMs > DAY_MS ? `${dateOf(atMs, zone)} ` : ''
  const lines = traces.map(({ name, points }) => `${name} ${fixed(points[at], decimals)} ${unit}`)
  const missed = lost ? [`${lost.name} ${fixed(lost.points[at], 0)}`] : []
  return [`${day}${timeOf(atMs, zone)}`, ...lines, ...missed]
}

function wordOf(line: string, isHead: boolean): HTMLElement {
  const element = document.createElement(isHead ? 'b' : 'span')
  element.textContent = line
  return element
}
