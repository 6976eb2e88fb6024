/** Simulated Modbus RTU units that share one line, for the demo and for tests of whatever is master on it. */

import { type Clock, systemClock, type Timer } from '#kit/clock.ts'
import { hasGoodCrc } from '../../daemons/gateway/wire/modbus-crc.ts'
import { type ModbusRequest, openRequest, requestLength } from '../../daemons/gateway/wire/modbus-request.ts'
import { energyMeter } from './energy-meter.ts'
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

export interface ModbusLineParts {
  duplex: Duplex
  units: readonly SimulatedUnit[]
  clock: Clock
  /** What is said instead of the plain reply: later, in pieces, damaged, not at all. Left out: the reply at once. */
  say?(reply: Uint8Array, request: ModbusRequest): readonly Utterance[]
  /** The adapter gives the master's bytes back. */
  hasEcho?: boolean
}

/** Silence after which bytes that are no request are forgotten. */
const FORGET_MS = 50

/** An energy meter (unit 1) and a relay board (unit 2) on one line. @returns stops them */
export function startModbusLine(duplex: Duplex, clock: Clock = systemClock): () => void {
  return simulateModbusLine({ duplex, clock, units: [energyMeter(1, clock), relayBoard(2)] })
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

  function utter(utterances: readonly Utterance[]): void {
    let delayMs = 0
    for (const { afterMs, bytes } of utterances) {
      delayMs += afterMs
      if (delayMs === 0) void write(bytes)
      else after(delayMs, () => void write(bytes))
    }
  }

  function hear(frame: Uint8Array): void {
    const request = openRequest(frame)
    for (const unit of units) {
      if (request.unitId !== 0 && request.unitId !== unit.unitId) continue
      const reply = unit.answer(request)
      if (request.unitId !== 0) utter(parts.say?.(reply, request) ?? [{ afterMs: 0, bytes: reply }])
    }
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
