/** Where parts of the recorder meet: plans and rules turn cameras and speak through them, and hear what is seen. */
import { Fault } from '#kit/pure/fault.ts'
import type { CameraBook, CameraRecord } from '../core/cameras/book.ts'
import type { PlanAiming, Moves as PlanMoves } from '../core/plans/aiming.ts'
import type { SitePlans } from '../core/plans/site-plans.ts'
import { fromRaw, hfovAt } from '../core/ptz/geometry.ts'
import type { By } from '../core/ptz/moves.ts'
import type { MoveOrder, Moves as RuleMoves, Talker as RuleTalker } from '../core/rules/actions.ts'
import type { DetectedEvent } from '../core/rules/triggers.ts'
import type { SightEvent } from '../core/sight/events.ts'
import { fitPlane, mapped, type Point } from '../wire/homography.ts'
import type { Turning } from './ptz.ts'
import type { Talking } from './talk.ts'

/** Turns cameras for plans. */
export function planMoves(ptz: () => Turning): PlanMoves {
  const geometryOf = (camera: string) => ptz().book.of(camera).geometry

  async function position(camera: string) {
    const { position: at } = await ptz().moves.look(camera)
    if (!at) throw new Fault('no_ptz_geometry', 'The camera does not say where it looks. Train its PTZ first.')
    return { ...at, hfovDeg: hfovAt(at.zoom, geometryOf(camera) ?? undefined) }
  }

  return {
    async geometry(camera) {
      const known = geometryOf(camera)
      if (!known) return undefined
      const scale = await ptz().moves.scale(camera)
      const from = fromRaw({ pan: scale.pan.min, tilt: scale.tilt.min, zoom: 0 }, scale)
      const to = fromRaw({ pan: scale.pan.max, tilt: scale.tilt.max, zoom: 0 }, scale)
      return { kind: known.kind, limits: { pan: spanOf(from.pan, to.pan), tilt: spanOf(from.tilt, to.tilt) } }
    },
    position,
    async goTo(camera, wish, { by, detail }) {
      const now = wish.tilt === null || wish.zoom === null ? await position(camera) : undefined
      const to = { pan: wish.pan, tilt: wish.tilt ?? now?.tilt ?? 0, zoom: wish.zoom ?? now?.zoom ?? 0 }
      return await ptz().steering.goTo(camera, to, { ...by, detail })
    },
  }
}

/** A camera that is mounted upside down counts the other way. */
function spanOf(one: number, other: number): { min: number; max: number } {
  return { min: Math.min(one, other), max: Math.max(one, other) }
}

interface RuleMoveParts {
  cameras(): CameraBook
  plans: SitePlans
  aiming(): PlanAiming
  ptz(): Turning
}

/** Turns cameras for rules. */
export function ruleMoves({ aiming, cameras, plans, ptz }: RuleMoveParts): RuleMoves {
  const record = (camera: string): CameraRecord => cameras().require(camera, { cameras: 'all' }).record
  const known = (camera: string) => cameras().find(camera)

  function presetTrouble(camera: string): string | null {
    if (known(camera)?.onvif) return null
    return `${known(camera)?.name ?? camera} is not spoken to over ONVIF: it cannot be turned. Add it over ONVIF.`
  }

  return {
    presetTrouble,
    aimTrouble(camera) {
      const trouble = presetTrouble(camera)
      if (trouble !== null || plans.placementOf(camera)?.calibration?.kind === 'ptz') return trouble
      return `It is not known how ${known(camera)?.name ?? camera} stands on the plan. Calibrate it there by what it was aimed at.`
    },
    recall: (camera, preset, order) => ptz().moves.recall(camera, preset, byRule(order)),
    steered: (camera) => ptz().moves.steered(camera),
    note: (camera, order, detail) => ptz().moves.write(camera, 'ptz_preset', byRule(order), detail),
    async aim(camera, { camera: seenBy, region, zoom }, order) {
      const point = placeSeen(plans, seenBy, region)
      await aiming().aim(record(camera), { point, zoom }, byRule(order))
    },
  }
}

function byRule({ operation, performedBy, rule }: MoveOrder): By {
  return { kind: 'rule', name: performedBy, detail: { rule }, ...(operation !== undefined && { operation }) }
}

/**
 * Where on its plan something stands that a camera sees: below the middle of its box where the camera is calibrated, else
 * where the camera itself is.
 * @throws Fault `not_on_plan`
 */
function placeSeen(plans: SitePlans, camera: string, [left, , right, bottom]: readonly number[]): Point {
  const { calibration, x, y } = plans.requirePlacement(camera)
  if (calibration?.kind !== 'homography') return [x, y]
  return mapped(fitPlane(calibration.points).matrix, [((left ?? 0) + (right ?? 1)) / 2, bottom ?? 1])
}

/** Speaks through cameras for rules. */
export function ruleTalker(cameras: () => CameraBook, talking: () => Talking): RuleTalker {
  const known = (camera: string) => cameras().find(camera)
  return {
    trouble(camera, message) {
      const record = known(camera)
      if (!record?.talkback?.codec)
        return `${record?.name ?? camera} cannot be spoken through, or was not asked for its loudspeaker yet.`
      const { messages } = talking()
      if (messages.list().some(({ id }) => id === message)) return null
      return 'There is no message with this id. GET /api/talk/messages lists them.'
    },
    async say(camera, { message, repeat }) {
      const { record } = cameras().require(camera, { cameras: 'all' })
      const { done } = await talking().talk.say(record, message, repeat)
      // A rule's next action begins only when the message has been heard.
      const fault = await done
      if (fault) throw fault
    },
  }
}

/** What was seen, for rules. What a camera claims itself has no place in its picture. @param nameOf an identity */
export function detectionOf(
  event: SightEvent,
  phase: 'begin' | 'end',
  nameOf: (identityId: string) => string | undefined,
): DetectedEvent {
  const { beganAt, box, cameraId, endedAt, group, id, label, lastAt, recognised } = event
  const at = phase === 'begin' ? beganAt : (endedAt ?? lastAt)
  const name = recognised?.identityId ? nameOf(recognised.identityId) : undefined
  const plate = recognised?.plate
  return {
    ...{ id, cameraId, label, group, at, region: box ?? [0, 0, 1, 1] },
    ...(name !== undefined && recognised?.method && { identity: { name, method: recognised.method } }),
    ...(plate && { plate: { text: plate.text, state: plate.state } }),
  }
}
