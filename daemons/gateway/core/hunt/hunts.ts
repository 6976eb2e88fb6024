/** The hunts for settings of lines: one a line, each takes the line over for its time, and gives it back. */
import type { Clock } from '#kit/clock.ts'
import type { ControlledLineOpener, LineSettings } from '#kit/line/line.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import { refuseFields } from '../bus/faults.ts'
import { HuntLine, huntedLine } from './hunt-line.ts'
import type { HuntProtocol } from './hunted.ts'
import { type HuntBody, type HuntLimits, type HuntPlan, huntPlan } from './plan.ts'
import { type HuntJob, HuntRun, plannedMs } from './run.ts'

/** A line that its port has let go of. */
interface Loan {
  /** Whether its port was in use until now. */
  wasOpen: boolean
  /** The settings of its port; undefined of a line that is not set up. */
  settings: LineSettings | undefined
  /** The port opens it again, with its own settings, if it was open. */
  giveBack(): Promise<void>
}

interface HuntsParts {
  clock: Clock
  limits: HuntLimits
  /** By the name of the protocol. */
  protocols: Readonly<Record<string, HuntProtocol>>
  opener: ControlledLineOpener
  /**
   * Takes a line from its port.
   * @param why what others are told meanwhile
   * @throws Fault `port_not_allowed`, `line_in_use` if it is open and `takeOver` is false, and `why` if it is lent
   */
  lend(path: string, takeOver: boolean, why: Fault): Promise<Loan>
  /** One has ended, and its line was given back. */
  onEnded(path: string, job: HuntJob): void
}

interface Hunt {
  run: HuntRun
  /** Resolves when the line was given back. */
  over: Promise<void>
}

/** Where a line that is not set up begins. */
const PLAIN: LineSettings = {
  ...{ baud: 9600, data_bits: 8, parity: 'none', stop_bits: 1 },
  ...{ flow: 'none', rs485: null, low_latency: false },
}

/** All hunts, from start to stop. */
export class Hunts {
  readonly #parts: HuntsParts
  /** Those that run, or are about to. */
  readonly #running = new Map<string, Promise<Hunt>>()
  readonly #runs = new Map<string, HuntRun>()
  /** The last of each line that has ended, in the order of their ends. */
  readonly #ended = new Map<string, HuntJob>()
  #isClosed = false

  constructor(parts: HuntsParts) {
    this.#parts = parts
  }

  /**
   * @throws Fault `bad_fields`, `hunt_running`, `too_many_hunts`, those of `lend`, and of opening the line
   */
  async start(path: string, body: HuntBody): Promise<HuntJob> {
    const { limits, protocols } = this.#parts
    const plan = huntPlan(body, protocols)
    refuseTooLong(plan, limits)
    this.#refuseMore(path)
    const begun = this.#begin(path, plan, body.takeOver ?? false)
    this.#running.set(path, begun)
    try {
      return (await begun).run.view()
    } catch (error) {
      this.#running.delete(path)
      throw error
    }
  }

  /** The hunt that runs, or the last one. @throws Fault `no_hunt` */
  job(path: string): HuntJob {
    const job = this.#runs.get(path)?.view() ?? this.#ended.get(path)
    if (!job) throw new Fault('no_hunt', `No hunt for the settings of ${path} was run since this gateway was started.`)
    return job
  }

  /** Does nothing to one that has ended; resolves when the line was given back. @throws Fault `no_hunt` */
  async cancel(path: string): Promise<HuntJob> {
    await stopped(await this.#running.get(path)?.catch(() => undefined))
    return this.job(path)
  }

  /** Cancels all. */
  async close(): Promise<void> {
    this.#isClosed = true
    const begun = await Promise.allSettled(this.#running.values())
    await Promise.all(begun.map((one) => (one.status === 'fulfilled' ? stopped(one.value) : undefined)))
  }

  #refuseMore(path: string): void {
    const { size } = this.#running
    if (this.#running.has(path))
      throw new Fault('hunt_running', `A hunt runs on ${path}; it ends by itself, or is cancelled.`)
    if (size >= this.#parts.limits.max || this.#isClosed)
      throw new Fault('too_many_hunts', `${size} hunts run; hunt.max allows ${this.#parts.limits.max}.`)
  }

  async #begin(path: string, plan: HuntPlan, takeOver: boolean): Promise<Hunt> {
    const why = new Fault(
      'line_hunted',
      `A hunt for its settings has ${path}; it ends by itself, or with DELETE /api/ports/:path/hunt, or on its page.`,
    )
    const loan = await this.#parts.lend(path, takeOver, why)
    try {
      return await this.#open(path, plan, loan)
    } catch (error) {
      await loan.giveBack()
      throw error
    }
  }

  async #open(path: string, plan: HuntPlan, loan: Loan): Promise<Hunt> {
    const { clock, limits, opener } = this.#parts
    const base = loan.settings ?? PLAIN
    // Every driver takes this; what it refuses of the others is told in the job.
    const line = await opener.open(path, huntedLine(base, PLAIN))
    const onGone = (fault: Fault) => run.stop('failed', fault)
    const run = new HuntRun({
      ...{ clock, limits, plan },
      line: new HuntLine({ clock, line, path, base, onGone }),
      isTaken: loan.wasOpen,
    })
    const giveBack = async () => {
      try {
        await line.close()
      } finally {
        // Also where closing fails, or nobody could use the port until the gateway starts again.
        await loan.giveBack()
      }
    }
    this.#runs.set(path, run)
    return { run, over: this.#worked(path, run, giveBack) }
  }

  /** Never rejects. */
  async #worked(path: string, run: HuntRun, giveBack: () => Promise<void>): Promise<void> {
    const failed = (error: unknown) => run.stop('failed', faultOf(error, 'hunt_failed', `The hunt on ${path} failed.`))
    await run.work().catch(failed)
    await giveBack().catch(failed)
    run.over()
    const job = run.view()
    this.#running.delete(path)
    this.#runs.delete(path)
    this.#keep(path, job)
    this.#parts.onEnded(path, job)
  }

  #keep(path: string, job: HuntJob): void {
    this.#ended.delete(path)
    this.#ended.set(path, job)
    for (const oldest of this.#ended.keys()) {
      if (this.#ended.size <= this.#parts.limits.kept) return
      this.#ended.delete(oldest)
    }
  }
}

async function stopped(hunt: Hunt | undefined): Promise<void> {
  hunt?.run.stop('cancelled')
  await hunt?.over
}

/** @throws Fault `bad_fields` */
function refuseTooLong(plan: HuntPlan, limits: HuntLimits): void {
  const tookMs = plannedMs(plan, limits)
  if (tookMs <= limits.most_ms) return
  const message = `makes the hunt take ${durationText(tookMs)}, and hunt.most_ms allows ${durationText(limits.most_ms)}: name fewer rates or units`
  refuseFields([{ field: plan.units ? 'to' : 'bauds', message }])
}
