/**
 * A scan of a Modbus line: each unit number is asked once, in gaps between polls. Whatever is proven finds a unit: a
 * reply, an exception, a reply that comes too late, and an answer to somebody else who asked meanwhile.
 */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { exceptionCode } from '../../wire/modbus-reply.ts'
import { exceptionName, sealed } from '../../wire/modbus-request.ts'
import { type ModbusSettings, quarantineMs } from './settings.ts'
import type { ModbusAsker, ModbusWithdrawals } from './transactions.ts'
import type { ProofListener } from './units.ts'

/** What is asked of whom: one coil or register at `address` by function 1 to 4, of units `from` to `to`. */
export interface ScanPlan {
  from: number
  to: number
  fc: number
  address: number
}

/** Instants are epoch milliseconds; unknown is null. */
export interface ScanJob extends ScanPlan {
  state: 'running' | 'done' | 'cancelled' | 'failed'
  /** Numbers done with, of `total`. */
  asked: number
  total: number
  /** The number being asked. */
  current: number | null
  /** By number. `tookMs` is null where a late reply may be one of two. */
  found: { unitId: number; tookMs: number | null; exception: { code: number; name: string } | null }[]
  startedAt: number
  endedAt: number | null
  /** How long it takes yet, at the pace so far. */
  etaMs: number | null
  /** Why it failed. */
  fault: { code: string; message: string } | null
}

/** One scan at a time; the last one is kept. */
export interface ScanFace {
  /** @throws Fault `scan_running`, `bad_fields`, and what `whyNotOpen` gives */
  start(plan: ScanPlan): ScanJob
  /** @throws Fault `no_scan` */
  job(): ScanJob
  /** One that has ended stays as it is. @throws Fault `no_scan` */
  cancel(): ScanJob
}

export interface UnitScanParts {
  port: string
  clock: Clock
  settings: ModbusSettings
  asker: Pick<ModbusAsker, 'exchange'> & ModbusWithdrawals
  isOpen(): boolean
  whyNotOpen(): Fault
  /** Tells of each proven reply. @returns ends the telling */
  onProof(listener: ProofListener): () => void
}

/** Faults that say of a number that nobody answers there, as far as can be told. */
const SAYS_NOBODY: readonly string[] = ['modbus_timeout', 'modbus_bad_reply']

/** Faults that say of the line that it has no place just now. */
const SAYS_LATER: readonly string[] = ['queue_full', 'modbus_expired', 'modbus_line_busy']

export class UnitScan implements ScanFace {
  readonly #parts: UnitScanParts
  #job: Job | undefined

  constructor(parts: UnitScanParts) {
    this.#parts = parts
  }

  start(plan: ScanPlan): ScanJob {
    const { isOpen, port, whyNotOpen } = this.#parts
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

  job(): ScanJob {
    return this.#last().view()
  }

  cancel(): ScanJob {
    this.#last().end('cancelled')
    return this.#last().view()
  }

  /** The line was closed or lost. */
  lineClosed(fault = new Fault('line_closed', `${this.#parts.port} was closed.`)): void {
    this.#job?.end('failed', fault)
  }

  #last(): Job {
    if (!this.#job) throw new Fault('no_scan', `${this.#parts.port} was not scanned since it was set up.`)
    return this.#job
  }
}

/** From its start to its end; what comes after counts for nothing. */
class Job {
  readonly #parts: UnitScanParts
  readonly #plan: ScanPlan
  readonly #startedMs: number
  readonly #startedEpochMs: number
  readonly #found = new Map<number, ScanJob['found'][number]>()
  readonly #endListening: () => void
  #state: ScanJob['state'] = 'running'
  #current: number | undefined
  #asked = 0
  /** When a number was last left unanswered: its late reply may come yet. */
  #missedMs = Number.NEGATIVE_INFINITY
  #endedEpochMs: number | undefined
  #fault: Fault | undefined
  #pause: { timer: Timer; resume: () => void } | undefined

  constructor(plan: ScanPlan, parts: UnitScanParts) {
    this.#plan = plan
    this.#parts = parts
    this.#startedMs = parts.clock.monotonicMs()
    this.#startedEpochMs = parts.clock.epochMs()
    this.#endListening = parts.onProof((unitId, frame, tookMs) => this.#prove(unitId, frame, tookMs))
    // Never rejects: what fails ends the job.
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

  view(): ScanJob {
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

  /** How long the late reply of the last number that did not answer may take yet. */
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

  /** @returns why the scan cannot go on */
  async #ask(unitId: number): Promise<Fault | undefined> {
    const { asker, settings } = this.#parts
    const { fc, address } = this.#plan
    const frame = sealed([unitId, fc, address >> 8, address & 0xff, 0, 1])
    // Long enough for a gap, and for the end of a quarantine.
    const deadlineMs = settings.request_deadline_ms + settings.background_wait_ms + quarantineMs(settings)
    for (let left = settings.scan_tries; ; left--) {
      const fault = await asker
        .exchange(frame, { priority: 'background', deadlineMs, evenSilent: true, owner: this })
        .then(
          () => undefined,
          (error) => faultOf(error, 'scan_failed', `Unit ${unitId} could not be asked.`),
        )
      if (!fault || !this.isRunning) return undefined
      if (SAYS_NOBODY.includes(fault.code)) {
        this.#missedMs = this.#parts.clock.monotonicMs()
        return undefined
      }
      if (left <= 1 || !SAYS_LATER.includes(fault.code)) return fault
      await this.#wait(settings.background_wait_ms)
    }
  }

  /** Ends early when the job does. */
  async #wait(delayMs: number): Promise<void> {
    if (!this.isRunning || delayMs <= 0) return
    await new Promise<void>((resume) => {
      this.#pause = { timer: this.#parts.clock.after(delayMs, resume), resume }
    })
    this.#pause = undefined
  }

  /** Numbers that are not asked yet are found when they are. */
  #prove(unitId: number, frame: Uint8Array, tookMs: number | null): void {
    const { from, to } = this.#plan
    if (unitId < from || unitId > (this.#current ?? to) || this.#found.has(unitId)) return
    const code = exceptionCode(frame)
    this.#found.set(unitId, {
      unitId,
      tookMs: tookMs === null ? null : Math.round(tookMs * 10) / 10,
      exception: code === null ? null : { code, name: exceptionName(code) },
    })
  }
}
