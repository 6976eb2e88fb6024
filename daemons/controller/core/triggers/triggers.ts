/** Triggers: which attributes, devices and callers start which macros, how often, and how far one leads to another. */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createLogGate, type LogGate } from '#kit/pure/pace.ts'
import type { Json } from '../json.ts'
import type { LiveBook } from '../live/live-book.ts'
import type { HouseCause, HouseRuns } from '../macros/house-runs.ts'
import type { Book, Row } from '../site/book.ts'
import {
  type Condition,
  type ConditionEvent,
  type ConditionState,
  judge,
  nextConditionState,
  readCondition,
} from './condition.ts'
import type { AttributeFeed, DeviceFeed } from './ports.ts'

/** Settings of the same names in table `triggers`. */
export interface TriggerLimits {
  /** Most enabled triggers that are watched; further ones are not. */
  most: number
  /** How often one may start its macro in a minute; further times are refused, and told. */
  perMinute: number
  /** How many runs may lead to one another, each by a trigger that the one before set off. */
  depth: number
  /** The longest for_ms. */
  longestMs: number
}

interface TriggerParts {
  book: Book
  clock: Clock
  limits: TriggerLimits
  attributes: AttributeFeed
  devices: DeviceFeed
  runs: Pick<HouseRuns, 'start' | 'refuse'>
}

/** A caller's way in. */
export interface Hook {
  readonly id: number
  readonly secret: string
}

interface TriggerView {
  readonly row: Row
  /** Epoch ms of the last time that it started its macro; null if it has not since the start. */
  readonly lastAt: number | null
  /** Why it is not watched; null if it is. */
  readonly flaw: string | null
}

/** A trigger that is watched. */
interface Live {
  row: Row
  rule: string
  condition: Condition | undefined
  state: ConditionState
  /** The value at the last look; undefined before the first. */
  value: Json | undefined
  timer: Timer | undefined
  /** Times that it started its macro within the last minute, by the steady clock. */
  recentMs: number[]
  lastAt: number | null
  refused: LogGate
}

/** Columns that are no part of what is watched for. */
const NO_RULE = new Set(['name', 'updated_at', 'args', 'macro_id'])

/** What a device feed tells. */
const DEVICE_EVENTS: ReadonlySet<Json | undefined> = new Set(['offline', 'online'])

/** HMAC is as strong as its key: a shorter one can be found from a single call that was overheard. */
const SHORTEST_SECRET = 16
const MINUTE_MS = 60_000

/** @returns why a trigger cannot be watched; undefined if it can */
export function triggerFlaw(row: Row, longestMs: number): string | undefined {
  try {
    readTrigger(row, longestMs)
    return undefined
  } catch (fault) {
    if (fault instanceof Fault) return fault.message
    throw fault
  }
}

/** @throws Fault `trigger_invalid` */
function readTrigger(row: Row, longestMs: number): Condition | undefined {
  const needs = (column: string, what: string) => {
    if (row[column] === null || row[column] === undefined || row[column] === '')
      throw new Fault('trigger_invalid', `${column} is missing: ${what}`)
  }
  if (row.kind === 'attribute') {
    needs('attribute_id', 'the attribute that is watched')
    return readCondition(row.condition ?? null, longestMs)
  }
  if (row.kind === 'device') {
    needs('device_id', 'the device that is watched')
    needs('event', 'what has to happen, offline or online')
    if (!DEVICE_EVENTS.has(row.event))
      throw new Fault('trigger_invalid', 'event is none of offline, online: it would never happen')
    return undefined
  }
  if (row.kind !== 'webhook') throw new Fault('trigger_invalid', 'kind is none of attribute, webhook, device')
  if (typeof row.secret !== 'string' || row.secret.length < SHORTEST_SECRET)
    throw new Fault('trigger_invalid', `secret has to have ${SHORTEST_SECRET} characters at least: nobody can call it`)
  return undefined
}

