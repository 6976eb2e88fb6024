/** Outputs of cameras: finds them, switches them, and makes sure that a pulse ends. */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { Backoff, type BackoffLimits, createSerialTurn, type InTurn } from '#kit/pure/pace.ts'
import type { CameraOutput, CameraRecord, FoundOutputs } from '../cameras/book.ts'
import type { Writes } from '../clocks/writes.ts'
import type { OutputDriver } from './onvif-driver.ts'

/** What was set last. */
export interface OutputState {
  readonly camera: string
  readonly output: string
  readonly on: boolean
  /** When it is to be switched off, epoch ms; null: not by itself. */
  readonly offAt: number | null
}

export const outputStates = ['pulse', 'on', 'off'] as const

/** What is to be switched. */
export interface OutputWish {
  output: string
  state: (typeof outputStates)[number]
  /** Of a pulse. */
  seconds: number
}

/** Who wants it. */
export interface OutputOrder {
  /** Null: nobody, but a rule. */
  performedBy: string | null
  /** The name of a rule. */
  rule?: string
}

/** Interface document 3, A, Limits. */
export const PULSE = { least: 1, most: 300, usual: 10 } as const

interface OutputParts {
  clock: Clock
  driver: OutputDriver
  /** A camera that is there; undefined: it is gone. */
  cameraOf(id: string): CameraRecord | undefined
  states: readonly OutputState[]
  /** Resolves once they are on disk. */
  save(states: readonly OutputState[]): Promise<void>
  writes: Pick<Writes, 'add'>
  retry: BackoffLimits
  /** Orders of one camera that wait; key `outputs.waiting`. */
  mostWaiting: number
  /** Somebody or a rule has switched it. */
  onSwitched(camera: string, output: string, now: Pick<OutputState, 'on'> & { until: number | null }): void
  /** One that should be off cannot be switched off; null: it is, or it is gone. */
  onStuck(camera: string, output: string, sentence: string | null): void
}

/** An output as it is told. */
export interface ToldOutput extends CameraOutput {
  on: boolean
  until: number | null
}

export class Outputs {
  readonly #parts: OutputParts
  readonly #states: Map<string, OutputState>
  readonly #timers = new Map<string, Timer>()
  readonly #turns = new Map<string, { inTurn: InTurn; waiting: number }>()
  #isStopped = false

  constructor(parts: OutputParts) {
    this.#parts = parts
    this.#states = new Map(parts.states.map((state) => [keyOf(state), state]))
  }

  /** Asks the camera. @throws Fault, as `OutputDriver` */
  async find(camera: CameraRecord): Promise<FoundOutputs> {
    const { clock, driver } = this.#parts
    return { probedAt: clock.epochMs(), ...(await driver.find(camera)) }
  }

