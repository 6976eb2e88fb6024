/** Moves of cameras: who moves which, until when, and what of it is written down. Whatever moves by hand is stopped. */
import { type Clock, type Timer, wait } from '#kit/clock.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import type { Preset } from '../../wire/onvif-ptz.ts'
import type { CameraRecord } from '../cameras/book.ts'
import type { CameraWrite, Writes } from '../clocks/writes.ts'
import {
  fromRaw,
  learnedScale,
  type PtzGeometry,
  type PtzPosition,
  type Reachable,
  type Scale,
  toReachable,
} from './geometry.ts'
import type { Head, Heads, Speed } from './head.ts'
import { createLane, type Lane } from './lane.ts'

type Detail = CameraWrite['detail']

/** Faults of a camera that does not turn; that one does not answer says nothing of it. */
export const CANNOT_TURN: ReadonlySet<string> = new Set(['no_onvif', 'no_ptz'])

/** Who moves a camera, and what of it is written down. */
export interface By {
  readonly kind: 'person' | 'rule' | 'patrol' | 'follow'
  /** Null: the recorder by itself. */
  readonly name: string | null
  /** Instead of the usual one. */
  readonly operation?: string
  /** Beside the usual. */
  readonly detail?: Detail
  /** Asked once more right before it is sent: somebody else may have come. */
  readonly isWanted?: () => boolean
}

/** A move by hand that is under way, as it is kept across a kill of the recorder. */
export interface OpenMove {
  readonly camera: string
  readonly at: number
  readonly by: string | null
  readonly speed: Speed
}

/** Why a move by hand ended. */
type MoveEnd = 'stopped' | 'time' | 'gone' | 'taken_over' | 'restart' | 'shutdown'

export interface MovesParts {
  clock: Clock
  heads: Heads
  writes: Pick<Writes, 'add'>
  /** @throws Fault `unknown_camera` */
  record(camera: string): CameraRecord
  geometry(camera: string): PtzGeometry | undefined
  /** Moves that were under way when the recorder ended. */
  open: readonly OpenMove[]
  /** Resolves once they are on disk. */
  saveOpen(moves: OpenMove[]): Promise<void>
  /** A stop did not reach the camera. */
  onStopFailed(camera: string, fault: Error): void
  limits: MoveLimits
}

/** Bounds, by the names of their settings. */
interface MoveLimits {
  /** A move that is not renewed ends. */
  moveMs: number
  /** How long a stop waits for a command under way. */
  overtakeMs: number
  /** How often a stop is sent that is not taken. */
  stopTries: number
  /** For how long after the last command no rule takes the camera from a person. */
  holdMs: number
}

/** Somebody who steers a camera. */
export interface Steered {
  /** For people. It does not name the camera. */
  sentence: string
  /** For how long at least, unless they go on. */
  forMs: number
}

interface Moving {
  by: By
  speed: Speed
  beganMs: number
  beganAt: number
  /** How often it was sent. */
  times: number
  timer: Timer | undefined
  /** Known before the first is sent; one of before a restart has to be asked for. */
  head: Head | undefined
}

interface CameraState {
  lane: Lane
  moving: Moving | undefined
  /** An aim or a training under way, which a newer command ends. */
  task: { abort: AbortController; by: By } | undefined
  /** The person who steered it last. */
  last: { name: string | null; untilMs: number } | undefined
}

const STOP_AGAIN_MS = 200

/** What the parts of PTZ move cameras by. Every call throws Fault `unknown_camera`, `no_onvif`, `no_ptz`, and what the camera did. */
export class CameraMoves {
  readonly #parts: MovesParts
  readonly #states = new Map<string, CameraState>()
  readonly #listeners: ((camera: string, by: By) => void)[] = []

  constructor(parts: MovesParts) {
    this.#parts = parts
  }

  /** Called before each command. */
  onCommand(listener: (camera: string, by: By) => void): void {
    this.#listeners.push(listener)
  }

  /** Whether a command of a person is under way: nothing takes the camera from them but another person. */
  isBusy(camera: string): boolean {
    const { moving, task } = this.#stateOf(camera)
    return task?.by.kind === 'person' || moving?.by.kind === 'person'
  }

