/** The objects of DNP3: points and their events in each variation that an outstation sends, and commands. @source IEEE 1815-2012, annex A */

/** The kinds of points. */
export const pointKinds = ['binary', 'double_bit', 'analog', 'counter', 'frozen_counter', 'octet_string'] as const
export type PointKind = (typeof pointKinds)[number]

/** Flags of a point. @source IEEE 1815-2012, 11.6 */
export const FLAG = {
  online: 0x01,
  restart: 0x02,
  commLost: 0x04,
  remoteForced: 0x08,
  localForced: 0x10,
  overRange: 0x20,
  referenceError: 0x40,
} as const

/** The names of flags: those of every kind, and those of some in the bits that kinds use in different ways. */
const NAMES: readonly (readonly [name: string, bit: number, kinds: readonly PointKind[]])[] = [
  ['online', FLAG.online, pointKinds],
  ['restart', FLAG.restart, pointKinds],
  ['comm_lost', FLAG.commLost, pointKinds],
  ['remote_forced', FLAG.remoteForced, pointKinds],
  ['local_forced', FLAG.localForced, pointKinds],
  ['chatter_filter', 0x20, ['binary', 'double_bit']],
  ['over_range', FLAG.overRange, ['analog']],
  ['reference_error', FLAG.referenceError, ['analog']],
  ['rollover', 0x20, ['counter', 'frozen_counter']],
  ['discontinuity', 0x40, ['counter', 'frozen_counter']],
]

/** The names that a kind of points has. @source IEEE 1815-2012, 11.6 */
export function flagNamesOf(kind: PointKind): string[] {
  return NAMES.filter(([, , kinds]) => kinds.includes(kind)).map(([name]) => name)
}

/** The names of these flags. */
export function namesOfFlags(kind: PointKind, flags: number): string[] {
  return NAMES.filter(([, bit, kinds]) => kinds.includes(kind) && (flags & bit) !== 0).map(([name]) => name)
}

/** The flags of these names; undefined where the kind has no such flag. */
export function flagsOfNames(kind: PointKind, names: readonly string[]): number | undefined {
  let flags = 0
  for (const name of names) {
    const found = NAMES.find(([one, , kinds]) => one === name && kinds.includes(kind))
    if (!found) return undefined
    flags |= found[1]
  }
  return flags
}

/**
 * What a point holds: of a binary true or false, of a double-bit 0 (between) to 3 (undetermined), of an octet string its
 * bytes, of the others a number.
 */
export interface PointState {
  value: boolean | number | Uint8Array
  flags: number
  /** Epoch milliseconds. */
  timeMs: number
}

type Encode = (state: PointState) => number[]

/** The groups of each kind: of its present state, and of its events. @source IEEE 1815-2012, annex A */
export const GROUPS: Readonly<Record<PointKind, { static: number; event: number }>> = {
  binary: { static: 1, event: 2 },
  double_bit: { static: 3, event: 4 },
  analog: { static: 30, event: 32 },
  counter: { static: 20, event: 22 },
  frozen_counter: { static: 21, event: 23 },
  octet_string: { static: 110, event: 111 },
}

const MOST_32 = 0x7fff_ffff
const LEAST_32 = -0x8000_0000
const MOST_16 = 0x7fff
const LEAST_16 = -0x8000

function numberOf({ value }: PointState): number {
  return typeof value === 'number' ? value : Number(value === true)
}

function littleEndian(value: number, bytes: number): number[] {
  return Array.from({ length: bytes }, (_, at) => Math.floor(value / 256 ** at) & 0xff)
}

/** A time of 48 bits, milliseconds since 1970. @source IEEE 1815-2012, 11.3.4 */
export function timeBytes(epochMs: number): number[] {
  const time = Math.max(0, Math.min(0xffff_ffff_ffff, Math.round(epochMs)))
  return Array.from({ length: 6 }, (_, at) => Math.floor(time / 256 ** at) % 256)
}

/** The time of six bytes, epoch milliseconds. @source IEEE 1815-2012, 11.3.4 */
export function timeOfBytes(bytes: Uint8Array): number {
  return bytes.subarray(0, 6).reduceRight((sum, byte) => sum * 256 + byte, 0)
}

