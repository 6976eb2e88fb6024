/** Beside a plan: the cameras on it, what is known of the chosen one, and what the plan itself is. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { typedNumber } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { lazy } from '#kit/web/lazy.ts'
import { fixed } from '#kit/web/numbers.ts'
import { Act, lamp, toast } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import type { Camera } from './api.ts'
import { litOf } from './camera-words.ts'
import type { Placement, SitePlan, SitePlans } from './plan-api.ts'
import type { Pinned } from './plan-canvas.ts'
import { firstPlacement, fittingOf } from './plan-shapes.ts'

const PlanItself = lazy(async () => (await import('./plan-upload.ts')).PlanItself)

import { isAdmin } from './state.ts'
import * as texts from './texts.ts'

interface SideFacts {
  plan: SitePlan
  known: SitePlans
  cameras: readonly Camera[]
  pins: readonly Pinned[]
  chosen: Pinned | undefined
  choose: (camera: string) => void
  keep: (camera: string, placement: Placement | null) => void
  again: () => Promise<void>
}

export function PlanSide(facts: SideFacts): VNode {
  const { plan, known, cameras, pins, chosen, choose, again } = facts
  const lampOf = (id: string) => {
    const camera = cameras.find((one) => one.id === id)
    return camera ? lamp(litOf(camera)) : null
  }
  const rows = pins.map(
    ({ id, name }) =>
      html`<li key=${id}><button class="btn quiet" type="button" aria-pressed=${id === chosen?.id} onClick=${() => choose(id)}>${lampOf(id)}${name}</button></li>`,
  )
  return html`<div class="stack"><section class="panel" aria-label=${texts.camerasOnPlan}><header><h2>${texts.camerasOnPlan}</h2></header>
      ${rows.length === 0 ? html`<p class="in soft">${texts.noneOnPlan}</p>` : html`<ul class="in on-plan-list">${rows}</ul>`}
      ${isAdmin.value ? html`<${PutOn} ...${facts} />` : null}</section>
    ${chosen ? html`<${Chosen} ...${facts} chosen=${chosen} key=${chosen.id} />` : null}
    ${isAdmin.value ? html`<${PlanItself} plan=${plan} limits=${known.limits} again=${again} key=${plan.id} />` : null}</div>`
}

/** Puts a camera in the middle of the plan. */
function PutOn({ plan, known, cameras, choose, keep }: SideFacts): VNode | null {
  const others = cameras.filter(({ id }) => known.placements[id]?.planId !== plan.id)
  if (others.length === 0) return null
  function put(event: Event): void {
    const element = event.target as HTMLSelectElement
    const camera = others.find(({ id }) => id === element.value)
    element.value = ''
    if (!camera) return
    keep(camera.id, firstPlacement(plan))
    choose(camera.id)
    toast(texts.cameraIsPut(camera.name))
  }
  const options = others
    .toSorted((a, b) => a.name.localeCompare(b.name))
    .map(
      ({ id, name }) =>
        html`<option key=${id} value=${id}>${known.placements[id] ? texts.isOnOtherPlan(name) : name}</option>`,
    )
  return html`<div class="in"><div class="field"><label for="put-on">${texts.putOnPlan}</label><div class="input"><select id="put-on" onChange=${put}>
    <option value="">${texts.chooseCamera}</option>${options}</select></div></div></div>`
}

function Chosen({ plan, known: { limits }, chosen, keep }: SideFacts & { chosen: Pinned }): VNode {
  const { id, name, placement } = chosen
  const field = (
    key: 'headingDeg' | 'hfovDeg' | 'rangePx',
    label: string,
    unit: string,
  ) => html`<${NumberField} label=${label} unit=${unit} span=${limits.placement[key]} value=${placement[key]}
    take=${(value: number) => keep(id, { ...placement, [key]: value })} />`
  const edits = html`${field('headingDeg', texts.heading, texts.degreesUnit)}<p class="small faint">${texts.headingHint}</p>
      ${field('hfovDeg', texts.hfov, texts.degreesUnit)}${field('rangePx', texts.range, texts.pixelsUnit)}
      <div class="acts start"><a class="btn" href=${linkTo('plan', plan.id, id)}>${texts.calibrate}</a><${Act} run=${() => keep(id, null)}>${texts.takeOffPlan}</${Act}></div>`
  return html`<section class="panel" aria-label=${name}><header><h2>${name}</h2><div class="acts"><a class="btn" href=${linkTo('camera', id)}>Live</a></div></header>
    <div class="in stack"><p class="soft">${calibrationText(placement, plan)}</p>${isAdmin.value ? edits : null}</div></section>`
}

/** How well it is known which place of the picture is where. */
function calibrationText({ calibration }: Placement, plan: SitePlan): string {
  if (!calibration) return texts.notCalibrated
  if (calibration.kind === 'ptz') return texts.calibratedByAiming(fixed(calibration.residualDeg, 1))
  const { residualPx } = calibration
  return texts.calibratedByPoints(texts.fitIs(fittingOf(residualPx, plan), fixed(residualPx, 1)))
}

interface NumberFacts {
  label: string
  unit: string
  span: { least: number; most: number }
  value: number
  take: (value: number) => void
}

/** A number that counts once it is left, if it may be. */
function NumberField({ label, unit, span: { least, most }, value, take }: NumberFacts): VNode {
  const [isWrong, setWrong] = useState(false)
  // The page is drawn anew while somebody types: what they have typed so far stays.
  const [typed, setTyped] = useState<string | null>(null)
  const textOf = (event: Event) => (event.target as HTMLInputElement).value
  function hear(event: Event): void {
    const number = typedNumber(textOf(event))
    const isRight = typeof number === 'number' && number >= least && number <= most
    setWrong(!isRight)
    if (isRight) setTyped(null)
    if (isRight && number !== value) take(number)
  }
  return html`<label class="field" data-s=${isWrong ? 'fault' : undefined}><span class="label">${label}</span><div class="input"><input type="text" inputmode="decimal" autocomplete="off" aria-invalid=${isWrong} value=${typed ?? String(Math.round(value * 10) / 10)} onInput=${(event: Event) => setTyped(textOf(event))} onChange=${hear} /><span>${unit}</span></div>
    ${isWrong ? html`<p class="err" role="alert">${lamp('fault')}<span>${texts.aNumberFrom(least, most)}</span></p>` : null}</label>`
}
