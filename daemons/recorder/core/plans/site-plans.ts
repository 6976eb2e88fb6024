/** Plans of the site: their pictures, which cameras are on them and where, and how those are calibrated. */
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import { type Picture, readPicture } from '#kit/pure/picture.ts'
import type { PictureFolder } from '#kit/store/picture-folder.ts'
import { fitPlane, type PlaneFit, type Point, type PointPair } from '../../wire/homography.ts'
import { fitPose, type PoseFit, type PoseSample } from '../../wire/pose.ts'
import { type AccountRecord, maySee } from '../access/accounts.ts'
import {
  type Calibration,
  MOST_PIXELS,
  PLACEMENT_SPANS,
  type Placement,
  type PlacementWish,
  POINT_SPAN,
  SAMPLE_SPAN,
  type Span,
  scaledPlacement,
} from './placement.ts'

/** One plan. Never changed in place. */
export interface SitePlan {
  readonly id: string
  readonly name: string
  /** Of its picture, in pixels. */
  readonly width: number
  readonly height: number
  /** Name of its picture in the folder of pictures, and how long that is. */
  readonly picture: string
  readonly bytes: number
}

/** All of it, as it is saved. */
export interface PlansRecord {
  readonly plans: readonly SitePlan[]
  /** By id of the camera. */
  readonly placements: Readonly<Record<string, Placement>>
}

/** Whose eyes a plan is looked at with. */
type Viewer = Pick<AccountRecord, 'cameras'>

/** What is another now. */
export interface PlanChange {
  /** The camera whose pin changed; undefined: plans themselves. */
  cameraId: string | undefined
  /** Whether an account sees something of it. */
  isFor(viewer: Viewer): boolean
}

interface SitePlansParts {
  record: PlansRecord
  /** Resolves once it is on disk. */
  save(record: PlansRecord): Promise<void>
  newId(): string
  pictures: Pick<PictureFolder, 'put' | 'sweep'>
  /** Settings `plans.max`, `plans.image_bytes` and `plans.total_bytes`. */
  limits: { plans: number; imageBytes: number; totalBytes: number }
  onChange(change: PlanChange): void
}

/** What plans, points and placements may hold at most. */
export interface PlanLimits {
  bytes: number
  pixels: number
  plans: number
  points: Span
  samples: Span
  placement: typeof PLACEMENT_SPANS
}

export interface SitePlans {
  readonly limits: PlanLimits
  /** All for who sees all cameras; else those with a camera that they may see. */
  seenBy(viewer: Viewer): readonly SitePlan[]
  /** @throws Fault `unknown_plan`, also for one that the account does not see: nothing tells the two apart */
  require(id: string, viewer: Viewer): SitePlan
  /** Where a camera is; undefined where it is on no plan. */
  placementOf(camera: string): Placement | undefined
  /** @throws Fault `not_on_plan` */
  requirePlacement(camera: string): Placement
  /** @throws Fault `bad_plan_image`, `too_many_plans`, `store_write_failed` */
  add(name: string, bytes: Uint8Array): Promise<SitePlan>
  /** Pins go along with the size, calibrations are dropped. @throws Fault as `add`, `unknown_plan` */
  replaceImage(id: string, bytes: Uint8Array): Promise<SitePlan>
  /** @throws Fault `unknown_plan`, `store_write_failed` */
  rename(id: string, name: string): Promise<SitePlan>
  /** Takes its cameras off. @throws Fault `unknown_plan`, `store_write_failed` */
  remove(id: string): Promise<SitePlan>
  /**
   * Puts a camera on a plan, moves it there, or takes it off.
   * @throws Fault `unknown_plan`, `beside_plan`, `store_write_failed`
   */
  place(camera: string, wish: PlacementWish | null): Promise<Placement | undefined>
  /** None clears what points have made. @throws Fault `not_on_plan`, `bad_points`, `beside_plan`, `store_write_failed` */
  fitPoints(camera: string, points: readonly PointPair[]): Promise<PlaneFit | null>
  /** None clears what samples have made. @throws Fault `not_on_plan`, `bad_points`, `beside_plan`, `store_write_failed` */
  fitSamples(camera: string, samples: readonly PoseSample[]): Promise<PoseFit | null>
  /** There are no others any more. @throws Fault `store_write_failed` */
  camerasAre(ids: readonly string[]): Promise<void>
}

export function createSitePlans(parts: SitePlansParts): SitePlans {
  const { limits } = parts
  const keeper = createKeeper(parts)
  return {
    limits: {
      ...{ bytes: limits.imageBytes, pixels: MOST_PIXELS, plans: limits.plans },
      ...{ points: POINT_SPAN, samples: SAMPLE_SPAN, placement: PLACEMENT_SPANS },
    },
    seenBy: (viewer) => keeper.now().plans.filter(({ id }) => sees(keeper.now(), viewer, id)),
    require: (id, viewer) => keeper.plan(sees(keeper.now(), viewer, id) ? id : ''),
    placementOf: (camera) => keeper.now().placements[camera],
    requirePlacement: keeper.placement,
    ...planChanges(keeper, parts),
    ...placementChanges(keeper),
  }
}

