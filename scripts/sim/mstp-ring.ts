/** Simulated nodes of an MS/TP ring on one line: masters that pass the token, and devices that answer. */
import { type Clock, systemClock, type Timer } from '#kit/clock.ts'
import {
  BROADCAST,
  encodeMstpFrame,
  FRAME_TYPES,
  HEADER_BYTES,
  isReply,
  type MstpFrame,
  readMstpFrame,
} from '../../daemons/gateway/wire/mstp/frame.ts'
import { npduOf } from '../../daemons/gateway/wire/mstp/npdu.ts'
import { ALL_NETWORKS, encodeRouted, readRouted } from '../../daemons/gateway/wire/mstp/routed.ts'
import type { Duplex } from './shared-line.ts'

/** How a node answers a request for its present value. */
type Manner = 'at once' | 'postponed' | 'never'

/** One master on the line. */
export interface SimulatedNode {
  mac: number
  manner?: Manner
  /** Present value of its only object, an analog input. */
  value?: number
}

export interface MstpRingParts {
  duplex: Duplex
  nodes: readonly SimulatedNode[]
  clock?: Clock
}

/** A silence after which the lowest node makes a token: longer than a node's own 500 ms and its slot. */
const NO_TOKEN_MS = 800
/** How long a node waits for a token to be used, or a poll to be answered. */
const TAKEN_MS = 100
/** One of so many tokens is used to look for a master at the other end, of addresses up to this. */
const POLL = { tokens: 8, highest: 16 } as const

const empty = new Uint8Array(0)

/** Plays all nodes, so that a token among them passes in frames as on a real line. */
export class SimulatedRing {
  readonly #clock: Clock
  readonly #duplex: Duplex
  readonly #nodes: Map<number, SimulatedNode>
  /** Masters at the other end. */
  readonly #known = new Set<number>()
  #tokens = 0
  #polled = 0
  /** Replies that wait for the token of their node. */
  readonly #owed = new Map<number, MstpFrame[]>()
  #held: Uint8Array = empty
  #silence: Timer | undefined
  /** The wait for a node of the other end to use the token. */
  #passed: Timer | undefined
  #isStopped = false
  /** Frames heard from the other end. */
  readonly heard: MstpFrame[] = []

  constructor({ clock = systemClock, duplex, nodes }: MstpRingParts) {
    this.#clock = clock
    this.#duplex = duplex
    this.#nodes = new Map(nodes.map((node) => [node.mac, node]))
    duplex.onBytes((bytes) => this.#feed(bytes))
    this.#awaitToken()
  }

  stop(): void {
    this.#isStopped = true
    this.#silence?.cancel()
    this.#passed?.cancel()
  }

  /** A frame of one of the nodes that goes out with its next token. */
  say(frame: MstpFrame): void {
    const waiting = this.#owed.get(frame.source) ?? []
    waiting.push(frame)
    this.#owed.set(frame.source, waiting)
  }

  #feed(bytes: Uint8Array): void {
    this.#awaitToken()
    this.#held = Buffer.concat([this.#held, bytes])
    for (let frame = this.#cut(); frame; frame = this.#cut()) {
      this.heard.push(frame)
      if (this.heard.length > 1000) this.heard.shift()
      this.#passed?.cancel()
      this.#answer(frame)
    }
  }

  #cut(): MstpFrame | undefined {
    while (this.#held.length > 0) {
      const at = this.#held.indexOf(0x55)
      this.#held = at < 0 ? empty : this.#held.subarray(at)
      if (this.#held.length < HEADER_BYTES) return undefined
      const length = (this.#held[5] ?? 0) * 256 + (this.#held[6] ?? 0)
      const whole = HEADER_BYTES + (length === 0 ? 0 : length + 2)
      if (this.#held.length < whole) return undefined
      const bytes = this.#held.subarray(0, whole)
      this.#held = this.#held.subarray(whole)
      try {
        return readMstpFrame(bytes)
      } catch {
        // What is damaged is no frame to these nodes.
      }
    }
    return undefined
  }

  #answer(frame: MstpFrame) {
    const { frameType, source } = frame
    this.#known.add(source)
    const node = this.#nodes.get(frame.destination)
    if (frame.destination === BROADCAST && npduOf(frame)?.service === 'who-is') this.#sayWho()
    if (!node) return
    if (frameType === FRAME_TYPES.REPLY_TO_POLL_FOR_MASTER) return this.#pass(node)
    if (frameType === FRAME_TYPES.POLL_FOR_MASTER) this.#send(FRAME_TYPES.REPLY_TO_POLL_FOR_MASTER, node.mac, source)
    else if (frameType === FRAME_TYPES.TOKEN) this.#useToken(node)
    else if (frameType === FRAME_TYPES.TEST_REQUEST) this.#send(FRAME_TYPES.TEST_RESPONSE, node.mac, source, frame.data)
    else if (!isReply(frame)) this.#serve(node, frame)
  }

  /** Each is device 1000 and its address; it says so with its next token. */
  #sayWho(): void {
    for (const source of this.#nodes.keys()) {
      const instance = 1000 + source
      const iAm = [0x10, 0, 0xc4, 0x02, 0, instance >> 8, instance & 0xff, 0x22, 0x01, 0xe0, 0x91, 3, 0x21, 42]
      const everybody = { network: ALL_NETWORKS, address: empty }
      const data = encodeRouted({ flags: 0, hops: 255, to: everybody, rest: Uint8Array.from(iAm) })
      this.say({ frameType: FRAME_TYPES.BACNET_DATA_NOT_EXPECTING_REPLY, destination: BROADCAST, source, data })
    }
  }

