/** Has cameras go back to a preset a while after a rule has moved them, also where the recorder was restarted meanwhile. */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { ACTION_LIMITS, type Action } from './rule.ts'

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
  moves: {
    recall(camera: string, preset: string, by: { performedBy: null; rule: string; operation: string }): Promise<void>
  }
  pending: readonly PendingReturn[]
  /** Resolves once they are on disk. */
  save(pending: PendingReturn[]): Promise<void>
  /** A restart would forget some. */
  onUnsaved(fault: unknown): void
  /** A camera did not go back. */
  onLost(one: PendingReturn, fault: Fault): void
}

export interface Returns {
  /** Takes the place of what was planned for the camera. */
  plan(action: Extract<Action, { returnPreset: unknown }>, rule: string): void
  /** Goes on with what was planned before the start; what was due meanwhile is done now. */
  start(): void
  stop(): void
}

/** A camera that was without power as the recorder was may take minutes to begin. */
const TRIES = 10
const AGAIN_MS = 30_000

export function createReturns({ clock, moves, onLost, onUnsaved, pending, save }: ReturnsParts): Returns {
  const planned = new Map<string, PendingReturn>()
  const timers = new Map<string, Timer>()

  function kept(): void {
    save([...planned.values()]).catch(onUnsaved)
  }

  function after(ms: number, one: PendingReturn, tries: number): void {
    const timer = clock.after(ms, () => void goBack(one, tries))
    timers.set(one.camera, timer)
  }

  /** A clock that was set back makes no wait longer. */
  function wait(one: PendingReturn): void {
    planned.set(one.camera, one)
    const waitMs = Math.min(Math.max(0, one.dueAt - clock.epochMs()), ACTION_LIMITS.returnSeconds.most * 1000)
    after(waitMs, one, TRIES)
  }

  async function goBack(one: PendingReturn, tries: number): Promise<void> {
    const { camera, preset, rule } = one
    try {
      await moves.recall(camera, preset, { performedBy: null, rule, operation: 'ptz_return' })
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      if (planned.get(camera) !== one) return
      if (error.code === 'camera_unreachable' && tries > 1) return after(AGAIN_MS, one, tries - 1)
      onLost(one, error)
    }
    if (planned.get(camera) !== one) return
    drop(camera)
    kept()
  }

  function drop(camera: string): void {
    timers.get(camera)?.cancel()
    timers.delete(camera)
    planned.delete(camera)
  }

  return {
    plan({ cameraId: camera, returnAfterSeconds, returnPreset: preset }, rule) {
      const isOther = planned.has(camera) || preset !== null
      drop(camera)
      if (preset !== null) wait({ camera, preset, rule, dueAt: clock.epochMs() + returnAfterSeconds * 1000 })
      if (isOther) kept()
    },
    start() {
      for (const one of pending) wait(one)
    },
    stop() {
      for (const timer of timers.values()) timer.cancel()
    },
  }
}
