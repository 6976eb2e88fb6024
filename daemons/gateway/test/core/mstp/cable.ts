/** A cable with MS/TP nodes on it, on a clock that only moves when a test says so. Who speaks at once is garbled. */
import { type FakeClock, fakeClock } from '#kit/clock-fake.ts'
import type { Fault } from '#kit/pure/fault.ts'
import { MstpNode, type SeenBytes } from '../../../core/mstp/node.ts'
import { type MstpSettings, mstpSettings } from '../../../core/mstp/settings.ts'
import { FRAME_TYPES, frameTypeName, type MstpFrame, readMstpFrame } from '../../../wire/mstp/frame.ts'

const defaults = Object.fromEntries(
  Object.entries(mstpSettings.properties).map(([name, schema]) => [name, 'default' in schema && schema.default]),
) as MstpSettings

/** Settings with every default. */
export function settingsWith(changes: Partial<MstpSettings>): MstpSettings {
  return { ...defaults, ...changes }
}

interface Attached {
  node: MstpNode
  seen: SeenBytes[]
  faults: Fault[]
  /** Pulls its plug: it neither hears nor speaks. */
  isOff: boolean
  /** Its adapter gives back what it sends. */
  hasEcho: boolean
}

export interface Cable {
  clock: FakeClock
  /** Everything that was sent, in order, with the instants of its first and last octet. */
  readonly log: { fromMs: number; toMs: number; bytes: Uint8Array }[]
  readonly collisions: number
  attach(settings: Partial<MstpSettings>, options?: { hasEcho?: boolean }): Attached
  /** Somebody who is no node of ours speaks. @param from whom it does not reach */
  speak(bytes: Uint8Array, from?: Attached): void
}

/** @param baud 76800, the fastest that the standard has, where a token takes one millisecond */
export function cable(baud = 76_800): Cable {
  const clock = fakeClock()
  const log: Cable['log'] = []
  const nodes: Attached[] = []
  let collisions = 0

  function speak(bytes: Uint8Array, from?: Attached): void {
    const fromMs = clock.monotonicMs()
    const toMs = fromMs + (bytes.length * 10_000) / baud
    const said = { fromMs, toMs, bytes }
    log.push(said)
    clock.after(toMs - fromMs, () => {
      const clash = log.some((other) => other !== said && other.fromMs < toMs && other.toMs > fromMs)
      if (clash) collisions++
      const heard = clash ? bytes.map((octet) => octet ^ 0x0f) : bytes
      for (const one of nodes)
        if (!one.isOff && (one !== from || one.hasEcho)) one.node.feed(heard, clock.monotonicMs() * 1000)
    })
  }

  return {
    clock,
    log,
    get collisions() {
      return collisions
    },
    speak,
    attach(changes, { hasEcho = false } = {}) {
      const seen: SeenBytes[] = []
      const faults: Fault[] = []
      const settings = settingsWith(changes)
      const node = new MstpNode({
        ...{ clock, baud, settings },
        async write(bytes) {
          if (!mine.isOff) speak(bytes, mine)
        },
        onSeen: (one) => void seen.push(one),
        onFault: (fault) => void faults.push(fault),
      })
      const mine: Attached = { node, seen, faults, isOff: false, hasEcho }
      nodes.push(mine)
      return mine
    },
  }
}

/** The frames that went over the cable since `fromMs`. */
export function framesOf({ log }: Cable, fromMs = 0): MstpFrame[] {
  return log.filter((said) => said.fromMs >= fromMs).map(({ bytes }) => readMstpFrame(bytes))
}

/** `0>1 1>2`: who passed the token to whom. */
export function tokensOf(on: Cable, fromMs = 0): string[] {
  return framesOf(on, fromMs)
    .filter(({ frameType }) => frameType === FRAME_TYPES.TOKEN)
    .map(({ destination, source }) => `${source}>${destination}`)
}

/** `TOKEN 0>1`, of every frame. */
export function saidOn(on: Cable, fromMs = 0): string[] {
  return framesOf(on, fromMs).map(
    ({ destination, frameType, source }) => `${frameTypeName(frameType)} ${source}>${destination}`,
  )
}
