/** The conditions that a port reports to the ledger, from the events of its line, units, points and webhooks. */
import type { Conditions } from '#kit/records/ledger-entry.ts'
import type { UnitPayload } from '../bus/units.ts'
import type { ValuePayload } from '../points/values.ts'
import type { PortState } from './port.ts'
import type { PortEvent } from './ports.ts'

/** Payload of `port`. */
interface PortPayload {
  state: PortState
  /** `open` as well: something beside the line has changed. */
  previous?: PortState
  fault: { code?: string; message: string } | null
}

/** Payload of `master`: one who asks this gateway on its line, or over TCP, and what is wrong between the two. */
export interface MasterPayload {
  masterAddress: number
  state: string
  previous: string
  /** `line`, or the address of a TCP client; null while it cannot be reached. */
  via: string | null
  troubles: readonly { code: string; message: string }[]
}

/** A target that is not tried for a while, because it failed so often. */
export interface PausedTarget {
  /** Origin of its address. */
  target: string
  /** How the last attempt failed. */
  reason: string
}

/** A condition that holds. `of` is the part of the port that it belongs to: it is cleared together with that part. */
interface Raised {
  what: string
  where: string
  of: string
}

/** Whether an entry is about a port or a part of it: whoever may see the port may see the entry. */
export function isOfPort(where: string, port: string): boolean {
  return where === port || where.startsWith(`${port} `)
}

/**
 * One cause is one entry: while a line is lost, or something beside it is wrong, its units and points report nothing,
 * and while a unit is silent, its points report nothing. A unit that is still silent when that is over is told again.
 */
export class PortConditions {
  readonly #conditions: Conditions
  readonly #raised = new Map<string, Map<string, Raised>>()
  readonly #open = new Set<string>()

  constructor(conditions: Conditions) {
    this.#conditions = conditions
  }

  hear({ event, payload, port }: Pick<PortEvent, 'event' | 'port' | 'payload'>): void {
    if (event === 'port') this.#line(port, payload as PortPayload)
    else if (event === 'unit') this.#unit(port, payload as UnitPayload)
    else if (event === 'value') this.#point(port, payload as ValuePayload)
    else if (event === 'master') this.#master(port, payload as MasterPayload)
  }

  /** @param pause null: the target takes events again, or its webhook was removed */
  webhook(port: string, id: string, pause: PausedTarget | null): void {
    const of = `webhook ${id}`
    if (pause === null) {
      this.#clear(port, (one) => one.of === of)
      return
    }
    const where = `${port} webhook ${pause.target} ${id.slice(0, 8)}`
    const sentence = `${pause.target} takes no events: ${pause.reason}. It is tried again after a pause; look at the webhook of this port.`
    this.#raise(port, { what: 'webhook_paused', where, of, severity: 'warning', sentence })
  }

  /** The port was removed. */
  forget(port: string): void {
    this.#open.delete(port)
    this.#clear(port, () => true)
  }

  forgetUnit(port: string, unitId: number): void {
    this.#clear(port, ({ of }) => isOfUnit(of, unitId))
  }

  /** The points of a port have changed: clears the conditions of those that are gone. */
  onlyPoints(port: string, names: readonly string[]): void {
    const kept = new Set(names.map((name) => pointPlace(port, name)))
    this.#clear(port, ({ where, of }) => isOfPoint(of) && !kept.has(where))
  }

