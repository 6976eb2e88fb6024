/**
 * The crosspoints: encoders across, decoders down, fast enough to scroll fifty by fifty on a phone; with keyboard
 * control, and the changes made there.
 */
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { sentenceOf } from '#kit/web/call.ts'
import { html } from '#kit/web/html.ts'
import { areOff, type Key } from '#kit/web/keys.ts'
import { fixed, UNKNOWN } from '#kit/web/numbers.ts'
import { icon, type Lit, lamp, toast } from '#kit/web/parts.ts'
import { type RouteForm, signedInWith } from './api.ts'
import { callBoard, type FarDecoder, type FarSound, routeOf, takeSound, volumeOf } from './far-boards.ts'
import { formOf, stepped } from './own-sound.ts'
import type { Column, Row } from './routing.ts'
import { lookNow } from './state.ts'
import * as texts from './texts.ts'

// Changes made in the matrix: sent to the decoder itself, shown at once, reverted if it refuses.

/** The column a decoder is being routed to, by its key; empty for none. */
const pending = signal<ReadonlyMap<string, string>>(new Map())

/** A board's refusal of a change, in its own words; `isLocked` when it needs another password. */
class Refused extends Error {
  readonly isLocked: boolean

  constructor(message: string, isLocked = false) {
    super(message)
    this.name = 'Refused'
    this.isLocked = isLocked
  }
}

/** Shown at the crosspoint of a refused change. */
export function crosspointRefusal(thrown: unknown): { refused: string; isLocked: boolean } {
  return { refused: sentenceOf(thrown), isLocked: thrown instanceof Refused && thrown.isLocked }
}

const MOST_TEXT = 300

/** Plays a stream on a decoder, with an undo in a toast. @throws Refused */
export async function playOn(row: Row, column: Column, all: readonly Column[]): Promise<void> {
  await change(row, routeFormFor(column, all), column.key)
  sayRouted(row, texts.nowPlays(row.name, column.name))
}

/** Stops a decoder, with an undo in a toast. @throws Refused */
export async function stopOn(row: Row): Promise<void> {
  await change(row, { mcast: '' }, '')
  sayRouted(row, texts.isStopped(row.name))
}

function sayRouted(row: Row, told: string): void {
  const before = row.sound?.route
  toast(told, before && (() => void undo(row, formOf(before))))
}

async function undo(row: Row, form: RouteForm): Promise<void> {
  try {
    await change(row, form, row.column ?? '')
    toast(texts.playsWhatPlayedBefore(row.name))
  } catch (thrown) {
    toast(`${row.name}: ${sentenceOf(thrown)}`)
  }
}

/**
 * Names the sender only if two streams share an address; else a decoder finds it by itself, even after it was replaced.
 */
export function routeFormFor({ mcast, port, source, encoding, key }: Column, all: readonly Column[]): RouteForm {
  const isShared = all.some((other) => other.key !== key && other.mcast === mcast && other.port === port)
  return {
    mcast,
    port,
    ...(isShared && source !== null ? { source } : {}),
    ...(encoding === 'L16' || encoding === 'L24' ? { encoding } : {}),
  }
}

async function change(row: Row, form: RouteForm, column: string): Promise<void> {
  pending.value = new Map(pending.value).set(row.key, column)
  try {
    const answer = await post(row, '/api/route', { ...form })
    await take(row, (sound) => ({ ...sound, route: routeOf(answer), sender: null, checks: [], playing: true }))
  } finally {
    const rest = new Map(pending.value)
    rest.delete(row.key)
    pending.value = rest
  }
}

/** One decibel up or down. @throws Refused */
export async function stepOn(row: Row, step: 1 | -1): Promise<void> {
  const volume = row.sound?.volume
  if (!volume) return
  await loudness(row, '/api/volume_db', { volume_db: stepped(volume.volumeDb, step) })
}

/** Mutes or unmutes. @throws Refused */
export async function muteOn(row: Row): Promise<void> {
  const volume = row.sound?.volume
  if (volume) await loudness(row, '/api/mute', { mute: volume.mute ? 0 : 1 })
}

async function loudness(row: Row, path: string, form: Record<string, number>): Promise<void> {
  const volume = volumeOf(await post(row, path, form))
  await take(row, (sound) => ({ ...sound, volume }))
}