/** What is there now, and changing it. */
interface Keeper {
  now(): PlansRecord
  /** @throws Fault `unknown_plan` */
  plan(id: string): SitePlan
  /** @throws Fault `not_on_plan` */
  placement(camera: string): Placement
  inTurn<Result>(change: () => Promise<Result>): Promise<Result>
  /** Nothing takes effect before it is saved. @param cameraId whose pin alone changes */
  put(next: Partial<PlansRecord>, cameraId?: string): Promise<void>
}

function createKeeper({ onChange, record, save }: SitePlansParts): Keeper {
  let kept = record
  return {
    now: () => kept,
    plan(id) {
      const found = kept.plans.find((plan) => plan.id === id)
      if (!found) throw new Fault('unknown_plan', 'There is no plan with this id. GET /api/site-plans lists them.')
      return found
    },
    placement(camera) {
      const placement = kept.placements[camera]
      if (!placement) throw new Fault('not_on_plan', 'The camera is on no plan. Put it on one first.')
      return placement
    },
    inTurn: createSerialTurn(),
    async put(next, cameraId) {
      const before = kept
      const after = { ...kept, ...next }
      await save(after)
      kept = after
      const ids = changedPlans(before, after)
      onChange({
        cameraId,
        isFor: (viewer) =>
          cameraId === undefined
            ? ids.some((id) => sees(before, viewer, id) || sees(after, viewer, id))
            : maySee(viewer, cameraId),
      })
    },
  }
}

type PlanChanges = Pick<SitePlans, 'add' | 'replaceImage' | 'rename' | 'remove'>

function planChanges(
  { inTurn, now, plan: required, put }: Keeper,
  { limits, newId, pictures }: Pick<SitePlansParts, 'limits' | 'newId' | 'pictures'>,
): PlanChanges {
  /** @param instead of which plan it comes */
  async function imageOf(bytes: Uint8Array, instead?: SitePlan): Promise<Omit<SitePlan, 'id' | 'name'>> {
    const read = readPlanImage(bytes)
    const all = [read.bytes.length, ...now().plans.map((plan) => (plan === instead ? 0 : plan.bytes))]
    const sum = all.reduce((total, length) => total + length, 0)
    if (sum > limits.totalBytes)
      throw new Fault(
        'too_many_plans',
        `The images of all plans would have ${sum} bytes; plans.total_bytes allows ${limits.totalBytes}. Remove a plan, or save the image smaller.`,
      )
    const picture = await pictures.put(read.bytes, read.kind).catch((cause: unknown) => {
      throw faultOf(cause, 'store_write_failed', 'The image could not be saved. Nothing was changed.')
    })
    return { picture, width: read.width, height: read.height, bytes: read.bytes.length }
  }

  async function change(id: string, next: Partial<SitePlan>, placements = now().placements): Promise<SitePlan> {
    const after = { ...required(id), ...next }
    await put({ plans: now().plans.map((plan) => (plan.id === id ? after : plan)), placements })
    return after
  }

  /** Images that no plan shows any more; what stays this time is swept with the next. */
  const sweep = () => pictures.sweep().catch(() => {})

  return {
    add: (name, bytes) =>
      inTurn(async () => {
        const { plans } = now()
        if (plans.length >= limits.plans)
          throw new Fault('too_many_plans', `There are ${plans.length} plans; plans.max allows ${limits.plans}.`)
        const plan = { id: newId(), name, ...(await imageOf(bytes)) }
        await put({ plans: [...plans, plan] })
        return plan
      }),
    replaceImage: (id, bytes) =>
      inTurn(async () => {
        const before = required(id)
        const image = await imageOf(bytes, before)
        const scaled = Object.entries(now().placements).map(([camera, placement]): [string, Placement] => [
          camera,
          placement.planId === id ? scaledPlacement(placement, before, image) : placement,
        ])
        const after = await change(id, image, Object.fromEntries(scaled))
        await sweep()
        return after
      }),
    rename: (id, name) => inTurn(() => change(id, { name })),
    remove: (id) =>
      inTurn(async () => {
        const removed = required(id)
        const { placements, plans } = now()
        const others = Object.entries(placements).filter(([, { planId }]) => planId !== id)
        await put({ plans: plans.filter((plan) => plan !== removed), placements: Object.fromEntries(others) })
        await sweep()
        return removed
      }),
  }
}

type PlacementChanges = Pick<SitePlans, 'place' | 'fitPoints' | 'fitSamples' | 'camerasAre'>

