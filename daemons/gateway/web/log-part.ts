/** The log of a port: a line a frame, newest last; it follows the newest until somebody looks further up. */
import type { VNode } from 'preact'
import { Component } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { html } from '#kit/web/html.ts'
import { type Lit, lamp } from '#kit/web/lamp.ts'
import { zone } from '#kit/web/now.ts'
import { count, msText, timeOf } from '#kit/web/numbers.ts'
import type { Row } from './frame-row.ts'
import type { Show } from './traffic.ts'

/** How near the end counts as looking at the newest, px. */
const NEAR_END = 24

/** What the log shows. */
export interface LogProps {
  rows: readonly Row[]
  show: Show
  /** A reply time that fills its bar, ms. */
  fullMs: number
  isPaused: boolean
  /** Frames name no unit: raw bytes. */
  isRaw: boolean
}

interface LineProps {
  row: Row
  show: Show
  fullMs: number
  zone: string | undefined
}

/** One line; drawn once, because what happened does not change. */
class Line extends Component<LineProps> {
  override shouldComponentUpdate(next: LineProps): boolean {
    const { row, show, fullMs } = this.props
    return next.row !== row || next.show !== show || next.fullMs !== fullMs || next.zone !== this.props.zone
  }

  render({ row, show, fullMs, zone: site }: LineProps): VNode {
    const isAsk = row.kind === 'ask'
    const arrow = row.direction === 'tx' ? '→' : row.direction === 'rx' ? '←' : ''
    const spoken = row.direction === 'tx' ? 'sent' : row.direction === 'rx' ? 'received' : ''
    const took = row.tookMs === null ? 0 : Math.min(100, (row.tookMs / fullMs) * 100)
    const isBytes = show === 'bytes' && row.hex !== ''
    return html`<li class=${isAsk ? 'ask' : row.hex === '' ? 'note' : ''} data-s=${rowLit(row)} tabindex="-1" data-hex=${row.hex}>
      <span class="at">${timeOf(row.at, site, 'ms')}</span>
      <span class="dir"><span aria-hidden="true">${arrow}</span><span class="sr">${spoken}</span></span>
      <span class="who">${row.unit ?? ''}</span>
      ${isBytes ? html`<span class="what hex">${row.hex}</span>` : words(row)}
      ${show === 'both' ? html`<span class="hex">${row.hex}</span>` : null}
      ${row.tookMs === null ? html`<span></span>` : html`<span class="ms" style=${{ '--took': `${took}%` }}>${`${msText(row.tookMs)}\u202fms`}</span>`}
    </li>`
  }
}

/** Only what is wrong tints its line. */
function rowLit({ lit }: Row): Lit | undefined {
  return lit === 'warn' || lit === 'fault' ? lit : undefined
}

function words(row: Row): VNode {
  return html`<span class="what">${row.lit ? lamp(row.lit, true) : null}${row.value ? html`<b>${row.value}</b>${' '}` : null}${row.what}</span>`
}

/** The log. */
export function Log({ rows, show, fullMs, isPaused, isRaw }: LogProps): VNode {
  const box = useRef<HTMLDivElement>(null)
  const isFollowing = useRef(true)
  const [seen, setSeen] = useState<number | null>(null)
  const last = rows.at(-1)?.serial ?? null

  useEffect(() => {
    const element = box.current
    if (element && isFollowing.current && !isPaused) element.scrollTop = element.scrollHeight
  }, [last, rows.length, show, isPaused])

  function onScroll(): void {
    const element = box.current
    if (!element) return
    const isEnd = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END
    if (isEnd === isFollowing.current) return
    isFollowing.current = isEnd
    setSeen(isEnd ? null : last)
  }

  function toEnd(): void {
    isFollowing.current = true
    setSeen(null)
    if (box.current) box.current.scrollTop = box.current.scrollHeight
  }

  const newer = seen === null ? 0 : rows.length - 1 - rows.findIndex((row) => row.serial === seen)
  return html`<div class="log-box" ref=${box} onScroll=${onScroll} tabindex="0" role="region" aria-label="Frames, newest last">
      <ol class=${`log show-${show}${isRaw ? ' raw' : ''}`}>${rows.map(
        (row) => html`<${Line} key=${row.serial} row=${row} show=${show} fullMs=${fullMs} zone=${zone.value} />`,
      )}</ol></div>
    ${
      seen === null || isPaused
        ? null
        : html`<div class="log-foot"><span>${count(newer)} newer below</span>
          <button class="btn quiet" type="button" onClick=${toEnd}>Show newest</button></div>`
    }`
}

/** Moves the focus from line to line. */
export function walkLog(step: number): boolean {
  const lines = [...document.querySelectorAll<HTMLElement>('.log > li')]
  if (lines.length === 0) return false
  const at = lines.indexOf(document.activeElement as HTMLElement)
  const next = lines[at < 0 ? lines.length - 1 : Math.min(lines.length - 1, Math.max(0, at + step))]
  next?.focus()
  return true
}

/** Bytes of the line that has the focus; null without one. */
export function chosenHex(): string | null {
  const line = document.activeElement
  return line instanceof HTMLElement && line.matches('.log > li') ? (line.dataset.hex ?? null) : null
}
