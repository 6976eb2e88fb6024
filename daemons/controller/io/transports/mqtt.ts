/** MQTT to devices: one connection for each broker and account, shared by the devices behind it, within limits. */
import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import type { MqttClient } from 'mqtt'
import type { Clock } from '#kit/clock.ts'
import { connectMqtt, MqttStream } from '#kit/net/mqtt/client.ts'
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

/** Seconds between signs of life. */
const KEEP_ALIVE_S = 30

/** Faults of a failed connection. The host of drivers opens the device again, with its usual back-off. */
const FAULTS = {
  silent: (sentence: string) => new Fault('device_unreachable', sentence),
  refused: (sentence: string, cause: unknown) => new Fault('broker_refused', sentence, { cause }),
  broken: (sentence: string, cause: unknown) => new Fault('device_cut_off', sentence, { cause }),
}

function clientId(): string {
  return `plantroom-${randomBytes(6).toString('hex')}`
}

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
    const stream = this.#streamOf(socket)
    const { username, password } = place
    const client = await connectMqtt(
      stream,
      {
        clock,
        name: this.#name,
        connectMs: limits.connectMs,
        session: { clientId: clientId(), username, password, keepAliveS: KEEP_ALIVE_S },
        faults: FAULTS,
        ended: (reason) => this.#end(reason),
      },
      this.#stopper.signal,
    )
    this.#live = client
    client.on('message', (topic, payload) => this.#hear(topic, payload))
    return client
  }

  /** Its bytes count against those of all devices. */
  #streamOf(socket: Socket): MqttStream {
    const { budget, clock, kept, limits } = this.#parts
    const keeper = { give: (reason: string) => void stream.destroy(new Error(reason)) }
    budget.join(keeper)
    const stream: MqttStream = new MqttStream(socket, {
      clock,
      name: this.#name,
      limit: { packetBytes: limits.mqttBytes, setting: 'drivers.mqtt_bytes' },
      hears: true,
      gate: {
        held: (bytes) => kept.set(keeper, bytes),
        taken(bytes, packets) {
          budget.spend(keeper, bytes, packets)
          return budget.pauseMs(keeper)
        },
        closed() {
          budget.leave(keeper)
          kept.set(keeper, 0)
        },
      },
    })
    return stream
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
