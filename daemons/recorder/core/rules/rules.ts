/** Rules at work: what happened is held against each of them, and what one does runs beside everything else. */
import type { Clock } from '#kit/clock.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { isWithin } from '../schedule.ts'
import type { DensityWish, Slice } from '../sight/events.ts'
import type { Actor } from './actions.ts'
import { targetOf } from './actions.ts'
import type { Lanes } from './lanes.ts'
import { Normal } from './normal.ts'
import { type Action, isArmed, type Rule } from './rule.ts'
import type { RuleBook } from './rule-book.ts'
import { createPresence, type DetectedEvent, fitsThing, isAbout, type Occurrence, occurrenceOf } from './triggers.ts'

export const resultStates = ['waiting', 'done', 'failed'] as const

/** What came of one action. */
export interface ActionResult {
  type: Action['type']
  /** Of the camera that it has to do with; null: none. */
  camera: string | null
  state: (typeof resultStates)[number]
  sentence: string | null
}

/** What a rule did. */
export interface Alert {
  id: string
  at: number
  rule: string
  ruleId: string
  triggerType: Occurrence['type']
  /** At which camera it happened; null: at none. */
  camera: string | null
  sentence: string
  /** Who pressed the button; null: nobody. */
  by: string | null
  /** Ids of accounts that are told, empty: all who may see it; null: nobody. */
  notified: readonly string[] | null
  /** In the order of the actions. */
  results: ActionResult[]
}

/**
 * Whether an account that sees only some cameras is told of an alert. One without a camera is told to accounts that see
 * every camera its actions touched. A fault without a camera is not: its sentence may name anything the recorder has.
 */
export function isToldTo(
  { camera, results, triggerType }: Alert,
  { sees }: { sees(camera: string): boolean },
): boolean {
  if (camera !== null) return sees(camera)
  const others = results.flatMap((one) => (one.camera === null ? [] : [one.camera]))
  return triggerType !== 'fault' && others.length > 0 && others.every(sees)
}

interface RulesParts {
  clock: Clock
  /** How often a rule runs in a minute, for each camera; key `rules.per_minute`. */
  perMinute: number
  /** A rule would run more often than that; once in each minute. */
  onRepeating(rule: Rule): void
  book: RuleBook
  lanes: Lanes
  act: Actor
  /** IANA name of the recorder's zone. */
  zone(): string
  cameras(): readonly string[]
  /** How much began to be seen at a camera, slice by slice. */
  history(wish: DensityWish): Promise<Slice[]>
  newId(): string
  /** Keeps it: once when it begins, and once more when all its actions are over. */
  keep(alert: Alert): void
  /** A rule begins to do what it does. */
  onAlert(alert: Alert): void
}

export interface Rules {
  /** Whether a rule would run now. */
  isActive(rule: Rule): boolean
  /** @param isFor of rules of that kind, beside cameras: whether they wait for it */
  happened(occurrence: Occurrence, isFor: (rule: Rule) => boolean): void
  detected(event: DetectedEvent, phase: 'begin' | 'end'): void
  /** @throws Fault `unknown_rule`, `rule_off`, `rule_busy` */
  press(id: string, by: string): Alert
  /** Rules or cameras are others now. */
  changed(): void
  stop(): void
}

const MINUTE_MS = 60_000

/** A rule may cause what triggers it, such as a relay whose switching the camera reports: it would run for ever. */
function createRunLimit({ clock, onRepeating, perMinute }: RulesParts) {
  const minutes = new Map<string, { beganMs: number; count: number }>()
  return {
    /** Whether it may run once more in this minute. */
    mayRun(rule: Rule, camera: string | null): boolean {
      const key = `${rule.id} ${camera}`
      const nowMs = clock.monotonicMs()
      const known = minutes.get(key)
      const minute = known && nowMs - known.beganMs < MINUTE_MS ? known : { beganMs: nowMs, count: 0 }
      minutes.set(key, minute)
      minute.count++
      if (minute.count === perMinute + 1) onRepeating(rule)
      return minute.count <= perMinute
    },
    /** Forgets rules that are gone. */
    keep(ids: ReadonlySet<string>): void {
      for (const key of minutes.keys()) if (!ids.has(key.split(' ')[0] ?? '')) minutes.delete(key)
    },
  }
}