/** Lives as long as the daemon. */
export class Triggers {
  readonly #parts: TriggerParts
  #live = new Map<number, Live>()
  #flaws = new Map<number, string>()
  #byAttribute: ReadonlyMap<unknown, readonly Live[]> = new Map()
  readonly #ends: (() => void)[] = []
  #isStopped = true

  constructor(parts: TriggerParts) {
    this.#parts = parts
  }

  start(): void {
    const { attributes, book, devices } = this.#parts
    this.#isStopped = false
    this.#ends.push(
      attributes.onChange((id, chain) => this.#look(id, chain)),
      devices.onEvent((deviceId, event, facts) => {
        const device = book.row('device', deviceId)?.name ?? null
        for (const trigger of this.#ofKind('device'))
          if (trigger.row.device_id === deviceId && trigger.row.event === event)
            this.#fire(trigger, { event: { ...facts, device, event }, chain: 0 })
      }),
    )
    this.refresh()
  }

  /** Call this when rows have changed. */
  refresh(): void {
    if (this.#isStopped) return
    const { book, limits } = this.#parts
    const before = this.#live
    this.#live = new Map()
    this.#flaws = new Map()
    for (const row of book.rows('trigger')) {
      if (row.enabled === false) continue
      const flaw =
        this.#live.size < limits.most
          ? triggerFlaw(row, limits.longestMs)
          : `only ${limits.most} triggers are watched (triggers.most)`
      if (flaw === undefined) this.#live.set(row.id, this.#following(before.get(row.id), row))
      else this.#flaws.set(row.id, flaw)
    }
    for (const [id, old] of before) if (this.#live.get(id) !== old) drop(old)
    this.#byAttribute = Map.groupBy(this.#ofKind('attribute'), ({ row }) => row.attribute_id)
    for (const id of this.#byAttribute.keys()) this.#look(id as number, 0)
  }

  /**
   * The webhook with this name or id; undefined if there is none that may be called. Digits are always an id: a name
   * made of them, or one that two have, is refused when it is saved.
   */
  hook(named: string): Hook | undefined {
    const isId = /^\d+$/.test(named)
    const row = this.#ofKind('webhook').find(({ row: { id, name } }) => named === (isId ? String(id) : name))?.row
    return row && { id: row.id, secret: String(row.secret) }
  }

  /**
   * A caller proved to know the secret of the webhook.
   * @param fields of its body
   * @returns why its macro is not started; undefined if it is
   */
  called(id: number, fields: Readonly<Record<string, Json>>): string | undefined {
    const trigger = this.#live.get(id)
    return trigger && this.#fire(trigger, { event: fields, chain: 0 })
  }

  /** All triggers, by id. */
  list(): TriggerView[] {
    return this.#parts.book.rows('trigger').map((row) => ({
      row,
      lastAt: this.#live.get(row.id)?.lastAt ?? null,
      flaw: this.#flaws.get(row.id) ?? null,
    }))
  }

  stop(): void {
    this.#isStopped = true
    for (const end of this.#ends.splice(0)) end()
    for (const trigger of this.#live.values()) drop(trigger)
    this.#live.clear()
  }

  /** A trigger goes on from where it was, unless its rule has changed. */
  #following(before: Live | undefined, row: Row): Live {
    const { clock, limits, runs } = this.#parts
    const rule = JSON.stringify(Object.entries(row).filter(([name]) => !NO_RULE.has(name)))
    if (before?.rule === rule) return Object.assign(before, { row })
    return {
      ...{ row, rule, condition: readTrigger(row, limits.longestMs), state: 'unseen', value: undefined },
      ...{ timer: undefined, recentMs: [], lastAt: null },
      refused: createLogGate(clock, MINUTE_MS, (count, { cause, sentence }) =>
        runs.refuse(cause as HouseCause, String(sentence), 'trigger_limit', count),
      ),
    }
  }

  #ofKind(kind: string): Live[] {
    return [...this.#live.values()].filter(({ row }) => row.kind === kind)
  }

  /** Looks at an attribute that may have changed. */
  #look(attributeId: number, chain: number): void {
    for (const trigger of this.#byAttribute.get(attributeId) ?? []) {
      const { value: before } = trigger
      trigger.value = this.#parts.attributes.read(attributeId)?.value ?? null
      if (trigger.condition !== undefined) this.#judge(trigger, trigger.condition, { before: before ?? null, chain })
      else if (before !== undefined && before !== trigger.value) this.#fireAttribute(trigger, before, chain)
    }
  }

  #judge(trigger: Live, condition: Condition, { before, chain }: { before: Json; chain: number }): void {
    const event = judge(condition, trigger.value ?? null)
    if (event === undefined) return
    const wasPending = trigger.state === 'pending'
    const isOld = trigger.state === 'unseen' && event === 'holds' && condition.forMs === 0
    happen(trigger, isOld ? 'held' : event)
    if (trigger.state !== 'pending' || wasPending) return
    const passed = () => {
      happen(trigger, 'passed')
      this.#fireAttribute(trigger, before, chain)
    }
    if (condition.forMs === 0) passed()
    else trigger.timer = this.#parts.clock.after(condition.forMs, passed)
  }

