/** Simulated M-Bus meters on a shared line, for the demo and for tests of any master. */
import type { Clock, Timer } from '#kit/clock.ts'
import {
  ACKNOWLEDGE,
  EVERYBODY,
  frameLength,
  isWholeFrame,
  type MasterFrame,
  openMasterFrame,
  responseFrame,
  SELECTED,
} from '../../daemons/gateway/wire/mbus/frames.ts'
import {
  isMeantBy,
  type MeterIdentity,
  mediumName,
  secondaryBytes,
  secondaryOf,
  secondaryOfBytes,
} from '../../daemons/gateway/wire/mbus/identity.ts'
import type { Duplex } from './modbus-device.ts'

/** What one meter is and has to say. */
export interface MeterFacts {
  /** Its primary address. */
  address: number
  /** Eight digits. */
  id: string
  /** Three letters. */
  manufacturer: string
  version?: number
  medium: number
  /** The records of each of its telegrams, computed for each request so that values change. */
  telegrams(): readonly Uint8Array[]
}

/** What may be wrong with a meter, or with its line; read at each request. */
export interface MeterFaults {
  isDead?: boolean
  /** Milliseconds before it answers. */
  lateMs?: number
  /** The address that its answers name, instead of its own. */
  namesAddress?: number
  /** Changes an answer on its way. */
  damage?(frame: Uint8Array): Uint8Array
}

/** A meter on a line. */
export interface SimulatedMeter {
  readonly identity: MeterIdentity
  readonly faults: MeterFaults
  /** @returns its answer; undefined where it has none to give */
  hear(request: MasterFrame): Uint8Array | undefined
}

/** Control information of the variable data structure. */
const VARIABLE = 0x72
const HEADER_BYTES = 12

/** @param faults may be changed at any time */
export function simulatedMeter(facts: MeterFacts, faults: MeterFaults = {}): SimulatedMeter {
  const { address, id, manufacturer, medium, version = 1 } = facts
  const identity = { id, manufacturer, version, medium: { code: medium, name: mediumName(medium) } }
  let isSelected = false
  let accessNumber = 0
  /** The last frame count bit and telegram; undefined after a reset. */
  let last: { frameCountBit: boolean; index: number; frame: Uint8Array } | undefined

  function telegram(): { index: number; frame: Uint8Array } {
    const parts = facts.telegrams()
    const index = last ? (last.index + 1) % parts.length : 0
    const data = new Uint8Array(HEADER_BYTES + (parts[index]?.length ?? 0))
    data.set(secondaryBytes(secondaryOf(identity)))
    data[8] = accessNumber++ & 0xff
    data.set(parts[index] ?? [], HEADER_BYTES)
    return { index, frame: responseFrame(faults.namesAddress ?? address, VARIABLE, data) }
  }

  function answer(frameCountBit: boolean): Uint8Array {
    if (last?.frameCountBit !== frameCountBit) last = { frameCountBit, ...telegram() }
    return last.frame
  }

  return {
    identity,
    faults,
    hear(request) {
      if (faults.isDead) return undefined
      if (request.kind === 'select') {
        isSelected = isMeantBy(secondaryOfBytes(request.secondary), identity)
        if (isSelected) last = undefined
        return isSelected ? Uint8Array.of(ACKNOWLEDGE) : undefined
      }
      const isForAll = request.address === EVERYBODY
      const isMine = request.address === address || (request.address === SELECTED && isSelected) || isForAll
      if (!isMine) return undefined
      if (request.kind === 'read') return isForAll ? undefined : answer(request.frameCountBit)
      last = undefined
      if (request.address === SELECTED) isSelected = false
      return isForAll ? undefined : Uint8Array.of(ACKNOWLEDGE)
    },
  }
}

export interface MbusLineParts {
  duplex: Duplex
  meters: readonly SimulatedMeter[]
  clock: Clock
  /** Bits per second of the simulated wire: answers are delayed by the time of request and answer. Default: no delay. */
  baud?: number
}

/** Silence after which bytes that form no request are discarded. */
const FORGET_MS = 50
/** Bits of one character with start, parity and stop bits. */
const CHARACTER_BITS = 11

/**
 * Meters that answer at once fall together on the line: what is current is a zero, so their bytes are combined by AND.
 * @returns stops them
 */
export function simulateMbusLine({ baud, clock, duplex, meters }: MbusLineParts): () => void {
  const timers = new Set<Timer>()
  let held = new Uint8Array(0)
  let forget: Timer | undefined
  let isStopped = false

  /** Ignores failures: on a vanished line there is nobody to tell. */
  async function write(bytes: Uint8Array): Promise<void> {
    try {
      if (!isStopped) await duplex.write(bytes)
    } catch {
      isStopped = true
    }
  }

  function later(delayMs: number, bytes: Uint8Array): void {
    if (delayMs === 0) {
      void write(bytes)
      return
    }
    const timer = clock.after(delayMs, () => {
      timers.delete(timer)
      void write(bytes)
    })
    timers.add(timer)
  }

  function carryOut(frame: Uint8Array): void {
    const request = openMasterFrame(frame)
    if (!request) return
    const answers = meters.flatMap((meter) => {
      const said = meter.hear(request)
      return said ? [{ lateMs: meter.faults.lateMs ?? 0, bytes: meter.faults.damage?.(said) ?? said }] : []
    })
    for (const [lateMs, together] of Map.groupBy(answers, (one) => one.lateMs)) {
      const bytes = fallenTogether(together.map((one) => one.bytes))
      later(lateMs + (baud ? ((frame.length + bytes.length) * CHARACTER_BITS * 1000) / baud : 0), bytes)
    }
  }

  duplex.onBytes((bytes) => {
    if (isStopped) return
    held = Uint8Array.from([...held, ...bytes])
    for (let cut = firstRequest(held); cut; cut = firstRequest(held)) {
      held = held.slice(cut.end)
      carryOut(cut.frame)
    }
    forget?.cancel()
    forget = clock.after(FORGET_MS, () => {
      held = new Uint8Array(0)
    })
  })
  return () => {
    isStopped = true
    forget?.cancel()
    for (const timer of timers) timer.cancel()
  }
}

/** Where one is longer, its end is heard as it is. */
function fallenTogether(answers: readonly Uint8Array[]): Uint8Array {
  const length = Math.max(...answers.map((bytes) => bytes.length))
  return Uint8Array.from({ length }, (_, at) => answers.reduce((sum, bytes) => sum & (bytes[at] ?? 0xff), 0xff))
}

/** The first whole frame, and where it ends. */
function firstRequest(bytes: Uint8Array): { frame: Uint8Array; end: number } | undefined {
  for (let at = 0; at < bytes.length; at++) {
    const rest = bytes.subarray(at)
    const need = frameLength(rest)
    if (typeof need !== 'number' || rest.length < need) continue
    const frame = rest.slice(0, need)
    if (isWholeFrame(frame)) return { frame, end: at + need }
  }
  return undefined
}
