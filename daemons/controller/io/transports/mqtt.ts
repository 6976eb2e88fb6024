/** MQTT to devices: one connection for each broker and account, shared by the devices behind it, within limits. */
import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { MqttClient } from 'mqtt'
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import type { BrokerConnection, BrokerPlace, BrokerUse, Publication } from '../../core/drivers/driver.ts'
import type { HeardBudget, KeptBytes } from './bounds.ts'
import { addressText, connectTcp } from './tcp.ts'

interface MqttLimits {
  connectMs: number
  /** The longest packet. */
  mqttBytes: number
  /** Most topics that one device may hear. */
  mqttTopics: number
  /** Most topics of all devices together. */
  mqttTopicsInAll: number
}

interface BrokerParts {
  clock: Clock
  limits: MqttLimits
  kept: KeptBytes
  budget: HeardBudget
}

/** A device's part of a shared connection. */
export interface BrokerMember extends BrokerConnection {
  leave(): void
}

/** Seconds between signs of life: a broker that is silent for half as long again is lost. @source MQTT 3.1.1, 3.1.2.10 */
const KEEP_ALIVE_S = 30

/** Lives as long as the daemon. */
export class Brokers {
  readonly #parts: BrokerParts
  readonly #open = new Map<string, Broker>()
  #topics = 0

  constructor(parts: BrokerParts) {
    this.#parts = parts
  }

  /**
   * Connects, unless another device has, and subscribes. Messages that the broker has kept arrive at once.
   * @throws Fault `device_unreachable`, `device_cut_off`, `broker_refused`, `device_busy`, or the reason of `signal`
   */
  async join(place: BrokerPlace, use: BrokerUse, signal: AbortSignal): Promise<BrokerMember> {
    const release = this.#count(use.topics)
    const key = JSON.stringify([addressText(place), place.username, place.password])
    const broker = this.#open.get(key) ?? new Broker(place, this.#parts, () => this.#open.delete(key))
    this.#open.set(key, broker)
    try {
      const member = await broker.join({ ...use, lost: (reason) => [release(), use.lost(reason)] }, signal)
      return { ...member, leave: () => [member.leave(), release()] }
    } catch (error) {
      release()
      throw error
    }
  }

  /** @returns gives the places of the topics back, once. @throws Fault `device_busy` */
  #count({ length }: readonly string[]): () => void {
    const { mqttTopics, mqttTopicsInAll } = this.#parts.limits
    if (length > mqttTopics)
      throw new Fault('device_busy', `it has ${length} topics, at most ${mqttTopics} are heard (drivers.mqtt_topics)`)
    if (this.#topics + length > mqttTopicsInAll)
      throw new Fault('device_busy', `${this.#topics} topics of devices are heard already (drivers.mqtt_topics_in_all)`)
    this.#topics += length
    let isCounted = true
    return () => {
      if (isCounted) this.#topics -= length
      isCounted = false
    }
  }
}

/** One connection. Lives until it ends, or nobody uses it. */
class Broker {
  readonly #parts: BrokerParts
  readonly #name: string
  readonly #ended: () => void
  readonly #stopper = new AbortController()
  readonly #uses = new Set<BrokerUse>()
  readonly #heardBy = new Map<string, Set<BrokerUse>>()
  readonly #client: Promise<MqttClient>
  #live: MqttClient | undefined
  #reason: string | undefined

  constructor(place: BrokerPlace, parts: BrokerParts, ended: () => void) {
    this.#parts = parts
    this.#name = addressText(place)
    this.#ended = ended
    this.#client = this.#connect(place)
    this.#client.catch((error) => this.#end((error as Error).message))
  }