function placementChanges({ inTurn, now, placement: required, plan, put }: Keeper): PlacementChanges {
  async function takeOff(camera: string): Promise<void> {
    const { [camera]: before, ...placements } = now().placements
    if (before) await put({ placements }, camera)
  }

  async function putPlacement(camera: string, placement: Placement): Promise<void> {
    await put({ placements: { ...now().placements, [camera]: placement } }, camera)
  }

  /** @param fitted what a list makes of a placement. An empty one clears what such a list made before. */
  function calibrate<One extends { plan: Point }, Fit>(
    { camera, kind, list }: { camera: string; kind: Calibration['kind']; list: readonly One[] },
    fitted: (placement: Placement) => { fit: Fit; calibration: Calibration },
  ): Promise<Fit | null> {
    return inTurn(async () => {
      const placement = required(camera)
      if (list.length === 0) {
        if (placement.calibration?.kind === kind) await putPlacement(camera, { ...placement, calibration: null })
        return null
      }
      const size = plan(placement.planId)
      for (const [at, one] of list.entries()) requireWithin(size, one.plan, `Point ${at + 1}`)
      const { calibration, fit } = fitted(placement)
      await putPlacement(camera, { ...placement, calibration })
      return fit
    })
  }

  return {
    place: (camera, wish) =>
      inTurn(async () => {
        if (wish === null) {
          await takeOff(camera)
          return undefined
        }
        requireWithin(plan(wish.planId), [wish.x, wish.y], 'The camera')
        const placement = { ...wish, calibration: keptCalibration(now().placements[camera], wish) }
        await putPlacement(camera, placement)
        return placement
      }),
    fitPoints: (camera, points) =>
      calibrate({ camera, kind: 'homography', list: points }, () => {
        const fit = fitPlane(points)
        return { fit, calibration: { kind: 'homography', points, residualPx: fit.residualPx } }
      }),
    fitSamples: (camera, samples) =>
      calibrate({ camera, kind: 'ptz', list: samples }, ({ x, y }) => {
        const fit = fitPose([x, y], samples)
        return { fit, calibration: ptzCalibration(samples, fit) }
      }),
    camerasAre: (ids) =>
      inTurn(async () => {
        for (const camera of Object.keys(now().placements)) if (!ids.includes(camera)) await takeOff(camera)
      }),
  }
}

/** Whether an account sees a plan: one with none of its cameras is none of its business. */
function sees({ placements }: PlansRecord, { cameras }: Viewer, plan: string): boolean {
  return cameras === 'all' || cameras.some((camera) => placements[camera]?.planId === plan)
}

/** Ids of plans that were added or removed, or are another. */
function changedPlans(before: PlansRecord, after: PlansRecord): string[] {
  const ids = new Set([...before.plans, ...after.plans].map(({ id }) => id))
  const planOf = ({ plans }: PlansRecord, id: string) => plans.find((plan) => plan.id === id)
  return [...ids].filter((id) => planOf(before, id) !== planOf(after, id))
}

/** @throws Fault `bad_plan_image` */
function readPlanImage(bytes: Uint8Array): Picture {
  const read = readChecked(bytes)
  if (read.width <= MOST_PIXELS && read.height <= MOST_PIXELS) return read
  throw new Fault(
    'bad_plan_image',
    `The image has ${read.width} by ${read.height} pixels; ${MOST_PIXELS} are allowed on a side. Save it smaller: 2000 by 1500 shows a floor well.`,
  )
}

function readChecked(bytes: Uint8Array): Picture {
  try {
    return readPicture(bytes, ['png', 'jpg'])
  } catch (cause) {
    if (cause instanceof Fault && cause.code === 'picture_refused')
      throw new Fault('bad_plan_image', cause.message, { cause })
    throw cause
  }
}

/** @throws Fault `beside_plan` */
export function requireWithin({ height, width }: SitePlan, [x, y]: Point, what: string): void {
  if (x >= 0 && y >= 0 && x <= width && y <= height) return
  throw new Fault(
    'beside_plan',
    `${what} would be at ${x}, ${y}, beside the plan, which is ${width} by ${height} pixels large.`,
  )
}

function ptzCalibration(samples: readonly PoseSample[], { headingDeg, height, residualDeg }: PoseFit) {
  return { kind: 'ptz', samples, headingDeg, height, residualDeg } as const
}

/** What of a calibration still holds: none on another plan, and samples are seen from where the camera is now. */
function keptCalibration(before: Placement | undefined, wish: PlacementWish): Placement['calibration'] {
  if (before?.planId !== wish.planId || before.calibration === null) return null
  const { calibration } = before
  if (calibration.kind === 'homography' || (before.x === wish.x && before.y === wish.y)) return calibration
  try {
    return ptzCalibration(calibration.samples, fitPose([wish.x, wish.y], calibration.samples))
  } catch {
    // It is where it was aimed at.
    return null
  }
}
