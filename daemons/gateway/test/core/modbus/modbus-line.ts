/** A Modbus master on a line in memory, with units played by the test. */

import { type FakeClock, fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { type FakeLine, fakeLine, plainLine } from '#kit/test/line/fake-line.ts'
import { simulateModbusLine, type Utterance } from '../../../../../scripts/sim/modbus-device.ts'
import type { SimulatedUnit } from '../../../../../scripts/sim/modbus-unit.ts'
import type { UnitPayload } from '../../../core/bus/units.ts'
import type { Adapter } from '../../../core/lines/adapter.ts'
import type { FramePayload } from '../../../core/lines/ports.ts'
import {
  createModbusMaster,
  type MasterHooks,
  type ModbusAnswer,
  type ModbusMaster,
} from '../../../core/modbus/master.ts'
import { createModbusRtu, type ModbusCodec } from '../../../core/modbus/protocol.ts'
import { type ModbusSettings, modbusSettings } from '../../../core/modbus/settings.ts'
import type { ModbusRequest } from '../../../wire/modbus-request.ts'
import { act } from '../act.ts'
import { whyNotOpen } from './line-of-others.ts'
import { makePrompt, type PromptSetup } from './prompt-model.ts'
import { modbusCodec } from './rtu.ts'

/** The outcome of a request: a reply or a fault. */
export type Outcome = { answer: ModbusAnswer; fault?: undefined } | { answer?: undefined; fault: Fault }

export interface ModbusLine {
  clock: FakeClock
  line: FakeLine
  adapter: ModbusMaster
  /** Payloads of `frame` and `error` events, in order. */
  frames: FramePayload[]
  errors: Record<string, unknown>[]
  /** Payloads of the other events, by name. */
  told: { unit: UnitPayload[] }
  /** Sends a request; the outcome is there once the clock has run. */
  ask(body: object): { outcome: Outcome | undefined }
  /** Sends a request, and runs the clock until the outcome is there. */
  askNow(body: object): Promise<Outcome>
  count(name: string): number
}

export interface ModbusLineSetup {
  settings?: Partial<ModbusSettings>
  baud?: number
  units?: readonly SimulatedUnit[]
  say?(reply: Uint8Array, request: ModbusRequest): readonly Utterance[]
  hasEcho?: boolean
  hooks?: MasterHooks
  /** Used instead of the gateway's own codec. */
  codec?: ModbusCodec
  clock?: FakeClock
  prompt?: PromptSetup | undefined
}

/** The defaults of the schema, with these changes. */
export function settingsWith(settings: Partial<ModbusSettings> = {}): ModbusSettings {
  const defaults = Object.entries(modbusSettings.properties).map(([key, schema]) => [
    key,
    (schema as { default?: unknown }).default,
  ])
  return { ...Object.fromEntries(defaults.filter(([, value]) => value !== undefined)), ...settings }
}

/** A line that is open and settled: the next request is sent at once. */
export async function modbusLine(setup: ModbusLineSetup = {}): Promise<ModbusLine> {
  const clock = setup.clock ?? fakeClock()
  const line = fakeLine()
  const frames: FramePayload[] = []
  const errors: Record<string, unknown>[] = []
  const told: ModbusLine['told'] = { unit: [] }
  const settings = settingsWith(setup.settings)
  const adapter = createModbusMaster(
    {
      port: '/dev/ttyTEST',
      lineSettings: { ...plainLine, baud: setup.baud ?? 19_200 },
      whyNotOpen,
      clock,
      publish(event, payload) {
        const made = typeof payload === 'function' ? payload() : payload
        if (event === 'frame') frames.push(made)
        else if (event === 'unit') told.unit.push(made)
        else errors.push(made)
      },
    },
    settings,
    createModbusRtu(setup.codec ?? modbusCodec),
    setup.hooks,
  )
  connectUnits(line, clock, setup)
  makePrompt(line, clock, setup)
  adapter.attach(line)
  await clock.run(settings.response_timeout_ms)
  return {
    clock,
    line,
    adapter,
    frames,
    errors,
    told,
    ask: (body) => ask(adapter, body),
    async askNow(body) {
      const asked = ask(adapter, body)
      for (let left = 20_000; left > 0 && !asked.outcome; left--) await clock.run(1)
      if (!asked.outcome) throw new Error('no answer within 20 s')
      return asked.outcome
    },
    count: (name) => adapter.counters()[name] ?? Number.NaN,
  }
}

function ask(adapter: Adapter, body: object): { outcome: Outcome | undefined } {
  const asked: { outcome: Outcome | undefined } = { outcome: undefined }
  act(adapter, 'request', body).then(
    (answer) => {
      asked.outcome = { answer: answer as ModbusAnswer }
    },
    (fault) => {
      if (!(fault instanceof Fault)) throw fault
      asked.outcome = { fault }
    },
  )
  return asked
}

function connectUnits(line: FakeLine, clock: FakeClock, { units = [], say, hasEcho }: ModbusLineSetup): void {
  let hear: (bytes: Uint8Array) => void = () => {}
  const write = line.write.bind(line)
  line.write = async (bytes) => {
    await write(bytes)
    hear(bytes)
  }
  simulateModbusLine({
    clock,
    units,
    say,
    hasEcho,
    duplex: {
      onBytes(handler) {
        hear = handler
      },
      write: (bytes) => line.arrive(bytes, clock.monotonicMs() * 1000),
    },
  })
}
