/** Refuses rules that could never do what they say. */
import { Fault } from '#kit/pure/fault.ts'
import type { CameraRecord } from '../cameras/book.ts'
import type { Moves, Talker } from './actions.ts'
import { ACTION_LIMITS, type Action, type Rule } from './rule.ts'

interface CheckParts {
  cameraOf(id: string): CameraRecord | undefined
  hasAccount(id: string): boolean
  moves: Moves
  talker: Talker
  /** Refuses an address to which nothing is sent. @throws Fault `bad_target` */
  checkTarget(url: string): void
}

/** @throws Fault `bad_rule`, `bad_target`; the sentence says which of its actions, and why */
export function checkRule(parts: CheckParts, rule: Rule, all: readonly Rule[]): void {
  for (const id of rule.cameraIds) if (!parts.cameraOf(id)) refuse(`There is no camera ${id}.`)
  if (rule.trigger.type === 'unusual' && rule.labels.length > 0)
    refuse('What is usual is counted by groups. Leave labels empty, and name groups.')
  for (const [at, action] of rule.actions.entries()) {
    const trouble = troubleOf(parts, action, rule, all)
    if (trouble !== null) refuse(`Action ${at + 1} (${action.type}): ${trouble}`)
  }
}

/** Why an action cannot be done; null: it can. */
function troubleOf(parts: CheckParts, action: Action, rule: Rule, all: readonly Rule[]): string | null {
  const { checkTarget, hasAccount, moves, talker } = parts
  switch (action.type) {
    case 'notify': {
      const unknown = action.userIds.find((id) => !hasAccount(id))
      return unknown === undefined ? null : `there is no account ${unknown}.`
    }
    case 'webhook':
      checkTarget(action.url)
      return null
    case 'arm': {
      const unknown = action.ruleIds.find((id) => id !== rule.id && !all.some((one) => one.id === id))
      return unknown === undefined ? null : `there is no rule ${unknown}.`
    }
    case 'preserve':
      return troubleOfStretch(action, rule)
  }
  const camera = parts.cameraOf(action.cameraId)
  if (!camera) return `there is no camera ${action.cameraId}.`
  if (action.type === 'output')
    return camera.outputs?.list.some(({ id }) => id === action.outputId)
      ? null
      : `${camera.name} has no output ${action.outputId}. Look at the camera for its outputs first.`
  if (action.type === 'talk_message') return talker.trouble(camera.id, action.messageId)
  const { returnPreset } = action
  const own = action.type === 'ptz_aim' ? moves.aimTrouble(camera.id) : moves.presetTrouble(camera.id, action.preset)
  if (own === null && action.type === 'ptz_aim' && rule.trigger.type === 'button')
    return 'who presses a button says no place to look at. Choose a preset instead.'
  if (own !== null || returnPreset === null) return own
  return moves.presetTrouble(camera.id, returnPreset)
}

function troubleOfStretch({ afterSeconds, beforeSeconds }: Extract<Action, { type: 'preserve' }>, rule: Rule) {
  const seconds = beforeSeconds + afterSeconds
  if (seconds < 1 || seconds > ACTION_LIMITS.preserveSeconds)
    return `${seconds} seconds in all are asked for; 1 to ${ACTION_LIMITS.preserveSeconds} are preserved.`
  const isAtNone = rule.cameraIds.length === 0 && (rule.trigger.type === 'button' || rule.trigger.type === 'fault')
  return isAtNone ? 'what the rule waits for is at no camera. Name the cameras whose footage is preserved.' : null
}

function refuse(sentence: string): never {
  throw new Fault('bad_rule', sentence)
}
