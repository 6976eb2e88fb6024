/** The crosspoints: encoders across, decoders down. Drawn so that fifty by fifty move under a thumb. */
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { html } from '#kit/web/html.ts'
import { icon } from '#kit/web/icon.ts'
import { type Lit, lamp } from '#kit/web/lamp.ts'
import { fixed, UNKNOWN } from '#kit/web/numbers.ts'
import type { Column, Row } from './routing.ts'
import { pending } from './routing-calls.ts'

/** What the grid shows. */
export interface GridFacts {
  rows: readonly Row[]
  columns: readonly Column[]
  /** As crosspoints also where it is narrow. */
  isGrid: boolean
  /** The crosspoint whose popover is open. */
  open: { row: string; column: string | null } | null
  /** Something in it was pressed. */
  press: (what: 'pin' | 'name' | 'mute', row: string, column: string | null) => void
  onKeyDown: (event: KeyboardEvent) => void
}

/** Rows as they were drawn last: what did not change is not drawn again, and not even compared. */
interface Drawn {
  facts: string
  node: VNode
}

/** The table. */
export function Grid({ rows, columns, isGrid, open, press, onKeyDown }: GridFacts): VNode {
  const drawn = useRef(new Map<string, Drawn>())
  const shape = columns.map(({ key, name, isGone }) => `${key} ${name} ${isGone}`).join('\n')
  const kept = new Map<string, Drawn>()
  function node(key: string, facts: string, draw: () => VNode): VNode {
    const before = drawn.current.get(key)
    const now = before?.facts === facts ? before : { facts, node: draw() }
    kept.set(key, now)
    return now.node
  }
  const body = rows.map((row) => {
    const to = pending.value.get(row.key)
    const column = to ?? row.column
    const lit: Lit = to === undefined ? row.lit : 'busy'
    const isOpen = open?.row === row.key ? (open.column ?? 'name') : ''
    const pins = node(
      `${row.key} pins`,
      [shape, row.name, column, lit, row.sound?.lossPercent, isOpen].join('\n'),
      () =>
        html`<${Pins} row=${row} columns=${columns} at=${column} lit=${lit} open=${open?.row === row.key ? open.column : null} />`,
    )
    return html`<tr key=${row.key} data-row=${row.key} data-s=${lit} class=${row.isGone ? 'far' : undefined}>
      <th scope="row"><button class="row-name" type="button" data-press="name" tabindex="-1" aria-haspopup="dialog">${lamp(lit, WORDS[lit])}<span>${row.name}<span class="why">${whyText(row)}</span></span></button></th>
      ${pins}<td class="out-in">${out(row)}</td></tr>`
  })
  const head = node(
    'head',
    `${shape}\n${columns.map(({ rmsDb, isTold }) => `${rmsDb} ${isTold}`).join()}`,
    () =>
      html`<thead><tr><th class="corner">Decoders down,<br />encoders across</th>${columns.map(heading)}<th class="out-h">Level and volume</th></tr></thead>`,
  )
  drawn.current = kept
  return html`<div class=${isGrid ? 'scroll routing-scroll as-grid' : 'scroll routing-scroll'} tabindex="-1"><table class=${isGrid ? 'matrix grid' : 'matrix'} onKeyDown=${onKeyDown}
      onClick=${(event: Event) => follow(event, press)} onMouseOver=${light} onFocusIn=${light} onMouseLeave=${dim}>
    ${head}<tbody>${body}</tbody></table></div>`
}

/** Lamps of decoders in words. */
const WORDS: Readonly<Record<Lit, string>> = {
  ok: 'playing',
  busy: 'changing',
  warn: 'needs a look',
  fault: 'silent',
  off: 'nothing to hear',
  mute: 'muted',
  gone: 'not reachable',
}

/** `Stage mix, follows another clock` */
function whyText({ source, why, lit }: Row): VNode | string {
  if (lit === 'ok' || source === '') return why
  return html`${source}, <b>${why}</b>`
}

