/** Finding a board in a rack: it blinks and shows a banner for a while. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import type { Blinker } from './machine-ports.ts'

/** What it needs. */
export interface IdentifyParts {
  clock: Clock
  log: Log
  blinker: Blinker
  lifeMs: number
  onChange(): void
}

export interface Identify {
  /** Begins, or begins anew, or ends. */
  set(isOn: boolean): void
  /** Instant at which it ends, null while it is off. */
  until(): number | null
  close(): Promise<void>
}

export function createIdentify({ clock, log, blinker, lifeMs, onChange }: IdentifyParts): Identify {
  let timer: Timer | undefined
  let untilAt: number | null = null
  /** Calls to the lamp, one after the other. */
  let lamp: Promise<void> = Promise.resolve()

  function drive(call: () => Promise<unknown>): void {
    lamp = lamp.then(async () => {
      try {
        await call()
      } catch (fault) {
        log.warning('the lamp does not do as told', { fault })
      }
    })
  }
  function set(isOn: boolean): void {
    timer?.cancel()
    timer = isOn ? clock.after(lifeMs, () => set(false)) : undefined
    if (isOn && untilAt === null) drive(() => blinker.start())
    if (!isOn && untilAt !== null) drive(() => blinker.stop())
    untilAt = isOn ? clock.epochMs() + lifeMs : null
    onChange()
  }
  return {
    set,
    until: () => untilAt,
    close() {
      if (untilAt !== null) set(false)
      return lamp
    },
  }
}
