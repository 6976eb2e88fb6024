/** Events: what was seen, with a picture of each and the way to its footage; for administrators also which detector looks. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { type Child, html } from '#kit/web/html.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { age, dateOf, timeOf } from '#kit/web/numbers.ts'
import { Act, say } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import { adoptStyle } from '#kit/web/style.ts'
import { chooseDetector, DetectorChoice } from './detector-choice.ts'
import { type DetectorView, eventsApi, type SeenEvent, thumbnailPath } from './events-api.ts'
import { cameras, isAdmin } from './state.ts'
import * as texts from './texts.ts'

const LOOK_MS = 3000
/** Events that are shown at first, and how many more each time. */
const PAGE = 24
const MOST = 480
/** Footage from a little before, so that one sees them come. */
const BEFORE_MS = 3000

adoptStyle(`
.events{display:grid;grid-template-columns:repeat(auto-fill,minmax(13rem,1fr));gap:var(--s3);padding:var(--s3) var(--s4) var(--s4);margin:0;list-style:none}
.events a{display:grid;gap:.15rem;color:inherit;text-decoration:none;border-radius:var(--radius);box-shadow:inset 0 0 0 1px var(--edge);overflow:clip}
.events a:hover b{text-decoration:underline}
.events img{display:block;width:100%;height:auto;aspect-ratio:16/9;object-fit:contain;background:var(--sunken);font-size:var(--t-small);color:var(--ink-2)}
.events span{padding-inline:.6rem;overflow-wrap:anywhere}
.events span:last-child{padding-bottom:.5rem}
@container app (max-width: 44rem){.events{grid-template-columns:1fr 1fr;gap:var(--s2);padding-inline:var(--s3)}}
`)

interface Wish {
  camera: string
  label: string
  limit: number
}

/** The page. @param event id of the one that a link leads to; else they are listed */
export function EventsPage({ event }: { event?: string | undefined }): VNode {
  return event === undefined ? html`<${EventList} />` : html`<${OneEvent} id=${event} key=${event} />`
}

/** The event that a link of another system names. */
function OneEvent({ id }: { id: string }): VNode {
  const [found, setFound] = useState<SeenEvent | 'gone' | null>(null)
  const { refused } = useLook(async () => setFound((await eventsApi.one(id)) ?? 'gone'), LOOK_MS)
  const shown = () => {
    if (found === null) return firstAnswer(refused, texts.askingEvents, texts.eventsNotRead)
    return found === 'gone'
      ? say('off', texts.noSuchEvent, texts.eventIsGone)
      : html`<ul class="events">${card(found)}</ul>`
  }
  return html`<h1 class="sr">Events</h1><section class="panel" aria-label="Events">${shown()}
    <footer class="save"><a class="btn" href=${linkTo('events')}>${texts.allEvents}</a></footer></section>`
}

function EventList(): VNode {
  const [wish, setWish] = useState<Wish>({ camera: '', label: '', limit: PAGE })
  const [events, setEvents] = useState<readonly SeenEvent[] | null>(null)
  const [detector, setDetector] = useState<DetectorView | null>(null)
  const { again, refused } = useLook(
    async () => {
      if (isAdmin.value) setDetector(await eventsApi.detector())
      setEvents(await eventsApi.list(wish))
    },
    LOOK_MS,
    JSON.stringify(wish),
  )
  const head = html`<h1 class="sr">Events</h1>`
  if (events === null)
    return html`${head}<section class="panel">${firstAnswer(refused, texts.askingEvents, texts.eventsNotRead)}</section>`
  const list =
    events.length === 0
      ? nothingSeen(detector, wish, again)
      : html`<ul class="events">${events.map(card)}</ul>${more(events, wish, setWish)}`
  return html`${head}<section class="panel" aria-label="Events"><div class="where in">${filters(wish, setWish)}</div>${list}</section>
    ${detector ? html`<section class="panel" aria-label="Detector"><header><h2 class="grow">Detector</h2></header><${DetectorChoice} view=${detector} again=${again} /></section>` : null}`
}

function filters(wish: Wish, setWish: (wish: Wish) => void): VNode {
  const known = (cameras.value ?? []).toSorted((a, b) => a.name.localeCompare(b.name))
  const change = (part: Partial<Wish>) => setWish({ ...wish, ...part, limit: PAGE })
  return html`<div class="input cam-choice"><select aria-label="Camera" value=${wish.camera}
      onChange=${(event: Event) => change({ camera: (event.target as HTMLSelectElement).value })}>
      <option value="">All cameras</option>${known.map(({ id, name }) => html`<option value=${id} selected=${id === wish.camera}>${name}</option>`)}</select></div>
    <div class="input"><select aria-label="What was seen" value=${wish.label}
      onChange=${(event: Event) => change({ label: (event.target as HTMLSelectElement).value })}>
      ${texts.seenGroups.map(([value, label]) => html`<option value=${value} selected=${value === wish.label}>${label}</option>`)}</select></div>`
}

function card({
  camera_id,
  camera_name,
  ended_at,
  id,
  identity_name,
  label,
  plate_text,
  started_at,
}: SeenEvent): VNode {
  const now = daemonNow()
  const day = dateOf(started_at, zone.value)
  const time = timeOf(started_at, zone.value)
  const lasted = ended_at === null ? texts.goesOn : texts.lasted(age(Math.max(1000, ended_at - started_at), 1))
  const when = day === dateOf(now, zone.value) ? time : `${day} ${time}`
  return html`<li key=${id}><a href=${linkTo('playback', camera_id, String(started_at - BEFORE_MS))}>
    <img key=${String(ended_at)} src=${thumbnailPath(id)} alt=${texts.pictureOfEvent(label, camera_name, when)} loading="lazy" width="320" height="180" />
    <span><b>${identity_name ?? (plate_text ? texts.seenPlate(label, plate_text) : texts.seenLabel(label))}</b></span><span class="small soft">${camera_name}</span><span class="small faint">${when}, ${lasted}</span></a></li>`
}

function more(events: readonly SeenEvent[], wish: Wish, setWish: (wish: Wish) => void): Child {
  if (events.length < wish.limit || wish.limit >= MOST) return null
  const run = () => setWish({ ...wish, limit: Math.min(MOST, wish.limit + PAGE) })
  return html`<footer class="save"><${Act} run=${run}>${texts.olderEvents}</${Act}></footer>`
}

/** What to do where nothing is listed. */
function nothingSeen(detector: DetectorView | null, { camera, label }: Wish, again: () => Promise<void>): Child {
  if (camera !== '' || label !== '') return say('off', texts.noEventMatches, texts.otherFilters)
  if (detector?.kind === 'off') {
    const act = html`<${Act} kind="primary" run=${() => void chooseDetector('motion', again)}>${texts.lookForMotion}</${Act}>`
    return say('off', texts.nothingLooks, texts.motionMeans, act)
  }
  return say('off', texts.nothingSeenYet, detector ? texts.eventsCome : texts.adminChooses)
}
