/** The protocol dnp3: the gateway is an outstation on a line, and over TCP to the same points. */
import { Type } from 'typebox'
import type { Clock, Timer } from '#kit/clock.ts'
import type { Line } from '#kit/line/line.ts'
import { bytesOfHex, hexOf, joinBytes } from '#kit/pure/bytes.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { createListening, sendWithin, wireUs } from '#kit/pure/line.ts'
import type { BackoffLimits } from '#kit/pure/pace.ts'
import { durationText } from '#kit/pure/text.ts'
import { describeFrame, namesOfIin } from '../../wire/dnp3/describe.ts'
import { flagNamesOf, flagsOfNames, namesOfFlags, type PointKind, type PointState } from '../../wire/dnp3/objects.ts'
import { LINK_TYPES } from '../../wire/pcap.ts'
import type { Adapter, AdapterContext, Protocol } from '../lines/adapter.ts'
import { framePayload, type SeenFrame } from '../lines/events.ts'
import { countOfLetGo, lineTcpKeys, type TcpClient, type TcpPeer, type TcpServerOpener } from '../lines/tcp.ts'
import { linkCounts, OutstationChannel } from './channel.ts'
import { type Dnp3Settings, dnp3Settings, dnp3SettingsFaults, dnp3Weight, MOST_OCTETS, mastersOf } from './settings.ts'
import { type ForcedIin, Station, type Way } from './station.ts'

/** Bounds of every TCP port of DNP3. */
export const dnp3TcpKeys = Type.Object(
  {
    ...lineTcpKeys('DNP3', {
      clients: 64,
      idleMs: 300_000,
      idleMeans: 'how long a master may send nothing before its connection is closed; 0 is for ever',
    }),
    frames_per_s: Type.Integer({
      default: 100,
      minimum: 10,
      maximum: 10_000,
      description: 'frames of one client that are taken in a second; one that sends more is read no further meanwhile',
    }),
  },
  { additionalProperties: false, default: {}, description: 'DNP3 ports of outstations' },
)

/** What an outstation needs from the outside. */
export interface Dnp3World {
  openDnp3Tcp: TcpServerOpener
  /** Frames of one TCP client that are taken in a second. */
  dnp3FramesPerS: number
  /** Waits between attempts to open a TCP port that is taken. */
  retry: BackoffLimits
}

/** Body of `rest/set-point`: what is left out is the time now, and flags that say online. */
interface PointBody {
  kind: PointKind
  index: number
  /** Of a binary whether it is on, of a double-bit its name or number, of an octet string hex pairs. */
  value: boolean | number | string
  flags?: readonly string[] | number
  time?: number
}

/** A point as people see it. */
interface PointView {
  kind: PointKind
  index: number
  value: boolean | number | string
  flags: string[]
  /** When it changed, epoch milliseconds; 0: it was never set. */
  time: number
}

export interface OutstationFace {
  view(): ReturnType<Station['view']>
  /** @throws Fault `dnp3_unknown_point` where the first is none */
  points(kind: PointKind, start: number, limit: number): PointView[]
}

declare module '../lines/adapter.ts' {
  interface AdapterActions {
    'set-point'?(body: PointBody): PointView & { isEvent: boolean }
    'set-iin'?(body: ForcedIin): { indications: string[] }
  }
  interface AdapterFaces {
    outstation?: OutstationFace
  }
}

export const dnp3Protocol: Protocol<Dnp3World> = {
  settings: dnp3Settings,
  linkType: LINK_TYPES.dnp3,
  faults: (settings) => dnp3SettingsFaults(settings as Dnp3Settings),
  servedValues: (settings) => dnp3Weight(settings as Dnp3Settings),
  make: ({ settings }, context, world) => new Dnp3Adapter(context, settings as Dnp3Settings, world),
}

const DOUBLE_BITS = ['intermediate', 'off', 'on', 'indeterminate'] as const

/** Counters have 32 bits. */
const MOST_COUNT = 0xffff_ffff

/** The most bytes of what is no frame that one event shows. */
const MOST_NOISE = 512