/** The flags, with the state in the bits above. */
function stateFlags(kind: 'binary' | 'double_bit', state: PointState): number {
  const plain = numberOf(state)
  return kind === 'binary' ? (state.flags & 0x7f) | (plain === 0 ? 0 : 0x80) : (state.flags & 0x3f) | ((plain & 3) << 6)
}

/** A whole number within these bounds; beyond, the nearest, with the flag that says so. */
function bounded(state: PointState, least: number, most: number): { value: number; flags: number } {
  const value = Math.round(numberOf(state))
  const inside = Math.min(most, Math.max(least, value))
  return { value: inside, flags: inside === value ? state.flags : state.flags | FLAG.overRange }
}

function integer(bytes: 2 | 4, hasFlags: boolean): Encode {
  return (state) => {
    const [least, most] = bytes === 4 ? [LEAST_32, MOST_32] : [LEAST_16, MOST_16]
    const { flags, value } = bounded(state, least, most)
    return [...(hasFlags ? [flags] : []), ...littleEndian(value, bytes)]
  }
}

function count(bytes: 2 | 4, hasFlags: boolean): Encode {
  return (state) => {
    const value = Math.floor(Math.max(0, numberOf(state))) % 256 ** bytes
    return [...(hasFlags ? [state.flags] : []), ...littleEndian(value, bytes)]
  }
}

function real(bytes: 4 | 8): Encode {
  return (state) => {
    const view = new DataView(new ArrayBuffer(bytes))
    if (bytes === 4) view.setFloat32(0, numberOf(state), true)
    else view.setFloat64(0, numberOf(state), true)
    const isBeyond = bytes === 4 && !Number.isFinite(view.getFloat32(0, true))
    return [isBeyond ? state.flags | FLAG.overRange : state.flags, ...new Uint8Array(view.buffer)]
  }
}

const timed =
  (encode: Encode): Encode =>
  (state) => [...encode(state), ...timeBytes(state.timeMs)]
const octets: Encode = ({ value }) => (value instanceof Uint8Array ? [...value] : [])

/** The variations of one group; the default comes first. */
type Variations = readonly (readonly [variation: number, encode: Encode])[]

/** The variations that an outstation sends, by group. Group 110 and 111 have the length as their variation. */
const VARIATIONS: Readonly<Record<number, Variations>> = {
  1: [[2, (state) => [stateFlags('binary', state)]]],
  2: [
    [2, timed((state) => [stateFlags('binary', state)])],
    [1, (state) => [stateFlags('binary', state)]],
  ],
  3: [[2, (state) => [stateFlags('double_bit', state)]]],
  4: [
    [2, timed((state) => [stateFlags('double_bit', state)])],
    [1, (state) => [stateFlags('double_bit', state)]],
  ],
  20: [
    [1, count(4, true)],
    [2, count(2, true)],
    [5, count(4, false)],
    [6, count(2, false)],
  ],
  21: [
    [1, count(4, true)],
    [2, count(2, true)],
    [5, timed(count(4, true))],
    [6, timed(count(2, true))],
    [9, count(4, false)],
    [10, count(2, false)],
  ],
  22: [
    [5, timed(count(4, true))],
    [1, count(4, true)],
    [2, count(2, true)],
    [6, timed(count(2, true))],
  ],
  23: [
    [5, timed(count(4, true))],
    [1, count(4, true)],
    [2, count(2, true)],
    [6, timed(count(2, true))],
  ],
  30: [
    [5, real(4)],
    [1, integer(4, true)],
    [2, integer(2, true)],
    [3, integer(4, false)],
    [4, integer(2, false)],
    [6, real(8)],
  ],
  32: [
    [7, timed(real(4))],
    [1, integer(4, true)],
    [2, integer(2, true)],
    [3, timed(integer(4, true))],
    [4, timed(integer(2, true))],
    [5, real(4)],
    [6, real(8)],
    [8, timed(real(8))],
  ],
}

/**
 * How a point, or an event of one, is sent.
 * @param variation 0: the usual one
 * @returns undefined where the group has no such variation
 * @source IEEE 1815-2012, annex A
 */
