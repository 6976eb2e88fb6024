/** The outlet of a daemon to its MQTT broker: the connection, and the topics that outlive a run. */
import { randomBytes } from 'node:crypto'
import { connect, isIP, type Socket } from 'node:net'
import tls from 'node:tls'
import type { MqttClient } from 'mqtt'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Clock, Timer } from '../../clock.ts'
import type { Log } from '../../log.ts'
import { Fault } from '../../pure/fault.ts'
import { type BrokerLink, Outlet, type OutletView } from '../../pure/mqtt-outlet.ts'
import { durationText } from '../../pure/text.ts'
import type { Conditions } from '../../records/ledger-entry.ts'
import { readNamed, whyUnread } from '../../run/named-file.ts'
import type { Part } from '../../run/parts.ts'
import { createStore, type Store } from '../../store/store.ts'
import { certificateSentence, lookupSafely, trustedAuthorities } from '../target.ts'
import { addressOfBroker, type BrokerAddress, type MqttConfig } from './settings.ts'

// The state file: an id for life, and which topics the broker keeps.

const kept = Type.Object(
  {
    id: Type.String({ pattern: '^[0-9a-f]{12}$' }),
    topics: Type.Array(Type.String({ maxLength: 4096 }), { maxItems: 200_000 }),
  },
  { additionalProperties: false },
)
type Kept = Static<typeof kept>

function checkKept(value: unknown): Kept {
  if (Value.Check(kept, value)) return value
  throw new Fault('store_damaged', 'it is no list of topics at the MQTT broker')
}

/** Other topics within this time are written to the disk once. */
const SAVE_MS = 1000

/** Keeps the list of topics in the state file, so that what is removed while a broker is away is removed in the end. */
class KeptTopics {
  readonly #store: Store<Kept>
  readonly #clock: Clock
  readonly #log: Log
  #list: () => string[] = () => []
  #kept: Kept = { id: randomBytes(6).toString('hex'), topics: [] }
  #timer: Timer | undefined

  constructor({ clock, log, stateFolder: folder }: Pick<MqttNeeds, 'clock' | 'log' | 'stateFolder'>) {
    this.#clock = clock
    this.#log = log
    this.#store = createStore<Kept>({ folder, name: 'mqtt', check: checkKept, initial: () => this.#kept, log, clock })
  }

  async load(): Promise<Kept> {
    this.#kept = await this.#store.load()
    // At once, so that the id is the same at the next start.
    await this.#store.save(this.#kept)
    return this.#kept
  }

  follow(list: () => string[]): void {
    this.#list = list
  }

  changed(): void {
    this.#timer ??= this.#clock.after(SAVE_MS, () => {
      this.#timer = undefined
      void this.save()
    })
  }

  async save(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = undefined
    try {
      await this.#store.save({ ...this.#kept, topics: this.#list() })
    } catch (fault) {
      // At worst the broker keeps a topic too long.
      this.#log.warning('topics at the MQTT broker not noted', { fault })
    }
  }
}

// The outlet of a daemon.

type OutletConfig = Omit<MqttConfig, 'retain'>

interface MqttNeeds {
  clock: Clock
  log: Log
  stateFolder: string
  config: { mqtt: OutletConfig }
  /** In the place of the one in `password_file`. */
  password?: string | null
  /** Where it says `online` and `offline`, below the prefix. */
  statusLevel?: string
  conditions: Conditions
  /** 0 <= n < 1 */
  chance(): number
}

/** The outlet as its daemon uses it. */
export interface MqttOutlet extends Pick<Outlet, 'keep' | 'drop' | 'tell' | 'test'> {
  /** Of this daemon, for life. */
  id: string
  prefix: string
  statusTopic: string
  /** HOST:PORT */
  broker: string
  isSecure: boolean
  view(): OutletView
  part: Part
}

/**
 * @returns undefined if no broker is set
 * @throws Fault `ca_file_unreadable`, `password_file_unreadable`, `store_damaged`
 */
