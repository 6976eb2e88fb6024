/**
 * A client of an MQTT broker for one connection: MQTT.js over a stream of ours, which measures what the broker sends
 * before the client gathers it, and takes its time from the daemon's clock.
 */
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { MqttClient } from 'mqtt'
import type { Clock, Timer } from '../../clock.ts'
import type { Fault } from '../../pure/fault.ts'
import { durationText } from '../../pure/text.ts'

/** A message as its sender gives it. */
export interface MqttMessage {
  topic: string
  payload: string | Uint8Array
  qos: 0 | 1
  /** Whether the broker keeps it for whoever subscribes later. */
  isRetained: boolean
}

/** Who connects, and how. */
interface MqttSession {
  clientId: string
  username: string | null
  password: string | null
  /** Seconds between signs of life: a broker that is silent for half as long again is lost. @source MQTT 3.1.1, 3.1.2.10 */
  keepAliveS: number
  /** What the broker publishes when this connection ends without a word. */
  will?: MqttMessage
}

/** The reasons of a failed connection as faults of the caller. */
interface MqttFaults {
  /** Nothing came in time. */
  silent(sentence: string): Fault
  /** The broker answered that it does not take this client. */
  refused(sentence: string, cause: unknown): Fault
  /** The connection broke. */
  broken(sentence: string, cause: unknown): Fault
}

interface MqttParts {
  clock: Clock
  /** The broker's name in sentences. */
  name: string
  connectMs: number
  session: MqttSession
  faults: MqttFaults
  /** Called once when the stream has ended, before or after the client was ready. */
  ended(reason: string): void
}

/**
 * Sends CONNECT and waits for its answer. It never connects again by itself, and keeps nothing to be sent later.
 * @throws one of `faults`, or the reason of `signal`
 */
export function connectMqtt(stream: MqttStream, parts: MqttParts, signal: AbortSignal): Promise<MqttClient> {
  const { clock, connectMs, faults, name } = parts
  return new Promise((resolve, reject) => {
    const client = new MqttClient(() => stream as never, optionsOf(parts.session, clock))
    const within = durationText(connectMs)
    const late = () => fail(faults.silent(`${name} accepts the connection and does not speak MQTT within ${within}`))
    const timer = clock.after(connectMs, late)
    const fail = (reason: unknown) => {
      timer.cancel()
      client.end(true)
      // A client that ends before it has spoken leaves its stream as it is.
      stream.destroy()
      reject(reason)
    }
    signal.addEventListener('abort', () => fail(signal.reason), { once: true })
    client.once('connect', () => {
      timer.cancel()
      resolve(client)
    })
    client.on('error', (error) => {
      const refusal = refusalOf(error)
      const fault =
        refusal === undefined
          ? faults.broken(`the connection to ${name} broke (${error.message})`, error)
          : faults.refused(`the broker ${name} ${refusal}`, error)
      stream.destroy(fault)
      fail(fault)
    })
    stream.on('error', () => {}) // said when it closes
    stream.once('close', () => {
      const reason = stream.errored?.message ?? `${name} closed the connection`
      fail(faults.broken(reason, stream.errored))
      parts.ended(reason)
    })
  })
}

function optionsOf({ clientId, keepAliveS, password, username, will }: MqttSession, clock: Clock) {
  return {
    protocolId: 'MQTT',
    protocolVersion: 4,
    clean: true,
    clientId,
    keepalive: keepAliveS,
    reconnectPeriod: 0,
    resubscribe: false,
    queueQoSZero: false,
    timerVariant: {
      set: (call: () => void, ms: number) => every(clock, ms, call),
      clear: (timer: Timer) => timer.cancel(),
    },
    ...(username !== null && { username }),
    ...(password !== null && { password }),
    ...(will && { will: { topic: will.topic, payload: will.payload, qos: will.qos, retain: will.isRetained } }),
  } as never
}

function every(clock: Clock, ms: number, call: () => void): Timer {
  let timer = clock.after(ms, again)
  function again(): void {
    timer = clock.after(ms, again)
    call()
  }
  return { cancel: () => timer.cancel() }
}

/** What a broker may answer to CONNECT. @source MQTT 3.1.1, 3.2.2.3 */
const REFUSALS: Readonly<Record<number, string>> = {
  1: 'does not speak MQTT 3.1.1',
  2: 'does not take the name of this client',
  3: 'is out of order',
  4: 'does not take username and password',
  5: 'does not allow this account to connect',
}

function refusalOf({ code }: Error & { code?: unknown }): string | undefined {
  return typeof code === 'number' ? REFUSALS[code] : undefined
}

/** What a connection may take of this machine, apart from the length of a packet. */
interface MqttGate {
  /** Bytes of a packet that is not whole yet; 0 once it is, and when the stream ends. */
  held(bytes: number): void
  /** @returns how long nothing more is read, 0 to go on */
  taken(bytes: number, packets: number): number
  closed(): void
}

