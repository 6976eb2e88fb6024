/** A Modbus port as the gateway makes it, with all callers at once: points, operators, TCP clients, a scan. */
import { type FakeClock, fakeClock } from '#kit/clock-fake.ts'
import { joinBytes } from '#kit/pure/bytes.ts'
import { fakeLine, plainLine } from '#kit/test/line/fake-line.ts'
import { simulateModbusLine, type Utterance } from '../../../../../scripts/sim/modbus-device.ts'
import type { SimulatedUnit } from '../../../../../scripts/sim/modbus-unit.ts'
import { createBusDebts } from '../../../core/bus/transactions.ts'
import type { Adapter } from '../../../core/lines/adapter.ts'
import type { TcpHouse } from '../../../core/lines/tcp.ts'
import { modbusProtocol } from '../../../core/modbus/modbus.ts'
import type { ModbusSettings } from '../../../core/modbus/settings.ts'
import type { PointDefinition } from '../../../core/points/definition.ts'
import type { ValuePayload } from '../../../core/points/values.ts'
import { mbapFrame } from '../../../wire/mbap.ts'
import type { ModbusRequest } from '../../../wire/modbus-request.ts'
import { whyNotOpen } from './line-of-others.ts'
import { settingsWith } from './modbus-line.ts'
import { type FakeSocket, makePrompt, type PromptSetup } from './prompt-model.ts'
import { modbusCodec } from './rtu.ts'

export interface SharedLineSetup {
  points: PointDefinition[]
  units: SimulatedUnit[]
  settings?: Partial<ModbusSettings>
  baud?: number
  say?(reply: Uint8Array, request: ModbusRequest): readonly Utterance[]
  onValue?(payload: ValuePayload): void
  prompt?: PromptSetup | undefined
  /** How many bytes of a reply that the line relays the socket takes; left out: it relays nothing. */
  relayed?: ((bytes: Uint8Array) => number) | undefined
  /** The line sent a client's question. */
  onAdmitted?(): void
  /** A request was sent. */
  onSent?(frame: Uint8Array): void
}

/** One Modbus TCP client. `onReply` gets the transaction id of each message, and what follows its header. */
export interface TcpClientHere {
  ask(transactionId: number, body: Uint8Array): void
  leave(): void
}

/** Makes the port; it is not open yet. */
export function sharedLine(setup: SharedLineSetup) {
  const clock: FakeClock = fakeClock()
  const line = fakeLine()
  let hear: (bytes: Uint8Array) => void = () => {}
  line.write = async (bytes) => {
    setup.onSent?.(bytes)
    hear(bytes)
  }
  simulateModbusLine({
    clock,
    units: setup.units,
    ...(setup.baud && { baud: setup.baud }),
    ...(setup.say && { say: setup.say }),
    duplex: {
      onBytes(handler) {
        hear = handler
      },
      write: (bytes) => line.arrive(bytes, clock.monotonicMs() * 1000),
    },
  })
  const sockets = new Map<number, FakeSocket>()
  makePrompt(line, clock, { prompt: setup.prompt, sockets: setup.relayed && sockets })
  const debts = createBusDebts<ModbusRequest>(clock)
  let port = portHere(setup, clock, debts, setup.points)
  return {
    clock,
    line,
    get adapter(): Adapter {
      return port.adapter
    },
    open: () => port.adapter.attach(line),
    close: async () => await port.adapter.detach(),
    /** Replaces the adapter of a closed port on the same line, as PUT does. */
    renew(points: PointDefinition[]) {
      port.adapter.end?.()
      port.isGone = true
      port = portHere(setup, clock, debts, points)
      port.adapter.attach(line)
    },
    /** @returns undefined if the TCP port is not open */
    connect: (onReply: OnReply) => connected(port, { ...setup, sockets }, onReply),
  }
}

let descriptors = 0

type OnReply = (transactionId: number, body: Uint8Array) => void

function connected(
  { house, leaving }: ReturnType<typeof portHere>,
  { onAdmitted, relayed = () => 0, sockets }: SharedLineSetup & { sockets: Map<number, FakeSocket> },
  onReply: OnReply,
): TcpClientHere | undefined {
  let isGone = false
  let got: Uint8Array = new Uint8Array(0)
  const get = (bytes: Uint8Array) => {
    if (isGone) throw new Error('a client that has left is sent bytes')
    got = joinBytes([got, bytes])
    if (got.length < 6 || got.length < 6 + (got[5] ?? 0)) return
    const message = got
    got = new Uint8Array(0)
    onReply(((message[0] ?? 0) << 8) | (message[1] ?? 0), message.subarray(6))
  }
  const socket: FakeSocket = {
    onAdmitted: () => onAdmitted?.(),
    take(bytes) {
      const taken = relayed(bytes)
      get(bytes.subarray(0, taken))
      return taken
    },
  }
  const descriptor = ++descriptors
  sockets.set(descriptor, socket)
  const session = house?.onClient({
    address: '192.0.2.7',
    waitingBytes: 0,
    descriptor,
    send: get,
    pause() {},
    resume() {},
    end() {},
  })
  if (!session) return undefined
  const leave = () => {
    if (!isGone) session.onClosed()
    isGone = true
  }
  leaving.add(leave)
  return {
    leave,
    ask(transactionId, body) {
      const bytes = mbapFrame({ transactionId, body })
      if (isGone) return
      if (socket.hear) socket.hear(bytes)
      else session.onBytes(bytes)
    },
  }
}

function portHere(
  setup: SharedLineSetup,
  clock: FakeClock,
  debts: ReturnType<typeof createBusDebts<ModbusRequest>>,
  points: PointDefinition[],
) {
  const path = '/dev/ttyTEST'
  const tcp: { house: TcpHouse | undefined; leaving: Set<() => void> } = { house: undefined, leaving: new Set() }
  const settings = settingsWith({ tcp_port: 502, ...setup.settings })
  const record = {
    path,
    protocol: 'modbus-rtu',
    line: plainLine,
    settings,
    enabled: true,
    points,
    webhooks: [],
  } as const
  const context = {
    port: path,
    lineSettings: { ...plainLine, baud: setup.baud ?? 19_200 },
    whyNotOpen,
    clock,
    publish(event: string, payload: unknown) {
      if (here.isGone) throw new Error(`a port that was set up anew tells ${event}: ${JSON.stringify(payload)}`)
      if (event === 'value') setup.onValue?.(payload as ValuePayload)
    },
  }
  const adapter = modbusProtocol.make({ ...record, points, webhooks: [] }, context, {
    async openModbusTcp(_, house) {
      tcp.house = house
      return {
        async close() {
          tcp.house = undefined
          for (const leave of tcp.leaving) leave()
          tcp.leaving.clear()
        },
      }
    },
    retry: { firstMs: 1000, maxMs: 1000 },
    modbusCodec,
    modbusDebts: process.env.NODEBTS ? () => ({ leave() {}, take: () => [] }) : debts,
    modbusIdentity: ['', '', ''],
  })
  const here = {
    adapter,
    get house() {
      return tcp.house
    },
    leaving: tcp.leaving,
    isGone: false,
  }
  return here
}