class Dnp3Adapter implements Adapter {
  readonly actions = {
    'set-point': (body: PointBody) => this.#setPoint(body),
    'set-iin': (bits: ForcedIin) => {
      this.#station.force(bits)
      return { indications: namesOfIin(this.#station.iin()) }
    },
  }
  readonly faces = {
    outstation: {
      view: () => this.#station.view(),
      points: (kind: PointKind, start: number, limit: number) => this.#points(kind, start, limit),
    },
  }
  readonly #context: AdapterContext
  readonly #settings: Dnp3Settings
  readonly #framesPerS: number
  readonly #station: Station
  readonly #counts = {
    ...linkCounts(),
    ...{ droppedAnswers: 0, sendFailures: 0, tcpClients: 0 },
    ...{ tcpRefused: 0, tcpEvicted: 0, tcpMalformed: 0, tcpCutOff: 0, tcpIdle: 0 },
  }
  /** The TCP port; undefined if none is set. */
  readonly #listening: ReturnType<typeof createListening> | undefined
  #line: Line | undefined
  /** Bytes that the driver has not taken yet. */
  #unsentBytes = 0

  constructor(context: AdapterContext, settings: Dnp3Settings, { dnp3FramesPerS, openDnp3Tcp, retry }: Dnp3World) {
    const { clock, publish } = context
    this.#context = context
    this.#settings = settings
    this.#framesPerS = dnp3FramesPerS
    this.#station = new Station({ clock, settings, publish })
    const { tcp_masters: maxClients, tcp_port: port } = settings
    if (port === 0) return
    this.#listening = createListening({
      clock,
      retry,
      onFault: ({ code, message }) => publish('error', { code, message }),
      open: () =>
        openDnp3Tcp(
          { port, maxClients },
          { onClient: (peer) => this.#client(peer), onLetGo: (why) => void this.#counts[countOfLetGo[why]]++ },
        ),
    })
  }