  async join(wanted: BrokerUse, signal: AbortSignal): Promise<BrokerMember> {
    signal.throwIfAborted()
    let isIn = false
    // Whoever is not in yet is told by what this throws.
    const use = { ...wanted, lost: (reason: string) => isIn && wanted.lost(reason) }
    this.#uses.add(use)
    const left = () => this.#leave(use)
    signal.addEventListener('abort', left, { once: true })
    try {
      await this.#client
      signal.throwIfAborted()
      for (const topic of use.topics) this.#heardBy.set(topic, (this.#heardBy.get(topic) ?? new Set()).add(use))
      await this.#subscribe(use.topics)
      signal.throwIfAborted()
      isIn = true
      return { publish: (message, stop) => this.#publish(message, stop), leave: left }
    } catch (error) {
      left()
      throw signal.aborted ? signal.reason : error
    }
  }

  #leave(use: BrokerUse): void {
    if (!this.#uses.delete(use)) return
    const unheard = use.topics.filter((topic) => {
      const others = this.#heardBy.get(topic)
      others?.delete(use)
      return others?.size === 0 && this.#heardBy.delete(topic)
    })
    if (this.#uses.size === 0) this.#end('nobody uses it')
    else if (unheard.length > 0) this.#live?.unsubscribe(unheard, () => {})
  }

  async #connect(place: BrokerPlace): Promise<MqttClient> {
    const { clock, limits } = this.#parts
    // Later than now, so that who asked for it has joined.
    await Promise.resolve()
    const socket = await connectTcp(place, { clock, ...limits }, this.#stopper.signal)
    return new Promise((resolve, reject) => {
      const stream = new BoundedStream(socket, this.#name, this.#parts)
      const client = new MqttClient(() => stream as never, optionsOf(place, clock))
      const late = () =>
        fail(
          new Fault(
            'device_unreachable',
            `${this.#name} accepts the connection and does not speak MQTT within ${durationText(limits.connectMs)}`,
          ),
        )
      const timer = clock.after(limits.connectMs, late)
      const fail = (reason: unknown) => {
        timer.cancel()
        client.end(true)
        reject(reason)
      }
      this.#stopper.signal.addEventListener('abort', () => fail(this.#stopper.signal.reason), { once: true })
      client.once('connect', () => {
        timer.cancel()
        this.#live = client
        resolve(client)
      })
      client.on('error', (error) => {
        const fault = refusalOf(this.#name, error)
        stream.destroy(fault)
        fail(fault)
      })
      stream.on('error', () => {}) // said when it closes
      stream.once('close', () => {
        const reason = stream.errored?.message ?? `${this.#name} closed the connection`
        fail(new Fault('device_cut_off', reason))
        this.#end(reason)
      })
      client.on('message', (topic, payload) => this.#hear(topic, payload))
    })
  }

  #hear(topic: string, payload: Uint8Array): void {
    for (const use of [...(this.#heardBy.get(topic) ?? [])]) {
      try {
        use.hear(topic, payload)
      } catch (error) {
        this.#leave(use)
        use.lost(`its driver failed on a message of ${this.#name}: ${(error as Error).message}`)
      }
    }
  }

  async #subscribe(topics: readonly string[]): Promise<void> {
    if (topics.length === 0) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const client = this.#running()
    client.subscribe([...topics], { qos: 1 }, (error) => {
      if (!error) return resolve()
      // A broker answers a topic that it does not allow with 128. @source MQTT 3.1.1, 3.9.3
      const { packet } = error as { packet?: { granted?: number[] } }
      const refused = topics[packet?.granted?.indexOf(128) ?? -1]
      if (refused === undefined) return reject(this.#gone(error))
      reject(new Fault('broker_refused', `${this.#name} does not let this account hear the topic ${refused}`))
    })
    await this.#answered(promise)
  }

  /** Done when the broker has it. A broker that does not say so in time is lost, with all that waits for it. */
  async #publish({ topic, payload, isRetained }: Publication, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const stopped = () => reject(signal.reason)
    signal.addEventListener('abort', stopped, { once: true })
    const options = { qos: 1, retain: isRetained } as const
    this.#running().publish(topic, Buffer.from(payload), options, (error) => {
      if (error) reject(this.#gone(error))
      else resolve()
    })
    try {
      await this.#answered(promise)
    } finally {
      signal.removeEventListener('abort', stopped)
    }
  }

  async #answered(answer: Promise<void>): Promise<void> {
    const { clock, limits } = this.#parts
    const timer = clock.after(limits.connectMs, () =>
      this.#end(`${this.#name} did not answer within ${durationText(limits.connectMs)}`),
    )
    const ended = Promise.withResolvers<never>()
    const stopped = () => ended.reject(this.#gone())
    this.#stopper.signal.addEventListener('abort', stopped, { once: true })
    try {
      await Promise.race([answer, ended.promise])
    } finally {
      answer.catch(() => {}) // it may fail after the connection has ended
      timer.cancel()
      this.#stopper.signal.removeEventListener('abort', stopped)
    }
  }

  #gone(cause?: unknown): Fault {
    return new Fault('device_cut_off', this.#reason ?? `the connection to ${this.#name} has ended`, { cause })
  }

  #running(): MqttClient {
    if (!this.#live || this.#reason !== undefined) throw this.#gone()
    return this.#live
  }

  #end(reason: string): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.#ended()
    const uses = [...this.#uses]
    this.#uses.clear()
    this.#stopper.abort(new Fault('device_cut_off', reason))
    this.#live?.end(true)
    for (const use of uses) use.lost(reason)
  }
}

function optionsOf({ username, password }: BrokerPlace, clock: Clock) {
  return {
    protocolId: 'MQTT',
    protocolVersion: 4,
    clean: true,
    clientId: `plantroom-${randomBytes(6).toString('hex')}`,
    keepalive: KEEP_ALIVE_S,
    // Whoever opens the device again connects again: with the waits of all drivers.
    reconnectPeriod: 0,
    resubscribe: false,
    queueQoSZero: false,
    timerVariant: {
      set: (call: () => void, ms: number) => every(clock, ms, call),
      clear: (timer: Timer) => timer.cancel(),
    },
    ...(username !== null && { username }),
    ...(password !== null && { password }),
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
  4: 'does not take username and password of the device',
  5: 'does not allow this account to connect',
}

function refusalOf(name: string, error: Error & { code?: unknown }): Fault {
  const refusal = typeof error.code === 'number' ? REFUSALS[error.code] : undefined
  if (refusal !== undefined) return new Fault('broker_refused', `the broker ${name} ${refusal}`, { cause: error })
  return new Fault('device_cut_off', `the connection to ${name} broke (${error.message})`, { cause: error })
}

/**
 * The bytes of a broker as the client gets them: no packet longer than the limit, since the client would gather up to
 * 256 MB for one, and no more in a second than may be read from one device.
 */
class BoundedStream extends Duplex {
  readonly #socket: Socket
  readonly #name: string
  readonly #parts: BrokerParts
  readonly #keeper = { give: (reason: string) => void this.destroy(new Error(reason)) }
  readonly #packets = createPacketCounter()
  #pause: Timer | undefined

  constructor(socket: Socket, name: string, parts: BrokerParts) {
    super()
    this.#socket = socket
    this.#name = name
    this.#parts = parts
    parts.budget.join(this)
    socket.on('data', (chunk) => this.#take(chunk))
    socket.once('close', () => this.destroy())
    socket.on('error', (error: NodeJS.ErrnoException) =>
      this.destroy(new Error(`the connection to ${name} broke (${error.code ?? error.message})`)),
    )
  }

  override _read(): void {
    if (!this.#pause) this.#socket.resume()
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done)
  }

  override _final(done: () => void): void {
    this.#socket.end(done)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#pause?.cancel()
    this.#parts.budget.leave(this)
    this.#parts.kept.set(this.#keeper, 0)
    this.#socket.destroy()
    done(error)
  }

  #take(chunk: Uint8Array): void {
    const { budget, clock, kept, limits } = this.#parts
    const { ended, longest, held, isExactlyOnce } = this.#packets.feed(chunk)
    // Nobody asked for QoS 2, and the client would keep each such message until the broker releases it.
    if (isExactlyOnce) {
      this.destroy(new Error(`${this.#name} sent a message with QoS 2, where 1 was asked for`))
      return
    }
    if (longest > limits.mqttBytes) {
      this.destroy(new Error(`${this.#name} sent a message longer than drivers.mqtt_bytes (${limits.mqttBytes})`))
      return
    }
    kept.set(this.#keeper, held)
    if (this.destroyed) return
    budget.spend(this, chunk.length, ended)
    if (!this.push(chunk)) this.#socket.pause()
    const pauseMs = budget.pauseMs(this)
    if (pauseMs <= 0) return
    this.#socket.pause()
    this.#pause ??= clock.after(pauseMs, () => {
      this.#pause = undefined
      this.#socket.resume()
    })
  }
}

/** Type of a packet. @source MQTT 3.1.1, 2.2.1 */
const PUBLISH = 3

/**
 * Follows packets through a stream: one byte of type, one to four of length, the rest.
 * @returns how many ended, the longest that has begun, the bytes so far of the one that has not ended, and whether one
 * is a PUBLISH with QoS 2
 * @source MQTT 3.1.1, 2.2, 3.3.1
 */
function createPacketCounter() {
  let left = 0
  let length = 0
  /** Bytes of the head that have come: 0 outside of it. */
  let head = 0
  let whole = 0

  function feed(bytes: Uint8Array): { ended: number; longest: number; held: number; isExactlyOnce: boolean } {
    let ended = 0
    let longest = 0
    let isExactlyOnce = false
    for (let at = 0; at < bytes.length; ) {
      if (left > 0) {
        const step = Math.min(left, bytes.length - at)
        left -= step
        at += step
        if (left === 0) ended++
        continue
      }
      const byte = bytes[at++] ?? 0
      if (head === 0) {
        head = 1
        length = 0
        isExactlyOnce ||= byte >> 4 === PUBLISH && (byte & 0b110) === 0b100
        continue
      }
      length += (byte & 0x7f) * 128 ** (head - 1)
      head++
      longest = Math.max(longest, length)
      // A fifth byte is no length any more: the client itself ends the connection.
      if (byte & 0x80 && head < 5) continue
      head = 0
      whole = left = length
      if (left === 0) ended++
    }
    return { ended, longest, held: left > 0 ? whole - left : head, isExactlyOnce }
  }
  return { feed }
}
