/** Has cameras go back to a preset a while after a rule has moved them, also where the recorder was restarted meanwhile. */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import type { Moves } from './actions.ts'
import { ACTION_LIMITS, type MovingAction } from './rule.ts'

/** One camera that is to go back. */
export interface PendingReturn {
  readonly camera: string
  readonly preset: string
  /** The name of the rule that moved it. */
  readonly rule: string
  /** Epoch ms. */
  readonly dueAt: number
}

interface ReturnsParts {
  clock: Clock
  moves: Pick<Moves, 'note' | 'recall' | 'steered'>
  /** Behind what rules do with the camera already: none of them is undone by a way back of before. */
  inTurn(camera: string, task: () => Promise<void>): Promise<void>
  pending: readonly PendingReturn[]
  /** Resolves once they are on disk. */
  save(pending: PendingReturn[]): Promise<void>
  /** A restart would forget some. */
  onUnsaved(fault: unknown): void
  /** A camera did not go back. */
  onLost(one: PendingReturn, fault: Fault): void
}

/** Who steers a camera for so long has it: what a rule has planned so long ago is not wished any more. */
const LONGEST_WAIT_MS = ACTION_LIMITS.returnSeconds.most * 1000

/** A camera that was without power as the recorder was may take minutes to begin. */
const TRIES = 10
const AGAIN_MS = 30_000
const AGAIN: ReadonlySet<string> = new Set(['camera_unreachable', 'target_busy'])
const LEAST_WAIT_MS = 100

const orderOf = ({ rule }: PendingReturn) => ({ performedBy: null, rule, operation: 'ptz_return' })

export class Returns {
  readonly #parts: ReturnsParts
  readonly #planned = new Map<string, PendingReturn>()
  readonly #timers = new Map<string, Timer>()
  /** Since when cameras wait for who steers them: it stands in their writes already. Monotonic. */
  readonly #waiting = new Map<string, number>()

  constructor(parts: ReturnsParts) {
    this.#parts = parts
  }

  /** Takes the place of what was planned for the camera. */
  plan({ cameraId: camera, returnAfterSeconds, returnPreset: preset }: MovingAction, rule: string): void {
    const isOther = this.#planned.has(camera) || preset !== null
    this.#drop(camera)
    const dueAt = this.#parts.clock.epochMs() + returnAfterSeconds * 1000
    if (preset !== null) this.#wait({ camera, preset, rule, dueAt })
    if (isOther) this.#save()
  }

  /** Goes on with what was planned before the start; what was due meanwhile is done now. */
  start(): void {
    for (const one of this.#parts.pending) this.#wait(one)
  }

  stop(): void {
    for (const timer of this.#timers.values()) timer.cancel()
  }

  #save(): void {
    this.#parts.save([...this.#planned.values()]).catch(this.#parts.onUnsaved)
  }

  #after(ms: number, one: PendingReturn, tries: number): void {
    const timer = this.#parts.clock.after(ms, () => void this.#goBack(one, tries))
    this.#timers.set(one.camera, timer)
  }

  /** A clock that was set back makes no wait longer. */
  #wait(one: PendingReturn): void {
    this.#planned.set(one.camera, one)
    const waitMs = Math.min(Math.max(0, one.dueAt - this.#parts.clock.epochMs()), LONGEST_WAIT_MS)
    this.#after(waitMs, one, TRIES)
  }

  async #goBack(one: PendingReturn, tries: number): Promise<void> {
    const { inTurn, onLost } = this.#parts
    const { camera } = one
    const isPlanned = () => this.#planned.get(camera) === one
    try {
      await inTurn(camera, async () => {
        if (isPlanned()) await this.#move(one)
      })
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      if (!isPlanned()) return
      if (error.code === 'ptz_steered' && this.#standsBack(one, tries, error)) return
      if (AGAIN.has(error.code) && tries > 1) return this.#after(AGAIN_MS, one, tries - 1)
      onLost(one, error)
    }
    if (!isPlanned()) return
    this.#drop(camera)
    this.#save()
  }

  async #move(one: PendingReturn): Promise<void> {
    const { moves } = this.#parts
    const steered = moves.steered(one.camera)
    if (steered) throw new Fault('ptz_steered', steered.sentence)
    await moves.recall(one.camera, one.preset, orderOf(one))
  }

  /** @returns false if it waits no longer */
  #standsBack(one: PendingReturn, tries: number, { message }: Fault): boolean {
    const { clock, moves, onUnsaved } = this.#parts
    const { camera, preset } = one
    const sinceMs = this.#waiting.get(camera)
    const isTooLate = sinceMs !== undefined && clock.monotonicMs() - sinceMs >= LONGEST_WAIT_MS
    const why = isTooLate ? `${message} It did not go back within ${durationText(LONGEST_WAIT_MS)}.` : message
    // Once, and not each time that it looks.
    if (isTooLate || sinceMs === undefined)
      void moves.note(camera, orderOf(one), { preset, [isTooLate ? 'error' : 'waits']: why }).catch(onUnsaved)
    if (isTooLate) return false
    this.#waiting.set(camera, sinceMs ?? clock.monotonicMs())
    this.#after(Math.max(LEAST_WAIT_MS, moves.steered(camera)?.forMs ?? 0), one, tries)
    return true
  }

  #drop(camera: string): void {
    this.#waiting.delete(camera)
    this.#timers.get(camera)?.cancel()
    this.#timers.delete(camera)
    this.#planned.delete(camera)
  }
}