function heading({ key, name, rmsDb, isTold, isGone }: Column): VNode {
  const level = isTold
    ? html`<div class="meter thin" style=${levelOf(rmsDb)}></div>`
    : html`<div class="no-level"></div>`
  return html`<th scope="col" class=${isGone ? 'pin far' : 'pin'} key=${key}><div class="enc" title=${isGone ? `${name}, not reachable` : name}><span>${name}</span>${level}</div></th>`
}

function levelOf(rmsDb: number | null): Record<string, string> {
  return { '--rms': Math.min(0, Math.max(-60, rmsDb ?? -60)).toFixed(0), '--peak': '-60' }
}

interface PinsFacts {
  row: Row
  columns: readonly Column[]
  at: string | null
  lit: Lit
  open: string | null
}

function Pins({ row, columns, at, lit, open }: PinsFacts): VNode[] {
  return columns.map(({ key, name }) => {
    if (key !== at)
      return html`<td class="pin" key=${key}><button type="button" tabindex="-1" data-press="pin" data-column=${key} aria-label=${`${name} to ${row.name}`}></button></td>`
    const loss = Math.min(100, (row.sound?.lossPercent ?? 0) * 100)
    const shown =
      lit === 'warn' && loss > 0
        ? html`<span class="ring losing" style=${{ '--loss': loss.toFixed(0) }}>${lamp(lit)}</span>`
        : html`<span class="ring">${lamp(lit)}</span>`
    return html`<td class="pin" key=${key}><button type="button" tabindex="-1" data-press="pin" data-column=${key} data-s=${lit} aria-haspopup="dialog" aria-expanded=${open === key ? 'true' : 'false'}
      aria-label=${`${name} to ${row.name}: ${WORDS[lit]}`}>${shown}</button></td>`
  })
}

/** What comes out at a decoder, and the button that silences it. */
function out({ name, sound, isGone }: Row): VNode {
  const volume = isGone ? null : (sound?.volume ?? null)
  const level =
    isGone || !sound ? html`<span></span>` : html`<div class="meter thin" style=${levelOf(sound.rmsDb)}></div>`
  const text =
    volume === null
      ? UNKNOWN
      : volume.volume === 0
        ? 'silent'
        : html`${fixed(volume.volumeDb, 1)} <span class="unit">dB</span>`
  return html`<div class="out">${level}<span>${text}</span><button class="btn icon quiet" type="button" data-press="mute" disabled=${volume === null} aria-pressed=${volume?.mute === true ? 'true' : 'false'}
    aria-label=${`Mute ${name}`}>${icon(volume?.mute ? 'mute' : 'sound')}</button></div>`
}

/** One listener for thousands of buttons. */
function follow(event: Event, press: GridFacts['press']): void {
  const button = (event.target as Element).closest<HTMLElement>('[data-press]')
  const row = button?.closest<HTMLElement>('tr')?.dataset.row
  const what = button?.dataset.press
  if (row !== undefined && (what === 'pin' || what === 'name' || what === 'mute'))
    press(what, row, button?.dataset.column ?? null)
}

let litNow: Element[] = []

/**
 * Row and column under the hand are lit by hand as well, where drawing would touch thousands of cells. The column cell by
 * cell: a `col` that changes lays the whole table out anew.
 */
function light(event: Event): void {
  const cell = (event.target as Element).closest<HTMLTableCellElement>('td, th')
  const row = cell?.parentElement
  const table = cell?.closest('table')
  if (!cell || !table || !(row instanceof HTMLTableRowElement)) return
  const lines = [...table.rows]
  const isPin = cell.classList.contains('pin')
  const found = [
    ...(row.dataset.row === undefined ? [] : [row, row.cells[0]]),
    ...(isPin ? lines.map((line) => line.cells[cell.cellIndex]) : []),
  ].filter((each) => each !== undefined)
  if (found.length === litNow.length && found.every((each, at) => each === litNow[at])) return
  dim()
  for (const each of found) each.classList.add('lit')
  litNow = found
}

function dim(): void {
  for (const each of litNow) each.classList.remove('lit')
  litNow = []
}