export function createRules(parts: RulesParts): Rules {
  const { book, clock, zone } = parts
  /** Monotonic instants of the last time, by rule and camera. */
  const ranMs = new Map<string, number>()
  const runLimit = createRunLimit(parts)
  const presence = createPresence({ clock, rules: book.list, cameras: parts.cameras, onOccurrence: fire })
  const normal = new Normal({ ...parts, rules: book.list, onOccurrence: fire })

  function isActive(rule: Rule): boolean {
    const nowAt = clock.epochMs()
    return isArmed(rule, nowAt) && (rule.schedule === null || isWithin(rule.schedule, nowAt, zone()))
  }

  function isRested(rule: Rule, camera: string | null): boolean {
    const key = `${rule.id} ${camera}`
    const nowMs = clock.monotonicMs()
    const beforeMs = ranMs.get(key)
    if (beforeMs !== undefined && nowMs - beforeMs < rule.cooldownSeconds * 1000) return false
    ranMs.set(key, nowMs)
    return true
  }

  function fire(rule: Rule, occurrence: Occurrence): void {
    const { camera } = occurrence
    if (isActive(rule) && isRested(rule, camera) && runLimit.mayRun(rule, camera)) carryOut(parts, rule, occurrence)
  }

  function happened(occurrence: Occurrence, isFor: (rule: Rule) => boolean): void {
    for (const rule of book.list())
      if (rule.trigger.type === occurrence.type && isAbout(rule, occurrence.camera) && isFor(rule))
        fire(rule, occurrence)
  }

  return {
    isActive,
    happened,
    detected(event, phase) {
      happened(occurrenceOf(event, phase, clock.epochMs()), (rule) => fitsThing(rule, event))
      const before = presence.happened(event, phase)
      if (phase === 'begin') normal.happened(event, before)
    },
    press(id, by) {
      const rule = book.require(id)
      if (rule.trigger.type !== 'button')
        throw new Fault('unknown_rule', 'There is no button with this id. GET /api/action-buttons lists them.')
      if (!isActive(rule))
        throw new Fault('rule_off', `${rule.name} does nothing now: it is disarmed, or it is not its time.`)
      if (!runLimit.mayRun(rule, null))
        throw new Fault('rule_busy', `${rule.name} was pressed ${parts.perMinute} times in this minute. Wait a minute.`)
      const sentence = `${by} pressed the button.`
      return carryOut(parts, rule, { type: 'button', at: clock.epochMs(), camera: null, sentence, by, facts: {} })
    },
    changed() {
      const ids = new Set(book.list().map((rule) => rule.id))
      for (const key of ranMs.keys()) if (!ids.has(key.split(' ')[0] ?? '')) ranMs.delete(key)
      runLimit.keep(ids)
      presence.changed()
      normal.changed()
    },
    stop() {
      presence.stop()
      normal.stop()
    },
  }
}

/** Begins every action, in order; one that waits for its target holds up no other. */
function carryOut(parts: RulesParts, rule: Rule, occurrence: Occurrence): Alert {
  const { at, by, camera, sentence, type } = occurrence
  const alert: Alert = {
    ...{ id: parts.newId(), at, rule: rule.name, ruleId: rule.id, triggerType: type, camera, sentence, by },
    notified: notifiedBy(rule),
    results: rule.actions.map((action) => ({
      ...{ type: action.type, camera: 'cameraId' in action ? action.cameraId : null },
      ...{ state: 'waiting', sentence: null },
    })),
  }
  parts.keep(alert)
  parts.onAlert(alert)

  /** Never rejects: a failure is a result too. */
  async function settle(result: ActionResult | undefined, action: Action): Promise<void> {
    if (!result) return
    try {
      result.sentence = await parts.lanes.run(targetOf(action), () => parts.act(rule, action, occurrence))
      result.state = 'done'
    } catch (error) {
      result.sentence = faultOf(error, 'action_failed', 'It failed.').message
      result.state = 'failed'
    }
  }

  const all = rule.actions.map((action, at) => settle(alert.results[at], action))
  void Promise.all(all).then(() => parts.keep(alert))
  return alert
}

function notifiedBy({ actions }: Rule): readonly string[] | null {
  const told = actions.filter((action) => action.type === 'notify')
  if (told.length === 0) return null
  return told.some(({ userIds }) => userIds.length === 0) ? [] : [...new Set(told.flatMap(({ userIds }) => userIds))]
}
