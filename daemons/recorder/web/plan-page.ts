/** Plans of the site with cameras on them: where each is and where it looks; for who may, to move and to aim them. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { sentenceOf, useLook } from '#kit/web/call.ts'
import { html } from '#kit/web/html.ts'
import { firstAnswer, lazy } from '#kit/web/lazy.ts'
import { say, toast } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import { adoptStyle } from '#kit/web/style.ts'
import { type Looking, type Placement, planApi, type SitePlan, type SitePlans } from './plan-api.ts'
import { type Pinned, PlanCanvas } from './plan-canvas.ts'
import type { Spot } from './plan-shapes.ts'
import { cameras, isAdmin, mayOperate, planChanges } from './state.ts'
import * as texts from './texts.ts'

const PlanSide = lazy(async () => (await import('./plan-side.ts')).PlanSide)
const NewPlan = lazy(async () => (await import('./plan-upload.ts')).NewPlan)
const PlanCalibration = lazy(async () => (await import('./plan-calibration.ts')).PlanCalibration)

/** How often plans are asked for beside what the feed tells. */
const LOOK_MS = 15_000
const LOOKING_MS = 2000

adoptStyle(`
.plans{--side:21rem}
.on-plan-list>li>.btn{width:100%;justify-content:start}
.plan-tabs{display:flex;flex-wrap:wrap;gap:var(--s2)}
`)

/** The page. @param which the id of a plan, or `new`; @param camera the one that is calibrated */
export function PlanPage({ which, camera }: { which?: string | undefined; camera?: string | undefined }): VNode {
  const [known, setKnown] = useState<SitePlans | null>(null)
  const { again, refused } = useLook(async () => setKnown(await planApi.all()), LOOK_MS, String(planChanges.value.all))
  if (known === null)
    return page(
      html`<section class="panel">${firstAnswer(refused, texts.askingPlans, texts.plansCouldNotBeRead, () => void again())}</section>`,
    )
  if (which === 'new' && isAdmin.value) return page(html`<${NewPlan} limits=${known.limits} again=${again} />`)
  if (known.plans.length === 0)
    return page(
      html`<div class="stack"><section class="panel">${noPlans()}</section>${isAdmin.value ? html`<${NewPlan} limits=${known.limits} again=${again} />` : null}</div>`,
    )
  const plan = which === undefined ? known.plans[0] : known.plans.find(({ id }) => id === which)
  if (!plan)
    return page(
      html`<section class="panel">${say('off', texts.planIsGone, texts.itWasRemovedMeanwhile, html`<a class="btn" href=${linkTo('plan')}>All plans</a>`)}</section>`,
    )
  if (camera !== undefined && isAdmin.value)
    return html`<${PlanCalibration} plan=${plan} known=${known} camera=${camera} again=${again} key=${camera} />`
  return html`<${Shown} plan=${plan} known=${known} setKnown=${setKnown} again=${again} key=${plan.id} />`
}

function noPlans(): VNode {
  return isAdmin.value
    ? say('off', texts.noPlans, texts.howPlansBegin)
    : say('off', texts.noPlanForYou, texts.askForPlan)
}

function page(content: VNode): VNode {
  return html`<div class="head"><h1>${texts.plan}</h1></div>${content}`
}

interface ShownFacts {
  plan: SitePlan
  known: SitePlans
  setKnown: (known: SitePlans) => void
  again: () => Promise<void>
}

function Shown({ plan, known, setKnown, again }: ShownFacts): VNode {
  const [chosenId, choose] = useState<string | undefined>(undefined)
  const seen = cameras.value ?? []
  const pins: Pinned[] = seen
    .flatMap(({ id, name }) => {
      const placement = known.placements[id]
      return placement?.planId === plan.id ? [{ id, name, placement }] : []
    })
    .toSorted((a, b) => a.name.localeCompare(b.name))
  const chosen = pins.find(({ id }) => id === chosenId)
  const turns = chosen?.placement.calibration?.kind === 'ptz' && mayOperate.value ? chosen : undefined
  const looking = useLooking(turns?.id)

  /** Shown at once, as it will be. */
  async function keep(camera: string, placement: Placement | null, isUndo = false): Promise<void> {
    const before = known.placements[camera]
    const { [camera]: _, ...others } = known.placements
    setKnown({ ...known, placements: placement ? { ...others, [camera]: placement } : others })
    const name = seen.find(({ id }) => id === camera)?.name ?? ''
    const { calibration: __, ...wish } = placement ?? { calibration: null }
    try {
      await planApi.place(camera, placement ? (wish as Omit<Placement, 'calibration'>) : null)
      const undo = before && !isUndo ? () => void keep(camera, before, true) : undefined
      if (before) toast(placement ? texts.cameraIsMoved(name) : texts.cameraIsTakenOff(name), undo)
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
    await again()
  }
  async function aim(camera: Pinned, [x, y]: Spot): Promise<void> {
    try {
      const { clamped, levelOnly } = await planApi.aim(camera.id, x, y)
      const said = clamped ? texts.looksAsFar : levelOnly ? texts.turnedLevel : texts.looksThere
      toast(said(camera.name))
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
  }

  const mayMove = isAdmin.value
  const hint = turns
    ? texts.howToAim(turns.name)
    : mayMove && pins.length > 0
      ? texts.howToMove
      : pins.length > 0
        ? texts.chooseToSee
        : ''
  return html`<div class="head"><h1>${plan.name}</h1>${tabs(known.plans, plan)}</div>
    <div class="cols plans"><section class="panel" aria-label=${plan.name}>
        <${PlanCanvas} plan=${plan} limits=${known.limits} pins=${pins} chosen=${chosen?.id} choose=${choose} looking=${looking}
          keep=${mayMove ? (camera: string, placement: Placement) => void keep(camera, placement) : undefined}
          aim=${turns ? (spot: Spot) => void aim(turns, spot) : undefined} />
        ${hint ? html`<footer class="small soft">${hint}</footer>` : null}</section>
      <${PlanSide} plan=${plan} known=${known} cameras=${seen} pins=${pins} chosen=${chosen} choose=${choose} again=${again}
        keep=${(camera: string, placement: Placement | null) => void keep(camera, placement)} /></div>`
}

function tabs(plans: readonly SitePlan[], here: SitePlan): VNode | null {
  if (plans.length < 2) return null
  return html`<nav class="plan-tabs" aria-label="Plans">${plans.map(({ id, name }) => html`<a class="btn" href=${linkTo('plan', id)} aria-current=${id === here.id ? 'page' : undefined} key=${id}>${name}</a>`)}</nav>`
}

/** Where the chosen camera looks, while it can be told. */
function useLooking(camera: string | undefined): Looking | null {
  const [looking, setLooking] = useState<{ camera: string; told: Looking } | null>(null)
  useLook(
    async () => {
      // A camera that does not answer looks nowhere that is known.
      setLooking(camera === undefined ? null : { camera, told: await planApi.looking(camera) })
    },
    LOOKING_MS,
    camera ?? '',
  )
  return looking?.camera === camera ? (looking?.told ?? null) : null
}
