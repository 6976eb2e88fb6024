/**
 * A scan of a line: asks each unit number once, in gaps between polls. Any proven frame finds a unit: a reply, an
 * exception, a late reply, and a reply to somebody else's request during the scan.
 */
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { busFaultKind, refuseFields } from './faults.ts'
import type { BusReply, BusRequest, Sent } from './protocol.ts'
import { createScanFace, type ScanBody, type ScanProgress, ScanRun, type ScanRunParts } from './scan-run.ts'
import { quarantineMs } from './settings.ts'
import type { ProofListener } from './units.ts'

/** The units to ask: `from` to `to`. The protocol adds what it asks each of them. */
interface ScanRange {
  from: number
  to: number
}

/** A unit that was found. `tookMs` is null if a late reply may belong to either of two requests. */
export interface FoundUnit {
  unitId: number
  tookMs: number | null
}

/** What a protocol asks each unit, and what it learns from a reply. */
export interface ScanProtocol<Plan extends ScanRange, Found, Request extends BusRequest, Reply extends BusReply> {
  /** Fills in what was left out. @throws Fault `bad_fields` */
  plan(body: ScanBody): Plan
  ask(plan: Plan, unitId: number): Sent<Request>
  /** What is reported of a unit beside its number and its time. */
  found(reply: Reply): Found
  /**
   * What is asked of each unit that was found, once all numbers are done; left out: nothing.
   * @param ask its replies may be refusals
   * @throws Fault why the scan cannot go on
   */
  learn?(plan: Plan, unitId: number, ask: AskFound<Request, Reply>): Promise<Partial<Found>>
}

type AskFound<Request extends BusRequest, Reply extends BusReply> = (sent: Sent<Request>) => Promise<Reply | Fault>

/** One scan, with its plan. */
export type ScanJob<Plan extends ScanRange, Found> = Plan &
  ScanProgress & {
    /** How many of `total` numbers are done. */
    asked: number
    total: number
    /** The unit number being asked. */
    current: number | null
    /** Sorted by unit number. */
    found: (FoundUnit & Found)[]
    /** Estimated time to the end, at the pace so far. */
    etaMs: number | null
  }

interface UnitScanParts<Plan extends ScanRange, Found, Request extends BusRequest, Reply extends BusReply>
  extends ScanRunParts<Request, Reply> {
  port: string
  protocol: ScanProtocol<Plan, Found, Request, Reply>
  isOpen(): boolean
  whyNotOpen(): Fault
  /** Calls the listener with each proven reply. @returns removes the listener */
  onProof(listener: ProofListener<Reply>): () => void
}

export function createUnitScan<Plan extends ScanRange, Found, Request extends BusRequest, Reply extends BusReply>(
  parts: UnitScanParts<Plan, Found, Request, Reply>,
) {
  return createScanFace<ScanJob<Plan, Found>>({
    ...parts,
    planned(body) {
      const plan = parts.protocol.plan(body)
      if (plan.from > plan.to)
        refuseFields([{ field: 'from', message: `is ${plan.from}, above to, which is ${plan.to}` }])
      return () => new Job(plan, parts)
    },
  })
}

/** One scan from start to end; replies after its end are ignored. */
class Job<Plan extends ScanRange, Found, Request extends BusRequest, Reply extends BusReply> {
  readonly run: ScanRun<Request, Reply>
  readonly #parts: UnitScanParts<Plan, Found, Request, Reply>
  readonly #plan: Plan
  readonly #found = new Map<number, FoundUnit & Found>()
  #current: number | undefined
  #asked = 0
  /** All numbers are done, and those that were found are asked what they are. */
  #isLearning = false
  /** When a number was last left unanswered: its reply may still come late. */
  #missedMs = Number.NEGATIVE_INFINITY

  constructor(plan: Plan, parts: UnitScanParts<Plan, Found, Request, Reply>) {
    this.#plan = plan
    this.#parts = parts
    const endListening = parts.onProof((unitId, reply, tookMs) => this.#prove(unitId, reply, tookMs))
    this.run = new ScanRun(parts, () => {
      this.#current = undefined
      endListening()
    })
    // Never rejects: a failure ends the job.
    void this.#work()
  }

  view(): ScanJob<Plan, Found> {
    return {
      ...this.#plan,
      ...this.run.progress(),
      asked: this.#asked,
      total: this.#plan.to - this.#plan.from + 1,
      current: this.#current ?? null,
      found: [...this.#found.values()].sort((a, b) => a.unitId - b.unitId),
      etaMs: this.#etaMs(),
    }
  }

  #etaMs(): number | null {
    if (!this.run.isRunning || this.#asked === 0 || this.#isLearning) return null
    const { from, to } = this.#plan
    const eachMs = this.run.spentMs / this.#asked
    return Math.round(Math.max(this.#lateReplyMs(), eachMs * (to - from + 1 - this.#asked)))
  }

  /** How long the late reply of the last unanswered number may still take. */
  #lateReplyMs(): number {
    const { clock, settings } = this.#parts
    return Math.max(0, this.#missedMs + quarantineMs(settings) - clock.monotonicMs())
  }

  async #work(): Promise<void> {
    const { from, to } = this.#plan
    for (let unitId = from; unitId <= to && this.run.isRunning; unitId++) {
      this.#current = unitId
      const fault = await this.#ask(unitId)
      if (fault) this.run.end('failed', fault)
      else if (this.run.isRunning) this.#asked++
    }
    this.#current = undefined
    await this.run.wait(this.#lateReplyMs())
    await this.#learn()
    this.run.end('done')
  }

  async #learn(): Promise<void> {
    const { learn } = this.#parts.protocol
    if (!learn) return
    for (const unitId of [...this.#found.keys()].sort((a, b) => a - b)) {
      if (!this.run.isRunning) return
      this.#current = unitId
      this.#isLearning = true
      try {
        const more = await learn(this.#plan, unitId, (sent) => this.#askFound(sent))
        const found = this.#found.get(unitId)
        if (found) this.#found.set(unitId, { ...found, ...more })
      } catch (error) {
        this.run.end('failed', faultOf(error, 'scan_failed', 'The units could not be asked what they are.'))
      }
    }
    this.#current = undefined
  }

  async #askFound(sent: Sent<Request>): Promise<Reply | Fault> {
    const outcome = await this.run.ask(sent)
    if (outcome instanceof Fault) return outcome
    return outcome.reply ?? this.#parts.whyNotOpen()
  }

  /** @returns why the scan cannot go on; undefined if it can */
  async #ask(unitId: number): Promise<Fault | undefined> {
    const { clock, protocol } = this.#parts
    const outcome = await this.run.ask(protocol.ask(this.#plan, unitId))
    if (!(outcome instanceof Fault) || !this.run.isRunning) return undefined
    const kind = busFaultKind(outcome)
    if (kind !== 'noReply' && kind !== 'badReply') return outcome
    // As far as can be told, there is no unit with this number.
    this.#missedMs = clock.monotonicMs()
    return undefined
  }

  /** Ignores numbers that are still to be asked: they are found when their turn comes. */
  #prove(unitId: number, reply: Reply, tookMs: number | null): void {
    const { from, to } = this.#plan
    if (unitId < from || unitId > (this.#isLearning ? to : (this.#current ?? to)) || this.#found.has(unitId)) return
    const time = tookMs === null ? null : Math.round(tookMs * 10) / 10
    this.#found.set(unitId, { unitId, tookMs: time, ...this.#parts.protocol.found(reply) })
  }
}