/** Shows the answer until the board is polled again. */
async function take({ peer }: Row, change: (sound: FarDecoder) => FarDecoder): Promise<void> {
  if (peer.self) await lookNow()
  else takeSound(peer, (sound: FarSound) => (sound.kind === 'decoder' ? change(sound) : sound))
}

async function post({ peer }: Row, path: string, values: Record<string, string | number>): Promise<unknown> {
  const form = new URLSearchParams(Object.entries(values).map(([name, value]) => [name, String(value)]))
  let reply: Awaited<ReturnType<typeof callBoard>>
  try {
    reply = await callBoard(peer, path, { authorization: signedInWith(), form })
  } catch {
    throw new Refused(texts.didNotAnswer)
  }
  if (reply.status === 401) throw new Refused(texts.hasAnotherPassword, true)
  if (reply.status >= 400) throw new Refused(reasonOf(reply.answer, reply.status))
  return reply.answer
}

/** The board's own words; for refused fields, theirs. */
function reasonOf(answer: unknown, status: number): string {
  const { message, fields } = (answer ?? {}) as { message?: unknown; fields?: unknown }
  const words = Object.values((fields ?? {}) as object).filter((each) => typeof each === 'string')
  const text = words.length > 0 ? words.join(' ') : message
  return typeof text === 'string' ? text.slice(0, MOST_TEXT) : texts.answeredWithoutReason(status)
}

// The matrix by keyboard: arrows walk the crosspoints, letters act on one, and typing jumps to a name.

/** The keyboard actions at a crosspoint. */
interface GridHands {
  why: (row: Row) => void
  mute: (row: Row) => void
  step: (row: Row, step: 1 | -1) => void
  stop: (row: Row) => void
}

/** For the list of keys. Their effect depends on the focus, so the table itself handles them. */
const GRID_KEYS: readonly (readonly [key: string, what: string])[] = [
  ['ArrowDown', texts.keyToCrosspoints],
  ['Enter', texts.keyRoutes],
  ['w', texts.whyIsSilent],
  ['m', texts.keyMute],
  ['+', texts.n1DbUp],
  ['-', texts.n1DbDown],
  ['Delete', texts.stopsDecoder],
  ['A', texts.keyTypedName],
]

/** Keys as the list of keys shows them. */
export function gridKeys(): Key[] {
  return GRID_KEYS.map(([key, what]) => ({ key, what, run: () => key === 'ArrowDown' && focusAt(0, 1) }))
}

const STEPS: Readonly<Record<string, readonly [down: number, right: number]>> = {
  ArrowDown: [1, 0],
  ArrowUp: [-1, 0],
  ArrowRight: [0, 1],
  ArrowLeft: [0, -1],
}

/** A pause this long ends a name being typed. */
const TYPED_MS = 1200
let typed = ''
let typedMs = 0

/** Handles keys while the focus is in the table. */
export function gridKey(
  event: KeyboardEvent,
  { rows, columns }: { rows: readonly Row[]; columns: readonly Column[] },
  hands: GridHands,
): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  const here = placeOf(event.target)
  const row = here && rows[here.row]
  if (!here || !row) return
  const step = STEPS[event.key]
  const isDone = step
    ? focusAt(here.row + step[0], here.cell + step[1])
    : acts(event.key, row, hands) || jumps(event.key, here, { rows, columns })
  if (isDone) event.preventDefault()
}

function acts(key: string, row: Row, { why, mute, step, stop }: GridHands): boolean {
  if (key === 'Delete') return done(() => stop(row))
  if (areOff.value || Date.now() - typedMs < TYPED_MS) return false
  if (key === 'w') return done(() => why(row))
  if (key === 'm') return done(() => mute(row))
  if (key === '+' || key === '-') return done(() => step(row, key === '+' ? 1 : -1))
  return false
}

function done(run: () => void): true {
  run()
  return true
}

/**
 * Jumps to the decoder or stream whose name is typed; `g`, `/` and `?` are keys of every page. @returns whether the key
 * was used
 */
function jumps(
  key: string,
  here: { row: number; cell: number },
  { rows, columns }: { rows: readonly Row[]; columns: readonly Column[] },
): boolean {
  if (areOff.value || key.length !== 1 || !/[\p{L}\p{N}]/u.test(key)) return false
  const isNew = Date.now() - typedMs >= TYPED_MS
  if (isNew && key === 'g') return false
  typed = (isNew ? '' : typed) + key.toLowerCase()
  typedMs = Date.now()
  const begins = ({ name }: { name: string }): boolean => name.toLowerCase().startsWith(typed)
  const row = rows.findIndex(begins)
  const column = columns.findIndex(begins)
  if (row >= 0) return focusAt(row, here.cell)
  return column >= 0 && focusAt(here.row, column + 1)
}

