/** A line of time that shows what is recorded: pressed or dragged to go to a moment. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { html } from '#kit/web/html.ts'
import { timeOf } from '#kit/web/numbers.ts'
import { adoptStyle } from '#kit/web/style.ts'
import type { Stretch } from './api.ts'
import { marksOf, type SeenBar, ticksOf } from './timeline.ts'

interface StripFacts {
  label: string
  span: Stretch
  stretches: readonly Stretch[]
  /** How much was seen. */
  bars: readonly SeenBar[]
  /** The moment that is shown. */
  atMs: number
  /** What is said of it: whether something is recorded there. */
  words: string
  /** Distance of the ticks. */
  tickMs: number
  zone: string | undefined
  go: (atMs: number) => void
}

adoptStyle(`
.strip{display:grid;gap:.15rem;padding:var(--s2) var(--s4) var(--s3);touch-action:none;user-select:none;cursor:pointer}
.strip>.bar-of-time{position:relative;height:2.5rem;border-radius:var(--radius);background:var(--sunken);overflow:clip;box-shadow:inset 0 0 0 1px var(--edge)}
.strip b{position:absolute;inset-block:0;background:var(--lamp-ok)}
.strip s{position:absolute;bottom:0;background:var(--ink);opacity:.4}
.strip s.named{opacity:1}
.strip u{position:absolute;inset-block:0;width:2px;margin-left:-1px;background:var(--ink);box-shadow:0 0 0 1px var(--panel)}
.strip i.ghost{position:absolute;inset-block:0;width:0;border-left:2px dashed var(--accent)}
.strip>.hours{position:relative;height:1.2rem;font-size:var(--t-label);color:var(--ink-3)}
.strip>.hours>span{position:absolute;white-space:nowrap;padding-left:.2rem;border-left:1px solid var(--line)}
@container app (max-width: 44rem){.strip>.bar-of-time{height:3rem}.strip>.hours>span:nth-child(even){display:none}}
@media (forced-colors: active){.strip b{background:Highlight;forced-color-adjust:none}}
`)

/** The line. */
export function Strip({ label, span, stretches, bars, atMs, words, tickMs, zone, go }: StripFacts): VNode {
  const [ghostAt, setGhost] = useState<number | null>(null)
  const percent = (ms: number) => ((ms - span.start) * 100) / (span.end - span.start)
  function momentOf(event: PointerEvent): number {
    const { left, width } = (event.currentTarget as HTMLElement).getBoundingClientRect()
    const inset = Number.parseFloat(getComputedStyle(event.currentTarget as HTMLElement).paddingLeft)
    const part = (event.clientX - left - inset) / (width - 2 * inset)
    return span.start + Math.min(0.9999, Math.max(0, part)) * (span.end - span.start)
  }
  function press(event: PointerEvent): void {
    ;(event.currentTarget as HTMLElement).setPointerCapture(event.pointerId)
    setGhost(momentOf(event))
  }
  function release(event: PointerEvent): void {
    if (ghostAt !== null) go(momentOf(event))
    setGhost(null)
  }
  const ghost = ghostAt === null ? null : html`<i class="ghost" style=${{ left: `${percent(ghostAt)}%` }}></i>`
  const isInside = atMs >= span.start && atMs < span.end
  return html`<div class="strip" role="slider" tabindex="0" aria-label=${label} aria-valuemin=${0} aria-valuemax=${100}
      aria-valuenow=${Math.round(Math.min(100, Math.max(0, percent(atMs))))} aria-valuetext=${words}
      onPointerDown=${press} onPointerMove=${(event: PointerEvent) => ghostAt !== null && setGhost(momentOf(event))}
      onPointerUp=${release} onPointerCancel=${() => setGhost(null)}>
    <div class="bar-of-time">${marksOf(stretches, span).map(({ left, width }) => html`<b style=${{ left: `${left}%`, width: `${width}%` }}></b>`)}
      ${bars.map((bar) => html`${barOf(bar, bar.all, '')}${bar.named > 0 ? barOf(bar, bar.named, 'named') : null}`)}
      ${isInside ? html`<u style=${{ left: `${percent(atMs)}%` }}></u>` : null}${ghost}</div>
    <div class="hours" aria-hidden="true">${ghostAt === null ? ticksOf(span, tickMs, zone).map(({ left, label: text }) => html`<span style=${{ left: `${left}%` }}>${text}</span>`) : html`<b class="small" style="position:static;background:none">${timeOf(ghostAt, zone)}</b>`}</div>
  </div>`
}

function barOf({ left, width }: SeenBar, height: number, which: string): VNode {
  return html`<s class=${which} style=${{ left: `${left}%`, width: `${width}%`, height: `${height * 100}%` }}></s>`
}
