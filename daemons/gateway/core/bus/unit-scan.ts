/**
 * A scan of a line: asks each unit number once, in gaps between polls. Any proven frame finds a unit: a reply, an
 * exception, a late reply, and a reply to somebody else's request during the scan.
 */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { busFaultKind } from './faults.ts'
import type { BusReply, BusRequest, Sent } from './protocol.ts'
import { type BusSettings, quarantineMs } from './settings.ts'
import type { BusAsker } from './transactions.ts'
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
}

type ScanState = 'running' | 'done' | 'cancelled' | 'failed'

/** One scan, with its plan. Instants are epoch milliseconds; unknown is null. */
export type ScanJob<Plan extends ScanRange, Found> = Plan & {
  state: ScanState
  /** How many of `total` numbers are done. */
  asked: number
  total: number
  /** The unit number being asked. */
  current: number | null
  /** Sorted by unit number. */
  found: (FoundUnit & Found)[]
  startedAt: number
  endedAt: number | null
  /** Estimated time to the end, at the pace so far. */
  etaMs: number | null
  /** Why it failed. */
  fault: { code: string; message: string } | null
}

/** What a caller asks of a scan; each protocol takes its own of these fields, and refuses the others by name. */
export interface ScanBody {
  from?: number
  to?: number
  fc?: number
  address?: number
  by?: 'primary' | 'secondary'
  mask?: string
}

/** One scan at a time; the last one is kept. */
export interface ScanFace<Job extends { state: ScanState } = { state: ScanState }> {
  /** @throws Fault `scan_running`, `bad_fields`, and what `whyNotOpen` gives */
  start(body: ScanBody): Job
  /** @throws Fault `no_scan` */
  job(): Job
  /** Does nothing to a scan that has ended. @throws Fault `no_scan` */
  cancel(): Job
}

interface UnitScanParts<Plan extends ScanRange, Found, Request extends BusRequest, Reply extends BusReply> {
  port: string
  clock: Clock
  settings: BusSettings
  protocol: ScanProtocol<Plan, Found, Request, Reply>
  asker: Pick<BusAsker<Request, Reply>, 'exchange' | 'withdraw'>
  isOpen(): boolean
  whyNotOpen(): Fault
  /** Calls the listener with each proven reply. @returns removes the listener */
  onProof(listener: ProofListener<Reply>): () => void
}