  /** Who is not to be disturbed by rules; undefined: nobody. */
  steered(camera: string): Steered | undefined {
    const { clock, limits } = this.#parts
    const { last } = this.#stateOf(camera)
    if (!last) return undefined
    const forMs = this.isBusy(camera) ? limits.holdMs : last.untilMs - clock.monotonicMs()
    if (forMs <= 0) return undefined
    const who = last.name ?? 'Somebody'
    const sentence = `${who} steers the camera, and has it until ${durationText(limits.holdMs)} after the last command.`
    return { sentence, forMs }
  }

  head(camera: string): Promise<Head> {
    return this.#parts.heads.of(this.#parts.record(camera))
  }

  /** @throws Fault `no_absolute_position` */
  async scale(camera: string): Promise<Scale> {
    const { absolute } = (await this.head(camera)).facts
    if (absolute) return learnedScale(absolute, this.#parts.geometry(camera))
    throw new Fault('no_absolute_position', `${this.#parts.record(camera).name} cannot be sent to a position.`)
  }

  /**
   * Moves until it is stopped, `durationMs` has passed or its mover is gone.
   * @param signal of the mover's request
   * @returns how long it goes on if nothing more is said, in ms
   */
  async move(
    camera: string,
    { durationMs: wished, speed }: { speed: Speed; durationMs: number | undefined },
    by: By,
    signal: AbortSignal,
  ): Promise<number> {
    const { clock, limits } = this.#parts
    const durationMs = Math.min(wished ?? limits.moveMs, limits.moveMs)
    const head = await this.head(camera)
    const moving = await this.#hold(camera, speed, by, head)
    const onGone = () => later(this.#stopFor(camera, 'gone'))
    signal.addEventListener('abort', onGone, { once: true })
    if (signal.aborted) onGone()
    const state = this.#stateOf(camera)
    try {
      // Somebody stopped it while it was written down.
      if (state.moving !== moving) return 0
      moving.timer?.cancel()
      moving.timer = clock.after(durationMs, () => later(this.#stopFor(camera, 'time')))
      await state.lane.command(() => head.move(speed, durationMs))
      return durationMs
    } catch (error) {
      // It may move although its answer did not come.
      later(this.#sendStop(camera, head))
      await this.#noteMove(camera, this.#release(camera), 'stopped', (error as Error).message)
      throw error
    } finally {
      signal.removeEventListener('abort', onGone)
    }
  }

  async stop(camera: string, by: By): Promise<void> {
    this.#parts.record(camera)
    this.#tell(camera, by)
    this.#stateOf(camera).task?.abort.abort(takenOver())
    const moving = this.#release(camera)
    if (moving) {
      await this.#sendStop(camera, moving.head)
      await this.#noteMove(camera, moving, 'stopped')
    } else
      await this.#written(camera, 'ptz_stop', by, async () => {
        await this.#sendStop(camera, undefined)
        return {}
      })
  }

  async presets(camera: string): Promise<Preset[]> {
    return await (await this.head(camera)).presets()
  }

  /** @throws Fault `unknown_preset` */
  async requirePreset(camera: string, token: string): Promise<Preset> {
    const found = (await this.presets(camera)).find((one) => one.token === token)
    if (found) return found
    const { name } = this.#parts.record(camera)
    throw new Fault('unknown_preset', `${name} has no preset with the token ${JSON.stringify(token)}.`)
  }

  /** @throws Fault `unknown_preset`, `ptz_taken_over` if a newer command took its place */
  async recall(camera: string, preset: string, by: By): Promise<void> {
    const head = await this.head(camera)
    const { name } = await this.requirePreset(camera, preset)
    if (by.isWanted?.() === false) throw takenOver()
    const order = { ...by, detail: { preset, presetName: name, ...by.detail } }
    await this.#written(camera, by.kind === 'patrol' ? 'ptz_patrol' : 'ptz_preset', order, async () => {
      const { lane } = await this.#begin(camera, by)
      if (!(await lane.command(() => head.recall(preset)))) throw takenOver()
      return {}
    })
  }

  async save(camera: string, name: string, by: By): Promise<Preset> {
    const head = await this.head(camera)
    let token = ''
    await this.#written(camera, 'ptz_preset_saved', by, async () => {
      token = await head.save(name)
      return { preset: token, presetName: name }
    })
    return { token, name }
  }

  /**
   * Sends it to the nearest place that it reaches; who does writes it down, since it takes several such.
   * @param isWanted asked once more right before it is sent: somebody else may have come while the camera said what it can
   * @returns undefined if a newer command took its place
   * @throws Fault `no_absolute_position`
   */
  async send(camera: string, to: PtzPosition, isWanted = () => true): Promise<Reachable | undefined> {
    const [head, scale] = [await this.head(camera), await this.scale(camera)]
    if (!isWanted()) return undefined
    const reached = toReachable(to, scale)
    const isSent = await this.#stateOf(camera).lane.command(() => head.goTo(reached.raw, scale))
    return isSent ? reached : undefined
  }

  /** By a share of what it sees. */
  async sendBy(camera: string, share: { x: number; y: number; zoom: number }): Promise<void> {
    const head = await this.head(camera)
    await this.#stateOf(camera).lane.command(() => head.goBy(share))
  }

  /** Where it looks; null where it does not say. */
  async look(camera: string): Promise<{ position: PtzPosition | null; isMoving: boolean | undefined }> {
    const head = await this.head(camera)
    const { isMoving, position } = await head.look()
    const { absolute } = head.facts
    const scale = absolute && learnedScale(absolute, this.#parts.geometry(camera))
    return { position: position && scale ? fromRaw(position, scale) : null, isMoving }
  }

  /** Does what takes several moves, until another command for the camera ends it. */
  async within<Result>(camera: string, by: By, task: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const state = await this.#begin(camera, by)
    const mine = { abort: new AbortController(), by }
    state.task = mine
    try {
      return await task(mine.abort.signal)
    } finally {
      if (state.task === mine) {
        state.task = undefined
        // Who trained it for minutes has steered it until now.
        if (by.kind === 'person') this.#tell(camera, by)
      }
    }
  }

  async write(camera: string, operation: string, by: By, detail: Detail): Promise<void> {
    await this.#parts.writes.add({
      ...{ camera, operation: by.operation ?? operation, performedBy: by.name },
      detail: { ...detail, ...by.detail },
    })
  }

  /** Sends a stop to each camera that was moved by hand when the recorder ended. */
  start(): void {
    const { clock, open } = this.#parts
    for (const { at, by: name, camera, speed } of open) {
      const beganMs = clock.monotonicMs() - Math.max(0, clock.epochMs() - at)
      const by: By = { kind: 'person', name }
      this.#stateOf(camera).moving = { by, speed, beganAt: at, beganMs, times: 1, timer: undefined, head: undefined }
      later(this.#stopFor(camera, 'restart'))
    }
  }

  /** Stops what is moved by hand. */
  async close(): Promise<void> {
    for (const { task } of this.#states.values()) task?.abort.abort(takenOver())
    const moved = [...this.#states].filter(([, { moving }]) => moving)
    await Promise.all(moved.map(([camera]) => this.#stopFor(camera, 'shutdown')))
  }

  #stateOf(camera: string): CameraState {
    const present = this.#states.get(camera)
    if (present) return present
    const { clock, limits } = this.#parts
    const lane = createLane(clock, limits.overtakeMs)
    const made: CameraState = { lane, moving: undefined, task: undefined, last: undefined }
    this.#states.set(camera, made)
    return made
  }

  #tell(camera: string, by: By): void {
    const { clock, limits } = this.#parts
    if (by.kind === 'person')
      this.#stateOf(camera).last = { name: by.name, untilMs: clock.monotonicMs() + limits.holdMs }
    for (const listener of this.#listeners) listener(camera, by)
  }

  /**
   * Ends what another command takes the camera from. Persons take it from everybody, also by the button of a rule.
   * @throws Fault `ptz_steered` to what moves by itself while a person steers
   */
  async #begin(camera: string, by: By): Promise<CameraState> {
    const state = this.#stateOf(camera)
    const isByItself = by.kind !== 'person' && by.name === null
    const steered = isByItself && (by.kind === 'rule' || this.isBusy(camera)) && this.steered(camera)
    if (steered) throw new Fault('ptz_steered', steered.sentence)
    this.#tell(camera, by)
    state.task?.abort.abort(takenOver())
    state.task = undefined
    await this.#noteMove(camera, this.#release(camera), 'taken_over')
    return state
  }

  /** Begins a move by hand, or goes on with that of the same person. */
  async #hold(camera: string, speed: Speed, by: By, head: Head): Promise<Moving> {
    const { clock } = this.#parts
    const { moving } = this.#stateOf(camera)
    if (moving?.head && moving.by.name === by.name) {
      this.#tell(camera, by)
      return Object.assign(moving, { speed, times: moving.times + 1 })
    }
    const state = await this.#begin(camera, by)
    const [beganMs, beganAt] = [clock.monotonicMs(), clock.epochMs()]
    const made = { by, speed, beganMs, beganAt, times: 1, timer: undefined, head }
    state.moving = made
    // Before it moves: who is killed now knows it at the next start.
    await this.#saveOpen()
    return made
  }

  async #saveOpen(): Promise<void> {
    const open = [...this.#states].flatMap(([camera, { moving }]) =>
      moving ? [{ camera, at: moving.beganAt, by: moving.by.name, speed: moving.speed }] : [],
    )
    await this.#parts.saveOpen(open)
  }

  /** Lets go of a move by hand; the camera is told by who calls. */
  #release(camera: string): Moving | undefined {
    const state = this.#stateOf(camera)
    const { moving } = state
    moving?.timer?.cancel()
    state.moving = undefined
    return moving
  }

  /** Writes down a move by hand that is over. */
  async #noteMove(camera: string, moving: Moving | undefined, ended: MoveEnd, error?: string): Promise<void> {
    if (!moving) return
    const seconds = rounded((this.#parts.clock.monotonicMs() - moving.beganMs) / 1000, 1)
    const detail = { ...moving.speed, seconds, times: moving.times, ended, ...(error !== undefined && { error }) }
    await this.write(camera, 'ptz_move', moving.by, detail)
    await this.#saveOpen()
  }

  async #sendStop(camera: string, known: Head | undefined): Promise<void> {
    const { clock, limits } = this.#parts
    const head = known ?? (await this.head(camera))
    for (let turn = 1; ; turn++) {
      try {
        return await this.#stateOf(camera).lane.stop(() => head.stop())
      } catch (error) {
        if (turn >= limits.stopTries) throw error
        await wait(clock, STOP_AGAIN_MS)
      }
    }
  }

  /** Stops what nobody holds any more. */
  async #stopFor(camera: string, ended: MoveEnd): Promise<void> {
    const moving = this.#release(camera)
    try {
      await this.#sendStop(camera, moving?.head)
      await this.#noteMove(camera, moving, ended)
    } catch (error) {
      this.#parts.onStopFailed(camera, faultOf(error, 'onvif_failed', 'The camera did not take the stop.'))
      await this.#noteMove(camera, moving, ended, (error as Error).message)
    }
  }

  /** Does it, and writes it down, also where the camera refuses. */
  async #written(camera: string, operation: string, by: By, task: () => Promise<Detail>): Promise<void> {
    let detail: Detail
    try {
      detail = await task()
    } catch (error) {
      if (error instanceof Fault) await this.write(camera, operation, by, { error: error.message })
      throw error
    }
    await this.write(camera, operation, by, detail)
  }
}

/** What nobody waits for: what fails is told where it fails. */
function later(task: Promise<unknown>): void {
  task.catch(() => {})
}

function takenOver(): Fault {
  return new Fault('ptz_taken_over', 'Another command for this camera came meanwhile.')
}

/** For people. */
export function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits)) + 0
}
