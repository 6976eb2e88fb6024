/** Making floor plans: their picture, and the zones dragged or typed to where they are. What is kept waits for Apply all. */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { CallFault, sentenceOf } from '#kit/web/call.ts'
import { isLost } from '#kit/web/contact.ts'
import { Confirm } from '#kit/web/dialog.ts'
import { choice, type Form, input, refusal, typedNumber, useForm } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { fixed } from '#kit/web/numbers.ts'
import { Act, chip, icon, lamp, say, toast, verdict } from '#kit/web/parts.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import type { PlanDraft, PlanPlace } from '../core/site/plans.ts'
import { api, type PlanDrafts } from './api.ts'
import { pendingCount, pendingSentence } from './state.ts'
import * as texts from './texts.ts'
import { placeStyle } from './zone-words.ts'

/** @param which the id of a plan, `new`, or nothing for the list of them */
export function PlanEditor({ which }: { which?: string }): VNode {
  const [drafts, setDrafts] = useState<PlanDrafts | null>(null)
  const [refused, setRefused] = useState<string | null>(null)
  const ask = (): void => {
    setRefused(null)
    api.plans().then(setDrafts, (thrown) => setRefused(sentenceOf(thrown)))
  }
  useEffect(ask, [])
  if (drafts === null) return page(firstAnswer(refused, texts.askingForPlans, texts.plansCouldNotBeRead, ask))
  if (which === undefined) return planList(drafts)
  if (drafts.uis.length === 0)
    return page(
      say('off', texts.noUis, texts.whatUisAre, html`<a class="btn" href=${linkTo('tables', 'ui')}>Show the UIs</a>`),
    )
  const plan = drafts.plans.find(({ id }) => String(id) === which)
  if (plan === undefined && which !== 'new') return page(say('off', texts.planIsGone, texts.somebodyRemovedPlan))
  return html`<${PlanForm} plan=${plan} drafts=${drafts} />`
}

function page(content: VNode): VNode {
  return html`<div class="head">${back('plan')}<h1>${texts.plans}</h1></div><section class="panel">${content}</section>`
}

function back(...words: string[]): VNode {
  return html`<a class="btn quiet icon" href=${linkTo(...words)} aria-label="Back">${icon('back')}</a>`
}

// The list of plans, as they will be after Apply all.

function planList({ plans, uis }: PlanDrafts): VNode {
  const count = pendingCount.value ?? 0
  const names = new Map(uis.map(({ id, name }) => [id, name]))
  const rows = plans.map(
    ({ id, name, ui_id: ui, zones, pending }) => html`<tr key=${id}>
      <td class="name"><a href=${linkTo('plan', 'edit', String(id))}><b>${name}</b></a></td>
      <td class="setup">${names.get(ui) ?? texts.none} · ${texts.zonesOn(zones.length)}</td>
      <td class="state">${pending === null ? null : chip('warn', texts.changeWaits)}</td></tr>`,
  )
  return html`<div class="head">${back('plan')}<h1>${texts.plans}</h1><div class="acts"><a class="btn primary" href=${linkTo('plan', 'edit', 'new')}>${texts.newPlan}</a></div></div>
    ${verdict({ lit: count > 0 ? 'warn' : 'ok', sentence: pendingSentence(count) }, html`<a href=${linkTo('pending')}>${count > 0 ? texts.showAndApply : texts.pending}</a>`)}
    <section class="panel" aria-label=${texts.plans}>${
      plans.length === 0
        ? say('off', texts.noPlans, texts.howPlansAreMade)
        : html`<table class="table fold no-lit"><thead><tr><th>Name</th><th>UI and zones</th><th><span class="sr">State</span></th></tr></thead><tbody>${rows}</tbody></table>`
    }</section>`
}

// One plan. Places and picture are values of the form too, so that leaving them unsaved is asked about.

interface PlanFormFacts {
  /** Undefined for a new one. */
  plan: PlanDraft | undefined
  drafts: PlanDrafts
}

/** What is being edited. */
interface Draft {
  picture: PlanDraft['picture'] | null
  places: readonly PlanPlace[]
  setPicture(picture: PlanDraft['picture']): void
  setPlaces(places: readonly PlanPlace[]): void
}

function draftOf(form: Form): Draft {
  const { picture, places } = form.values.value
  return {
    picture: JSON.parse(String(picture)) as Draft['picture'],
    places: JSON.parse(String(places)) as PlanPlace[],
    setPicture: (next) => form.set('picture', JSON.stringify(next)),
    setPlaces: (next) => form.set('places', JSON.stringify(next)),
  }
}

