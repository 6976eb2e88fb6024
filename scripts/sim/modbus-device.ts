/** Simulated Modbus RTU units on a shared line, for the demo and for tests of any master. */

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

/** The units' end of a line: a pty, or one in memory. */
export interface Duplex {
  onBytes(handler: (bytes: Uint8Array) => void): void
  write(bytes: Uint8Array): Promise<unknown> | unknown
}

/** Bytes that a unit sends, this many ms after the request or the previous bytes. */
export interface Utterance {
  afterMs: number
  bytes: Uint8Array
}

/** A unit that may send something other than its plain reply; scripts/sim/unit-faults.ts makes some. */
export interface UnitOnLine extends SimulatedUnit {
  say?(reply: Uint8Array, request: ModbusRequest): readonly Utterance[]
}

export interface ModbusLineParts {
  duplex: Duplex
  units: readonly UnitOnLine[]
  clock: Clock
  /** Replaces the plain reply: later, in pieces, damaged, or nothing. Default: the reply at once. */
  say?(reply: Uint8Array, request: ModbusRequest): readonly Utterance[]
  /** Bits per second of the simulated wire: replies are delayed by the time of request and reply. Default: no delay. */
  baud?: number
  /** The adapter echoes the master's bytes. */
  hasEcho?: boolean
}

/** Silence after which bytes that form no request are discarded. */
const FORGET_MS = 50

const ILLEGAL_VALUE = 3

/** Bits per character with start, parity and stop bits. */
const CHARACTER_BITS = 11

/** An energy meter (unit 1), a relay board (2), a climate sensor (3) and a drive (4) on one line. @returns stops them */
export function startModbusLine(duplex: Duplex, clock: Clock = systemClock): () => void {
  const units = [energyMeter(1, clock), relayBoard(2), climateSensor(3, clock), fanDrive(4, clock)]
  return simulateModbusLine({ duplex, clock, units })
}

/** Units answer requests to their address, and all execute a broadcast. @returns stops them */
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

  /** Ignores failures: on a vanished line there is nobody to tell. */
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

  /** Answers an inconsistent request as one with an illegal value. */
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

/** @returns null if the checksum is right but the content is not */
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

/** The first complete request with a valid checksum, and where it ends. */
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
