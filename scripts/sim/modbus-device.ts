/** Simulated Modbus RTU units that share one line, for the demo and for tests of whatever is master on it. */

import { type Clock, systemClock, type Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import {
  hasGoodCrc,
  type ModbusRequest,
  readModbusRequest,
  requestLength,
  sealed,
} from '../../daemons/gateway/wire/modbus-request.ts'
import { climateSensor } from './climate-sensor.ts'
import { energyMeter } from './energy-meter.ts'
import { fanDrive } from './fan-drive.ts'
import type { SimulatedUnit } from './modbus-unit.ts'
import { relayBoard } from './relay-board.ts'

/** The units' end of a line: a pty, or something in memory. */
export interface Duplex {
  onBytes(handler: (bytes: Uint8Array) => void): void
  write(bytes: Uint8Array): Promise<unknown> | unknown
}

/** Bytes that a unit says, so many milliseconds after the request or after the bytes before. */
export interface Utterance {
  afterMs: number
  bytes: Uint8Array
}

/** A unit that may say something else than its plain reply, of which scripts/sim/unit-faults.ts makes some. */
export interface UnitOnLine extends SimulatedUnit {
  say?(reply: Uint8Array, request: ModbusRequest): readonly Utterance[]
}

export interface ModbusLineParts {
  duplex: Duplex
  units: readonly UnitOnLine[]
  clock: Clock
  /** What is said instead of the plain reply: later, in pieces, damaged, not at all. Left out: the reply at once. */
  say?(reply: Uint8Array, request: ModbusRequest): readonly Utterance[]
  /** Replies come after the time that request and reply are on a wire of so many bits per second. Left out: at once. */
  baud?: number
  /** The adapter gives the master's bytes back. */
  hasEcho?: boolean
}

/** Silence after which bytes that are no request are forgotten. */
const FORGET_MS = 50

const ILLEGAL_VALUE = 3

/** Bits of a character with its start, parity and stop bits. */
const CHARACTER_BITS = 11

/** An energy meter (unit 1), a relay board (2), a climate sensor (3) and a drive (4) on one line. @returns stops them */
export function startModbusLine(duplex: Duplex, clock: Clock = systemClock): () => void {
  const units = [energyMeter(1, clock), relayBoard(2), climateSensor(3, clock), fanDrive(4, clock)]
  return simulateModbusLine({ duplex, clock, units })
}

/** Units answer what is addressed to them; a broadcast is carried out by all. @returns stops them */
export function simulateModbusLine(parts: ModbusLineParts): () => void {
  const { clock, duplex, units } = parts
  const timers = new Set<Timer>()
  let held = new Uint8Array(0)
  let forget: Timer | undefined
  let isStopped = false

  function after(delayMs: number, run: () => void): void {
    const timer = clock.after(delayMs, () => {
      timers.delete(timer)
      run()
    })
    timers.add(timer)
  }

  /** A line that is gone has nobody to tell. */
  async function write(bytes: Uint8Array): Promise<void> {
    try {
      if (!isStopped) await duplex.write(bytes)
    } catch {
      isStopped = true
    }
  }

  function utter(utterances: readonly Utterance[], delayMs: number): void {
    for (const { afterMs, bytes } of utterances) {
      delayMs += afterMs
      if (delayMs === 0) void write(bytes)
      else after(delayMs, () => void write(bytes))
    }
  }

  function hear(frame: Uint8Array): void {
    const request = opened(frame)
    if (request === null) refuse(frame)
    else carryOut(request, frame.length)
  }

  function carryOut(request: ModbusRequest, requestBytes: number): void {
    for (const unit of units) {
      if (request.unitId !== 0 && request.unitId !== unit.unitId) continue
      const reply = unit.answer(request)
      if (request.unitId === 0) continue
      const said = (unit.say ?? parts.say)?.(reply, request) ?? [{ afterMs: 0, bytes: reply }]
      utter(said, onWireMs(requestBytes + reply.length, parts.baud))
    }
  }

  /** A request that contradicts itself is answered as one with an illegal value. */
  function refuse([unitId = 0, fc = 0]: Uint8Array): void {
    const isHere = units.some((unit) => unit.unitId === unitId)
    if (isHere) void write(sealed([unitId, fc | 0x80, ILLEGAL_VALUE]))
  }

  duplex.onBytes((bytes) => {
    if (isStopped) return
    if (parts.hasEcho) void write(bytes)
    held = Uint8Array.from([...held, ...bytes])
    for (let cut = firstRequest(held); cut; cut = firstRequest(held)) {
      held = held.slice(cut.end)
      hear(cut.frame)
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

/** @returns null for one whose checksum is right, and its content is not */
function opened(frame: Uint8Array): ModbusRequest | null {
  try {
    return readModbusRequest(frame)
  } catch (error) {
    if (error instanceof Fault && error.code === 'modbus_malformed') return null
    throw error
  }
}

function onWireMs(characters: number, baud: number | undefined): number {
  return baud === undefined ? 0 : (characters * CHARACTER_BITS * 1000) / baud
}

/** The first whole request with a right checksum, and where it ends. */
function firstRequest(bytes: Uint8Array): { frame: Uint8Array; end: number } | undefined {
  for (let at = 0; at < bytes.length; at++) {
    const rest = bytes.subarray(at)
    const need = requestLength(rest)
    if (typeof need !== 'number' || rest.length < need) continue
    const frame = rest.slice(0, need)
    if (hasGoodCrc(frame)) return { frame, end: at + need }
  }
  return undefined
}