function bodyRows(): HTMLTableRowElement[] {
  return [...(document.querySelector<HTMLTableElement>('.matrix')?.tBodies[0]?.rows ?? [])]
}

/** Position of the focus: the row, and the cell in it; 0 is the name. */
function placeOf(target: EventTarget | null): { row: number; cell: number } | undefined {
  const cell = target instanceof Element ? target.closest<HTMLTableCellElement>('tbody td, tbody th') : null
  const row = cell ? bodyRows().indexOf(cell.parentElement as HTMLTableRowElement) : -1
  return cell && row >= 0 ? { row, cell: cell.cellIndex } : undefined
}

/** Focuses a crosspoint, clamped to the table. @returns false if there is none */
function focusAt(row: number, cell: number): boolean {
  const rows = bodyRows()
  const cells = rows[Math.min(rows.length - 1, Math.max(0, row))]?.cells
  const wanted = cells?.[Math.min(cells.length - 1, Math.max(0, cell))]
  const button = wanted?.querySelector<HTMLButtonElement>('button')
  if (!button) return false
  // Only one button is in the tab order: the last that had the focus.
  document.querySelector('.matrix tbody button[tabindex="0"]')?.setAttribute('tabindex', '-1')
  button.setAttribute('tabindex', '0')
  button.focus()
  return true
}

// The grid.

/** Contents of the grid. */
interface GridFacts {
  rows: readonly Row[]
  columns: readonly Column[]
  /** Whether to show crosspoints on narrow screens too. */
  isGrid: boolean
  /** The crosspoint whose popover is open. */
  open: { row: string; column: string | null } | null
  /** Called when something in it is pressed. */
  press: (what: 'pin' | 'name' | 'mute', row: string, column: string | null) => void
  onKeyDown: (event: KeyboardEvent) => void
}

/** Rows as last drawn: an unchanged one is reused, so that Preact does not even compare it. */
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

/** Decoder states in words. */
const WORDS: Readonly<Record<Lit, string>> = {
  ok: 'playing',
  busy: 'changing',
  warn: texts.needsLook,
  fault: 'silent',
  off: texts.nothingToHear,
  mute: 'muted',
  gone: texts.notReachable,
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
  return html`<th scope="col" class=${isGone ? 'pin far' : 'pin'} key=${key}><div class="enc" title=${isGone ? texts.routingNotReachable(name) : name}><span>${name}</span>${level}</div></th>`
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
      aria-label=${texts.crosspointAndWord(name, row.name, WORDS[lit])}>${shown}</button></td>`
  })
}

/** A decoder's output level and its mute button. */
function out({ name, sound, isGone }: Row): VNode {
  const volume = isGone ? null : (sound?.volume ?? null)
  const level =
    isGone || !sound ? html`<span></span>` : html`<div class="meter thin" style=${levelOf(sound.rmsDb)}></div>`
  const text =
    volume === null
      ? UNKNOWN
      : volume.volume === 0
        ? texts.silent
        : html`${fixed(volume.volumeDb, 1)} <span class="unit">dB</span>`
  return html`<div class="out">${level}<span>${text}</span><button class="btn icon quiet" type="button" data-press="mute" disabled=${volume === null} aria-pressed=${volume?.mute === true ? 'true' : 'false'}
    aria-label=${texts.mute(name)}>${icon(volume?.mute ? 'mute' : 'sound')}</button></div>`
}

/** A single listener for thousands of buttons. */
function follow(event: Event, press: GridFacts['press']): void {
  const button = (event.target as Element).closest<HTMLElement>('[data-press]')
  const row = button?.closest<HTMLElement>('tr')?.dataset.row
  const what = button?.dataset.press
  if (row !== undefined && (what === 'pin' || what === 'name' || what === 'mute'))
    press(what, row, button?.dataset.column ?? null)
}

let litNow: Element[] = []

/**
 * Highlights row and column under the pointer by direct changes to the DOM, since rendering would touch thousands of
 * cells. The column is changed cell by cell: a changed `col` makes the browser lay out the whole table again.
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