  #fireAttribute(trigger: Live, before: Json, chain: number): void {
    const { attributes, book } = this.#parts
    const id = Number(trigger.row.attribute_id)
    const isSecret = attributes.read(id)?.isSecret === true
    const event = {
      attribute: book.row('attribute', id)?.name ?? null,
      value: trigger.value ?? null,
      previous_value: before,
    }
    this.#fire(trigger, { event, chain, ...(isSecret ? { secret: ['value', 'previous_value'] } : {}) })
  }

  /** @returns why it is refused, if it is */
  #fire(trigger: Live, { chain, ...what }: Pick<HouseCause, 'event' | 'secret' | 'chain'>): string | undefined {
    const { clock, runs } = this.#parts
    const cause: HouseCause = { kind: 'trigger', row: trigger.row, chain: chain + 1, ...what }
    const sentence = this.#refusal(trigger, chain)
    if (sentence !== undefined) {
      trigger.refused.note({ cause, sentence })
      return sentence
    }
    trigger.recentMs.push(clock.monotonicMs())
    trigger.lastAt = clock.epochMs()
    runs.start(cause)
    return undefined
  }

  #refusal(trigger: Live, chain: number): string | undefined {
    const { clock, limits } = this.#parts
    const nowMs = clock.monotonicMs()
    trigger.recentMs = trigger.recentMs.filter((atMs) => nowMs - atMs < MINUTE_MS)
    if (chain >= limits.depth) return `${chain} runs have led to one another by triggers already, so this may be a loop`
    if (trigger.recentMs.length < limits.perMinute) return undefined
    return `it started its macro ${trigger.recentMs.length} times within a minute already`
  }
}

function happen(trigger: Live, event: ConditionEvent): void {
  trigger.state = nextConditionState(trigger.state, event)
  if (trigger.state === 'pending') return
  trigger.timer?.cancel()
  trigger.timer = undefined
}

function drop({ timer, refused }: Live): void {
  timer?.cancel()
  refused.close()
}

// Devices: what their live state tells.

/** A device is heard of when it becomes online, and when it is lost; not when it is first looked for. */
export function createDeviceFeed(live: Pick<LiveBook, 'device' | 'onChange'>): DeviceFeed {
  return {
    onEvent(listener) {
      const states = new Map<number, string>()
      return live.onChange((kind, id) => {
        if (kind !== 'device') return
        const { state, error } = live.device(id)
        const before = states.get(id)
        if (state === before) return
        if (state === 'unknown') states.delete(id)
        else states.set(id, state)
        if (state === 'offline' || (state === 'online' && before !== undefined)) listener(id, state, { error })
      })
    },
  }
}