export async function openMqttOutlet(needs: MqttNeeds): Promise<MqttOutlet | undefined> {
  const { chance, clock, conditions, password, statusLevel = 'status' } = needs
  const config = needs.config.mqtt
  const place = addressOfBroker(config.url)
  if (!place) return undefined
  const keptTopics = new KeptTopics(needs)
  const before = await keptTopics.load()
  const prefix = config.topic_prefix.replaceAll('{id}', before.id)
  const statusTopic = `${prefix}/${statusLevel}`
  const where = place.host.includes(':') ? `[${place.host}]:${place.port}` : `${place.host}:${place.port}`
  const dialer = new Dialer({ clock, config, password, place, where, statusTopic, id: before.id })
  const outlet = new Outlet({
    ...{ clock, chance, conditions, where, statusTopic },
    limits: {
      topics: config.topics,
      queue: config.queue,
      queueBytes: config.queue_bytes,
      inFlight: config.in_flight,
      answerMs: config.answer_ms,
      firstMs: config.retry_first_ms,
      maxMs: Math.max(config.retry_first_ms, config.retry_max_ms),
    },
    connect: (lost, signal) => dialer.connect(lost, signal),
    onTopics: () => keptTopics.changed(),
  })
  keptTopics.follow(() => outlet.topics())
  return {
    ...{ id: before.id, prefix, statusTopic, broker: where, isSecure: place.isSecure },
    keep: (...args) => outlet.keep(...args),
    drop: (topic) => outlet.drop(topic),
    tell: (topic, payload) => outlet.tell(topic, payload),
    test: (topic, payload) => outlet.test(topic, payload),
    view: () => outlet.view(),
    part: {
      name: 'mqtt',
      start: () => outlet.open(before.topics),
      async stop() {
        await outlet.close()
        await keptTopics.save()
      },
      stopDeadlineMs: 10_000,
    },
  }
}

// Connecting.

interface DialerParts {
  clock: Clock
  config: OutletConfig
  password: string | null | undefined
  place: BrokerAddress
  where: string
  statusTopic: string
  id: string
}

/** Reads the files of the settings once, so that what is wrong with them is said at the start. */
class Dialer {
  readonly #parts: DialerParts
  readonly #password: string | null
  readonly #secureContext: tls.SecureContext | undefined

  constructor(parts: DialerParts) {
    const { ca_file: file, password_file: secret } = parts.config
    this.#parts = parts
    this.#password = parts.password === undefined ? (secret === '' ? null : passwordOf(secret)) : parts.password
    if (file !== '') this.#secureContext = tls.createSecureContext({ ca: trustedAuthorities(CA_SETTING, file) })
  }

  async connect(lost: (why: Fault) => void, signal: AbortSignal): Promise<BrokerLink> {
    const { clock, config, id, statusTopic, where } = this.#parts
    // Loaded with the first connection: a daemon without a broker does not hold it in memory.
    const { connectMqtt, MqttStream } = await import('./client.ts')
    // An abort during the import is not reported again: a connection made now would outlive the outlet.
    signal.throwIfAborted()
    const socket = await this.#dial(signal)
    const stream = new MqttStream(socket, {
      clock,
      name: where,
      limit: { packetBytes: config.packet_bytes, setting: 'mqtt.packet_bytes' },
      hears: false,
    })
    const over = Promise.withResolvers<never>()
    over.promise.catch(() => {}) // told by `lost`; who waits for a message hears it too
    signal.addEventListener('abort', () => stream.destroy(), { once: true })
    let isTaken = false
    let why: Fault | undefined
    const ended = (reason: string) => {
      why = new Fault('broker_lost', reason)
      over.reject(why)
      if (isTaken) lost(why) // else it is thrown here
    }
    const will = { topic: statusTopic, payload: 'offline', qos: config.qos, isRetained: true }
    const session = {
      clientId: config.client_id || `plantroom-${id}`,
      username: config.username || null,
      password: this.#password,
      keepAliveS: config.keep_alive_s,
      will,
    }
    const parts = { clock, name: where, connectMs: config.connect_ms, session, faults: this.#faults(), ended }
    const client = await connectMqtt(stream, parts, signal)
    isTaken = true
    if (why) throw why
    return linkOf(client, config.qos, over.promise)
  }

  #faults() {
    const { isSecure } = this.#parts.place
    const hint = isSecure ? '' : '; one that wants TLS does so: write mqtts:// then'
    return {
      silent: (sentence: string) => new Fault('broker_unreachable', sentence),
      refused: (sentence: string, cause: unknown) => new Fault('broker_refused', sentence, { cause }),
      broken: (sentence: string, cause: unknown) =>
        new Fault('broker_lost', `${sentence} before it has taken this client${hint}`, { cause }),
    }
  }