  #serve(node: SimulatedNode, { data, frameType, source }: MstpFrame) {
    const reply = propertyReply(node, { data, frameType })
    if (!reply || node.manner === 'never') return
    const frame = {
      frameType: FRAME_TYPES.BACNET_DATA_NOT_EXPECTING_REPLY,
      destination: source,
      source: node.mac,
      data: reply,
    }
    if (node.manner !== 'postponed') return this.#write(frame)
    this.#send(FRAME_TYPES.REPLY_POSTPONED, node.mac, source)
    this.say(frame)
  }

  #useToken(node: SimulatedNode) {
    this.#awaitToken()
    const waiting = this.#owed.get(node.mac)?.shift()
    if (waiting) this.#write(waiting)
    if (++this.#tokens % POLL.tokens > 0) return this.#pass(node)
    do this.#polled = (this.#polled + 1) % (POLL.highest + 1)
    while (this.#nodes.has(this.#polled) || this.#known.has(this.#polled))
    this.#send(FRAME_TYPES.POLL_FOR_MASTER, node.mac, this.#polled)
    this.#passed = this.#afterSilence(TAKEN_MS, () => this.#pass(node))
  }

  #pass(node: SimulatedNode): void {
    const stations = [...this.#known, ...this.#nodes.keys()].sort((one, other) => one - other)
    const next = stations.find((mac) => mac > node.mac) ?? stations[0] ?? node.mac
    const own = this.#nodes.get(next)
    if (next !== node.mac) this.#send(FRAME_TYPES.TOKEN, node.mac, next)
    // A frame to a node of ours is not heard again: it goes on after the moment that a real one takes.
    if (own) this.#clock.after(1, () => this.#isStopped || this.#useToken(own))
    else this.#passed = this.#afterSilence(TAKEN_MS, () => this.#forget(next, node))
  }

  /** Nobody used the token at the other end. */
  #forget(mac: number, node: SimulatedNode): void {
    this.#known.delete(mac)
    this.#pass(node)
  }

  /** Node runs timers before it reads: after a stall there may be bytes that end the silence. */
  #afterSilence(silentMs: number, run: () => void): Timer {
    let timer = this.#clock.after(silentMs, () => {
      timer = this.#clock.soon(run)
    })
    return { cancel: () => timer.cancel() }
  }

  #awaitToken(): void {
    this.#silence?.cancel()
    if (this.#isStopped) return
    this.#silence = this.#afterSilence(NO_TOKEN_MS, () => {
      const [first] = this.#nodes.values()
      if (first) this.#useToken(first)
      this.#awaitToken()
    })
  }

  #send(frameType: number, source: number, destination: number, data: Uint8Array = empty): void {
    this.#write({ frameType, destination, source, data })
  }

  #write(frame: MstpFrame): void {
    if (!this.#isStopped) void Promise.resolve(this.#duplex.write(encodeMstpFrame(frame))).catch(() => {})
  }
}

/** The answer to a request for a property; an error says that there is no other. */
function propertyReply(
  { value = 21.5 }: SimulatedNode,
  frame: Pick<MstpFrame, 'data' | 'frameType'>,
): Uint8Array | undefined {
  const { invokeId, pdu, service } = npduOf(frame) ?? {}
  if (pdu !== 'confirmed-request' || invokeId === undefined) return undefined
  const { from } = readRouted(frame.data)
  const answer = (apdu: readonly number[]) =>
    encodeRouted({ flags: 0, hops: 255, rest: Uint8Array.from(apdu), ...(from && { to: from }) })
  // Object and property as they were asked: tags 0 and 1 behind the service.
  const asked = frame.data.subarray(-7)
  if (service !== 'read-property' || asked[0] !== 0x0c) return answer([0x60, invokeId, 9])
  const real = new DataView(new ArrayBuffer(4))
  real.setFloat32(0, value)
  return answer([0x30, invokeId, 0x0c, ...asked, 0x3e, 0x44, ...new Uint8Array(real.buffer), 0x3f])
}

/** The data of a request for the present value of analog input 0. @internal for tests that ask these nodes */
export function readPresentValue(invokeId: number): string {
  return `01 04 02 44 ${invokeId.toString(16).toUpperCase().padStart(2, '0')} 0C 0C 00 00 00 00 19 55`
}
