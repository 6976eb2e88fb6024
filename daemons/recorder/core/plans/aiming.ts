/** Cameras that turn, on their plan: where one looks, aiming one at a point, and calibrating it by what it was aimed at. */
import { Fault } from '#kit/pure/fault.ts'
import type { Point } from '../../wire/homography.ts'
import { aimAt, bearingAt, lookedAt, type PoseFit, type PoseSample } from '../../wire/pose.ts'
import type { CameraRecord } from '../cameras/book.ts'
import type { By } from '../ptz/moves.ts'
import type { Calibration, Placement } from './placement.ts'
import { requireWithin, type SitePlans } from './site-plans.ts'

/** Pan in degrees clockwise from above, tilt in degrees above the horizon, zoom 0 to 1. */
export interface PtzPosition {
  pan: number
  tilt: number
  zoom: number
}

/** What is known of how a camera turns, and how far. */
export interface PtzGeometry {
  kind: 'calibrated' | 'trained'
  limits: { pan: { min: number; max: number }; tilt: { min: number; max: number } }
}

/** Where a camera is to go; null keeps what it is. */
export interface PtzWish {
  pan: number
  tilt: number | null
  zoom: number | null
}

/** What became of a move. Errors are fractions of the frame. */
export interface Moved {
  method: 'absolute' | 'fov'
  predictedError: number
  achievedError: number | null
  corrections: number
  /** Whether the camera could not reach it. */
  clamped: boolean
}

/** Who wants a camera to be aimed, as moves know them, and what is written down beside. */
export interface AimOrder {
  by: By
  detail: Readonly<Record<string, string | number>>
}

/** Cameras that can be turned: what plans need of them. */
export interface Moves {
  /** Undefined for a camera that cannot be turned, or of which that is not known. @throws Fault, as cameras answer */
  geometry(camera: string): Promise<PtzGeometry | undefined>
  /** Asks the camera. @throws Fault, as cameras answer */
  position(camera: string): Promise<PtzPosition & { hfovDeg: number }>
  /** It stands among the camera's writes as `ptz_aim`. @throws Fault, as cameras answer */
  goTo(camera: string, wish: PtzWish, order: AimOrder): Promise<Moved>
}

/** Where a camera looks. */
export interface Looking {
  /** On the ground under the middle of its picture; null at the horizon and above it, and where its height is not known. */
  point: { x: number; y: number } | null
  bearingDeg: number
  hfovDeg: number
  position: PtzPosition
}

/** What became of aiming at a point of a plan. */
export interface Aimed extends Moved {
  bearingDeg: number
  /** Whether only pan was set, since its height is not known. */
  levelOnly: boolean
}

interface PlanAimingParts {
  plans: SitePlans
  moves: Moves
}

export interface PlanAiming {
  /** @throws Fault `no_ptz_geometry`, and as `SitePlans.fitSamples` */
  calibrate(camera: CameraRecord, samples: readonly PoseSample[]): Promise<PoseFit | null>
  /** @throws Fault `not_on_plan`, `heading_not_calibrated`, `no_ptz_geometry`, and as cameras answer */
  look(camera: CameraRecord): Promise<Looking>
  /**
   * @param by who wants it
   * @throws Fault `bad_points`, `beside_plan`, and as `look`
   */
  aim(camera: CameraRecord, wish: { point: Point; zoom: number | null }, by: By): Promise<Aimed>
}

export function createPlanAiming({ moves, plans }: PlanAimingParts): PlanAiming {
  async function requireGeometry({ id, name }: CameraRecord): Promise<PtzGeometry> {
    const geometry = await moves.geometry(id)
    if (geometry) return geometry
    throw new Fault(
      'no_ptz_geometry',
      `${name} cannot be turned, or it is not known how far its positions turn it. Calibrate or train its PTZ first.`,
    )
  }

  function requirePose({ id, name }: CameraRecord): { placement: Placement; pose: PtzCalibration } {
    const placement = plans.requirePlacement(id)
    if (placement.calibration?.kind === 'ptz') return { placement, pose: placement.calibration }
    throw new Fault(
      'heading_not_calibrated',
      `It is not known how ${name} stands on the plan. Aim it at places that you know, and mark those on the plan.`,
    )
  }

  return {
    async calibrate(camera, samples) {
      // What a camera that was replaced has left behind can be cleared.
      if (samples.length > 0) await requireGeometry(camera)
      return await plans.fitSamples(camera.id, samples)
    },
    async look(camera) {
      const { placement, pose } = requirePose(camera)
      await requireGeometry(camera)
      const { hfovDeg, ...position } = await moves.position(camera.id)
      const point = lookedAt([placement.x, placement.y], pose, position)
      return {
        point: point && { x: point[0], y: point[1] },
        ...{ bearingDeg: bearingAt(pose, position.pan), hfovDeg, position },
      }
    },
    async aim(camera, { point, zoom }, by) {
      const { placement, pose } = requirePose(camera)
      const { limits } = await requireGeometry(camera)
      const plan = plans.require(placement.planId, { cameras: 'all' })
      requireWithin(plan, point, 'The point')
      const { bearingDeg, pan, tilt } = aimAt([placement.x, placement.y], pose, point, limits.pan)
      const detail = { ...by.detail, plan: plan.name, x: point[0], y: point[1], bearingDeg }
      const moved = await moves.goTo(camera.id, { pan, tilt, zoom }, { by, detail })
      return { ...moved, bearingDeg, levelOnly: tilt === null }
    },
  }
}

type PtzCalibration = Extract<Calibration, { kind: 'ptz' }>
