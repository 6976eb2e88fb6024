/** Simulated M-Bus meters on a shared line, for the demo and for tests of any master. */
import type { Clock } from '#kit/clock.ts'
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
import { type Duplex, joinLine, onWireMs } from './shared-line.ts'

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

/**
 * Meters that answer at once fall together on the line: what is current is a zero, so their bytes are combined by AND.
 * @returns stops them
 */
export function simulateMbusLine({ baud, clock, duplex, meters }: MbusLineParts): () => void {
  const line = joinLine({ clock, duplex, lengthOf: frameLength, isWhole: isWholeFrame, hear: carryOut })

  function carryOut(frame: Uint8Array): void {
    const request = openMasterFrame(frame)
    if (!request) return
    const answers = meters.flatMap((meter) => {
      const said = meter.hear(request)
      return said ? [{ lateMs: meter.faults.lateMs ?? 0, bytes: meter.faults.damage?.(said) ?? said }] : []
    })
    for (const [lateMs, together] of Map.groupBy(answers, (one) => one.lateMs)) {
      const bytes = fallenTogether(together.map((one) => one.bytes))
      line.say(bytes, lateMs + onWireMs(frame.length + bytes.length, baud))
    }
  }

  return line.stop
}

/** Where one is longer, its end is heard as it is. */
function fallenTogether(answers: readonly Uint8Array[]): Uint8Array {
  const length = Math.max(...answers.map((bytes) => bytes.length))
  return Uint8Array.from({ length }, (_, at) => answers.reduce((sum, bytes) => sum & (bytes[at] ?? 0xff), 0xff))
}
