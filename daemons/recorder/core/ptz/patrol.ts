/** Patrols: cameras that go from preset to preset by themselves, by a schedule, and stand back where somebody else moves them. */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { isWithin } from '../schedule.ts'
import type { By, CameraMoves } from './moves.ts'
import type { PatrolRecord, PtzBook } from './ptz-book.ts'

export type PatrolState = 'off' | 'waiting' | 'running' | 'paused' | 'held'
type PatrolEvent = 'enabled' | 'disabled' | 'due' | 'notDue' | 'command' | 'timeUp' | 'pause' | 'resume'

/** @source interface document 3, A, Patrol */
export const patrolStateTable: Readonly<Record<PatrolState, Partial<Record<PatrolEvent, PatrolState>>>> = {
  off: { enabled: 'waiting' },
  waiting: { disabled: 'off', due: 'running', pause: 'held' },
  running: { disabled: 'off', notDue: 'waiting', command: 'paused', pause: 'held' },
  paused: {
    disabled: 'off',
    notDue: 'waiting',
    command: 'paused',
    timeUp: 'running',
    pause: 'held',
    resume: 'running',
  },
  held: { disabled: 'off', resume: 'running' },
}

export interface PatrolStatus {
  state: PatrolState
  /** Until when it is paused, epoch ms. */
  until: number | null
  /** Why it waits. */
  reason: string | null
  /** The step that was taken last, from 0. */
  step: number | null
}

interface PatrolParts {
  clock: Clock
  moves: Pick<CameraMoves, 'isBusy' | 'onCommand' | 'recall'>
  book: PtzBook
  /** IANA name of the recorder's zone. */
  zone(): string
  /** Why a camera is not to be moved now; null: it may. */
  whyNot(camera: string): string | null
  /** What GET .../ptz/patrol answers is another. */
  onChange(camera: string): void
  onUnsaved(fault: unknown): void
}

interface Running {
  state: PatrolState
  reason: string | null
  step: number | null
  nextMs: number
  isStepping: boolean
  /** The camera did not take a step: it is tried again then. */
  failed: { sentence: string; untilMs: number } | undefined
  untilMs: number
}

const LOOK_MS = 1000
const TRY_AGAIN_MS = 30_000
/** A pause that goes on is not saved for less. */
const SAVED_MS = 5000
const BY_ITSELF: By = { kind: 'patrol', name: null }

export class Patrols {
  readonly #parts: PatrolParts
  readonly #running = new Map<string, Running>()
  #timer: Timer | undefined

  constructor(parts: PatrolParts) {
    this.#parts = parts
    parts.moves.onCommand((camera, by) => {
      if (by.kind === 'person' || by.kind === 'rule') this.#commanded(camera)
    })
  }

  start(): void {
    this.#timer = this.#parts.clock.every(LOOK_MS, () => this.look())
    this.look()
  }

  stop(): void {
    this.#timer?.cancel()
  }

  status(camera: string): PatrolStatus {
    const patrol = this.#parts.book.of(camera).patrol
    if (!patrol) return { state: 'off', until: null, reason: null, step: null }
    const { reason, state, step, untilMs } = this.#of(camera, patrol)
    const { clock } = this.#parts
    const until = state === 'paused' ? Math.round(clock.epochMs() + untilMs - clock.monotonicMs()) : null
    return { state, until, reason: state === 'waiting' ? reason : null, step }
  }

  /** Begins anew with what was saved; null removes it. @throws Fault `store_write_failed` */
  async set(camera: string, wish: Omit<PatrolRecord, 'isHeld' | 'pausedUntil'> | null): Promise<void> {
    const { book } = this.#parts
    const isHeld = wish?.enabled === true && book.of(camera).patrol?.isHeld === true
    await book.put(camera, { patrol: wish && { ...wish, isHeld, pausedUntil: null } })
    this.#running.delete(camera)
    this.look()
    this.#parts.onChange(camera)
  }

  /** @throws Fault `patrol_off`, `store_write_failed` */
  async pause(camera: string): Promise<void> {
    await this.#put(camera, this.#require(camera), { isHeld: true })
    this.#on(camera, 'pause')
  }

  /** @throws Fault `patrol_off`, `store_write_failed` */
  async resume(camera: string): Promise<void> {
    const running = this.#of(camera, this.#require(camera))
    await this.#put(camera, this.#require(camera), { isHeld: false, pausedUntil: null })
    running.untilMs = 0
    this.#on(camera, 'resume')
    this.look()
  }