  of({ id, outputs }: CameraRecord): ToldOutput[] {
    return (outputs?.list ?? []).map((one) => this.#toldOf(id, one))
  }

  /** @throws Fault `unknown_output`, `output_busy`, `store_write_failed`, and what the camera did */
  async switch(camera: CameraRecord, wish: OutputWish, by: OutputOrder): Promise<ToldOutput> {
    const output = camera.outputs?.list.find(({ id }) => id === wish.output)
    if (!output)
      throw new Fault('unknown_output', `${camera.name} has no output of this id. GET its outputs lists them.`)
    await this.#inTurn(camera.id, () => this.#carryOut(camera, wish, by))
    return this.#toldOf(camera.id, output)
  }

  /** Switches off what should have been off meanwhile. */
  start(): void {
    for (const key of this.#states.keys()) this.#plan(key)
  }

  /** Switches off what is on for a time: nobody knows when the next start is. One try each. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const timer of this.#timers.values()) timer.cancel()
    await Promise.all([...this.#states.keys()].map((key) => this.#switchOff(key).catch(() => {})))
  }

  async #carryOut(camera: CameraRecord, wish: OutputWish, by: OutputOrder): Promise<void> {
    const { clock, driver, onStuck, onSwitched } = this.#parts
    const place = { camera: camera.id, output: wish.output }
    const key = keyOf(place)
    const before = this.#states.get(key) ?? { ...place, on: false, offAt: null }
    const isOn = wish.state !== 'off'
    const offAt = wish.state === 'pulse' ? clock.epochMs() + wish.seconds * 1000 : null
    // Saved before it is switched on: a recorder that dies in between still switches it off.
    if (isOn) await this.#put({ ...before, offAt })
    try {
      await driver.set(camera, wish.output, isOn)
    } catch (error) {
      const fault = faultOf(error, 'onvif_failed', 'The camera did not switch its output.')
      // Of one that answers nothing nobody knows what it did: the end of the pulse stays planned.
      if (isOn && ANSWERED.has(fault.code)) await this.#put(before)
      else this.#plan(key)
      await this.#audit(camera, wish, by, fault.message)
      throw fault
    }
    await this.#put({ ...place, on: isOn, offAt })
    this.#plan(key)
    onStuck(camera.id, wish.output, null)
    await this.#audit(camera, wish, by)
    onSwitched(camera.id, wish.output, { on: isOn, until: offAt })
  }

  /** Has it switched off when its time is over. */
  #plan(key: string): void {
    const { clock } = this.#parts
    this.#timers.get(key)?.cancel()
    this.#timers.delete(key)
    const offAt = this.#states.get(key)?.offAt ?? null
    if (offAt === null || this.#isStopped) return
    // A clock that was set back makes no pulse longer.
    const waitMs = Math.min(Math.max(0, offAt - clock.epochMs()), PULSE.most * 1000)
    const ending = clock.after(waitMs, () => void this.#end(key, new Backoff(this.#parts.retry)))
    this.#timers.set(key, ending)
  }

  /** Tries until it is off, or was ordered otherwise, or its camera is gone: a siren that stays on is worse than many tries. */
  async #end(key: string, backoff: Backoff): Promise<void> {
    const { clock, onStuck } = this.#parts
    const state = this.#states.get(key)
    if (!state || this.#isStopped) return
    try {
      await this.#switchOff(key)
      onStuck(state.camera, state.output, null)
    } catch (error) {
      const { message } = faultOf(error, 'onvif_failed', 'The camera did not switch its output.')
      onStuck(state.camera, state.output, message)
      if (this.#states.get(key) !== state || this.#isStopped) return
      this.#timers.set(
        key,
        clock.after(backoff.next(), () => void this.#end(key, backoff)),
      )
    }
  }

  /** Once its time is over. @throws Fault, as `OutputDriver`; `store_write_failed` */
  async #switchOff(key: string): Promise<void> {
    const { cameraOf, driver } = this.#parts
    const state = this.#states.get(key)
    if (!state || state.offAt === null) return
    const camera = cameraOf(state.camera)
    const settled = { ...state, on: false, offAt: null }
    if (!camera) return this.#put(settled)
    await this.#inTurn(state.camera, async () => {
      if (this.#states.get(key) !== state) return
      await driver.set(camera, state.output, false)
      await this.#put(settled)
      await this.#audit(camera, { output: state.output, state: 'off', seconds: 0 }, { performedBy: null })
    })
  }

  async #put(state: OutputState): Promise<void> {
    const key = keyOf(state)
    const before = this.#states.get(key)
    // One that is off, for good, says nothing; nor does one of a camera that is gone.
    if (state.on || state.offAt !== null) this.#states.set(key, state)
    else this.#states.delete(key)
    try {
      await this.#parts.save([...this.#states.values()].filter(({ camera }) => this.#parts.cameraOf(camera)))
    } catch (error) {
      if (before) this.#states.set(key, before)
      else this.#states.delete(key)
      throw error
    }
  }

  /** One order after another for each camera, and no more than so many. @throws Fault `output_busy` */
  async #inTurn(camera: string, task: () => Promise<void>): Promise<void> {
    const turn = this.#turns.get(camera) ?? { inTurn: createSerialTurn(), waiting: 0 }
    if (turn.waiting >= this.#parts.mostWaiting)
      throw new Fault('output_busy', `${turn.waiting} orders for outputs of this camera wait already. Try again soon.`)
    this.#turns.set(camera, turn)
    turn.waiting++
    try {
      await turn.inTurn(task)
    } finally {
      turn.waiting--
      if (turn.waiting === 0) this.#turns.delete(camera)
    }
  }

  /** Writes down what was ordered, and what the camera answered. */
  async #audit(camera: CameraRecord, wish: OutputWish, order: OutputOrder, error?: string): Promise<void> {
    const { output, seconds, state } = wish
    await this.#parts.writes.add({
      ...{ camera: camera.id, operation: 'output', performedBy: order.performedBy },
      detail: {
        ...{ output, state },
        ...(state === 'pulse' && { seconds }),
        ...(order.rule !== undefined && { rule: order.rule }),
        ...(error !== undefined && { error }),
      },
    })
  }

  #toldOf(camera: string, one: CameraOutput): ToldOutput {
    const { offAt = null, on = false } = this.#states.get(keyOf({ camera, output: one.id })) ?? {}
    return { ...one, on, until: on ? offAt : null }
  }
}

/** Faults of a camera that has answered, and so has not switched. */
const ANSWERED: ReadonlySet<string> = new Set([
  ...['onvif_failed', 'onvif_unsupported', 'output_refused', 'camera_refused', 'no_onvif'],
])

function keyOf({ camera, output }: Pick<OutputState, 'camera' | 'output'>): string {
  return `${camera} ${output}`
}

/**
 * The ways to switch outputs of cameras, behind one: each output goes by the one that found it. ONVIF says whether the camera
 * is reached at all. Where it does not answer the other way just now, the outputs it had by that way stay.
 */
export function joinDrivers(drivers: Readonly<Record<CameraOutput['driver'], OutputDriver>>): OutputDriver {
  return {
    async find(camera) {
      const relays = await drivers.onvif.find(camera)
      const own = await drivers.dahua.find(camera).catch((error: unknown) => {
        if (!(error instanceof Fault)) throw error
        return { list: camera.outputs?.list.filter(({ driver }) => driver === 'dahua') ?? [], notes: null }
      })
      const notes = [relays.notes, own.notes].filter((note) => note !== null)
      return { list: [...relays.list, ...own.list], notes: notes.join(' ') || null }
    },
    async set(camera, id, isOn) {
      const output = camera.outputs?.list.find((one) => one.id === id)
      await drivers[output?.driver ?? 'onvif'].set(camera, id, isOn)
    },
  }
}