  attach(line: Line): void {
    this.#line = line
    this.#unsentBytes = 0
    const { channel, way } = this.#channelOf('line', {
      isFull: () => this.#unsentBytes > this.#settings.unsent_bytes,
      send: (bytes, onSent) => this.#write(line, bytes, onSent),
    })
    line.onBytes((bytes, atUs) => channel.feed(bytes, atUs / 1000))
    // Over TCP nobody knows who will connect: masters are told of events once they have spoken.
    this.#station.open(this.#listening ? undefined : way)
    this.#listening?.start()
  }

  async detach(): Promise<void> {
    this.#line = undefined
    this.#station.close()
    await this.#listening?.stop()
  }

  whyNoAction(action: string): string {
    return `${this.#context.port} speaks dnp3, which has rest/set-point and rest/set-iin and no rest/${action}.`
  }

  counters(): Record<string, number> {
    return { ...this.#counts }
  }

  fault(): Fault | undefined {
    return this.#listening?.fault
  }

  // Connections.

  #client(peer: TcpPeer): TcpClient {
    const { clock } = this.#context
    let isForeign = false
    let frames = 0
    const { channel, way } = this.#channelOf(peer.address, {
      isFull: () => peer.waitingBytes > this.#settings.unsent_bytes,
      send(bytes, onSent, isUnasked) {
        peer.send(bytes, isUnasked)
        onSent()
      },
      // No byte is lost on TCP: what is no frame comes from another program.
      onNoise() {
        isForeign = true
      },
      onFrame() {
        frames++
      },
    })
    const intake = createIntake({
      ...{ clock, peer, framesPerS: this.#framesPerS },
      feed(bytes, atMs) {
        frames = 0
        if (!isForeign) channel.feed(bytes, atMs)
        return frames
      },
      onTaken() {
        if (isForeign) peer.end('malformed', 'bytes came that are no frame of DNP3')
      },
    })
    this.#counts.tcpClients++
    return {
      waiting: 0,
      onBytes(bytes) {
        if (!isForeign) intake.take(bytes)
      },
      onClosed: () => {
        intake.close()
        this.#counts.tcpClients--
        this.#station.gone(way)
      },
    }
  }

  #channelOf(name: string, ends: ConnectionEnds): { channel: OutstationChannel; way: Way } {
    const { address, fragment_bytes: fragmentBytes, frame_timeout_ms: frameTimeoutMs } = this.#settings
    const { clock } = this.#context
    const via = name === 'line' ? {} : { via: name }
    const channel: OutstationChannel = new OutstationChannel({
      ...{ address, masters: mastersOf(this.#settings), fragmentBytes, frameTimeoutMs, counts: this.#counts },
      write: (bytes, frame, isUnasked) => {
        if (ends.isFull()) this.#counts.droppedAnswers++
        else
          ends.send(
            bytes,
            () => {
              const atUs = clock.monotonicMs() * 1000
              this.#told({ direction: 'tx', frame: bytes, atUs }, () => ({
                decoded: { ...describeFrame(frame), ...via },
              }))
            },
            isUnasked,
          )
      },
      onFrame: (bytes, frame) => {
        // A copy, as the frame would keep the read buffer alive.
        const seen = { direction: 'rx', frame: bytes.slice(), atUs: clock.monotonicMs() * 1000 } as const
        this.#told(seen, () => ({ decoded: { ...describeFrame(frame), ...via } }))
        ends.onFrame?.()
      },
      onNoise: (bytes, isDamaged) => {
        this.#noise(bytes, isDamaged)
        ends.onNoise?.()
      },
      onHeard: (master) => this.#station.heard(master, way),
      onFragment: (master, fragment, isBroadcast) => this.#station.take(master, fragment, isBroadcast),
    })
    const way: Way = { name, send: (master, fragment, isUnasked) => channel.send(master, fragment, isUnasked) }
    return { channel, way }
  }
  #told(seen: SeenFrame, reading: () => Parameters<typeof framePayload>[1]): void {
    this.#context.publish('frame', () => framePayload(seen, reading()), 2 * seen.frame.length)
  }

  #noise(bytes: Uint8Array, isDamaged: boolean): void {
    const frame = bytes.slice(0, MOST_NOISE)
    const decodeError = isDamaged
      ? { code: 'dnp3_checksum', message: `${bytes.length} bytes hold a frame whose checksum or length is wrong.` }
      : { code: 'dnp3_noise', message: `${bytes.length} bytes belong to no frame of DNP3.` }
    const seen = { direction: 'rx', frame, atUs: this.#context.clock.monotonicMs() * 1000 } as const
    this.#told(seen, () => ({ decoded: null, decodeError }))
  }

  #write(line: Line, bytes: Uint8Array, onSent: () => void): void {
    const { clock, lineSettings, port, publish } = this.#context
    this.#unsentBytes += bytes.length
    const onWireMs = wireUs(lineSettings, this.#unsentBytes) / 1000
    const limitMs = 2 * onWireMs + this.#settings.send_limit_ms
    const late = (waitedMs: number) => {
      const sentence = `The driver of ${port} did not take an answer within ${durationText(waitedMs)}; flow control may hold the line. What waited was thrown away.`
      return new Fault('dnp3_send_timeout', sentence, { details: { waitedMs } })
    }
    const taken = () => {
      if (line === this.#line) this.#unsentBytes -= bytes.length
    }
    sendWithin({ clock, line, limitMs, late }, () => line.write(bytes)).then(
      () => {
        taken()
        onSent()
      },
      (error) => {
        taken()
        if (line !== this.#line) return
        this.#counts.sendFailures++
        const { code, message } = faultOf(error, 'line_write_failed', `${port} took no bytes.`)
        publish('error', { code, message })
      },
    )
  }

  // Points.

  #setPoint({ flags, index, kind, time, value }: PointBody): PointView & { isEvent: boolean } {
    const wish = { value: stateValue(kind, value), timeMs: time, flags: flagsOf(kind, flags) }
    const isEvent = this.#station.setPoint(kind, index, wish)
    return { ...viewOf(kind, index, this.#station.database.state(kind, index)), isEvent }
  }

  #points(kind: PointKind, start: number, limit: number): PointView[] {
    const { database } = this.#station
    if (start > 0) database.state(kind, start)
    const count = Math.min(limit, database.size(kind) - start)
    return Array.from({ length: count }, (_, at) => viewOf(kind, start + at, database.state(kind, start + at)))
  }
}

/** One end of a connection. */
interface ConnectionEnds {
  /** So much waits that nothing more is sent. */
  isFull(): boolean
  /** @param onSent runs once the bytes are on their way */
  send(bytes: Uint8Array, onSent: () => void, isUnasked: boolean): void
  onNoise?(): void
  onFrame?(): void
}

interface IntakeParts {
  clock: Clock
  peer: Pick<TcpPeer, 'pause' | 'resume'>
  framesPerS: number
  /** @param atMs by a clock that stands while nothing is taken, so that no frame breaks off meanwhile. @returns how many frames they ended */
  feed(bytes: Uint8Array, atMs: number): number
  onTaken(): void
}

/** At most this many bytes are taken in one go: as a few long frames, or some more short ones. */
const PIECE_BYTES = 292

/**
 * Takes what a client sends as fast as it may send. A network carries more requests than the daemon can answer beside
 * its lines, and over TCP anybody may ask. A client that has been quiet may send those of a second at once.
 */
function createIntake({ clock, feed, framesPerS, onTaken, peer }: IntakeParts) {
  let rest: Uint8Array = new Uint8Array(0)
  let mayTake = framesPerS
  let countedMs = clock.monotonicMs()
  let stoodMs = 0
  let standing: Timer | undefined

  function go(): void {
    const nowMs = clock.monotonicMs()
    mayTake = Math.min(framesPerS, mayTake + ((nowMs - countedMs) * framesPerS) / 1000)
    countedMs = nowMs
    while (rest.length > 0 && mayTake >= 1) {
      mayTake -= feed(rest.subarray(0, PIECE_BYTES), nowMs - stoodMs)
      rest = rest.subarray(PIECE_BYTES)
    }
    onTaken()
    if (rest.length > 0) stand(Math.ceil((1000 * (1 - mayTake)) / framesPerS))
  }

  function stand(ms: number): void {
    peer.pause()
    standing = clock.after(ms, () => {
      standing = undefined
      stoodMs += ms
      go()
      if (!standing) peer.resume()
    })
  }

  return {
    /** @param bytes belong to the intake afterwards */
    take(bytes: Uint8Array): void {
      rest = rest.length === 0 ? bytes : joinBytes([rest, bytes])
      if (!standing) go()
    },
    close(): void {
      standing?.cancel()
    },
  }
}

function viewOf(kind: PointKind, index: number, { flags, timeMs, value }: PointState): PointView {
  const shown =
    value instanceof Uint8Array ? hexOf(value) : kind === 'double_bit' ? (DOUBLE_BITS[Number(value)] ?? '') : value
  return { kind, index, value: shown, flags: namesOfFlags(kind, flags), time: timeMs }
}

function wrongField(field: string, message: string): Fault {
  return new Fault('bad_fields', `${field} ${message}`, { details: { fields: [{ field, message }] } })
}

/** @throws Fault `bad_fields`, `bad_hex` */
function stateValue(kind: PointKind, value: PointBody['value']): PointState['value'] {
  const refused = (expected: string) =>
    wrongField('value', `is ${JSON.stringify(value)}; of a ${kind} it is ${expected}`)
  switch (kind) {
    case 'binary':
      if (typeof value !== 'boolean') throw refused('true or false')
      return value
    case 'double_bit': {
      const state =
        typeof value === 'string' ? DOUBLE_BITS.indexOf(value as (typeof DOUBLE_BITS)[number]) : Number(value)
      if (typeof value === 'boolean' || !DOUBLE_BITS[state]) throw refused(`0 to 3, or ${DOUBLE_BITS.join(', ')}`)
      return state
    }
    case 'analog':
      if (typeof value !== 'number') throw refused('a number')
      return value
    case 'octet_string': {
      if (typeof value !== 'string') throw refused('text of hex pairs')
      const bytes = bytesOfHex(value)
      if (bytes.length === 0 || bytes.length > MOST_OCTETS) throw refused(`1 to ${MOST_OCTETS} bytes as hex pairs`)
      return bytes
    }
    default:
      if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > MOST_COUNT)
        throw refused(`a whole number from 0 to ${MOST_COUNT}`)
      return value
  }
}

/** @throws Fault `bad_fields` */
function flagsOf(kind: PointKind, flags: PointBody['flags']): number | undefined {
  if (flags === undefined || typeof flags === 'number') return flags
  const bits = flagsOfNames(kind, flags)
  if (bits === undefined)
    throw wrongField('flags', `hold one that no ${kind} has; it has ${flagNamesOf(kind).join(', ')}`)
  return bits
}
