/** Calibrating a camera by pairs of points: pressed in its picture and on the plan, moved by pointer or keys. */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { sentenceOf, useLook } from '#kit/web/call.ts'
import { html } from '#kit/web/html.ts'
import { firstAnswer, lazy } from '#kit/web/lazy.ts'
import { fixed } from '#kit/web/numbers.ts'
import { Act, icon, lamp, say, toast } from '#kit/web/parts.ts'
import { guardEdits, linkTo } from '#kit/web/route.ts'
import { adoptStyle } from '#kit/web/style.ts'
import { type Camera, type Turning as CameraTurning, ptzApi } from './api.ts'
import {
  type Placement,
  type PointFit,
  type PointPair,
  planApi,
  planImagePath,
  type SitePlan,
  type SitePlans,
} from './plan-api.ts'
import { fittingOf } from './plan-shapes.ts'
import { Spots } from './spots.ts'
import { Still } from './stage.ts'
import { cameras, planChanges } from './state.ts'
import * as texts from './texts.ts'

const PlanSamples = lazy(async () => (await import('./plan-samples.ts')).PlanSamples)

/** How often a camera is asked how it turns until it says so. */
const LOOK_MS = 10_000

adoptStyle(`
.pairs-stages{display:grid;gap:var(--s4);grid-template-columns:repeat(auto-fit,minmax(min(100%,22rem),1fr));align-items:start}
.pairs li{display:flex;align-items:center;gap:var(--s2)}
.pairs li>.soft{margin-left:auto}
`)

interface CalibrationFacts {
  plan: SitePlan
  known: SitePlans
  camera: string
  again: () => Promise<void>
}

export function PlanCalibration({ plan, known, camera: id, again }: CalibrationFacts): VNode {
  const camera = cameras.value?.find((one) => one.id === id)
  const placement = known.placements[id]
  if (!camera || placement?.planId !== plan.id)
    return html`<div class="head"><h1>${texts.calibrate}</h1></div><section class="panel">${say('off', texts.notOnPlan, texts.putItFirst, html`<a class="btn" href=${linkTo('plan', plan.id)}>Back to the plan</a>`)}</section>`
  if (camera.onvif)
    return html`<${Turning} plan=${plan} known=${known} camera=${camera} placement=${placement} again=${again} />`
  return pairsOf({ plan, known, camera, placement, again })
}

type KnownFacts = Omit<CalibrationFacts, 'camera'> & { camera: Camera; placement: Placement }

/** A camera that turns is calibrated by what it is aimed at, once it is known how wide it sees; one that does not, by points. */
function Turning(facts: KnownFacts): VNode {
  const { plan, known, camera, placement, again } = facts
  const [turning, setTurning] = useState<CameraTurning | null>(null)
  const [isTraining, setTraining] = useState(false)
  const { again: ask, refused } = useLook(async () => setTurning(await ptzApi.read(camera.id)), LOOK_MS, camera.id)
  async function train(): Promise<void> {
    setTraining(true)
    try {
      await ptzApi.train(camera.id)
      await ask()
    } catch (thrown) {
      toast(sentenceOf(thrown))
    } finally {
      setTraining(false)
    }
  }
  const head = html`<div class="head"><h1>${texts.calibrationOf(camera.name)}</h1><div class="acts"><a class="btn" href=${linkTo('plan', plan.id)}>Back to the plan</a></div></div>`
  if (turning === null)
    return html`${head}<section class="panel">${firstAnswer(refused, texts.askingHowItTurns, texts.turningNotRead, () => void ask())}</section>`
  if (!turning.supported) return pairsOf(facts)
  if (!turning.geometry) {
    const act = html`<${Act} kind="primary" run=${() => void train()} waits=${isTraining}>${texts.trainIt}</${Act}>`
    return html`${head}<section class="panel">${isTraining ? say('busy', texts.itTrains, texts.trainingIsFor) : say('off', texts.notTrained, texts.trainingIsFor, act)}</section>`
  }
  const first = placement.calibration?.kind === 'ptz' ? placement.calibration.samples : []
  return html`<${PlanSamples} plan=${plan} limits=${known.limits.samples} camera=${camera} first=${first} again=${again} />`
}

function pairsOf({ plan, known, camera, placement, again }: KnownFacts): VNode {
  const saved = placement.calibration?.kind === 'homography' ? placement.calibration.points : []
  return html`<${Pairs} plan=${plan} limits=${known.limits.points} camera=${camera} first=${saved} again=${again} />`
}

interface PairsFacts {
  plan: SitePlan
  limits: SitePlans['limits']['points']
  camera: Camera
  first: readonly PointPair[]
  again: () => Promise<void>
}

/** Both in fractions, as they are drawn; a point of the plan may still be missing. */
interface Marked {
  picture: readonly [number, number]
  plan: readonly [number, number] | null
}

function markedOf(pairs: readonly PointPair[], { height, width }: SitePlan): Marked[] {
  return pairs.map(({ picture, plan: [x, y] }) => ({ picture, plan: [x / width, y / height] }))
}

