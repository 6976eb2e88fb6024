/** Modbus TCP access to a line: settings, clients, their requests and replies. */
import { Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import type { ExpectedFrame, RelaySocket } from '#kit/line/line.ts'
import { type Fault, faultOf } from '#kit/pure/fault.ts'
import { createListening } from '#kit/pure/line.ts'
import type { BackoffLimits } from '#kit/pure/pace.ts'
import { createMbapCutter, type MbapMessage, mbapException, mbapFrame, mbapHead } from '../../wire/mbap.ts'
import { judgeRequest } from '../../wire/modbus-reply.ts'
import { type ModbusRequest, modbusFunctions, sealed } from '../../wire/modbus-request.ts'
import { type AskHow, placesOf, pointPlacesOf } from '../bus/transactions.ts'
import type { Adapter } from '../lines/adapter.ts'
import { countOfLetGo, lineTcpKeys, type TcpClient, type TcpPeer, type TcpServerOpener } from '../lines/tcp.ts'
import type { ModbusMaster } from './master.ts'
import type { ModbusAsker } from './protocol.ts'
import type { ModbusSettings } from './settings.ts'

// Keys of the table `modbus_tcp` in gateway.toml.

/** Bounds of every Modbus TCP port. */
export const modbusTcpKeys = Type.Object(
  lineTcpKeys('Modbus TCP', {
    clients: 512,
    idleMs: 60_000,
    idleMeans: 'how long a client may ask nothing before it is let go; 0 is for ever',
  }),
  { additionalProperties: false, default: {}, description: 'Modbus TCP ports of Modbus lines' },
)

// One client of a line's Modbus TCP server: its requests go to the bus, the replies go back in request order.

/** Counters of the clients of one line: those there are now, else one per request. */
export function modbusTcpCounts() {
  return {
    tcpClients: 0,
    tcpRequests: 0,
    /** Of these, writes handed to the bus: the journal has none of them (docs/decisions/modbus-tcp.md). */
    tcpWrites: 0,
    /** Answered by an exception that is the gateway's own and not the unit's. */
    tcpGatewayExceptions: 0,
    /** Requests never sent, because their client had left. */
    tcpWithdrawn: 0,
  }
}

type ModbusTcpCounts = ReturnType<typeof modbusTcpCounts>

interface SessionParts {
  asker: Pick<ModbusAsker, 'exchange' | 'withdraw'> & Partial<Pick<ModbusAsker, 'relayTo' | 'admit'>>
  peer: TcpPeer
  counts: ModbusTcpCounts
  /** Requests of one client that may be unanswered at once; `settings.tcp_pipeline`. */
  pipeline: number
  /** How many of them are at the bus at once. */
  places: number
  publish(event: string, payload: unknown): void
}

/** A request and, once known, its reply; null if there will be none. */
interface Slot {
  message: MbapMessage
  frame: Uint8Array
  reply?: Uint8Array | null
  /** How many bytes of the reply the client has from the line itself. */
  relayed: number
}

/** A request that may be sent. */
interface Asked {
  request: ModbusRequest
  slot: Slot
  /** How many bytes of it the line has sent already; undefined: it is to be sent. */
  outBytes: number | undefined
}

/** Of an RTU frame. */
const CHECKSUM_BYTES = 2

const DEVICE_FAILURE = 4
const DEVICE_BUSY = 6
const GATEWAY_PATH = 10
const NO_RESPONSE = 11

/** The exception sent to a client for each fault of the line. @source Modbus Application Protocol V1.1b3, 7 */
const exceptionOfFault: Readonly<Record<string, number>> = {
  modbus_timeout: NO_RESPONSE,
  modbus_bad_reply: NO_RESPONSE,
  modbus_unit_silent: NO_RESPONSE,
  queue_full: DEVICE_BUSY,
  modbus_expired: DEVICE_BUSY,
  line_closed: GATEWAY_PATH,
  line_absent: GATEWAY_PATH,
  line_not_ready: GATEWAY_PATH,
  line_gone: GATEWAY_PATH,
  line_write_failed: GATEWAY_PATH,
  modbus_line_busy: GATEWAY_PATH,
  modbus_send_timeout: GATEWAY_PATH,
}

/**
 * Requests to one unit go to the bus one after another: a write never overtakes an earlier read, and a busy client
 * takes turns with the others. Requests to different units run in parallel, as many as the client has places, so a
 * dead unit delays no other; the replies still keep the order of the requests.
 */
export class ModbusTcpSession implements TcpClient {
  readonly #parts: SessionParts
  readonly #cutter = createMbapCutter()
  /** Unanswered requests and the answered ones behind them, in request order. */
  readonly #slots: Slot[] = []
  /** By unit: requests that wait behind the one which is at the bus or in `#ready`. */
  readonly #behind = new Map<number, Asked[]>()
  /** The first request of each unit; it goes to the bus when there is a place. */
  readonly #ready: Asked[] = []
  /** The client's socket at the line, which reads it then. */
  readonly #relay: RelaySocket | undefined
  #atBus = 0
  #isPaused = false
  #isClosed = false
  /** Set when the stream is malformed: no more is read from it. */
  #broken: Fault | undefined

  constructor(parts: SessionParts) {
    this.#parts = parts
    parts.counts.tcpClients++
    const { asker, peer } = parts
    this.#relay = peer.descriptor === undefined ? undefined : asker.relayTo?.(peer.descriptor)
    peer.readBy?.(this.#relay)
    this.#relay?.read({
      onBytes: (bytes, sent) => this.onBytes(bytes, sent || undefined),
      onEnded: () => peer.readBy?.(undefined),
    })
  }

  get waiting(): number {
    return this.#slots.length
  }

  /** @param outBytes the bytes are one request, of which the line has sent so many already */
  onBytes(bytes: Uint8Array, outBytes?: number): void {
    if (this.#broken) return
    this.#cutter.feed(bytes)
    this.#take(outBytes)
  }

  /** Withdraws waiting requests. A sent request runs to its end: a write may have been carried out already. */
  onClosed(): void {
    this.#isClosed = true
    this.#relay?.leave()
    this.#parts.counts.tcpClients--
    for (const behind of [this.#ready, ...this.#behind.values()]) this.#parts.counts.tcpWithdrawn += behind.length
    this.#ready.length = 0
    this.#behind.clear()
    this.#parts.asker.withdraw(this)
  }

  #take(outBytes?: number): void {
    const { peer, pipeline } = this.#parts
    while (this.#slots.length < pipeline) {
      const message = this.#next()
      if (!message) break
      this.#accept(message, outBytes)
    }
    const mustPause = this.#broken !== undefined || this.#slots.length >= pipeline
    if (mustPause && !this.#isPaused) peer.pause()
    if (!mustPause && this.#isPaused) peer.resume()
    this.#isPaused = mustPause
    // Requests received before the stream went wrong are still answered.
    if (this.#broken && this.#slots.length === 0) peer.end('malformed', this.#broken.message)
  }

  #next(): MbapMessage | undefined {
    if (this.#broken) return undefined
    try {
      return this.#cutter.next()
    } catch (error) {
      this.#broken = faultOf(error, 'mbap_length', 'the stream is not Modbus TCP')
      return undefined
    }
  }

  #accept(message: MbapMessage, outBytes: number | undefined): void {
    // The body is a view of the whole read buffer; copy it, so that one request does not keep that buffer alive.
    const frame = sealed(message.body)
    const slot: Slot = { message: { ...message, body: frame.subarray(0, -2) }, frame, relayed: 0 }
    this.#parts.counts.tcpRequests++
    this.#slots.push(slot)
    const judged = judgeRequest(slot.frame)
    if (typeof judged === 'number') {
      this.#refuse(slot, judged)
      this.#flush()
    } else this.#line({ slot, request: judged, outBytes })
  }

  #line(asked: Asked): void {
    const { unitId } = asked.request
    const behind = this.#behind.get(unitId)
    if (behind) behind.push(asked)
    else {
      this.#behind.set(unitId, [])
      this.#ready.push(asked)
      this.#askNext()
    }
  }

  #askNext(): void {
    while (this.#atBus < this.#parts.places) {
      const asked = this.#ready.shift()
      if (!asked) return
      this.#ask(asked)
    }
  }

  #ask({ outBytes, request, slot }: Asked): void {
    const { asker, counts } = this.#parts
    this.#atBus++
    const { frame } = slot
    const isWrite = modbusFunctions.get(request.fc)?.isWrite === true
    if (isWrite) counts.tcpWrites++
    const how: AskHow = {
      priority: isWrite ? 'operator' : 'poll',
      owner: this,
      onExpected: (reply) => this.#expect(slot, reply),
      ...(outBytes !== undefined && { outBytes }),
    }
    asker.exchange({ frame, request }, how).then(
      (reply) => {
        slot.reply = reply && mbapFrame({ ...slot.message, body: reply.frame.subarray(0, -2) })
        this.#settled(request)
      },
      (error) => {
        this.#failed(slot, error)
        this.#settled(request)
      },
    )
  }

  /** The line relays the reply where nothing has to go to the client before it. */
  #expect(slot: Slot, reply: ExpectedFrame): void {
    if (!this.#relay || slot !== this.#slots[0] || this.#parts.peer.waitingBytes > 0 || this.#isClosed) return
    const head = mbapHead(slot.message.transactionId, reply.length - CHECKSUM_BYTES)
    const onSent = (taken: number) => {
      slot.relayed = taken
    }
    this.#relay.expect({ ...reply, head, onSent })
  }

  /** A broadcast that was not sent is refused like any other request: silence would mean that it was sent. */
  #failed(slot: Slot, error: unknown): void {
    const fault = faultOf(error, 'modbus_tcp_failed', 'A request over Modbus TCP failed for a reason nobody foresaw.')
    if (fault.code === 'modbus_withdrawn') {
      this.#parts.counts.tcpWithdrawn++
      return
    }
    if (fault.code === 'modbus_tcp_failed') this.#parts.publish('error', { code: fault.code, message: fault.message })
    this.#refuse(slot, exceptionOfFault[fault.code] ?? DEVICE_FAILURE)
  }

  #refuse(slot: Slot, code: number): void {
    this.#parts.counts.tcpGatewayExceptions++
    slot.reply = mbapException(slot.message, code)
  }

  #settled({ unitId }: ModbusRequest): void {
    if (this.#isClosed) return
    this.#atBus--
    const next = this.#behind.get(unitId)?.shift()
    if (next) this.#ready.push(next)
    else this.#behind.delete(unitId)
    this.#askNext()
    this.#flush()
    this.#take()
    this.#admit(unitId)
  }

  /** A client that asks one thing after another may have its next read of that unit sent by the line. */
  #admit(unitId: number): void {
    const { asker, peer } = this.#parts
    const isIdle = this.#slots.length === 0 && this.#cutter.heldBytes === 0 && !this.#isClosed && !this.#broken
    if (this.#relay && isIdle && peer.waitingBytes === 0) asker.admit?.(unitId, this.#relay)
  }

  #flush(): void {
    for (let first = this.#slots[0]; first?.reply !== undefined; first = this.#slots[0]) {
      this.#slots.shift()
      if (first.reply) this.#parts.peer.send(first.reply.subarray(first.relayed))
    }
  }
}

