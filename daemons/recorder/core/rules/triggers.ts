/** What happened that rules may wait for, and which rules it fits; who is there, and who is not. */
import type { Clock, Timer } from '#kit/clock.ts'
import { counted, durationText } from '#kit/pure/text.ts'
import type { Group, Region, Rule, TriggerType } from './rule.ts'

/** Something that happened. */
export interface Occurrence {
  type: TriggerType
  /** Epoch ms. */
  at: number
  /** Null: at no camera. */
  camera: string | null
  /** For people. */
  sentence: string
  /** Who pressed a button; null: nobody. */
  by: string | null
  region?: Region
  /** What webhooks are told beside it. */
  facts: Readonly<Record<string, unknown>>
}

/** Something that a detector saw. */
export interface DetectedEvent {
  id: string
  cameraId: string
  label: string
  group: Group
  at: number
  region: Region
  /** Who or what it was recognized as, where it was. */
  identity?: { name: string; method: 'appearance' | 'face' | 'plate' } | undefined
  plate?: { text: string; state: string } | undefined
  face?: { state: string } | undefined
}

/** What a detection gives to rules. */
export function occurrenceOf(event: DetectedEvent, phase: 'begin' | 'end', at: number): Occurrence {
  const { cameraId: camera, face, group, id, identity, label, plate, region } = event
  const known = { ...(identity && { identity }), ...(plate && { plate }), ...(face && { face }) }
  const who = identity?.name ?? label
  return {
    ...{ type: phase === 'begin' ? 'detection' : 'departure', at, camera, region, by: null },
    sentence: phase === 'begin' ? `Seen: ${who}.` : `Gone: ${who}.`,
    facts: { event: { id, label, group, at: event.at }, ...known },
  }
}

/** Whether a rule is about a camera. */
export function isAbout({ cameraIds }: Rule, camera: string | null): boolean {
  return cameraIds.length === 0 || (camera !== null && cameraIds.includes(camera))
}

/** Whether a rule is about such things. */
export function fitsThing({ groups, labels }: Rule, { group, label }: Pick<DetectedEvent, 'group' | 'label'>): boolean {
  if (labels.length === 0 && groups.length === 0) return true
  // Models and people write the same word in either case.
  return labels.some((one) => one.toLowerCase() === label.toLowerCase()) || groups.includes(group)
}

interface PresenceParts {
  clock: Clock
  rules(): readonly Rule[]
  cameras(): readonly string[]
  onOccurrence(rule: Rule, occurrence: Occurrence): void
}

/** Things of one camera that are known to be there at once; further ones do not count. */
const MOST_PRESENT = 256

export interface Presence {
  /** @returns what the same was taken for until now; undefined: it was not there */
  happened(event: DetectedEvent, phase: 'begin' | 'end'): DetectedEvent | undefined
  /** Rules or cameras are others now. */
  changed(): void
  stop(): void
}

/** Something that was so for a while, or will have been. */
interface Waiting {
  rule: Rule
  timer: Timer | undefined
}

/** Knows who is there, and tells rules of occupancy and absence when it was so for long enough; once, until it was not so. */
export function createPresence({ cameras, clock, onOccurrence, rules }: PresenceParts): Presence {
  const present = new Map<string, Map<string, DetectedEvent>>()
  const waiting = new Map<string, Waiting>()

  const countOf = (rule: Rule, camera: string) =>
    [...(present.get(camera)?.values() ?? [])].filter((event) => fitsThing(rule, event)).length

  function isSo(rule: Rule, camera: string): boolean {
    const { trigger } = rule
    if (trigger.type === 'occupancy') return countOf(rule, camera) >= trigger.count
    return trigger.type === 'absence' && countOf(rule, camera) === 0
  }

  function look(rule: Rule, camera: string): void {
    const key = `${rule.id} ${camera}`
    const known = waiting.get(key)
    if (known?.rule === rule && isSo(rule, camera)) return
    known?.timer?.cancel()
    waiting.delete(key)
    if (!isSo(rule, camera)) return
    const { trigger } = rule
    const ms = 'seconds' in trigger ? trigger.seconds * 1000 : 0
    const entry: Waiting = { rule, timer: undefined }
    waiting.set(key, entry)
    entry.timer = clock.after(ms, () =>
      onOccurrence(rule, lastingOf(rule, camera, { at: clock.epochMs(), count: countOf(rule, camera) })),
    )
  }

  function lookAt(camera: string): void {
    for (const rule of rules())
      if ((rule.trigger.type === 'occupancy' || rule.trigger.type === 'absence') && isAbout(rule, camera))
        look(rule, camera)
  }

  return {
    happened(event, phase) {
      const { cameraId, id } = event
      const there = present.get(cameraId) ?? new Map<string, DetectedEvent>()
      const before = there.get(id)
      if (phase === 'end') there.delete(id)
      else if (there.size < MOST_PRESENT) there.set(id, event)
      if (there.size > 0) present.set(cameraId, there)
      else present.delete(cameraId)
      lookAt(cameraId)
      return before
    },
    changed() {
      const all = cameras()
      for (const camera of present.keys()) if (!all.includes(camera)) present.delete(camera)
      for (const [key, { rule, timer }] of waiting) {
        const camera = key.slice(rule.id.length + 1)
        if (rules().includes(rule) && all.includes(camera)) continue
        timer?.cancel()
        waiting.delete(key)
      }
      for (const camera of all) lookAt(camera)
    },
    stop() {
      for (const { timer } of waiting.values()) timer?.cancel()
      waiting.clear()
    },
  }
}

function lastingOf(
  { groups, labels, trigger }: Rule,
  camera: string,
  { at, count }: { at: number; count: number },
): Occurrence {
  const seconds = 'seconds' in trigger ? trigger.seconds : 0
  const what = [...labels, ...groups].join(', ') || 'anything'
  const isAbsent = trigger.type === 'absence'
  const long = seconds === 0 ? '' : ` for ${durationText(seconds * 1000)}`
  return {
    ...{ type: isAbsent ? 'absence' : 'occupancy', at, camera, by: null },
    sentence: isAbsent ? `Not there${long}: ${what}.` : `${counted(count, 'thing')} there${long}: ${what}.`,
    facts: { count, seconds },
  }
}
