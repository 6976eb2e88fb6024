/** The traffic of a port with everything one does to it: strip, log, filter, pause, and the console under it. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { copyText } from '#kit/web/copy.ts'
import { isFed } from '#kit/web/feed.ts'
import { focusOnce } from '#kit/web/field.ts'
import { html } from '#kit/web/html.ts'
import { icon } from '#kit/web/icon.ts'
import { useKeys } from '#kit/web/keys.ts'
import { say } from '#kit/web/lamp.ts'
import { lazy } from '#kit/web/lazy.ts'
import { aheadMs, daemonNow } from '#kit/web/now.ts'
import { count, many } from '#kit/web/numbers.ts'
import { segments } from '#kit/web/segments.ts'
import type { Port } from './api.ts'
import { busStrip } from './bus-strip.ts'
import { chosenHex, Log, walkLog } from './log-part.ts'
import { isAdmin } from './state.ts'
import type { Show, Traffic } from './traffic.ts'
import { bitsPerByte, nameOf } from './words.ts'

const CaptureRow = lazy(async () => (await import('./capture-row.ts')).CaptureRow)
/** Fetched for those who may send; the log does not wait for it. */
const Console = lazy(async () => (await import('./console.ts')).Console)

const SHOWS: [Show, string][] = [
  ['both', 'Both'],
  ['decoded', 'Decoded'],
  ['bytes', 'Bytes'],
]

/** What the panel is told. */
export interface TrafficPanelProps {
  port: Port
  traffic: Traffic
}

/** The panel. */
export function TrafficPanel({ port, traffic }: TrafficPanelProps): VNode {
  const [isFiltering, setFiltering] = useState(false)
  const [isCapturing, setCapturing] = useState(false)
  useTrafficKeys(port, traffic)
  const paused = traffic.pause.value
  const toMs = paused ? paused.atMs - aheadMs.value : daemonNow()
  const msPerByte = port.line ? (bitsPerByte(port.line) * 1000) / port.line.baud : 1
  const isModbus = port.protocol === 'modbus-rtu'
  const fullMs = isModbus ? Number(port.settings?.response_timeout_ms ?? 300) : 300
  return html`<section class="panel traffic" aria-label="Traffic">
    ${header(traffic, { isFiltering, setFiltering, isCapturing, setCapturing })}
    ${isCapturing ? html`<${CaptureRow} port=${port} close=${() => setCapturing(false)} />` : null}
    ${isFiltering || traffic.filter.value ? html`<${FilterRow} traffic=${traffic} close=${() => setFiltering(false)} />` : null}
    ${busStrip(traffic.frozen.value, Math.max(toMs, newestAt(traffic)), msPerByte, sidesOf(port))}
    ${traffic.frozen.value.length === 0 ? quiet(port) : shown(traffic, fullMs, !isModbus)}
    ${
      paused
        ? html`<div class="log-foot"><span><span role="status">Paused.</span> ${many(traffic.missed.value, 'event')} since.</span>
      <button class="btn quiet" type="button" onClick=${traffic.togglePause}>Go on</button></div>`
        : null
    }
    ${footer(port, isModbus)}
  </section>`
}

/** What one sends from; who may not, or cannot in this mode, reads why. */
function footer(port: Port, isModbus: boolean): VNode {
  const mode = isModbus ? String(port.settings?.mode ?? 'master') : ''
  const why =
    mode === 'listen'
      ? 'This line only listens: another master asks its units.'
      : mode === 'slave'
        ? 'This line is a unit: it answers its master and asks nothing.'
        : 'An administrator asks the line from here.'
  if (mode === 'listen' || mode === 'slave' || !isAdmin.value)
    return html`<footer><p class="small faint">${why}</p></footer>`
  return html`<footer><${Console} port=${port} key=${port.protocol} /></footer>`
}

/** Who speaks in the upper row of the strip, and who in the lower. */
function sidesOf({ protocol, settings }: Port): readonly [string, string] {
  if (protocol !== 'modbus-rtu') return ['sent', 'received']
  if (settings?.mode === 'slave') return ['master', 'gateway']
  return [settings?.mode === 'listen' ? 'master' : 'gateway', 'units']
}

/** Clocks differ by a little: the newest frame is never in the future. */
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
    ${segments({ label: 'Show', name: 'show', value: traffic.show.value, options: SHOWS, choose: (show) => choose(traffic, show) })}
    <div class="acts"><button class="btn quiet icon" type="button" aria-label="Filter" data-filter aria-expanded=${isFiltering}
        onClick=${() => setFiltering(true)}>${icon('search')}</button>
      <button class="btn quiet" type="button" disabled=${isCapturing} onClick=${() => setCapturing(true)}>Capture</button>
      <button class="btn quiet" type="button" aria-pressed=${traffic.errorsOnly.value} onClick=${toggleErrors}>Errors <kbd>e</kbd></button>
      <button class="btn hold" type="button" aria-pressed=${isPaused} onClick=${traffic.togglePause}>
        ${icon(isPaused ? 'play' : 'pause')}${isPaused ? 'Go on' : 'Pause'} <kbd>space</kbd></button></div></header>`
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
  const head = traffic.filter.value ? `No frame matches ${traffic.filter.value}` : 'No errors'
  const verb = hidden === 1 ? 'is' : 'are'
  return html`<div class="log-box">${say('off', head, `${count(hidden)} ${verb} hidden.`)}</div>`
}

function quiet(port: Port): VNode {
  const name = nameOf(port.path)
  const text =
    port.state === 'open'
      ? `Nothing was seen on ${name} yet. Whatever is received or sent appears here by itself.`
      : `${name} is not open, so nothing is read from it.`
  return html`<div class="log-box">${say('off', 'No frames', text)}</div>`
}

function useTrafficKeys(port: Port, traffic: Traffic): void {
  useKeys(nameOf(port.path), [
    { key: ' ', what: 'pauses the log, or goes on', run: () => traffic.togglePause() as undefined },
    { key: 'b', what: 'bytes, decoded or both', run: () => nextShow(traffic) },
    {
      key: 'e',
      what: 'errors only',
      run: () => {
        traffic.errorsOnly.value = !traffic.errorsOnly.value
        return undefined
      },
    },
    { key: 'ArrowUp', what: 'frame before', run: () => walkLog(-1) },
    { key: 'ArrowDown', what: 'next frame', run: () => walkLog(1) },
    { key: 'y', what: 'copies the bytes of the frame', run: copy },
    { key: 'c', what: 'console', run: () => focusConsole() },
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
  void copyText(hex, `${hex.split(' ').length} bytes copied.`)
  return true
}
