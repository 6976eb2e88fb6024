/**
 * Updates as the controller knows them: it asks the update service of the machine, which alone is root, shows and logs
 * what that tells, and asks by itself within the hours that are set.
 */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { isWithinHours } from '#kit/pure/setting-keys.ts'
import type { UpdateRun, UpdateTold } from '#kit/pure/update-told.ts'
import type { UpdateService } from '#kit/release/update-asking.ts'

/** What updates need of the machine. */
export interface UpdateDesk extends Omit<UpdateService, 'ask'> {
  /** Asks for one. @returns its line. @throws Fault `update_unreachable` */
  ask(task: 'check' | 'apply'): Promise<string>
  /** Who asked for the one that runs: an update restarts the controller. */
  asked(): Promise<Asked | undefined>
  keep(asked: Asked | undefined): Promise<void>
}

/** Who asked for a run: a person on the page, the signal, or the window. */
export interface Asked {
  by: 'page' | 'signal' | 'window'
  who: string
  begunAt: number
  /** The last line of it in the log. */
  logged: { at: number; text: string } | null
}

/**
 * - `unknown` not looked at yet
 * - `apt`, `foreign` something else updates this Plantroom
 * - `absent` there is no update service to ask
 * - `idle`, `looking`, `applying`
 */
export type UpdateState = 'unknown' | 'apt' | 'foreign' | 'absent' | 'idle' | 'looking' | 'applying'

/** Updates as a page shows them. Times are epoch ms. */
export interface UpdateView {
  state: UpdateState
  /** For the first four: why, and what to do. */
  why: string | null
  /** What runs. */
  version: string
  /** What the update server said last. */
  looked: UpdateTold['looked']
  /** The last run, or the present one. */
  run: UpdateRun | null
  /** Whether it was cut off. */
  isCut: boolean
  /** What came of the last update. */
  last: UpdateTold['last']
  /** Hours in which the newest is applied by itself; null if it is not. */
  window: string | null
}

export interface UpdateLimits {
  window: string
  lookMs: number
  retryMs: number
  answerMs: number
  watchMs: number
}

interface UpdateParts {
  clock: Clock
  desk: UpdateDesk
  version: string
  limits: UpdateLimits
  /** From 0 to 1: installations are not to look all at once. */
  chance(): number
  /** The time of day in the building, in minutes. */
  minuteOfDay(): number
  /** Writes a line to the log. */
  log(line: string): void
  /** Writes down who asked for what, and what came of it. */
  record(who: string, what: string, detail: Record<string, string>): void
}

/** How often is looked whether something is due. */
const TICK_MS = 60_000
/** The first look comes within so long after the start. */
const FIRST_LOOK_MS = 600_000
/** Between two tries of a request while the service is busy with a look. */
const AGAIN_MS = 500

export class Updates {
  readonly #parts: UpdateParts
  readonly #listeners = new Set<(view: UpdateView) => void>()
  #foreign: Awaited<ReturnType<UpdateDesk['foreign']>> | 'unknown' = 'unknown'
  #told: UpdateTold | undefined
  #isRunning = false
  #isAsking = false
  #asked: Asked | undefined
  #lookDueMs: number
  #triedMs: number | undefined
  #shown = ''
  readonly #timers: Timer[] = []

  constructor(parts: UpdateParts) {
    const { chance, clock, limits } = parts
    this.#parts = parts
    this.#lookDueMs = clock.monotonicMs() + chance() * Math.min(FIRST_LOOK_MS, limits.lookMs)
  }

