/** Calibrating a camera that turns: it is aimed at a place, that place is pressed on the plan, and so on for some places. */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { sentenceOf } from '#kit/web/call.ts'
import { html } from '#kit/web/html.ts'
import { fixed } from '#kit/web/numbers.ts'
import { Act, icon, lamp, toast } from '#kit/web/parts.ts'
import { guardEdits, linkTo } from '#kit/web/route.ts'
import { adoptStyle } from '#kit/web/style.ts'
import { type Camera, ptzApi } from './api.ts'
import { type AimSample, planApi, planImagePath, type SampleFit, type SitePlan, type SitePlans } from './plan-api.ts'
import { PtzPad } from './ptz-pad.ts'
import { Spots } from './spots.ts'
import { Still } from './stage.ts'
import { planChanges } from './state.ts'
import * as texts from './texts.ts'

/** How often the picture is looked at while somebody aims. */
const LOOK_MS = 1500

adoptStyle(`
.middle{position:relative;pointer-events:none}
.middle::before,.middle::after{content:"";position:absolute;background:#fff;box-shadow:0 0 0 1px #000}
.middle::before{left:50%;top:calc(50% - 1.2rem);width:2px;height:2.4rem;margin-left:-1px}
.middle::after{top:50%;left:calc(50% - 1.2rem);height:2px;width:2.4rem;margin-top:-1px}
`)

interface SamplesFacts {
  plan: SitePlan
  limits: SitePlans['limits']['samples']
  camera: Camera
  first: readonly AimSample[]
  again: () => Promise<void>
}

export function PlanSamples({ plan, limits, camera, first, again }: SamplesFacts): VNode {
  const [samples, setSamples] = useState<readonly AimSample[]>(first)
  const [saved, setSaved] = useState(samples)
  const [fit, setFit] = useState<SampleFit | null>(null)
  const [refused, setRefused] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [looks, setLooks] = useState(0)
  const dirty = useRef(false)
  dirty.current = samples !== saved && !isBusy
  useEffect(() => {
    import('#kit/web/shell-dialogs.ts').catch(() => {})
    return guardEdits(() => dirty.current)
  }, [])
  useEffect(() => {
    const looking = setInterval(() => setLooks((before) => before + 1), LOOK_MS)
    return () => clearInterval(looking)
  }, [])

  function change(next: readonly AimSample[]): void {
    setSamples(next)
    setRefused('')
    setFit(null)
  }
  /** What is in the middle of the picture now is there on the plan. */
  async function add([x, y]: readonly [number, number]): Promise<void> {
    setBusy(true)
    setRefused('')
    try {
      const { position } = await ptzApi.read(camera.id)
      if (position) change([...samples, { position, plan: [x * plan.width, y * plan.height] }])
      else setRefused(texts.saysNoPosition)
    } catch (thrown) {
      setRefused(sentenceOf(thrown))
    } finally {
      setBusy(false)
    }
  }
  async function save(list: readonly AimSample[]): Promise<void> {
    setBusy(true)
    setRefused('')
    try {
      const { fit } = await planApi.calibrateByAim(camera.id, list)
      setSamples(list)
      setSaved(list)
      setFit(fit)
      toast(fit ? texts.pointsAreSaved(fitText(fit)) : texts.pointsAreCleared)
      await again()
    } catch (thrown) {
      setRefused(sentenceOf(thrown))
    } finally {
      setBusy(false)
    }
  }

  const isFull = samples.length >= limits.most
  const missing = limits.least - samples.length
  const next = isFull
    ? texts.noMorePoints(limits.most)
    : `${texts.aimThenPress} ${missing > 0 ? texts.morePlaces(missing) : texts.enoughPoints}`
  const remove = (at: number) => change(samples.toSpliced(at, 1))
  const spots = samples.map(({ plan: [x, y] }): [number, number] => [x / plan.width, y / plan.height])
  const onPlan = html`<${Spots} label=${texts.pointsOnPlan} spots=${spots} remove=${remove}
      add=${isFull || isBusy ? undefined : (spot: [number, number]) => void add(spot)}
      move=${(at: number, [x, y]: [number, number]) => change(samples.with(at, { ...(samples[at] as AimSample), plan: [x * plan.width, y * plan.height] }))} />`
  return html`<div class="head"><h1>${texts.calibrationOf(camera.name)}</h1><div class="acts"><a class="btn" href=${linkTo('plan', plan.id)}>Back to the plan</a></div></div>
    <p role="status" class="soft">${next}</p>
    <div class="pairs-stages"><div class="stack"><section class="panel" aria-label="Picture"><${Still} camera=${camera} looks=${looks} again=${() => setLooks(looks + 1)} foot=${(why: string | null) => why ?? texts.middleCounts}><div class="middle"></div></${Still}></section>
        <${PtzPad} camera=${camera} /></div>
      <section class="panel" aria-label=${plan.name}><div class="stage on-plan" style=${{ '--ratio': plan.width / plan.height }}><img src=${planImagePath(plan.id, planChanges.value.plans)} alt=${texts.planImageOf(plan.name)} draggable=${false} />${onPlan}</div></section></div>
    <section class="panel pairs" aria-label=${texts.calibrate}><header><h2>${fit ? fitText(fit) : texts.places}</h2></header>
      ${samples.length === 0 ? html`<p class="in soft">${texts.noPlacesYet}</p>` : html`<ol class="in">${samples.map((sample, at) => row({ sample, at, fit, isSaved: samples === saved, remove }))}</ol>`}
      ${refused ? html`<div class="in"><p class="refusal" role="alert" data-s="fault">${lamp('fault')}<span>${refused}</span></p></div>` : null}
      <footer class="save"><${Act} kind="apart" run=${() => void save([])} waits=${isBusy || saved.length === 0}>${texts.clearCalibration}</${Act}>
        <${Act} kind="primary" run=${() => void save(samples)} waits=${isBusy || samples === saved || missing > 0}>Save</${Act}></footer></section>`
}

interface RowFacts {
  sample: AimSample
  at: number
  fit: SampleFit | null
  isSaved: boolean
  remove: (at: number) => void
}

function row({ at, fit, isSaved, remove, sample: { position } }: RowFacts): VNode {
  const isLeftOut = fit?.leftOut[at] === true
  const off = fit?.errorsDeg[at]
  const words = off === undefined ? (isSaved ? '' : texts.unsavedPoint) : texts.offByDegrees(fixed(off, 1), isLeftOut)
  return html`<li key=${at}>${isLeftOut ? lamp('warn') : null}<b>${texts.pointNumber(at)}</b><span class="faint small">${texts.lookedAt(fixed(position.pan, 1), fixed(position.tilt, 1))}</span><span class="soft">${words}</span>
    <button class="btn quiet icon" type="button" aria-label=${texts.removePoint(at)} onClick=${() => remove(at)}>${icon('close')}</button></li>`
}

function fitText({ height, leftOut, residualDeg }: SampleFit): string {
  return texts.aimFits(fixed(residualDeg, 1), leftOut.filter(Boolean).length, height !== null)
}
