/** Doing what rules say: each kind of action, what it needs of the world, and what came of it. */
import { Fault } from '#kit/pure/fault.ts'
import { counted, durationText } from '#kit/pure/text.ts'
import type { CameraRecord } from '../cameras/book.ts'
import type { Outputs } from '../outputs/outputs.ts'
import type { PreservedStretch } from '../storage/storage-book.ts'
import type { Action, MovingAction, Region, Rule } from './rule.ts'
import type { RuleBook } from './rule-book.ts'
import type { Occurrence } from './triggers.ts'

/** Moves cameras. Who is named in `by` stands in their writes. */
export interface Moves {
  /** Why a camera cannot go to a preset; null: it can. */
  presetTrouble(camera: string, preset: string): string | null
  /** Why a camera cannot look at what another one sees; null: it can. */
  aimTrouble(camera: string): string | null
  recall(camera: string, preset: string, by: MoveOrder): Promise<void>
  /** Who steers a camera now, so that nothing moves it by itself; undefined: nobody. */
  steered(camera: string): { sentence: string; forMs: number } | undefined
  /** Writes down what was not done. */
  note(camera: string, by: MoveOrder, detail: Readonly<Record<string, string>>): Promise<void>
  /** @param target what a camera sees, as fractions of its picture; `zoom` null: as it is */
  aim(camera: string, target: AimTarget, by: MoveOrder): Promise<void>
}

/** Who moves a camera. */
export interface MoveOrder {
  performedBy: string | null
  rule: string
  /** As what it is written down, instead of the usual. */
  operation?: string
}

export interface AimTarget {
  camera: string
  region: Region
  zoom: number | null
}

/** Speaks through cameras. */
export interface Talker {
  /** Why a message cannot be spoken there; null: it can. */
  trouble(camera: string, message: string): string | null
  say(camera: string, wish: { message: string; repeat: number }, by: MoveOrder): Promise<void>
}

/** One POST to a target. */
export interface WebhookPoster {
  /** Tries twice. @throws Fault `webhook_failed` with what the target did */
  post(url: string, body: string, secret: string | null): Promise<void>
}

export interface ActionParts {
  cameraOf(id: string): CameraRecord | undefined
  nameOf(id: string): string
  outputs: Pick<Outputs, 'switch'>
  webhooks: WebhookPoster
  moves: Moves
  talker: Talker
  /** Has a camera that a rule has moved go back. */
  returns: { plan(action: MovingAction, rule: string): void }
  preserve(wish: Omit<PreservedStretch, 'id'>): Promise<unknown>
  book(): RuleBook
}

/** Does one action. @returns what was done, as a sentence. @throws Fault that says why not */
export type Actor = (rule: Rule, action: Action, occurrence: Occurrence) => Promise<string>

export function createActor(parts: ActionParts): Actor {
  return async (rule, action, occurrence) => {
    const by = { performedBy: occurrence.by, rule: rule.name }
    switch (action.type) {
      case 'notify':
        return 'Shown on open pages.'
      case 'webhook':
        await parts.webhooks.post(action.url, JSON.stringify(bodyOf(rule, occurrence, parts)), action.secret)
        return 'Taken.'
      case 'output': {
        const { outputId: output, seconds, state } = action
        await parts.outputs.switch(cameraOf(parts, action.cameraId), { output, seconds, state }, by)
        return state === 'pulse' ? `On for ${durationText(seconds * 1000)}.` : `Switched ${state}.`
      }
      case 'ptz_preset':
        await parts.moves.recall(action.cameraId, action.preset, by)
        parts.returns.plan(action, rule.name)
        return 'Moved to its preset.'
      case 'ptz_aim':
        await parts.moves.aim(action.cameraId, aimOf(occurrence, action.zoom), by)
        parts.returns.plan(action, rule.name)
        return 'Looks at it.'
      case 'talk_message': {
        const { cameraId, messageId: message, repeat } = action
        await parts.talker.say(cameraId, { message, repeat }, by)
        return 'Spoken.'
      }
      case 'preserve':
        return await preserve(parts, rule, action, occurrence)
      case 'arm': {
        const names = await parts.book().arm(action.ruleIds, action.armed, action.minutes)
        const how = action.armed ? 'Armed' : 'Disarmed'
        const long = action.minutes === 0 ? '' : ` for ${durationText(action.minutes * 60_000)}`
        // A count alone: who reads it may not see the cameras of those rules.
        return `${how}${long}: ${names.length === 0 ? 'none is there any more' : counted(names.length, 'rule')}.`
      }
    }
  }
}

/** Where an action goes: those of one target wait for each other. */
export function targetOf(action: Action): string {
  if (action.type === 'webhook') return `webhook ${URL.parse(action.url)?.origin ?? ''}`
  if (action.type === 'ptz_preset' || action.type === 'ptz_aim') return targetOfMoves(action.cameraId)
  if (action.type === 'output' || action.type === 'talk_message') return `${action.type} ${action.cameraId}`
  return 'recorder'
}

/** The same for whatever a rule moves. */
export function targetOfMoves(camera: string): string {
  return `ptz ${camera}`
}

function cameraOf(parts: ActionParts, id: string): CameraRecord {
  const camera = parts.cameraOf(id)
  if (!camera) throw new Fault('unknown_camera', 'The camera is gone.')
  return camera
}

/** Of what has no place in the picture, such as what a camera claims itself. */
const WHOLE: Region = [0, 0, 1, 1]

function aimOf({ camera, region }: Occurrence, zoom: number | null): AimTarget {
  if (camera === null) throw new Fault('bad_rule', 'What happened is at no camera, and has no place to look at.')
  return { camera, region: region ?? WHOLE, zoom }
}

async function preserve(
  { preserve: keep }: ActionParts,
  { cameraIds, name }: Rule,
  { afterSeconds, beforeSeconds }: Extract<Action, { type: 'preserve' }>,
  { at, camera }: Occurrence,
): Promise<string> {
  const cameras = camera === null ? cameraIds : [camera]
  if (cameras.length === 0) throw new Fault('bad_rule', 'What happened is at no camera. Name cameras in the rule.')
  const [from, to] = [at - beforeSeconds * 1000, at + afterSeconds * 1000]
  for (const one of cameras)
    await keep({ camera: one, from, to, note: `Rule ${name}`.slice(0, 200), by: `rule ${name}`, at })
  // Without their names: who reads it may not see each of them.
  return `Preserved ${durationText(to - from)}.`
}

/** What a webhook is told. @source interface document 3, A, Events 1 */
function bodyOf({ id, name }: Rule, occurrence: Occurrence, { nameOf }: ActionParts) {
  const { at, by, camera, facts, region, sentence, type } = occurrence
  return {
    ...{ rule: name, ruleId: id, triggerType: type, at, summary: sentence },
    ...(camera !== null && { cameraId: camera, cameraName: nameOf(camera) }),
    ...(by !== null && { pressedBy: by }),
    ...(region && { region }),
    ...facts,
  }
}