  /** Goes on with a run that restarted the controller. Nothing is watched where something else updates Plantroom. */
  async start(): Promise<void> {
    const { clock, desk, limits } = this.#parts
    this.#foreign = await desk.foreign()
    if (this.#foreign !== undefined) return
    this.#asked = await desk.asked()
    await this.#look()
    let isLooking = false
    const look = async () => {
      if (isLooking) return
      isLooking = true
      await this.#look().finally(() => {
        isLooking = false
      })
    }
    this.#timers.push(clock.every(limits.watchMs, () => void look()))
    this.#timers.push(clock.every(TICK_MS, () => void this.#tick()))
  }

  stop(): void {
    for (const timer of this.#timers) timer.cancel()
    this.#timers.length = 0
  }

  view(): UpdateView {
    const { desk, version } = this.#parts
    const { looked = null, last = null, run = null } = this.#told ?? {}
    const common = { version, looked, last, run, window: this.#window(), isCut: run?.end === null && !this.#isRunning }
    const foreign = this.#foreign
    if (foreign === 'unknown')
      return { ...common, state: 'unknown', why: 'It is being found out who updates this Plantroom.' }
    if (foreign !== undefined)
      return { ...common, state: foreign.kind === 'debian' ? 'apt' : 'foreign', why: foreign.sentence }
    if (this.#isRunning) return { ...common, state: run?.task === 'check' ? 'looking' : 'applying', why: null }
    if (this.#isAsking) return { ...common, state: 'looking', why: null }
    return desk.canAsk() ? { ...common, state: 'idle', why: null } : { ...common, state: 'absent', why: ABSENT }
  }

  /** @returns ends the subscription */
  onChange(listener: (view: UpdateView) => void): () => void {
    const own = (view: UpdateView) => listener(view)
    this.#listeners.add(own)
    return () => void this.#listeners.delete(own)
  }

  /** Looks for an update. @throws Fault as `apply` */
  async look(): Promise<void> {
    await this.#ask('check')
  }

  /**
   * Starts the newest update; `view` shows how it goes.
   * @throws Fault `update_busy`, `update_foreign`, `update_refused`, `update_unreachable`
   */
  async apply(who: string): Promise<void> {
    await this.#apply('page', who)
  }

  /** SIGUSR2: as `apply`, and all that comes of it in the log. @source document 3, C. Applying an update */
  async signal(): Promise<void> {
    try {
      await this.#apply('signal', 'signal')
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      const ignored = error.code === 'update_busy' ? ', this signal is ignored' : ''
      this.#parts.log(`[UPDATE] signal: ${error.message}${ignored}`)
    }
  }

  async #apply(by: Asked['by'], who: string): Promise<void> {
    const { desk, record } = this.#parts
    const begunAt = await this.#ask('apply')
    this.#asked = { by, who, begunAt, logged: null }
    record(who, 'update asked for', { by })
    await desk.keep(this.#asked)
    await this.#look()
  }

  /** @returns when it began, by the clock of the updater */
  async #ask(task: 'check' | 'apply'): Promise<number> {
    const foreign = this.#foreign === 'unknown' ? await this.#parts.desk.foreign() : this.#foreign
    if (foreign !== undefined) throw new Fault('update_foreign', foreign.sentence)
    if (this.#isAsking) throw new Fault('update_busy', BUSY)
    this.#isAsking = true
    try {
      const begunAt = await this.#begun(task)
      this.#lookDueMs = this.#parts.clock.monotonicMs() + this.#parts.limits.lookMs
      return begunAt
    } finally {
      this.#isAsking = false
      await this.#look()
    }
  }

  /** Waits for a look that runs or has just ended, and for nothing else. */
  async #begun(task: 'check' | 'apply'): Promise<number> {
    const { clock, desk, limits } = this.#parts
    const sinceMs = clock.monotonicMs()
    for (;;) {
      const [, word, rest = ''] = /^(\w+) ?(.*)$/.exec(await desk.ask(task)) ?? []
      if (word === 'begun' && /^\d{1,16}$/.test(rest)) return Number(rest)
      if (word === 'refused') throw new Fault('update_refused', rest)
      if (word !== 'running' && word !== 'soon')
        throw new Fault(
          'update_unreachable',
          'the update service answered what this Plantroom does not know: update it by hand',
        )
      const told = await desk.told()
      const isOver = clock.monotonicMs() - sinceMs >= limits.answerMs
      if (isOver || (word === 'running' && told?.run.task !== 'check')) throw new Fault('update_busy', BUSY)
      await new Promise<void>((resolve) => clock.after(AGAIN_MS, resolve))
    }
  }

  /** Reads the lock before the file: a run writes its end before it releases the lock. */
  async #look(): Promise<void> {
    const { desk } = this.#parts
    const isRunning = this.#told?.run.end === null || this.#isAsking ? await desk.isRunning() : false
    const told = await desk.told()
    // It has begun since.
    this.#isRunning = told?.run.end === null && (isRunning || (await desk.isRunning()))
    this.#told = told
    await this.#follow()
    const view = this.view()
    const shown = JSON.stringify(view)
    if (shown === this.#shown) return
    this.#shown = shown
    for (const listener of [...this.#listeners]) listener(view)
  }

  /** Logs what the run says that was asked for here, and what came of it. */
  async #follow(): Promise<void> {
    const { desk, log, record } = this.#parts
    const asked = this.#asked
    if (asked === undefined || this.#told === undefined) return
    const { begunAt, end, lines } = this.#told.run
    if (begunAt < asked.begunAt) return
    const { by, logged, who } = asked
    const isOver = begunAt > asked.begunAt || end !== null || !this.#isRunning
    // Another run came after it, which tells nothing of this one.
    const own = begunAt === asked.begunAt ? lines : []
    const from = own.findLastIndex(({ at, text }) => at === logged?.at && text === logged.text) + 1
    for (const { text } of own.slice(from)) log(`[UPDATE] ${by}: ${text}`)
    const last = own.at(-1) ?? logged
    if (isOver) {
      const text = begunAt > asked.begunAt ? (this.#told.last?.text ?? CUT) : (end?.text ?? CUT)
      this.#asked = undefined
      log(`[UPDATE] ${by}: ${text}`)
      record(who, 'update ended', { by, what: text })
      await desk.keep(undefined)
    } else if (last !== logged) {
      this.#asked = { ...asked, logged: last }
      await desk.keep(this.#asked)
    }
  }

  /** Does by itself what is due. */
  async #tick(): Promise<void> {
    const { clock, desk, limits } = this.#parts
    if (this.#isRunning || this.#isAsking || !desk.canAsk()) return
    const nowMs = clock.monotonicMs()
    const isDue = this.#isDue(nowMs)
    try {
      if (isDue) {
        this.#triedMs = nowMs
        await this.#apply('window', 'window')
      } else if (limits.lookMs > 0 && nowMs >= this.#lookDueMs) {
        this.#lookDueMs = nowMs + limits.lookMs
        await this.look()
      }
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      if (error.code !== 'update_busy') this.#parts.log(`[UPDATE] ${isDue ? 'window' : 'look'}: ${error.message}`)
    }
  }

  #isDue(nowMs: number): boolean {
    const { limits, minuteOfDay } = this.#parts
    const window = this.#window()
    if (window === null) return false
    const isRested = this.#triedMs === undefined || nowMs - this.#triedMs >= limits.retryMs
    return isRested && isWithinHours(window, minuteOfDay())
  }

  /** In which the newest will be applied. */
  #window(): string | null {
    const { limits } = this.#parts
    const looked = this.#told?.looked
    const isThere = typeof looked?.newest === 'string' && looked.bad === undefined
    if (!isThere || limits.window === 'never') return null
    return limits.window || looked.window || null
  }
}

const BUSY = 'an update is running already'
const CUT = 'it was cut off; it is ended when this machine starts next, or with the next update'
const ABSENT =
  'There is no update service on this machine to ask: systemctl enable --now plantroom-update.socket. Until then plantroom update does it, as root.'
