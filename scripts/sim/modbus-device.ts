/** Simulated Modbus RTU units on a shared line, for the demo and for tests of any master. */

import { type Clock, systemClock } from '#kit/clock.ts'
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
import { type Duplex, joinLine, onWireMs } from './shared-line.ts'

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

const ILLEGAL_VALUE = 3

/** An energy meter (unit 1), a relay board (2), a climate sensor (3) and a drive (4) on one line. @returns stops them */
export function startModbusLine(duplex: Duplex, clock: Clock = systemClock): () => void {
  const units = [energyMeter(1, clock), relayBoard(2), climateSensor(3, clock), fanDrive(4, clock)]
  return simulateModbusLine({ duplex, clock, units })
}

/** Units answer requests to their address, and all execute a broadcast. @returns stops them */
export function simulateModbusLine(parts: ModbusLineParts): () => void {
  const { units } = parts
  const line = joinLine({ ...parts, lengthOf: requestLength, isWhole: hasGoodCrc, hear })

  function utter(utterances: readonly Utterance[], delayMs: number): void {
    for (const { afterMs, bytes } of utterances) {
      delayMs += afterMs
      line.say(bytes, delayMs)
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
    if (isHere) line.say(sealed([unitId, fc | 0x80, ILLEGAL_VALUE]), 0)
  }

  return line.stop
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