function Pairs({ plan, limits, camera, first, again }: PairsFacts): VNode {
  const [marked, setMarked] = useState<Marked[]>(() => markedOf(first, plan))
  const [saved, setSaved] = useState(marked)
  const [fit, setFit] = useState<PointFit | null>(null)
  const [refused, setRefused] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [looks, setLooks] = useState(0)
  const dirty = useRef(false)
  const stages = useRef<HTMLDivElement | null>(null)
  dirty.current = marked !== saved && !isBusy
  useEffect(() => {
    import('#kit/web/shell-dialogs.ts').catch(() => {})
    return guardEdits(() => dirty.current)
  }, [])

  const whole = marked.flatMap(({ picture, plan: at }): PointPair[] =>
    at ? [{ picture, plan: [at[0] * plan.width, at[1] * plan.height] }] : [],
  )
  const pending = marked.findIndex(({ plan: at }) => at === null)
  const isFull = marked.length >= limits.most

  function change(next: Marked[]): void {
    setMarked(next)
    setRefused('')
    setFit(null)
  }
  async function save(points: readonly PointPair[]): Promise<void> {
    setBusy(true)
    setRefused('')
    try {
      const { fit } = await planApi.calibrate(camera.id, points)
      const kept = markedOf(points, plan)
      setMarked(kept)
      setSaved(kept)
      setFit(fit)
      toast(fit ? texts.pointsAreSaved(fitText(fit, plan)) : texts.pointsAreCleared)
      await again()
    } catch (thrown) {
      setRefused(sentenceOf(thrown))
    } finally {
      setBusy(false)
    }
  }
  function add(next: Marked[], nextStage: 0 | 1): void {
    change(next)
    showStage(stages.current?.children[nextStage])
  }
  const remove = (at: number) => change(marked.toSpliced(at, 1))
  const next =
    pending >= 0
      ? texts.nowOnPlan(pending)
      : isFull
        ? texts.noMorePoints(limits.most)
        : `${texts.pressInPicture} ${whole.length < limits.least ? texts.morePoints(limits.least - whole.length) : texts.enoughPoints}`
  const alert = html`<p class="refusal" role="alert" data-s="fault">${lamp('fault')}<span>${refused}</span></p>`
  const inPicture = html`<${Spots} label=${texts.pointsInPicture} spots=${marked.map(({ picture }) => picture)} remove=${remove}
      add=${pending >= 0 || isFull ? undefined : (spot: [number, number]) => add([...marked, { picture: spot, plan: null }], 1)}
      move=${(at: number, spot: [number, number]) => change(marked.with(at, { ...(marked[at] as Marked), picture: spot }))} />`
  const onPlan = html`<${Spots} label=${texts.pointsOnPlan} spots=${marked.map(({ plan: at }) => at)} remove=${remove}
      add=${pending < 0 ? undefined : (spot: [number, number]) => add(marked.with(pending, { ...(marked[pending] as Marked), plan: spot }), 0)}
      move=${(at: number, spot: [number, number]) => change(marked.with(at, { ...(marked[at] as Marked), plan: spot }))} />`
  return html`<div class="head"><h1>${texts.calibrationOf(camera.name)}</h1><div class="acts"><a class="btn" href=${linkTo('plan', plan.id)}>Back to the plan</a></div></div>
    <p role="status" class="soft">${next}</p>
    <div class="pairs-stages" ref=${stages}><section class="panel" aria-label="Picture"><${Still} camera=${camera} looks=${looks} again=${() => setLooks(looks + 1)} foot=${belowStill}>${inPicture}</${Still}></section>
      <section class="panel" aria-label=${plan.name}><div class="stage on-plan" style=${{ '--ratio': plan.width / plan.height }}><img src=${planImagePath(plan.id, planChanges.value.plans)} alt=${texts.planImageOf(plan.name)} draggable=${false} />${onPlan}</div></section></div>
    <section class="panel pairs" aria-label=${texts.calibrate}><header><h2>${fit ? fitText(fit, plan) : texts.points}</h2><div class="acts">
        <${Act} run=${() => change([...marked, { picture: [0.5, 0.5], plan: [0.5, 0.5] }])} waits=${isFull || pending >= 0}>${texts.addPoint}</${Act}></div></header>
      ${
        marked.length === 0
          ? null
          : html`<ol class="in">${marked.map(
              (
                _,
                at,
              ) => html`<li key=${at}><b>${texts.pointNumber(at)}</b><span class="soft">${fit?.errorsPx[at] === undefined ? (marked === saved ? '' : texts.unsavedPoint) : texts.offBy(fixed(fit.errorsPx[at], 1))}</span>
        <button class="btn quiet icon" type="button" aria-label=${texts.removePoint(at)} onClick=${() => remove(at)}>${icon('close')}</button></li>`,
            )}</ol>`
      }
      ${refused ? html`<div class="in">${alert}</div>` : null}
      <footer class="save"><${Act} kind="apart" run=${() => void save([])} waits=${isBusy || saved.length === 0}>${texts.clearCalibration}</${Act}>
        <${Act} kind="primary" run=${() => void save(whole)} waits=${isBusy || marked === saved || whole.length < limits.least || pending >= 0}>Save</${Act}></footer></section>`
}

/** Where the next press belongs may be out of sight on a phone. */
function showStage(stage: Element | undefined): void {
  const { bottom, top } = stage?.getBoundingClientRect() ?? { bottom: 0, top: 0 }
  if (top < 0 || bottom > innerHeight) stage?.scrollIntoView({ block: 'center' })
}

function belowStill(why: string | null): string {
  return why === null ? texts.stillForPoints : `${why} ${texts.withoutStill}`
}

function fitText({ residualPx }: PointFit, plan: SitePlan): string {
  return texts.fitIs(fittingOf(residualPx, plan), fixed(residualPx, 1))
}
