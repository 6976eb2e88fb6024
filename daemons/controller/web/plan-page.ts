/** The floor plan: a picture of a floor with the zones of this person where they are, and what they do now. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Dialog } from '#kit/web/dialog.ts'
import { type Child, html } from '#kit/web/html.ts'
import { lazy } from '#kit/web/lazy.ts'
import { lamp, say, verdict } from '#kit/web/parts.ts'
import { goTo, linkTo, place } from '#kit/web/route.ts'
import type { ZoneView } from '../core/live/zones.ts'
import type { PlanPlace, PlanView } from '../core/site/plans.ts'
import { allZones, isNarrow, list, me } from './state.ts'
import * as texts from './texts.ts'
import { NotLive, ZoneTile } from './zone-tile.ts'
import { headline, isOn, isUnknown, judgeZones, placeStyle, shownText } from './zone-words.ts'

const PlanEditor = lazy(async () => (await import('./plan-editor.ts')).PlanEditor)

/** `#/plan/3`, and for those with Elevated on `#/plan/edit`, `#/plan/edit/3`, `#/plan/edit/new`. */
export function PlanPage(): VNode {
  const [, word, which] = place.value
  if (word === 'edit' && me.value?.elevated) return html`<${PlanEditor} key=${which} which=${which} />`
  const plans = list.value?.plans
  if (plans === undefined)
    return html`<div class="head"><h1>${texts.floorPlan}</h1></div><section class="panel">${say('busy', texts.askingControllerForZones, texts.usuallyBrief)}</section>`
  const plan = plans.find(({ id }) => String(id) === word) ?? plans[0]
  if (plan === undefined) return noPlan()
  return html`<${Plan} key=${plan.id} plan=${plan} plans=${plans} />`
}

/** Only those with Elevated on come here without one. */
function noPlan(): VNode {
  const make = html`<a class="btn primary" href=${linkTo('plan', 'edit', 'new')}>${texts.makePlan}</a>`
  return html`<div class="head"><h1>${texts.floorPlan}</h1>${editLink()}</div>
    <section class="panel">${say('off', texts.noPlans, texts.howPlansAreMade, make)}</section>`
}

/** There may be plans that wait for Apply all. */
function editLink(): VNode | null {
  return me.value?.elevated
    ? html`<div class="acts"><a class="btn" href=${linkTo('plan', 'edit')}>${texts.editPlans}</a></div>`
    : null
}

/** A zone that is on the plan. */
interface Placed {
  zone: ZoneView
  at: PlanPlace
}

function Plan({ plan, plans }: { plan: PlanView; plans: readonly PlanView[] }): VNode {
  const [openId, setOpen] = useState<number | null>(null)
  const [isLarge, setLarge] = useState(false)
  const [isMissing, setMissing] = useState(false)
  const zones = new Map(allZones.value.map((zone) => [zone.id, zone]))
  const placed = plan.zones.flatMap((at): Placed[] => {
    const zone = zones.get(at.zone_id)
    return zone === undefined ? [] : [{ zone, at }]
  })
  const open = placed.find(({ zone }) => zone.id === openId)?.zone
  const size = isNarrow.value
    ? html`<button class="btn" type="button" aria-pressed=${String(isLarge)} onClick=${() => setLarge(!isLarge)}>${texts.larger}</button>`
    : null
  return html`<div class="head"><h1>${plan.name}</h1>${plans.length > 1 ? chooser(plan, plans) : null}${size}${editLink()}</div>
    ${placed.length === 0 ? null : verdict(judgeZones(placed.map(({ zone }) => zone)))}<${NotLive} />
    ${isMissing ? html`<p class="not-live" data-s="warn" role="status">${lamp('warn')}<span>${texts.pictureIsMissing}</span></p>` : null}
    <div class="plan-scroll panel" tabindex=${isLarge ? 0 : undefined} role="group" aria-label=${texts.planOf(plan.name)}>
      <div class=${`plan${isLarge ? ' large' : ''}${isMissing ? ' missing' : ''}`}>
      <img src=${pictureUrl(plan)} alt="" width=${plan.width} height=${plan.height} onError=${() => setMissing(true)} onLoad=${() => setMissing(false)} />
      ${isMissing ? null : placed.map((each) => marker(each, setOpen))}</div></div>
    ${zoneList(placed, setOpen)}
    ${
      open === undefined
        ? null
        : html`<${Dialog} title=${plan.name} close=${() => setOpen(null)}><div class="plan-zone"><${ZoneTile} zone=${open} key=${open.id} /></div>
      <footer><button class="btn" type="button" onClick=${() => setOpen(null)}>Close</button></footer></${Dialog}>`
    }`
}

function pictureUrl({ id, version }: PlanView): string {
  return `/ui/plan/picture?plan=${id}&v=${version}`
}

function chooser(plan: PlanView, plans: readonly PlanView[]): VNode {
  const choose = (event: Event): void => goTo('plan', (event.target as HTMLSelectElement).value)
  return html`<div class="input"><select aria-label=${texts.floor} onChange=${choose}>
    ${plans.map(({ id, name }) => html`<option key=${id} value=${String(id)} selected=${id === plan.id}>${name}</option>`)}</select></div>`
}

/** What a zone does, in its place: filled while it is on, dashed while that is unknown. */
function marker({ zone, at }: Placed, open: (id: number) => void): VNode {
  const state = isUnknown(zone) ? 'unknown' : isOn(zone) ? 'on' : 'off'
  return html`<button class="mark" type="button" key=${zone.id} data-state=${state} style=${placeStyle(at)} aria-haspopup="dialog"
    onClick=${() => open(zone.id)}><b>${spokenValue(zone)}</b>${' '}<span>${zone.name}</span></button>`
}

/** A dash says nothing where it is read out. */
function spokenValue(zone: ZoneView): Child {
  const text = shownText(headline(zone))
  return isUnknown(zone)
    ? html`<span class="dash" aria-hidden="true">${text}</span><span class="sr">${texts.unknownValue}</span>`
    : text
}

/** The same zones as words: two marks may lie on each other, and a picture may be missing. */
function zoneList(placed: readonly Placed[], open: (id: number) => void): VNode {
  const rows = placed.map(
    ({
      zone,
    }) => html`<li key=${zone.id}><button class="link" type="button" aria-haspopup="dialog" onClick=${() => open(zone.id)}>
      <span class="grow">${zone.name}</span><span>${spokenValue(zone)}</span></button></li>`,
  )
  return html`<section class="panel plan-list" aria-label=${texts.onThisPlan}><header><h2>${texts.onThisPlan}</h2></header>
    ${rows.length === 0 ? html`<p class="in soft">${texts.noZonesOnPlan}</p>` : html`<ul>${rows}</ul>`}</section>`
}