/** Requests of one Modbus TCP client at the bus at once: all clients together leave the places of points. */
function clientPlacesOf(settings: Pick<ModbusSettings, 'queue' | 'queue_reserve' | 'tcp_clients'>): number {
  return Math.max(1, Math.floor((placesOf(settings).poll - pointPlacesOf(settings)) / settings.tcp_clients))
}

/** What the server needs from the outside. */
export interface ModbusTcpWorld {
  openModbusTcp: TcpServerOpener
  /** Waits between attempts to open a TCP port that is taken. */
  retry: BackoffLimits
}

interface ModbusTcpParts extends ModbusTcpWorld {
  clock: Clock
  settings: Pick<ModbusSettings, 'tcp_port' | 'tcp_clients' | 'tcp_pipeline' | 'queue' | 'queue_reserve'>
  publish(event: string, payload: unknown): void
}

/** Only a master has units that a client could ask. @returns a fault for `tcp_port` in any other mode */
export function tcpSettingsFaults({
  mode,
  tcp_port: port,
}: Pick<ModbusSettings, 'mode' | 'tcp_port'>): { field: string; message: string }[] {
  if (mode === 'master' || port === 0) return []
  return [{ field: 'tcp_port', message: `is ${port}; Modbus TCP needs mode master and not ${mode}; 0 turns it off` }]
}

