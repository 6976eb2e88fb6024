/** One device: how it is, and its live traffic in both directions, as it comes, with pause. */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { call, useLook } from '#kit/web/call.ts'
import { zone } from '#kit/web/contact.ts'
import { type Child, html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { bytesText, count, many, timeOf } from '#kit/web/numbers.ts'
import { icon, lamp, say } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import { adoptStyle } from '#kit/web/style.ts'
import { filterInput, matches } from '#kit/web/tools.ts'
import type { TrafficEntry } from '../core/drivers/traffic.ts'
import type { DeviceSeen } from './api.ts'
import * as texts from './texts.ts'

adoptStyle(`
.with-traffic { --side: minmax(0, 1.2fr); }
.panel > .tools.wire-tools { display: flex; flex-wrap: wrap; align-items: center; gap: var(--s2); padding: var(--s2) var(--s4); }
.panel > p.in { padding-block: var(--s2); }
.panel > p.in.lane { padding-block: 0 var(--s2); }
.wire-box { max-height: min(32rem, 60vh); overflow: auto; border-top: 1px solid var(--line); }
.wire-box:focus-visible { outline-offset: -2px; }
.wire li { display: grid; grid-template-columns: 6.5rem 1rem minmax(0, 1fr); gap: var(--s2); align-items: baseline; padding: .2rem var(--s4); font-size: var(--t-small); }
.wire li + li { border-top: 1px solid var(--grid); }
.wire .at { font-family: var(--mono); font-size: .75rem; color: var(--ink-3); }
.wire .what { min-width: 0; overflow-wrap: anywhere; white-space: pre-wrap; }
.wire .what i { color: var(--ink-3); }
.wire [data-way="note"] { background: var(--sunken); }
@container app (max-width: 44rem) {
  .panel > .tools.wire-tools .input { flex: 1 1 100%; }
  .wire li { grid-template-columns: 1rem minmax(0, 1fr); row-gap: 0; }
  .wire .at { grid-column: 2; grid-row: 1; }
  .wire .what { grid-column: 2; }
}`)

/** Watched as long as it is looked at. */
const LOOK_MS = 1000
/** Messages on the page; older ones go. */
const MOST_SHOWN = 500

/** Commands of a device: those that wait, and those that ended since it is driven as it is. */
interface TrafficLane {
  queued: number
  done: number
  failed: number
  timed_out: number
}

/** What is shown of the traffic, and what was missed. */
interface Seen {
  entries: readonly TrafficEntry[]
  next: number
  dropped: number
  lane: TrafficLane | null
}

const NOTHING: Seen = { entries: [], next: 0, dropped: 0, lane: null }

/** After an interruption the controller may count anew. */
function added(seen: Seen, answer: Seen): Seen {
  const isAnew = answer.next < seen.next
  const entries = [...(isAnew ? [] : seen.entries), ...answer.entries].slice(-MOST_SHOWN)
  return { ...answer, entries, dropped: (isAnew ? 0 : seen.dropped) + answer.dropped }
}

/** @param device as the list has it; undefined if it is not listed */
export function DevicePanel({ id, device }: { id: number; device: DeviceSeen | undefined }): VNode {
  const name = device?.name ?? texts.deviceNumber(id)
  const error = device?.state === 'offline' ? device.error : null
  return html`<section class="panel" aria-label=${name}><header><h2>${name}</h2><div class="acts">
      <a class="btn" href=${linkTo('tables', 'device', String(id))}>${texts.editDevice}</a>
      <a class="btn quiet icon" href=${linkTo('devices')} aria-label=${texts.closeDevice}>${icon('close')}</a></div></header>
    ${error === null ? null : html`<p class="in note" data-s="fault">${lamp('fault')} ${error}</p>`}
    <${TrafficLog} id=${id} /></section>`
}

/** Also below the console of a definition. */
export function TrafficLog({ id }: { id: number }): VNode {
  const [seen, setSeen] = useState(NOTHING)
  const [isPaused, setPaused] = useState(false)
  const [isHex, setHex] = useState(false)
  const [filter, setFilter] = useState('')
  const look = useLook(async () => {
    if (!isPaused) {
      const answer = await call<Seen>(`GET /ui/devices/traffic?device=${id}&after=${seen.next}`)
      setSeen((now) => added(now, answer))
    }
  }, LOOK_MS)
  const pause = (): undefined => void setPaused(!isPaused) as undefined
  useKeys(texts.traffic, [
    { key: ' ', what: texts.pauseKey, run: pause },
    { key: 'b', what: texts.bytesKey, run: () => void setHex(!isHex) as undefined },
  ])
  const shown = seen.entries.filter(({ text, about }) => matches(`${about} ${text}`, filter))
  return html`<div class="wire-tools tools">${filterInput({ filter, setFilter, label: texts.filterTraffic, placeholder: texts.filterTraffic })}
      <div class="acts"><button class="btn" type="button" aria-pressed=${isHex} onClick=${() => setHex(!isHex)}>${texts.bytes}</button>
        <button class="btn" type="button" aria-pressed=${isPaused} onClick=${pause}>${icon(isPaused ? 'play' : 'pause')} ${isPaused ? texts.goOn : texts.pause}</button></div></div>
    ${laneText(seen.lane)}
    ${look.refused === null ? null : html`<p class="in note" role="alert" data-s="fault">${lamp('fault')} ${look.refused}</p>`}
    <${Lines} entries=${shown} isHex=${isHex} isPaused=${isPaused} none=${seen.entries.length === 0 ? null : filter} />
    ${seen.dropped > 0 ? html`<p class="in small soft">${texts.messagesLeftOut(seen.dropped)}</p>` : null}`
}

function laneText(lane: TrafficLane | null): Child {
  if (lane === null) return null
  const { queued, done, failed, timed_out: late } = lane
  return html`<p class="in small soft lane">${texts.laneOf(many(done, 'command'), count(failed), count(late), count(queued))}</p>`
}

interface LinesFacts {
  entries: readonly TrafficEntry[]
  isHex: boolean
  isPaused: boolean
  /** The filter that hides all; null where nothing came yet. */
  none: string | null
}

function Lines({ entries, isHex, isPaused, none }: LinesFacts): VNode {
  const box = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  // It follows what comes, unless somebody has scrolled up to read.
  useEffect(() => {
    if (isAtEnd.current && !isPaused) box.current?.scrollTo(0, box.current.scrollHeight)
  }, [entries.at(-1)?.n])
  function onScroll(): void {
    const { scrollTop = 0, scrollHeight = 0, clientHeight = 0 } = box.current ?? {}
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_END_PX
  }
  if (entries.length === 0)
    return none === null
      ? say(isPaused ? 'off' : 'busy', texts.nothingCame, texts.nothingCameWhy)
      : say('off', texts.noRowMatches(none), texts.escShowsAll)
  return html`<div class="wire-box" ref=${box} onScroll=${onScroll} tabindex="0" role="region" aria-label=${texts.messagesNewestLast}>
    <ol class="wire">${entries.map((entry) => line(entry, isHex))}</ol></div>`
}

const NEAR_END_PX = 40

const WAYS = {
  out: { sign: '→', word: texts.wayOut },
  in: { sign: '←', word: texts.wayIn },
  note: { sign: '·', word: texts.wayNote },
} as const

function line({ n, at, way, about, text, hex, size, isCut, isWithheld }: TrafficEntry, isHex: boolean): VNode {
  const { sign, word } = WAYS[way]
  const content = isHex && way !== 'note' ? hex : text
  return html`<li key=${n} data-way=${way}><span class="at">${timeOf(at, zone.value, 'ms')}</span><span class="dir" role="img" aria-label=${word}>${sign}</span>
    <span class="what">${about === '' ? null : html`<b>${about}</b> `}${isWithheld ? html`<i>${texts.signInNotShown(bytesText(size))}</i>` : html`<span class="mono">${content}</span>`}${isCut ? html` <i>${texts.cutAfter(bytesText(size))}</i>` : null}</span></li>`
}
