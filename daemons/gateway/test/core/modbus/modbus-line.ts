/** A Modbus master on a line in memory, with units played by the test. */

import { type FakeClock, fakeClock } from '#kit/clock-fake.ts'
import type { PromptLine } from '#kit/line/line.ts'
import { isPrefixOf } from '#kit/pure/bytes.ts'
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
import { hasGoodCrc, type ModbusRequest } from '../../../wire/modbus-request.ts'
import { act } from '../act.ts'
import { whyNotOpen } from './line-of-others.ts'
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

/** A line that sends and waits by itself, as one of the system does. */
export interface PromptSetup {
  /** How many bytes of a request it takes at once. */
  mostBytes: number
  /** What it took still has to go out by the wire. */
  isWired?: boolean
}

/** @returns how many of the bytes the socket took */
export type OnRelayed = (socketFd: number, bytes: Uint8Array) => number

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

/**
 * What is sent at once reaches the units with the rest, which has to follow in the same turn.
 * @param onRelayed a frame that was expected has come, and goes to that socket; left out: nothing is relayed
 */
export function makePrompt(
  line: FakeLine,
  clock: FakeClock,
  { onRelayed, prompt: how }: { prompt?: PromptSetup | undefined; onRelayed?: OnRelayed | undefined },
): void {
  if (!how) return
  const { isWired = false, mostBytes } = how
  let relay: ((bytes: Uint8Array) => void) | undefined
  const write = line.write.bind(line)
  const arrive = line.arrive.bind(line)
  let sent: Uint8Array = new Uint8Array(0)
  let arrived = 0
  const sendAll = (rest: Uint8Array) => {
    relay = undefined
    const whole = Uint8Array.of(...sent, ...rest)
    sent = new Uint8Array(0)
    return write(whole)
  }
  const send = (bytes: Uint8Array) => {
    sent = bytes.slice(0, mostBytes)
    const taken = sent.length
    if (taken === bytes.length) void sendAll(new Uint8Array(0))
    return taken
  }
  const prompt: PromptLine = {
    send: (bytes) => (isWired ? 0 : send(bytes)),
    readAfter: (delayMs, run) => clock.after(delayMs, run),
    sendAfter(delayMs, bytes, { onSent, run }) {
      const before = arrived
      const end = () => (arrived === before ? onSent(send(bytes)) : run())
      if (delayMs > 0) return clock.after(delayMs, end)
      end()
      return { cancel() {} }
    },
    isWired: () => isWired,
    relayTo(socketFd) {
      if (!onRelayed) return undefined
      let hasLeft = false
      return {
        expect({ begins, head, length, onSent }) {
          relay = (bytes) => {
            if (hasLeft || bytes.length !== length || !isPrefixOf(begins, bytes) || !hasGoodCrc(bytes)) return
            onSent(onRelayed(socketFd, Uint8Array.of(...head, ...bytes.subarray(0, -2))))
          }
        },
        leave() {
          hasLeft = true
        },
      }
    },
    relayNothing() {
      relay = undefined
    },
  }
  Object.assign(line, {
    prompt,
    write: sendAll,
    arrive(bytes: Uint8Array, atUs?: number) {
      arrived++
      relay?.(bytes)
      relay = undefined
      arrive(bytes, atUs)
    },
  })
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