/** @returns the master with a TCP port that is open while its line is; the master itself if `tcp_port` is 0 */
export function withModbusTcp(master: ModbusMaster, parts: ModbusTcpParts): Adapter {
  const { clock, publish, retry, settings } = parts
  if (settings.tcp_port === 0) return master
  const counts = { tcpRefused: 0, tcpEvicted: 0, tcpMalformed: 0, tcpCutOff: 0, tcpIdle: 0, ...modbusTcpCounts() }
  const listening = createListening({
    clock,
    retry,
    onFault: ({ code, message }) => publish('error', { code, message }),
    open: () =>
      parts.openModbusTcp(
        { port: settings.tcp_port, maxClients: settings.tcp_clients },
        {
          onLetGo(why) {
            counts[countOfLetGo[why]]++
          },
          onClient: (peer) =>
            new ModbusTcpSession({
              asker: master.asker,
              peer,
              counts,
              pipeline: settings.tcp_pipeline,
              places: clientPlacesOf(settings),
              publish,
            }),
        },
      ),
  })
  return {
    ...master,
    attach(line) {
      master.attach(line)
      listening.start()
    },
    /** The line comes first, so that clients are told that it is closed before they are disconnected. */
    async detach(fault) {
      try {
        await master.detach(fault)
      } finally {
        await listening.stop()
      }
    },
    counters: () => ({ ...master.counters(), ...counts }),
    fault: () => listening.fault,
  }
}
