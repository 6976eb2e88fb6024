/** A DNP3 outstation on its page: its masters with the events that wait for them, and its points by kind. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { segments } from '#kit/web/figures.ts'
import { html } from '#kit/web/html.ts'
import { count, fixed, sinceText } from '#kit/web/numbers.ts'
import { type Lit, lamp, say } from '#kit/web/parts.ts'
import { api, type Outstation, type Port } from './api.ts'
import { LOOK_MS } from './state.ts'
import * as texts from './texts.ts'

type Point = Outstation['shown'][number]
type Master = Outstation['masters'][number]

/** Points on one leaf: more than a page shows at once. */
const LEAF = 100

/** Both panels. */
export function OutstationPanel({ port }: { port: Port }): VNode {
  const [outstation, setOutstation] = useState<Outstation | null>(null)
  const [kind, setKind] = useState<string | null>(null)
  const [start, setStart] = useState(0)
  const { refused } = useLook(
    async () => setOutstation(await api.outstation(port.path, { kind, start, limit: LEAF })),
    LOOK_MS,
    `${port.path} ${port.state} ${kind} ${start}`,
  )
  if (!outstation)
    return html`<section class="panel" aria-label=${texts.mastersHere}>${refused === null ? null : say('fault', texts.outstationNotRead, refused)}</section>`
  return html`${mastersPanel(outstation)}${pointsPanel(outstation, start, {
    choose(wanted) {
      setStart(0)
      setKind(wanted)
    },
    turn: setStart,
  })}`
}

function mastersPanel({ indications, masters }: Outstation): VNode {
  return html`<section class="panel" aria-label=${texts.mastersHere}><header><h2>${texts.mastersHere}</h2><span class="faint grow">${indications.map((one) => texts.indicationNames[one] ?? one).join(', ')}</span></header>
    <table class="table tight units"><colgroup><col class="c1" /><col class="c2" /><col /><col class="c5" /></colgroup><thead class="sr"><tr><th>State</th><th>Address</th><th>What it does</th><th>Events waiting</th></tr></thead>
    <tbody>${masters.map(
      (master) => html`<tr key=${master.address}><td>${lamp(litOf(master))}</td><td class="n">${master.address}</td>
        <td class="how">${masterText(master)}</td><td class="n" title=${texts.waitingTitle}>${waitingText(master)}</td></tr>`,
    )}</tbody></table></section>`
}

function litOf({ isOverflown, state }: Master): Lit {
  if (state === 'unheard' || state === 'left') return 'off'
  return state === 'present' && !isOverflown ? 'ok' : 'warn'
}

function masterText({ assigned, isOverflown, state, unsolicited, via }: Master): string {
  const where = via === null || via === 'line' ? '' : `, ${via}`
  const told = unsolicited.length > 0 ? texts.toldOf(unsolicited.join(', ')) : ''
  const moved = assigned > 0 && texts.pointsAssigned(assigned)
  return [texts.masterStates[state] + where, told, moved, isOverflown && texts.eventsWereLost]
    .filter(Boolean)
    .join(', ')
}

/** The classes one after the other: `1 · 0 · 12`. */
function waitingText({ waiting }: Master): string {
  return [waiting.class1, waiting.class2, waiting.class3].map((one) => count(one)).join(' · ')
}

interface Turning {
  choose(kind: string): void
  turn(start: number): void
}

function pointsPanel({ kind, points, shown }: Outstation, start: number, { choose, turn }: Turning): VNode {
  const kinds = (Object.keys(points) as (keyof typeof points)[]).filter((one) => points[one] > 0)
  if (kinds.length === 0)
    return html`<section class="panel" aria-label=${texts.points}>${say('off', texts.noPointsHere, texts.noPointsMean)}</section>`
  const last = points[kind]
  return html`<section class="panel" aria-label=${texts.points}><header><h2>${texts.points}</h2></header>
    <div class="as">${segments({ label: texts.pointKind, name: 'kind', value: kind, options: kinds.map((one) => [one, texts.pointKindNames[one]]), choose })}</div>
    <table class="table tight units"><colgroup><col class="c1" /><col class="c2" /><col /><col class="c5" /></colgroup><thead class="sr"><tr><th>Quality</th><th>Index</th><th>Value</th><th>Changed</th></tr></thead>
    <tbody>${shown.map(pointRow)}</tbody></table>
    ${last > LEAF ? leaf(start, last, turn) : null}</section>`
}

function leaf(start: number, last: number, turn: (start: number) => void): VNode {
  return html`<p class="acts"><button class="btn quiet" type="button" disabled=${start === 0} onClick=${() => turn(start - LEAF)}>${texts.earlierPoints}</button>
    <span class="faint">${texts.ofPoints(start, Math.min(last, start + LEAF) - 1, last)}</span>
    <button class="btn quiet" type="button" disabled=${start + LEAF >= last} onClick=${() => turn(start + LEAF)}>${texts.furtherPoints}</button></p>`
}

function pointRow(point: Point): VNode {
  const { flags, index, time } = point
  const isOnline = flags.includes('online')
  const others = flags.filter((flag) => flag !== 'online').map((flag) => texts.flagNames[flag] ?? flag)
  const isSet = time > 0
  return html`<tr key=${index}><td>${lamp(isOnline && others.length === 0 ? 'ok' : isSet ? 'warn' : 'off')}</td><td class="n">${index}</td>
    <td class="how">${isSet ? pointValueText(point) : texts.neverSet}${isSet && others.length > 0 ? html` <span class="faint">${others.join(', ')}</span>` : null}</td>
    <td class="n">${isSet ? sinceText(time, daemonNow(), zone.value) : '–'}</td></tr>`
}

/** A value in words. */
export function pointValueText({ kind, value }: Pick<Point, 'kind' | 'value'>): string {
  if (kind === 'binary') return value === true ? texts.pointIsOn : texts.pointIsOff
  if (kind === 'double_bit') return texts.doubleBitNames[String(value)] ?? String(value)
  return typeof value === 'number' ? fixed(value, Number.isInteger(value) ? 0 : 3) : String(value)
}
