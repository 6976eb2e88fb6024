/** The traffic panel of a port: bus strip, log, filter, pause. */
import { Component, type VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { aheadMs, daemonNow, zone } from '#kit/web/contact.ts'
import { copyText } from '#kit/web/copy-and-save.ts'
import { segments } from '#kit/web/figures.ts'
import { focusOnce } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { lazy } from '#kit/web/lazy.ts'
import { count, many, msText, timeOf } from '#kit/web/numbers.ts'
import { icon, type Lit, lamp, say } from '#kit/web/parts.ts'
import { isFed } from '#kit/web/socket.ts'
import { adoptStyle } from '#kit/web/style.ts'
import type { Port } from './api.ts'
import { type Slot, slotsOf } from './port-verdict.ts'
import { isAdmin } from './state.ts'
import * as texts from './texts.ts'
import type { Row, Show, Traffic } from './traffic.ts'
import { bitsPerByte, isOfUnits, shortPath } from './words.ts'

// Its style comes with it: pages without traffic do not carry it.
adoptStyle(`
.strip { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: .25rem .75rem; padding: var(--s3) var(--s4) .5rem; background: var(--sunken); border-bottom: 1px solid var(--line); font-size: .6875rem; color: var(--ink-3); }
.strip .who { display: grid; grid-template-rows: 1fr 1fr; align-items: center; height: 2.75rem; }
.strip svg { display: block; width: 100%; height: 2.75rem; }
.strip .ask { fill: var(--trace-1); }
.strip .answer { fill: var(--lamp-ok); }
.strip .wait { fill: var(--lamp-fault); fill-opacity: .22; }
.strip .miss { fill: var(--lamp-fault); }
.strip .late { fill: var(--lamp-warn); }
.strip .g { stroke: var(--line); }
.strip .x { grid-column: 2; display: flex; justify-content: space-between; }
.log { font-size: var(--t-small); line-height: 1.35; }
.log li { position: relative; display: grid; grid-template-columns: 5.7rem .9rem 1.25rem minmax(0, 1fr) minmax(0, 11.9rem) 3.4rem; gap: 0 .55rem; align-items: center; min-height: 1.625rem; padding: 0 var(--s4); }
.log li.ask { border-top: 1px solid var(--grid); }
.log li > * { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.log .at, .log .hex, .log .dir { font-family: var(--mono); font-size: .75rem; color: var(--ink-3); }
.log .hex { color: var(--ink-2); }
.log .dir { color: var(--lamp-ok); font-size: .875rem; line-height: 1; }
.log .ask .dir { color: var(--trace-1); }
.log .who { font-weight: 600; text-align: right; }
.log .ms { padding-bottom: 3px; text-align: right; font-size: var(--t-label); color: var(--ink-2);
  background: linear-gradient(var(--lamp, var(--lamp-ok)) 0 0) left bottom 1px / var(--took) 2px no-repeat, linear-gradient(var(--line) 0 0) left bottom 1px / 100% 2px no-repeat; }
.log li[data-s="warn"], .log li[data-s="fault"] { background: var(--soft); }
.log li[data-s="warn"] .what, .log li[data-s="fault"] .what { color: var(--c); font-weight: 500; }
.log .what .lamp { width: .6rem; height: .6rem; margin-right: .35rem; }
.log li:hover { background: var(--sunken); }
.log-foot { display: flex; align-items: center; justify-content: space-between; gap: var(--s3); padding: .4rem var(--s4); background: var(--accent-soft); font-size: var(--t-small); }
.log-box { height: clamp(14rem, calc(100dvh - 32rem), 48rem); overflow: auto; overscroll-behavior: contain; scrollbar-gutter: stable; }
.log-box:focus-visible { outline-offset: -2px; }
.log li:focus { outline: 2px solid var(--accent); outline-offset: -2px; background: var(--accent-soft); }
.log .what.hex { font-size: .75rem; }
.log.show-decoded li, .log.show-bytes li { grid-template-columns: 5.7rem .9rem 1.25rem minmax(0, 1fr) 3.4rem; }
.log li.note { grid-template-columns: 5.7rem .9rem 1.25rem minmax(0, 1fr); padding-block: .15rem; }
.log li.note .what { white-space: normal; overflow-wrap: anywhere; }
.log li.note > .what ~ * { display: none; }
.log.raw .who, .log.raw .ms, .log.raw li > span:empty { display: none; }
.log.raw li { grid-template-columns: 5.7rem .9rem minmax(0, 1fr) minmax(0, 1.4fr); }
.log.raw:not(.show-both) li, .log.raw li.note { grid-template-columns: 5.7rem .9rem minmax(0, 1fr); }
.log.raw li.note .dir { display: block; }
.filter { display: flex; align-items: center; gap: var(--s2); padding: var(--s2) var(--s4); border-bottom: 1px solid var(--line); }
.filter .input { flex: 1; max-width: 26rem; }
.traffic > header .acts { align-items: center; }
.traffic .hold { min-width: 8.2rem; }
.traffic footer { display: grid; gap: var(--s2); }
.capture { display: grid; grid-template-columns: minmax(0, 1fr); gap: var(--s1); padding: var(--s2) var(--s4); border-bottom: 1px solid var(--line); background: var(--accent-soft); font-size: var(--t-small); }
.capture-now { display: flex; flex-wrap: wrap; align-items: center; gap: var(--s2); }
@media (forced-colors: active) { .strip svg { forced-color-adjust: none; } }
@container app (max-width: 44rem) {
  .log li { grid-template-columns: 1rem 1.4rem minmax(0, 1fr) 3.6rem; min-height: 2.75rem; padding: .35rem var(--s4); }
  .log .at { display: none; }
  .log .what { white-space: normal; }
  .log .hex { grid-column: 3 / 5; grid-row: 2; }
  .log .hex:empty { display: none; }
  .log-box { height: 55dvh; }
  .capture-now .btn:not(.icon) { flex: 1; }
  .log.log li.note { grid-template-columns: 1rem 1.4rem minmax(0, 1fr); }
  .log.log li:not(.note) { grid-template-columns: 1rem 1.4rem minmax(0, 1fr) 3.6rem; }
  .log .what.hex { grid-column: auto; grid-row: auto; white-space: normal; }
  .log.log.raw li, .log.log.raw li.note { grid-template-columns: 1rem minmax(0, 1fr); }
  .log.raw .hex { grid-column: 2; }
  .traffic .hold { min-width: 0; }
}`)

// The bus strip: who occupied the line in the last three seconds.

/** The time span of the strip. */
export const STRIP_MS = 3000

/** The strip of a line up to `toMs`, epoch ms by the gateway's clock. */
export function busStrip(
  rows: readonly Row[],
  toMs: number,
  msPerByte: number,
  names: readonly [string, string],
): VNode {
  const slots = slotsOf(rows, { toMs, spanMs: STRIP_MS, msPerByte })
  return html`<div class="strip"><div class="who"><span>${names[0]}</span><span>${names[1]}</span></div>
    <svg viewBox="0 0 1000 44" preserveAspectRatio="none" role="img" aria-label=${spoken(slots)}>
      <path class="g" d="M0 22H1000" />${slots.map(slotShape)}</svg>
    <div class="x" aria-hidden="true"><span>3 s ago</span><span>2 s</span><span>1 s</span><span>now</span></div></div>`
}

function slotShape({ kind, x, width }: Slot): VNode {
  if (kind === 'miss') return html`<rect class="miss" x=${x} y="22" width=${width} height="22" />`
  const y = kind === 'ask' ? 3 : 25
  const name = kind === 'noise' ? 'late' : kind
  return html`<rect class=${name} x=${x} y=${y} width=${width} height="16" rx=${kind === 'wait' ? 0 : 0.6} />`
}

function spoken(slots: readonly Slot[]): string {
  const number = (kind: Slot['kind']): number => slots.filter((slot) => slot.kind === kind).length
  const parts = [texts.sentReceived(number('ask'), number('answer'))]
  if (number('miss') > 0) parts.push(texts.repliesMissing(number('miss')))
  if (number('late') > 0) parts.push(texts.someLate(number('late')))
  return texts.lastThreeSecondsOnLine(parts.join(', '))
}

// The log of a port: a line per frame, newest last. It follows the newest until somebody scrolls up.

/** So near to the end the log still follows the newest line, px. */
const NEAR_END = 24

/** What the log shows, and how. */
export interface LogProps {
  rows: readonly Row[]
  show: Show
  /** The reply time at which a bar is full, ms. */
  fullMs: number
  isPaused: boolean
  /** Raw bytes, whose frames name no unit. */
  isRaw: boolean
}

interface LineProps {
  row: Row
  show: Show
  fullMs: number
  zone: string | undefined
}

/** One line of the log. Drawn only once, because the past does not change. */
class Line extends Component<LineProps> {
  override shouldComponentUpdate(next: LineProps): boolean {
    const { row, show, fullMs } = this.props
    return next.row !== row || next.show !== show || next.fullMs !== fullMs || next.zone !== this.props.zone
  }

  render({ row, show, fullMs, zone: site }: LineProps): VNode {
    const isAsk = row.kind === 'ask'
    const arrow = row.direction === 'tx' ? '→' : row.direction === 'rx' ? '←' : ''
    const spoken = row.direction === 'tx' ? texts.sideSent : row.direction === 'rx' ? texts.sideReceived : ''
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

/** Only lines with something wrong are tinted. */
function rowLit({ lit }: Row): Lit | undefined {
  return lit === 'warn' || lit === 'fault' ? lit : undefined
}

function words(row: Row): VNode {
  return html`<span class="what">${row.lit ? lamp(row.lit, true) : null}${row.value ? html`<b>${row.value}</b>${' '}` : null}${row.what}</span>`
}

/** The log of a port. */
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

/** Moves the focus by so many lines. */
export function walkLog(step: number): boolean {
  const lines = [...document.querySelectorAll<HTMLElement>('.log > li')]
  if (lines.length === 0) return false
  const at = lines.indexOf(document.activeElement as HTMLElement)
  const next = lines[at < 0 ? lines.length - 1 : Math.min(lines.length - 1, Math.max(0, at + step))]
  next?.focus()
  return true
}

/** The bytes of the focused line; null if none has the focus. */
export function chosenHex(): string | null {
  const line = document.activeElement
  return line instanceof HTMLElement && line.matches('.log > li') ? (line.dataset.hex ?? null) : null
}

const CaptureRow = lazy(async () => (await import('./console.ts')).CaptureRow)
/** Loaded only for users who may send; the log does not wait for it. */
const Console = lazy(async () => (await import('./console.ts')).Console)

const SHOWS: [Show, string][] = [
  ['both', texts.both],
  ['decoded', texts.decoded],
  ['bytes', texts.bytes],
]

/** Props of the traffic panel. */
export interface TrafficPanelProps {
  port: Port
  traffic: Traffic
}

/** The traffic panel. */
export function TrafficPanel({ port, traffic }: TrafficPanelProps): VNode {
  const [isFiltering, setFiltering] = useState(false)
  const [isCapturing, setCapturing] = useState(false)
  useTrafficKeys(port, traffic)
  const paused = traffic.pause.value
  const toMs = paused ? paused.atMs - aheadMs.value : daemonNow()
  const msPerByte = port.line ? (bitsPerByte(port.line) * 1000) / port.line.baud : 1
  const hasUnits = isOfUnits(port)
  const fullMs = hasUnits ? Number(port.settings?.response_timeout_ms ?? 300) : 300
  return html`<section class="panel traffic" aria-label="Traffic">
    ${header(traffic, { isFiltering, setFiltering, isCapturing, setCapturing })}
    ${isCapturing ? html`<${CaptureRow} port=${port} close=${() => setCapturing(false)} />` : null}
    ${isFiltering || traffic.filter.value ? html`<${FilterRow} traffic=${traffic} close=${() => setFiltering(false)} />` : null}
    ${busStrip(traffic.frozen.value, Math.max(toMs, newestAt(traffic)), msPerByte, sidesOf(port))}
    ${traffic.frozen.value.length === 0 ? quiet(port) : shown(traffic, fullMs, !hasUnits)}
    ${
      paused
        ? html`<div class="log-foot"><span><span role="status">Paused.</span> ${many(traffic.missed.value, 'event')} since.</span>
      <button class="btn quiet" type="button" onClick=${traffic.togglePause}>Go on</button></div>`
        : null
    }
    ${footer(port)}
  </section>`
}

/** The console; or why there is none: this user may not send, or this mode cannot. */
function footer(port: Port): VNode {
  const mode = String(port.settings?.mode ?? '')
  const why =
    mode === 'listen' ? texts.lineOnlyListens : mode === 'slave' ? texts.lineIsAUnit : texts.administratorsSendHere
  if (mode === 'listen' || mode === 'slave' || !isAdmin.value)
    return html`<footer><p class="small faint">${why}</p></footer>`
  return html`<footer><${Console} port=${port} key=${port.protocol} /></footer>`
}

/** Who is in the upper row of the strip, and who in the lower. */
function sidesOf(port: Port): readonly [string, string] {
  const { settings } = port
  if (!isOfUnits(port)) return [texts.sideSent, texts.sideReceived]
  if (settings?.mode === 'slave') return [texts.sideMaster, texts.sideGateway]
  return [settings?.mode === 'listen' ? texts.sideMaster : texts.sideGateway, texts.sideUnits]
}

/** The time of the newest frame: the clocks differ a little, but no frame is in the future. */
function newestAt(traffic: Traffic): number {
  return traffic.frozen.value.at(-1)?.at ?? 0
}

interface HeaderFacts {
  isFiltering: boolean
  setFiltering: (is: boolean) => void
  isCapturing: boolean
  setCapturing: (is: boolean) => void
}

function header(traffic: Traffic, facts: HeaderFacts): VNode {
  const { isFiltering, setFiltering, isCapturing, setCapturing } = facts
  const isPaused = traffic.pause.value !== null
  const toggleErrors = (): void => {
    traffic.errorsOnly.value = !traffic.errorsOnly.value
  }
  return html`<header><h2>Traffic</h2>
    ${isFed.value ? null : html`<span class="faint">live feed is being opened</span>`}
    ${segments({ label: texts.show, name: 'show', value: traffic.show.value, options: SHOWS, choose: (show) => choose(traffic, show) })}
    <div class="acts"><button class="btn quiet icon" type="button" aria-label="Filter" data-filter aria-expanded=${isFiltering}
        onClick=${() => setFiltering(true)}>${icon('search')}</button>
      <button class="btn quiet" type="button" disabled=${isCapturing} onClick=${() => setCapturing(true)}>Capture</button>
      <button class="btn quiet" type="button" aria-pressed=${traffic.errorsOnly.value} onClick=${toggleErrors}>Errors <kbd>e</kbd></button>
      <button class="btn hold" type="button" aria-pressed=${isPaused} onClick=${traffic.togglePause}>
        ${icon(isPaused ? 'play' : 'pause')}${isPaused ? texts.goOn : texts.pause} <kbd>space</kbd></button></div></header>`
}

function choose(traffic: Traffic, show: string): void {
  traffic.show.value = show as Show
}

function FilterRow({ traffic, close }: { traffic: Traffic; close: () => void }): VNode {
  function clear(): void {
    traffic.filter.value = ''
    close()
    document.querySelector<HTMLElement>('[data-filter]')?.focus()
  }
  function onKey(event: KeyboardEvent): void {
    if (event.key !== 'Escape') return
    event.stopPropagation()
    clear()
  }
  function onInput(event: InputEvent): void {
    traffic.filter.value = (event.target as HTMLInputElement).value
  }
  return html`<div class="filter"><div class="input">${icon('search')}<input type="text" autofocus aria-label="Filter frames"
      placeholder="unit 17, 01 04, late" value=${traffic.filter.value} onInput=${onInput} onKeyDown=${onKey}
      ref=${focusOnce} autocomplete="off" spellcheck=${false} /></div>
    <button class="btn quiet icon" type="button" aria-label="Show all frames" onClick=${clear}>${icon('close')}</button></div>`
}

function shown(traffic: Traffic, fullMs: number, isRaw: boolean): VNode {
  const rows = traffic.shown.value
  if (rows.length > 0)
    return html`<${Log} rows=${rows} show=${traffic.show.value} fullMs=${fullMs} isPaused=${traffic.pause.value !== null} isRaw=${isRaw} />`
  const hidden = traffic.frozen.value.length
  const head = traffic.filter.value ? texts.noFrameMatches(traffic.filter.value) : texts.noErrors
  return html`<div class="log-box">${say('off', head, texts.hidden(hidden))}</div>`
}

function quiet(port: Port): VNode {
  const name = shortPath(port.path)
  const text = port.state === 'open' ? texts.nothingSeenYet(name) : texts.isNotOpen(name)
  return html`<div class="log-box">${say('off', texts.noFrames, text)}</div>`
}

function useTrafficKeys(port: Port, traffic: Traffic): void {
  useKeys(shortPath(port.path), [
    { key: ' ', what: texts.pausesLog, run: () => traffic.togglePause() as undefined },
    { key: 'b', what: texts.bytesDecodedOrBoth, run: () => nextShow(traffic) },
    {
      key: 'e',
      what: texts.errorsOnly,
      run: () => {
        traffic.errorsOnly.value = !traffic.errorsOnly.value
        return undefined
      },
    },
    { key: 'ArrowUp', what: texts.frameBefore, run: () => walkLog(-1) },
    { key: 'ArrowDown', what: texts.nextFrame, run: () => walkLog(1) },
    { key: 'y', what: texts.copiesBytesOfFrame, run: copy },
    { key: 'c', what: texts.console, run: () => focusConsole() },
  ])
}

function nextShow(traffic: Traffic): undefined {
  const at = SHOWS.findIndex(([show]) => show === traffic.show.value)
  traffic.show.value = SHOWS[(at + 1) % SHOWS.length]?.[0] ?? 'both'
}

function focusConsole(): boolean {
  const first = document.querySelector<HTMLElement>('.console input, .console textarea')
  first?.focus()
  return first !== null
}

function copy(): boolean {
  const hex = chosenHex()
  if (hex === null || hex === '') return false
  void copyText(hex, texts.bytesCopied(hex.split(' ').length))
  return true
}