export function encoderOf(
  group: number,
  variation: number,
  state: PointState,
): { variation: number; bytes: number[] } | undefined {
  if (group === 110 || group === 111) {
    // The variation is the length, which nobody knows before: it is what it is, whichever was asked for.
    const bytes = octets(state)
    return { variation: bytes.length, bytes }
  }
  const all = VARIATIONS[group]
  const found = variation === 0 ? all?.[0] : all?.find(([one]) => one === variation)
  return found && { variation: found[0], bytes: found[1](state) }
}

/** Whether a group has this variation; 0 is the usual one. @source IEEE 1815-2012, annex A */
export function hasVariation(group: number, variation: number): boolean {
  if (group === 110 || group === 111) return true
  return (VARIATIONS[group] ?? []).some(([one]) => variation === 0 || one === variation)
}

/** How states of a packed variation stand in bytes: the first in the lowest bits. */
interface Packing {
  perByte: number
  encode(states: readonly PointState[]): number[]
}

/** The packing of a variation without flags, which only fits points that are online and nothing else. @source IEEE 1815-2012, A.2.1, A.4.1 */
export function packedOf(group: number, variation: number): Packing | undefined {
  if (variation !== 1 || (group !== 1 && group !== 3)) return undefined
  const perByte = group === 1 ? 8 : 4
  return {
    perByte,
    encode(states) {
      const bytes = Array.from({ length: Math.ceil(states.length / perByte) }, () => 0)
      for (const [at, state] of states.entries()) {
        const byte = Math.floor(at / perByte)
        bytes[byte] = (bytes[byte] ?? 0) | (numberOf(state) << ((at % perByte) * (8 / perByte)))
      }
      return bytes
    },
  }
}

// Commands: control relay output blocks and analog outputs.

/** What a control relay output block does. @source IEEE 1815-2012, Table A-9 */
const OPERATIONS = ['nul', 'pulse_on', 'pulse_off', 'latch_on', 'latch_off'] as const
/** Which of two relays. @source IEEE 1815-2012, Table A-10 */
const RELAYS = [null, 'close', 'trip'] as const

/** A command as a master sends it. */
export type Command =
  | {
      kind: 'binary_output'
      index: number
      /** Undefined where the code is none that a relay knows. */
      operation: (typeof OPERATIONS)[number] | undefined
      relay: (typeof RELAYS)[number] | undefined
      count: number
      onMs: number
      offMs: number
    }
  | { kind: 'analog_output'; index: number; value: number }

const STATUS_BYTES = 1
const ANALOG_BYTES: Readonly<Record<number, number>> = { 1: 4, 2: 2, 3: 4, 4: 8 }
const CROB_BYTES = 10

/** How many bytes one command of this group has, with its status; undefined: it is no command. @source IEEE 1815-2012, A.12, A.41 */
export function commandSize(group: number, variation: number): number | undefined {
  if (group === 12 && variation === 1) return CROB_BYTES + STATUS_BYTES
  const bytes = group === 41 ? ANALOG_BYTES[variation] : undefined
  return bytes === undefined ? undefined : bytes + STATUS_BYTES
}

/** Reads one command. @param object its bytes, as many as `commandSize` says @source IEEE 1815-2012, A.12, A.41 */
export function openCommand(group: number, variation: number, index: number, object: Uint8Array): Command {
  const view = new DataView(object.slice().buffer)
  if (group === 12) {
    const [code = 0, count = 0] = object
    return {
      ...{ kind: 'binary_output', index, count, onMs: view.getUint32(2, true), offMs: view.getUint32(6, true) },
      // The bits for a queue and for clearing it are out of use.
      operation: OPERATIONS[code & 0x3f],
      relay: RELAYS[code >> 6],
    }
  }
  const value =
    variation === 1
      ? view.getInt32(0, true)
      : variation === 2
        ? view.getInt16(0, true)
        : variation === 3
          ? view.getFloat32(0, true)
          : view.getFloat64(0, true)
  return { kind: 'analog_output', index, value }
}

/** Whether a command says something that can be carried out. */
export function isKnownControl(command: Command): boolean {
  if (command.kind === 'analog_output') return Number.isFinite(command.value)
  const { operation, relay } = command
  return operation !== undefined && operation !== 'nul' && relay !== undefined
}