export class UnitScan<Plan extends ScanRange, Found, Request extends BusRequest, Reply extends BusReply>
  implements ScanFace<ScanJob<Plan, Found>>
{
  readonly #parts: UnitScanParts<Plan, Found, Request, Reply>
  #job: Job<Plan, Found, Request, Reply> | undefined

  constructor(parts: UnitScanParts<Plan, Found, Request, Reply>) {
    this.#parts = parts
  }

  start(body: ScanBody): ScanJob<Plan, Found> {
    const { isOpen, port, protocol, whyNotOpen } = this.#parts
    const plan = protocol.plan(body)
    if (plan.from > plan.to) {
      const message = `is ${plan.from}, above to, which is ${plan.to}`
      throw new Fault('bad_fields', `from ${message}`, { details: { fields: [{ field: 'from', message }] } })
    }
    if (this.#job?.isRunning)
      throw new Fault('scan_running', `${port} is being scanned; that scan ends by itself, or is cancelled.`)
    if (!isOpen()) throw whyNotOpen()
    this.#job = new Job(plan, this.#parts)
    return this.#job.view()
  }

  job(): ScanJob<Plan, Found> {
    return this.#last().view()
  }

  cancel(): ScanJob<Plan, Found> {
    this.#last().end('cancelled')
    return this.#last().view()
  }

  /** The line was closed or lost: the scan fails. */
  lineClosed(fault = new Fault('line_closed', `${this.#parts.port} was closed.`)): void {
    this.#job?.end('failed', fault)
  }

  #last(): Job<Plan, Found, Request, Reply> {
    if (!this.#job) throw new Fault('no_scan', `${this.#parts.port} was not scanned since it was set up.`)
    return this.#job
  }
}

/** One scan from start to end; replies after its end are ignored. */
class Job<Plan extends ScanRange, Found, Request extends BusRequest, Reply extends BusReply> {
  readonly #parts: UnitScanParts<Plan, Found, Request, Reply>
  readonly #plan: Plan
  readonly #startedMs: number
  readonly #startedEpochMs: number
  readonly #found = new Map<number, FoundUnit & Found>()
  readonly #endListening: () => void
  #state: ScanState = 'running'
  #current: number | undefined
  #asked = 0
  /** When a number was last left unanswered: its reply may still come late. */
  #missedMs = Number.NEGATIVE_INFINITY
  #endedEpochMs: number | undefined
  #fault: Fault | undefined
  #pause: { timer: Timer; resume: () => void } | undefined

  constructor(plan: Plan, parts: UnitScanParts<Plan, Found, Request, Reply>) {
    this.#plan = plan
    this.#parts = parts
    this.#startedMs = parts.clock.monotonicMs()
    this.#startedEpochMs = parts.clock.epochMs()
    this.#endListening = parts.onProof((unitId, reply, tookMs) => this.#prove(unitId, reply, tookMs))
    // Never rejects: a failure ends the job.
    void this.#run()
  }

  get isRunning(): boolean {
    return this.#state === 'running'
  }

  end(state: 'done' | 'cancelled' | 'failed', fault?: Fault): void {
    if (!this.isRunning) return
    this.#state = state
    this.#fault = fault
    this.#current = undefined
    this.#endedEpochMs = this.#parts.clock.epochMs()
    this.#endListening()
    this.#parts.asker.withdraw(this)
    this.#pause?.timer.cancel()
    this.#pause?.resume()
  }

  view(): ScanJob<Plan, Found> {
    return {
      ...this.#plan,
      state: this.#state,
      asked: this.#asked,
      total: this.#plan.to - this.#plan.from + 1,
      current: this.#current ?? null,
      found: [...this.#found.values()].sort((a, b) => a.unitId - b.unitId),
      startedAt: this.#startedEpochMs,
      endedAt: this.#endedEpochMs ?? null,
      etaMs: this.#etaMs(),
      fault: this.#fault ? { code: this.#fault.code, message: this.#fault.message } : null,
    }
  }

  #etaMs(): number | null {
    if (!this.isRunning || this.#asked === 0) return null
    const { from, to } = this.#plan
    const eachMs = (this.#parts.clock.monotonicMs() - this.#startedMs) / this.#asked
    return Math.round(Math.max(this.#lateReplyMs(), eachMs * (to - from + 1 - this.#asked)))
  }

  /** How long the late reply of the last unanswered number may still take. */
  #lateReplyMs(): number {
    const { clock, settings } = this.#parts
    return Math.max(0, this.#missedMs + quarantineMs(settings) - clock.monotonicMs())
  }

  async #run(): Promise<void> {
    const { from, to } = this.#plan
    for (let unitId = from; unitId <= to && this.isRunning; unitId++) {
      this.#current = unitId
      const fault = await this.#ask(unitId)
      if (fault) this.end('failed', fault)
      else if (this.isRunning) this.#asked++
    }
    this.#current = undefined
    await this.#wait(this.#lateReplyMs())
    this.end('done')
  }

  /** @returns why the scan cannot go on; undefined if it can */
  async #ask(unitId: number): Promise<Fault | undefined> {
    const { asker, protocol, settings } = this.#parts
    const sent = protocol.ask(this.#plan, unitId)
    // Long enough for a gap between polls, and for the end of a quarantine.
    const deadlineMs = settings.request_deadline_ms + settings.background_wait_ms + quarantineMs(settings)
    for (let left = settings.scan_tries; ; left--) {
      const fault = await asker
        .exchange(sent, { priority: 'background', deadlineMs, evenSilent: true, owner: this })
        .then(
          () => undefined,
          (error) => faultOf(error, 'scan_failed', `Unit ${unitId} could not be asked.`),
        )
      if (!fault || !this.isRunning) return undefined
      const kind = busFaultKind(fault)
      // As far as can be told, there is no unit with this number.
      if (kind === 'noReply' || kind === 'badReply') {
        this.#missedMs = this.#parts.clock.monotonicMs()
        return undefined
      }
      const isLater = fault.code === 'queue_full' || kind === 'expired' || kind === 'lineBusy'
      if (left <= 1 || !isLater) return fault
      await this.#wait(settings.background_wait_ms)
    }
  }

  /** Ends early if the job ends. */
  async #wait(delayMs: number): Promise<void> {
    if (!this.isRunning || delayMs <= 0) return
    await new Promise<void>((resume) => {
      this.#pause = { timer: this.#parts.clock.after(delayMs, resume), resume }
    })
    this.#pause = undefined
  }

  /** Ignores numbers that are still to be asked: they are found when their turn comes. */
  #prove(unitId: number, reply: Reply, tookMs: number | null): void {
    const { from, to } = this.#plan
    if (unitId < from || unitId > (this.#current ?? to) || this.#found.has(unitId)) return
    const time = tookMs === null ? null : Math.round(tookMs * 10) / 10
    this.#found.set(unitId, { unitId, tookMs: time, ...this.#parts.protocol.found(reply) })
  }
}