interface MqttStreamParts {
  clock: Clock
  name: string
  /** The longest packet that is taken, and the setting that says so. */
  limit: { packetBytes: number; setting: string }
  /** Whether this client subscribes. To one that does not, no message is sent. */
  hears: boolean
  gate?: MqttGate
}

/**
 * The bytes of a broker as the client gets them: no packet longer than the limit, since the client would gather up to
 * 256 MB for one, and no more in a second than the gate lets through.
 */
export class MqttStream extends Duplex {
  readonly #socket: Socket
  readonly #parts: MqttStreamParts
  readonly #packets = createPacketCounter()
  readonly #own = createPacketCounter()
  /** Answers that the broker may still send: at most one for each packet of the client. */
  #owed = 0
  #pause: Timer | undefined

  /** @param socket connected and not read yet; it belongs to the stream from now on */
  constructor(socket: Socket, parts: MqttStreamParts) {
    super()
    this.#socket = socket
    this.#parts = parts
    socket.on('data', (chunk) => this.#take(chunk))
    socket.once('close', () => this.destroy())
    socket.on('error', (error) => this.destroy(this.#broken(error)))
  }

  override _read(): void {
    if (!this.#pause) this.#socket.resume()
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#owed += this.#own.feed(chunk).ended
    this.#socket.write(chunk, (error) => done(error && this.#broken(error)))
  }

  override _final(done: () => void): void {
    this.#socket.end(done)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#pause?.cancel()
    this.#parts.gate?.closed()
    this.#socket.destroy()
    done(error)
  }

  #broken({ code, message }: NodeJS.ErrnoException): Error {
    return new Error(`the connection to ${this.#parts.name} broke (${code ?? message})`)
  }

  #take(chunk: Uint8Array): void {
    const { clock, gate } = this.#parts
    const seen = this.#packets.feed(chunk)
    const why = this.#whyNot(seen)
    if (why !== undefined) {
      this.destroy(new Error(`${this.#parts.name} ${why}`))
      return
    }
    gate?.held(seen.held)
    if (this.destroyed) return
    const pauseMs = gate?.taken(chunk.length, seen.ended) ?? 0
    if (!this.push(chunk)) this.#socket.pause()
    if (pauseMs <= 0) return
    this.#socket.pause()
    this.#pause ??= clock.after(pauseMs, () => {
      this.#pause = undefined
      this.#socket.resume()
    })
  }

  #whyNot({ ended, isExactlyOnce, isMessage, longest }: SeenPackets): string | undefined {
    const { hears, limit } = this.#parts
    this.#owed -= ended
    if (isMessage && !hears) return 'sent a message that nobody asked for'
    // They are tiny, but a flood of them would take all the processor time that the network can feed.
    if (this.#owed < 0 && !hears) return 'sent more answers than it was asked for'
    // Nobody asked for QoS 2, and the client would keep each such message until the broker releases it.
    if (isExactlyOnce) return 'sent a message with QoS 2, where 1 was asked for'
    if (longest > limit.packetBytes) return `sent a message longer than ${limit.setting} (${limit.packetBytes})`
    return undefined
  }
}

/** What a piece of the stream holds. */
interface SeenPackets {
  /** How many packets ended. */
  ended: number
  /** Length of the longest that has begun. */
  longest: number
  /** Bytes so far of the one that has not ended. */
  held: number
  /** Whether one is a PUBLISH, and one with QoS 2. */
  isMessage: boolean
  isExactlyOnce: boolean
}

/** Type of a packet. @source MQTT 3.1.1, 2.2.1 */
const PUBLISH = 3

/**
 * Follows packets through a stream: one byte of type, one to four of length, the rest.
 * @source MQTT 3.1.1, 2.2, 3.3.1
 */
function createPacketCounter() {
  let left = 0
  let length = 0
  /** Bytes of the head that have come: 0 outside of it. */
  let head = 0
  let whole = 0

  function feed(bytes: Uint8Array): SeenPackets {
    const seen = { ended: 0, longest: 0, held: 0, isMessage: false, isExactlyOnce: false }
    for (let at = 0; at < bytes.length; ) {
      if (left > 0) {
        const step = Math.min(left, bytes.length - at)
        left -= step
        at += step
        if (left === 0) seen.ended++
        continue
      }
      const byte = bytes[at++] ?? 0
      if (head === 0) {
        head = 1
        length = 0
        seen.isMessage ||= byte >> 4 === PUBLISH
        seen.isExactlyOnce ||= byte >> 4 === PUBLISH && (byte & 0b110) === 0b100
        continue
      }
      length += (byte & 0x7f) * 128 ** (head - 1)
      head++
      seen.longest = Math.max(seen.longest, length)
      // A fifth byte is no length any more: the client itself ends the connection.
      if (byte & 0x80 && head < 5) continue
      head = 0
      whole = left = length
      if (left === 0) seen.ended++
    }
    return { ...seen, held: left > 0 ? whole - left : head }
  }
  return { feed }
}