  #dial(signal: AbortSignal): Promise<Socket> {
    const { clock, config, place, where } = this.#parts
    const { host, isSecure, port } = place
    const to = { host, port, lookup: lookupSafely, noDelay: true, keepAlive: true }
    const name = isIP(host) ? {} : { servername: host }
    const secureContext = this.#secureContext && { secureContext: this.#secureContext }
    const socket = isSecure ? tls.connect({ ...to, ...name, ...secureContext }) : connect(to)
    return new Promise((resolve, reject) => {
      const within = durationText(config.connect_ms)
      const late = () => fail(new Fault('broker_unreachable', `${where} did not answer within ${within}`))
      const timer = clock.after(config.connect_ms, late)
      const fail = (reason: unknown) => {
        timer.cancel()
        socket.destroy()
        reject(reason)
      }
      signal.addEventListener('abort', () => fail(signal.reason), { once: true })
      // Stays for good: a socket whose errors nobody hears would end the daemon.
      socket.on('error', (error) => fail(unreachable(where, isSecure, error)))
      socket.once('close', () => fail(new Fault('broker_unreachable', `${where} closed the connection`)))
      socket.once(isSecure ? 'secureConnect' : 'connect', () => {
        timer.cancel()
        resolve(socket)
      })
    })
  }
}

const CA_SETTING = 'mqtt.ca_file'

function passwordOf(file: string): string {
  try {
    return readNamed(file).toString('utf8').trim()
  } catch (cause) {
    throw new Fault('password_file_unreadable', `mqtt.password_file ${file} cannot be read (${whyUnread(cause)})`, {
      cause,
    })
  }
}

function unreachable(where: string, isSecure: boolean, cause: NodeJS.ErrnoException): Fault {
  if (cause instanceof Fault) return cause
  const certificate = certificateSentence(cause, CA_SETTING)
  if (certificate !== undefined) return new Fault('broker_certificate', `${where}: ${certificate}`, { cause })
  const { code = cause.message } = cause
  if (isSecure && /^(?:EPROTO|ERR_SSL_)/.test(code))
    return new Fault('broker_unreachable', `${where} does not speak TLS (${code}); write mqtt:// if it has none`, {
      cause,
    })
  const sentence =
    code === 'ECONNREFUSED' ? 'refuses connections: it is not running, or listens elsewhere' : 'cannot be reached'
  return new Fault('broker_unreachable', `${where} ${sentence} (${code})`, { cause })
}

/** @param over rejects once the connection has ended */
function linkOf(client: MqttClient, qos: 0 | 1, over: Promise<never>): BrokerLink {
  return {
    publish({ topic, payload, isRetained }) {
      const done = new Promise<void>((resolve, reject) => {
        client.publish(topic, payload, { qos, retain: isRetained }, (error) => (error ? reject(error) : resolve()))
      })
      done.catch(() => {}) // it may fail after the connection has ended
      return Promise.race([done, over])
    },
    async close() {
      // It says so when the broker has closed the connection; one that is closed already says nothing.
      const left = new Promise<void>((resolve) => client.end(false, {}, () => resolve()))
      await Promise.race([left, over]).catch(() => {})
    },
  }
}