  /** Looks at every patrol. */
  look(): void {
    for (const { camera, patrol } of this.#parts.book.list()) if (patrol) this.#lookAt(camera, patrol)
  }

  /** @throws Fault `patrol_off` */
  #require(camera: string): PatrolRecord {
    const { patrol } = this.#parts.book.of(camera)
    if (patrol?.enabled) return patrol
    throw new Fault('patrol_off', 'The camera has no patrol that is switched on.')
  }

  #of(camera: string, patrol: PatrolRecord): Running {
    const present = this.#running.get(camera)
    if (present) return present
    const { clock } = this.#parts
    // A wall clock that was set back must not pause it for longer.
    const leftMs = Math.min((patrol.pausedUntil ?? 0) - clock.epochMs(), patrol.resumeAfterSeconds * 1000)
    const made: Running = {
      ...{ state: 'off', reason: null, step: null, nextMs: 0, isStepping: false, failed: undefined },
      untilMs: clock.monotonicMs() + Math.max(0, leftMs),
    }
    this.#running.set(camera, made)
    if (patrol.enabled) this.#on(camera, 'enabled')
    if (patrol.enabled && patrol.isHeld) this.#on(camera, 'pause')
    return made
  }

  #on(camera: string, event: PatrolEvent): void {
    const running = this.#running.get(camera)
    const next = running && patrolStateTable[running.state][event]
    if (!running || next === undefined) return
    const isOther = next !== running.state
    running.state = next
    if (next === 'running') running.nextMs = 0
    if (isOther || event === 'command') this.#parts.onChange(camera)
  }

  #lookAt(camera: string, patrol: PatrolRecord): void {
    const { clock, moves } = this.#parts
    const running = this.#of(camera, patrol)
    // An aim or a training of a person may take longer than the pause after the command for it.
    if (moves.isBusy(camera)) running.untilMs = clock.monotonicMs() + patrol.resumeAfterSeconds * 1000
    const reason = this.#whyNot(camera, patrol, running)
    const isOther = running.state === 'waiting' && reason !== null && reason !== running.reason
    running.reason = reason
    if (isOther) this.#parts.onChange(camera)
    this.#on(camera, reason === null ? 'due' : 'notDue')
    const isPaused = clock.monotonicMs() < running.untilMs
    if (isPaused && running.state === 'running') this.#on(camera, 'command')
    if (!isPaused && running.state === 'paused') this.#on(camera, 'timeUp')
    if (running.state === 'running' && !running.isStepping && clock.monotonicMs() >= running.nextMs)
      void this.#step(camera, patrol, running)
  }

  #whyNot(camera: string, { schedule }: PatrolRecord, { failed }: Running): string | null {
    const { clock, whyNot, zone } = this.#parts
    if (schedule && !isWithin(schedule, clock.epochMs(), zone())) return 'It is not the time of its schedule.'
    if (failed && clock.monotonicMs() < failed.untilMs) return failed.sentence
    return whyNot(camera)
  }

  async #step(camera: string, { steps }: PatrolRecord, running: Running): Promise<void> {
    const { clock, moves } = this.#parts
    const at = running.step === null ? 0 : (running.step + 1) % steps.length
    const step = steps[at]
    if (!step) return
    running.isStepping = true
    running.step = at
    running.failed = undefined
    const isWanted = () => this.#running.get(camera) === running && running.state === 'running'
    try {
      await moves.recall(camera, step.preset, { ...BY_ITSELF, detail: { step: at }, isWanted })
      this.#parts.onChange(camera)
    } catch (error) {
      if (isWanted())
        running.failed = {
          sentence: `The camera did not take a step: ${(error as Error).message}`,
          untilMs: clock.monotonicMs() + TRY_AGAIN_MS,
        }
    } finally {
      running.isStepping = false
      running.nextMs = clock.monotonicMs() + step.dwellSeconds * 1000
    }
  }

  #commanded(camera: string): void {
    const { book, clock } = this.#parts
    const { patrol } = book.of(camera)
    if (!patrol?.enabled) return
    const running = this.#of(camera, patrol)
    running.untilMs = clock.monotonicMs() + patrol.resumeAfterSeconds * 1000
    this.#on(camera, 'command')
    const pausedUntil = clock.epochMs() + patrol.resumeAfterSeconds * 1000
    if (Math.abs(pausedUntil - (patrol.pausedUntil ?? 0)) < SAVED_MS) return
    this.#put(camera, patrol, { pausedUntil }).catch((fault: unknown) => this.#parts.onUnsaved(fault))
  }

  async #put(camera: string, patrol: PatrolRecord, change: Partial<PatrolRecord>): Promise<void> {
    await this.#parts.book.put(camera, { patrol: { ...patrol, ...change } })
  }
}