  #line(port: string, { fault, previous, state }: PortPayload): void {
    if (state === 'opening') return
    if (state === 'open' && previous === 'open') {
      this.#beside(port, fault)
      return
    }
    if (state === 'open') this.#open.add(port)
    else this.#open.delete(port)
    const isLost = state === 'absent' || state === 'failed'
    const what = state === 'absent' ? 'line_absent' : 'line_refused'
    this.#clear(port, (one) => !one.of.startsWith('webhook') && !(isLost && one.what === what))
    if (!isLost) return
    const sentence = fault?.message ?? (state === 'absent' ? 'The line is not there.' : 'The line does not open.')
    this.#raise(port, { what, where: port, of: 'line', severity: 'fault', sentence })
  }

  #beside(port: string, fault: PortPayload['fault']): void {
    this.#clear(port, ({ of }) => of === BESIDE || (fault !== null && of.startsWith('unit ')))
    if (!fault) return
    const [what, sentence] = [fault.code ?? 'line_refused', fault.message]
    this.#raise(port, { what, where: port, of: BESIDE, severity: 'fault', sentence })
  }

  #unit(port: string, { message, state, unitId }: UnitPayload): void {
    const what = UNIT_CODES[state]
    const of = `unit ${unitId}`
    this.#clear(port, (one) => (state === 'silent' ? isOfUnit(one.of, unitId) : one.of === of) && one.what !== what)
    if (what === undefined || this.#isBeside(port)) return
    const severity = state === 'silent' ? 'fault' : 'warning'
    this.#raise(port, { what, where: `${port} unit ${unitId}`, of, severity, sentence: message })
  }

  #point(port: string, { name, quality, unitId }: ValuePayload): void {
    const of = `unit ${unitId} point`
    const where = pointPlace(port, name)
    const what = POINT_CODES[quality]
    this.#clear(port, (one) => one.where === where && one.what !== what)
    if (what === undefined || !this.#open.has(port) || this.#isSilent(port, unitId)) return
    this.#raise(port, { what, where, of, severity: 'warning', sentence: POINT_SENTENCES[what](name, unitId) })
  }

  #isBeside(port: string): boolean {
    return [...(this.#raised.get(port)?.values() ?? [])].some(({ of }) => of === BESIDE)
  }

  #master(port: string, { masterAddress, troubles }: MasterPayload): void {
    const of = `master ${masterAddress}`
    this.#clear(port, (one) => one.of === of && !troubles.some(({ code }) => code === one.what))
    const where = `${port} master ${masterAddress}`
    for (const { code, message } of troubles)
      this.#raise(port, { what: code, where, of, severity: 'warning', sentence: message })
  }

  #isSilent(port: string, unitId: number): boolean {
    return this.#raised.get(port)?.has(`unit_silent ${port} unit ${unitId}`) ?? false
  }

  #raise(port: string, given: Raised & { severity: 'fault' | 'warning'; sentence: string }): void {
    const { of, severity, sentence, what, where } = given
    const raised = this.#raised.get(port) ?? new Map<string, Raised>()
    this.#raised.set(port, raised)
    raised.set(`${what} ${where}`, { what, where, of })
    this.#conditions.raise({ what, where, severity, sentence })
  }

  #clear(port: string, isOver: (raised: Raised) => boolean): void {
    const raised = this.#raised.get(port)
    for (const [key, one] of raised ?? []) {
      if (!isOver(one)) continue
      raised?.delete(key)
      this.#conditions.clear(one.what, one.where)
    }
    if (raised?.size === 0) this.#raised.delete(port)
  }
}

/** What is wrong beside a line that is open. */
const BESIDE = 'beside'

const UNIT_CODES: Readonly<Partial<Record<UnitPayload['state'], string>>> = {
  silent: 'unit_silent',
  noisy: 'unit_noisy',
  slow: 'unit_slow',
}

const POINT_CODES: Readonly<Partial<Record<ValuePayload['quality'], keyof typeof POINT_SENTENCES>>> = {
  stale: 'point_stale',
  bad: 'point_refused',
}

const POINT_SENTENCES = {
  point_stale: (name: string, unitId: number) => `${name} of unit ${unitId} is old: no value came for three polls.`,
  point_refused: (name: string, unitId: number) =>
    `Unit ${unitId} refuses to say ${name}: look at the point's address.`,
} as const

function pointPlace(port: string, name: string): string {
  return `${port} point ${name}`
}

function isOfUnit(of: string, unitId: number): boolean {
  return of === `unit ${unitId}` || of === `unit ${unitId} point`
}

function isOfPoint(of: string): boolean {
  return of.endsWith(' point')
}