function PlanForm({ plan, drafts }: PlanFormFacts): VNode {
  const initial = {
    ...{ name: plan?.name ?? '', ui: String(plan?.ui_id ?? drafts.uis[0]?.id ?? '') },
    ...{ picture: JSON.stringify(plan?.picture ?? null), places: JSON.stringify(plan?.zones ?? []) },
  }
  const form = useForm(initial, plan ? 'edit' : 'draft')
  const draft = draftOf(form)
  const { picture, places } = draft
  async function save(): Promise<void> {
    if (picture === null) throw new CallFault(400, { error: 'bad_fields', fields: { picture: texts.firstPicture } })
    const { name, ui } = form.values.value
    const wish = { name: String(name).trim(), ui_id: Number(ui), picture, zones: places }
    pendingCount.value = (await api.savePlan(plan ? { id: plan.id, ...wish, seen: plan } : wish)).pending
    toast(texts.keptForApplyAll)
    setTimeout(() => goTo('plan', 'edit'), 0)
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  const title = plan?.name ?? texts.newPlan
  return html`<div class="head">${back('plan', 'edit')}<h1>${title}</h1></div>
    <form class="cols plan-form" onSubmit=${submit} novalidate aria-label=${title}>
      <section class="panel" aria-label=${texts.planOf(title)}><${Canvas} draft=${draft} zones=${drafts.zones} /></section>
      <div class="panel"><div class="in stack">
        ${input({ form, name: 'name', label: texts.planName, first: plan === undefined })}
        ${choice({ form, name: 'ui', label: texts.planUi, hint: texts.planUiHint, options: drafts.uis.map(({ id, name }) => [String(id), name] as const) })}
        <${PictureField} form=${form} draft=${draft} />
        ${zoneFields(draft, drafts.zones)}${refusal(form)}</div>
        <footer class="save">${plan ? html`<${Removal} plan=${plan} />` : null}
          <${Act} kind="primary" type="submit" waits=${form.isBusy.value || (plan !== undefined && !form.hasChanges())}>${texts.keepChange}</${Act}></footer></div></form>`
}

function Removal({ plan }: { plan: PlanDraft }): VNode {
  const [isAsked, setAsked] = useState(false)
  async function run(): Promise<void> {
    try {
      pendingCount.value = (await api.removePlan(plan.id)).pending
      toast(texts.removalIsKept)
      goTo('plan', 'edit')
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
  }
  return html`<${Act} kind="danger apart" run=${() => setAsked(true)}>Remove</${Act}>
    ${isAsked ? html`<${Confirm} title=${texts.removePlanQuestion(plan.name)} text=${texts.removingPlanMeans} act="Remove" keep="Keep it" run=${() => void run()} close=${() => setAsked(false)} />` : null}`
}

/** Sent at once, and seen at once; it is the plan's with Apply all. */
function PictureField({ form, draft }: { form: Form; draft: Draft }): VNode {
  const field = useRef<HTMLInputElement>(null)
  const [isSending, setSending] = useState(false)
  const [refused, setRefused] = useState<string | null>(null)
  const fault = refused ?? form.faults.value.picture
  async function take(event: Event): Promise<void> {
    const element = event.target as HTMLInputElement
    const file = element.files?.[0]
    if (file === undefined) return
    setSending(true)
    setRefused(null)
    try {
      draft.setPicture(await api.sendPicture(file))
    } catch (thrown) {
      setRefused(sentenceOf(thrown))
    }
    element.value = ''
    setSending(false)
  }
  const act = isSending ? texts.sendingPicture : draft.picture ? texts.otherPicture : texts.pickPicture
  return html`<div class="field" data-s=${fault ? 'fault' : undefined}><span class="label">${texts.picture}</span>
    <button class="btn" type="button" disabled=${isSending || isLost.value} onClick=${() => field.current?.click()}>${act}</button>
    <input ref=${field} class="sr" type="file" tabindex="-1" aria-label=${texts.picture} accept="image/png,image/jpeg,image/webp" onChange=${take} />
    ${fault ? html`<p class="err" role="alert">${lamp('fault')}<span>${fault}</span></p>` : html`<p>${texts.pictureHint}</p>`}</div>`
}

// The picture with the zones on it: dragged, or moved by the arrow keys.

/** Places are in thousandths of the picture. */
const PLACES = 1000

interface CanvasFacts {
  draft: Draft
  zones: PlanDrafts['zones']
}

/** Steps of the arrow keys, in thousandths; the small ones with Shift. */
const STEP = 20
const SMALL_STEP = 1

const MOVES: Readonly<Record<string, readonly [x: number, y: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
}

function Canvas({ draft, zones }: CanvasFacts): VNode {
  const ground = useRef<HTMLDivElement>(null)
  const { picture, places } = draft
  if (picture === null) return say('off', texts.firstPicture, texts.pictureHint)
  const names = new Map(zones.map(({ id, name }) => [id, name]))
  function toPointer(event: PointerEvent, id: number): void {
    const box = ground.current?.getBoundingClientRect()
    if (!box || box.width === 0 || box.height === 0) return
    const x = ((event.clientX - box.left) / box.width) * PLACES
    draft.setPlaces(movedTo(places, id, { x, y: ((event.clientY - box.top) / box.height) * PLACES }))
  }
  function byKey(event: KeyboardEvent, { zone_id: id, x, y }: PlanPlace): void {
    const move = MOVES[event.key]
    if (move === undefined) return
    event.preventDefault()
    event.stopPropagation()
    const step = event.shiftKey ? SMALL_STEP : STEP
    draft.setPlaces(movedTo(places, id, { x: x + move[0] * step, y: y + move[1] * step }))
  }
  const mark = (at: PlanPlace): VNode => {
    const { zone_id: id } = at
    const name = names.get(id) ?? texts.zoneNumber(id)
    return html`<button class="mark moves" type="button" key=${id} style=${placeStyle(at)} aria-label=${texts.placedAt(name, percent(at.x), percent(at.y))}
      onPointerDown=${(event: PointerEvent) => (event.currentTarget as Element).setPointerCapture(event.pointerId)}
      onPointerMove=${(event: PointerEvent) => {
        if ((event.currentTarget as Element).hasPointerCapture(event.pointerId)) toPointer(event, id)
      }}
      onKeyDown=${(event: KeyboardEvent) => byKey(event, at)}><b>${name}</b></button>`
  }
  return html`<div class="plan-scroll"><div class="plan" ref=${ground}>
    <img src=${`/ui/plan/picture?name=${picture.name}`} alt="" width=${picture.width} height=${picture.height} draggable=${false} />
    ${places.map(mark)}</div></div><p class="small soft foot">${texts.howToPlace}</p>`
}

/** Whole thousandths, on the picture. */
export function movedTo(places: readonly PlanPlace[], id: number, to: { x: number; y: number }): PlanPlace[] {
  const within = (value: number) => Math.min(PLACES, Math.max(0, Math.round(value)))
  return places.map((place) => (place.zone_id === id ? { zone_id: id, x: within(to.x), y: within(to.y) } : place))
}

/** `12.5` of 125 thousandths. */
function percent(thousandths: number): string {
  return fixed(thousandths / 10, 1)
}

// The same as numbers.

function zoneFields(draft: Draft, zones: PlanDrafts['zones']): VNode {
  const { picture, places } = draft
  const placed = new Set(places.map(({ zone_id: id }) => id))
  const names = new Map(zones.map((zone) => [zone.id, zone]))
  const free = zones.filter(({ id }) => !placed.has(id))
  const add = (event: Event): void => {
    const element = event.target as HTMLSelectElement
    if (element.value === '') return
    draft.setPlaces([...places, { zone_id: Number(element.value), x: PLACES / 2, y: PLACES / 2 }])
    element.value = ''
  }
  const chooser = html`<div class="field"><label for="plan-add">${texts.addZone}</label><div class="input"><select id="plan-add" onChange=${add} disabled=${picture === null}>
    <option value="">${texts.chooseZone}</option>
    ${free.map(({ id, name, room }) => html`<option key=${id} value=${String(id)}>${room === null ? name : `${room}: ${name}`}</option>`)}</select></div></div>`
  const rows = places.map(
    (place) =>
      html`<${PlaceRow} key=${place.zone_id} place=${place} name=${names.get(place.zone_id)?.name ?? texts.zoneNumber(place.zone_id)} draft=${draft} />`,
  )
  return html`${chooser}${rows.length === 0 ? null : html`<ul class="places">${axes()}${rows}</ul>`}`
}

/** The fields say it themselves where they are read out. */
function axes(): VNode {
  return html`<li class="axes" aria-hidden="true"><span></span><span>${texts.fromLeft}</span><span>${texts.fromTop}</span><span class="gap"></span></li>`
}

function PlaceRow({ place, name, draft }: { place: PlanPlace; name: string; draft: Draft }): VNode {
  const { zone_id: id } = place
  const field = (axis: 'x' | 'y', label: string): VNode => {
    const set = (event: Event): void => {
      const value = typedNumber((event.target as HTMLInputElement).value.replace(',', '.'))
      if (typeof value === 'number') draft.setPlaces(movedTo(draft.places, id, { ...place, [axis]: value * 10 }))
    }
    return html`<div class="input"><input type="text" inputmode="decimal" autocomplete="off" aria-label=${label} value=${percent(place[axis])} onChange=${set} /><span>%</span></div>`
  }
  const takeOff = (): void => draft.setPlaces(draft.places.filter((other) => other.zone_id !== id))
  return html`<li><b>${name}</b>${field('x', texts.fromLeftOf(name))}${field('y', texts.fromTopOf(name))}
    <button class="btn quiet icon" type="button" aria-label=${texts.takeOff(name)} onClick=${takeOff}>${icon('close')}</button></li>`
}
