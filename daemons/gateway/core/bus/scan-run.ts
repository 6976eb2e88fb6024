/** What scans of every protocol have in common: one at a time, their state and times, and how they ask. */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { busFaultKind } from './faults.ts'
import type { BusReply, BusRequest, Sent } from './protocol.ts'
import { type BusSettings, quarantineMs } from './settings.ts'
import type { BusAsker } from './transactions.ts'

type ScanState = 'running' | 'done' | 'cancelled' | 'failed'

/** How far a scan is. Instants are epoch milliseconds; unknown is null. */
export interface ScanProgress {
  state: ScanState
  startedAt: number
  endedAt: number | null
  /** Why it failed. */
  fault: { code: string; message: string } | null
}

/** What a caller asks of a scan; each protocol takes its own of these fields, and refuses the others by name. */
export interface ScanBody {
  from?: number
  to?: number
  fc?: number
  address?: number
  identify?: boolean
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

/** One scan, from start to end. */
interface Scan<View> {
  readonly run: { readonly isRunning: boolean; end(state: 'cancelled' | 'failed', fault?: Fault): void }
  view(): View
}

interface ScanFaceParts<View> {
  port: string
  isOpen(): boolean
  whyNotOpen(): Fault
  /** Checks what is asked. @returns begins the scan. @throws Fault `bad_fields` */
  planned(body: ScanBody): () => Scan<View>
}

/** `lineClosed`: the line was closed or lost, so the scan fails. */
export function createScanFace<View extends ScanProgress>({
  isOpen,
  planned,
  port,
  whyNotOpen,
}: ScanFaceParts<View>): ScanFace<View> & { lineClosed(fault?: Fault): void } {
  let scan: Scan<View> | undefined

  function last(): Scan<View> {
    if (!scan) throw new Fault('no_scan', `${port} was not scanned since it was set up.`)
    return scan
  }

  return {
    start(body) {
      const begin = planned(body)
      if (scan?.run.isRunning)
        throw new Fault('scan_running', `${port} is being scanned; that scan ends by itself, or is cancelled.`)
      if (!isOpen()) throw whyNotOpen()
      scan = begin()
      return scan.view()
    },
    job: () => last().view(),
    cancel() {
      last().run.end('cancelled')
      return last().view()
    },
    lineClosed: (fault = new Fault('line_closed', `${port} was closed.`)) => scan?.run.end('failed', fault),
  }
}

export interface ScanRunParts<Request extends BusRequest, Reply extends BusReply> {
  clock: Clock
  settings: BusSettings
  asker: Pick<BusAsker<Request, Reply>, 'exchange' | 'withdraw'>
}

/** The state of one scan, and its questions, which go behind all others. */
export class ScanRun<Request extends BusRequest, Reply extends BusReply> {
  readonly #parts: ScanRunParts<Request, Reply>
  readonly #onEnd: () => void
  readonly #startedMs: number
  readonly #startedEpochMs: number
  #state: ScanState = 'running'
  #endedEpochMs: number | undefined
  #fault: Fault | undefined
  #pause: { timer: Timer; resume: () => void } | undefined

  constructor(parts: ScanRunParts<Request, Reply>, onEnd: () => void) {
    this.#parts = parts
    this.#onEnd = onEnd
    this.#startedMs = parts.clock.monotonicMs()
    this.#startedEpochMs = parts.clock.epochMs()
  }

  get isRunning(): boolean {
    return this.#state === 'running'
  }

  get spentMs(): number {
    return this.#parts.clock.monotonicMs() - this.#startedMs
  }

  /** Does nothing to one that has ended. */
  end(state: 'done' | 'cancelled' | 'failed', fault?: Fault): void {
    if (!this.isRunning) return
    this.#state = state
    this.#fault = fault
    this.#endedEpochMs = this.#parts.clock.epochMs()
    this.#parts.asker.withdraw(this)
    this.#onEnd()
    this.#pause?.timer.cancel()
    this.#pause?.resume()
  }

  progress(): ScanProgress {
    return {
      state: this.#state,
      startedAt: this.#startedEpochMs,
      endedAt: this.#endedEpochMs ?? null,
      fault: this.#fault ? { code: this.#fault.code, message: this.#fault.message } : null,
    }
  }

  /**
   * @param isWildcard it is for no unit in particular, so that none is blamed if nobody answers
   * @returns why nothing came of it, if nothing did
   */
  ask(sent: Sent<Request>, isWildcard = false): Promise<{ reply: Reply | null; tookMs: number } | Fault> {
    const { asker, clock, settings } = this.#parts
    // Long enough for a gap between polls, and for the end of a quarantine.
    const deadlineMs = settings.request_deadline_ms + settings.background_wait_ms + quarantineMs(settings)
    const how = { priority: 'background', deadlineMs, evenSilent: true, owner: this, isWildcard } as const
    return this.patiently(async () => {
      const startMs = clock.monotonicMs()
      const reply = await asker.exchange(sent, how)
      return { reply, tookMs: clock.monotonicMs() - startMs }
    })
  }

  /** Tries again where the line has no place for it. @returns why it failed, if it did */
  async patiently<Made>(attempt: () => Promise<Made>): Promise<Made | Fault> {
    const { background_wait_ms, scan_tries } = this.#parts.settings
    for (let left = scan_tries; ; left--) {
      const outcome = await attempt().catch((error) => faultOf(error, 'scan_failed', 'The line could not be asked.'))
      if (!(outcome instanceof Fault) || !this.isRunning) return outcome
      const kind = busFaultKind(outcome)
      const isLater = outcome.code === 'queue_full' || kind === 'expired' || kind === 'lineBusy'
      if (left <= 1 || !isLater) return outcome
      await this.wait(background_wait_ms)
    }
  }

  /** Ends early if the scan ends. */
  async wait(delayMs: number): Promise<void> {
    if (!this.isRunning || delayMs <= 0) return
    await new Promise<void>((resume) => {
      this.#pause = { timer: this.#parts.clock.after(delayMs, resume), resume }
    })
    this.#pause = undefined
  }
}
