/**
 * Driver for a gateway: its zones are points of field buses, heard as they change and written by Modbus requests.
 * @source interface document 2, part A; docs/gateway.md
 */
import type { Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import {
  type ModbusWrite,
  type PointReading,
  pointWrite,
  readGatewayMessage,
  readGatewayRefusal,
  readPortPoints,
} from '../../../wire/gateway.ts'
import { foldedName } from '../../control/reading.ts'
import { isObject, type Json } from '../../json.ts'
import type { Row } from '../../site/book.ts'
import type {
  Ack,
  DeviceAnswer,
  DeviceRequest,
  Driver,
  DriverCommand,
  DriverContext,
  DriverSession,
  WebPlace,
} from '../driver.ts'
import { checkIsPlain, checkNotMoved, gatewayPlaceOf, ROOT_KEY } from './gateway-place.ts'
import { type KnownPoint, readingsPatch, wantedOf, type ZonePoints, zonePointsOf } from './zone-points.ts'

/** An older table is read again before a point is written: somebody may have moved the point to another register. */
const TABLE_MS = 10_000

/** Least time between two readings of all points because of what the gateway said. */
const READ_AGAIN_MS = 1000

/** Fields of `rest/request`. */
const REQUEST_FIELDS = ['unitId', 'fc', 'address', 'quantity', 'values', 'and_mask', 'or_mask', 'write_address']

/** `config.feed`: how changes arrive. */
const FEEDS = ['socket', 'webhook'] as const

/** A shorter secret is guessed from one webhook that was overheard; triggers ask for as many characters. */
const SHORTEST_SECRET = 16

export function createGatewayDriver(): Driver {
  return {
    name: 'gateway',
    reads: () => ({
      transport: ['host', 'port', 'tls', 'line'],
      config: ['feed', 'webhook_secret', ROOT_KEY],
      polls: true,
    }),
    flaw: flawOf,
    webhookSecret: secretOf,
    async open(device, zones, context) {
      const session = new GatewaySession(device, zones, context)
      await session.open()
      return session
    },
  }
}

function flawOf(device: Row): string | undefined {
  try {
    gatewayPlaceOf(device)
  } catch (fault) {
    return (fault as Fault).message
  }
  const feed = feedOf(device)
  if (!FEEDS.some((known) => known === feed))
    return `config.feed is ${JSON.stringify(feed)}, known are ${FEEDS.join(', ')}`
  return feed === 'webhook' && secretOf(device) === undefined
    ? `config.webhook_secret has to have ${SHORTEST_SECRET} characters at least`
    : undefined
}

function secretOf({ config }: Row): string | undefined {
  const secret = isObject(config) ? config.webhook_secret : undefined
  return typeof secret === 'string' && secret.length >= SHORTEST_SECRET ? secret : undefined
}

function feedOf({ config }: Row): Json {
  return (isObject(config) ? config.feed : undefined) ?? 'socket'
}

/** A point that zones have, and since which of all messages its value is known. */
interface HeldPoint extends KnownPoint {
  zones: ZonePoints[]
  /** The count of messages when it was told last. */
  toldAt: number
  /** Since when its value is known, by the gateway's clock; undefined while that time is not known. */
  timestamp: number | undefined
}

/** A port of the gateway that zones have points of. */
interface HeldPort {
  path: string
  points: Map<string, HeldPoint>
  /** When its table was read, by the monotonic clock. */
  readMs: number
}

class GatewaySession implements DriverSession {
  readonly #context: DriverContext
  readonly #place: WebPlace
  readonly #headers: Readonly<Record<string, string>>
  readonly #feed: Json
  readonly #line: string
  readonly #ports = new Map<string, HeldPort>()
  readonly #zones = new Map<number, ZonePoints | Fault>()
  readonly #ended = new AbortController()
  /** Counts messages, so that an answer knows what was told after its question. */
  #told = 0
  #isReading = false
  #isReadWanted = false
  #rest: Timer | undefined

  constructor(device: Row, zones: readonly Row[], context: DriverContext) {
    const key = context.secret('api_key') ?? ''
    if (!/^[\x21-\x7e]{1,512}$/.test(key))
      throw new Fault('device_refused', 'it has no api_key: make one at the gateway, and put it into the device')
    const { line } = (device.transport ?? {}) as { readonly line?: Json }
    this.#context = context
    this.#place = gatewayPlaceOf(device)
    this.#headers = { authorization: `Bearer ${key}` }
    this.#feed = feedOf(device)
    this.#line = typeof line === 'string' ? line : ''
    for (const zone of zones) this.#addZone(zone)
  }

  /** Hears of changes before it reads what is, so that no change is missed between them. */
  async open(): Promise<void> {
    const { signal } = this.#ended
    await checkIsPlain(this.#place, (asked) => this.#context.request(asked, signal))
    checkKey(await this.#get('/api/me', signal))
    if (this.#feed === 'socket') await this.#hear(signal)
    for (const port of this.#ports.values()) await this.#read(port, signal)
    this.#context.online(true)
  }

  async execute({ zone, verb, args }: DriverCommand, signal: AbortSignal): Promise<Ack> {
    const name = foldedName(verb)
    if (name === 'tx') return this.#post(this.#portFor(zone, args), 'tx', picked(args, ['hex', 'data']), signal)
    if (name === 'request')
      return this.#post(this.#portFor(zone, args), 'request', picked(args, REQUEST_FIELDS), signal)
    if (!zone) throw new Fault('driver_value', 'the gateway itself takes request and tx; other verbs go to its zones')
    const points = this.#zones.get(zone.id)
    if (points instanceof Fault) throw points
    const port = points && this.#ports.get(points.port)
    if (!points || !port) throw new Fault('point_address', `zone ${zone.id} has no points`)
    if (this.#context.clock.monotonicMs() - port.readMs > TABLE_MS) await this.#read(port, signal)
    const { point, value } = wantedOf(points, { zone, verb, args }, (named) => port.points.get(named))
    await this.#post(port.path, 'request', this.#write(port, point, value), signal)
    return {}
  }

  async poll(signal: AbortSignal): Promise<void> {
    try {
      if (this.#ports.size === 0) checkKey(await this.#get('/api/me', signal))
      for (const port of this.#ports.values()) await this.#read(port, signal)
      this.#context.online(true)
    } catch (error) {
      if (!signal.aborted) this.#context.online(false, (error as Error).message)
      throw error
    }
  }

  /**
   * The body of a webhook whose signature was right. One that is older than what is known was sent again, by whoever
   * overheard it: it says nothing, not even that the gateway is there. Where the time at the gateway is not known yet,
   * a webhook is only a reason to read the points.
   */
  tell(body: Uint8Array): void {
    const message = readGatewayMessage(body)
    if (message?.kind !== 'value') return
    const { port, reading, timestamp } = message
    const point = this.#ports.get(port)?.points.get(reading.name)
    if (point === undefined) return
    if (point.timestamp === undefined) this.#readAll()
    else if (timestamp >= point.timestamp) {
      this.#take(point, reading, timestamp)
      this.#context.online(true)
    }
  }

  async close(): Promise<void> {
    this.#rest?.cancel()
    this.#ended.abort(new Fault('device_cut_off', 'the gateway is being closed'))
  }

  #addZone(zone: Row): void {
    try {
      const points = zonePointsOf(zone, this.#line)
      this.#zones.set(zone.id, points)
      const port = this.#ports.get(points.port) ?? { path: points.port, points: new Map(), readMs: 0 }
      this.#ports.set(port.path, port)
      for (const { point } of points.links) {
        const held: HeldPoint = port.points.get(point) ?? { zones: [], toldAt: 0, timestamp: undefined }
        if (!held.zones.includes(points)) held.zones.push(points)
        port.points.set(point, held)
      }
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault
      this.#zones.set(zone.id, fault)
      this.#context.report({ zoneId: zone.id }, { state: 'unknown', error: fault.message })
    }
  }

  async #hear(signal: AbortSignal): Promise<void> {
    const place = { kind: 'websocket', ...this.#place, path: '/ws', headers: this.#headers } as const
    const connection = await this.#context.connect(place, (frame) => this.#heard(frame))
    const [only, other] = [...this.#ports.keys()]
    const wish = {
      type: 'subscribe',
      events: ['value'],
      ...(only !== undefined && other === undefined ? { port: only } : {}),
    }
    await connection.send(new TextEncoder().encode(JSON.stringify(wish)), signal)
  }

  #heard(frame: Uint8Array): boolean {
    const message = readGatewayMessage(frame)
    if (message === undefined) return false
    this.#context.online(true)
    if (message.kind === 'missed') this.#readAll()
    if (message.kind === 'refused') this.#context.log(`the gateway says: ${message.sentence}`)
    if (message.kind !== 'value') return true
    const point = this.#ports.get(message.port)?.points.get(message.reading.name)
    if (!point) return true
    // The first value of a point that had one: its definition has changed.
    if (message.isFirst && (point.reading?.value ?? null) !== null) this.#readAll()
    this.#take(point, message.reading, message.timestamp)
    return true
  }

  #take(point: HeldPoint, reading: PointReading, timestamp: number): void {
    this.#told++
    point.reading = reading
    point.toldAt = this.#told
    point.timestamp = timestamp
    for (const zone of point.zones) this.#report(zone)
  }

  #report(zone: ZonePoints): void {
    const points = this.#ports.get(zone.port)?.points
    this.#context.report(
      { zoneId: zone.id },
      readingsPatch(zone, (point) => points?.get(point)),
    )
  }

  /** Reads all ports, once more afterwards if that is asked for meanwhile. */
  #readAll(): void {
    this.#isReadWanted = true
    if (!this.#isReading) void this.#readRound()
  }

  async #readRound(): Promise<void> {
    const { signal } = this.#ended
    this.#isReading = true
    this.#isReadWanted = false
    try {
      for (const port of this.#ports.values()) await this.#read(port, signal)
    } catch (error) {
      if (!signal.aborted) this.#context.online(false, (error as Error).message)
    }
    if (signal.aborted) return
    this.#rest = this.#context.clock.after(READ_AGAIN_MS, () => {
      this.#isReading = false
      if (this.#isReadWanted) void this.#readRound()
    })
  }

  /** What was told since the question is newer than the answer. */
  async #read(port: HeldPort, signal: AbortSignal): Promise<void> {
    const askedAt = this.#told
    const answer = await this.#get(`/api/ports/${encodeURIComponent(port.path)}/points`, signal)
    checkKey(answer)
    const said = answer.status === 200 ? readPortPoints(answer.body) : undefined
    if (answer.status === 200 && said === undefined)
      throw new Fault('device_answer', `${this.#place.host} answers what no gateway says: look at host and port`)
    const readings = new Map(said?.readings.map((reading) => [reading.name, reading]))
    const places = new Map(said?.places.map((place) => [place.name, place]))
    for (const [name, point] of port.points) {
      point.place = places.get(name)
      if (point.toldAt > askedAt) continue
      point.reading = readings.get(name)
      point.timestamp = said?.saidAt ?? point.timestamp
    }
    port.readMs = this.#context.clock.monotonicMs()
    for (const zone of new Set([...port.points.values()].flatMap(({ zones }) => zones))) this.#report(zone)
    if (said === undefined) this.#context.log(`port ${port.path}: ${refusalOf(answer)}`)
  }

  #write(port: HeldPort, point: string, value: number | string | boolean): ModbusWrite {
    const place = port.points.get(point)?.place
    if (!place)
      throw new Fault('point_unwritable', `port ${port.path} of the gateway has no point ${JSON.stringify(point)}`)
    return pointWrite(place, value)
  }

  /** The port of a request: as it says, that of its zone, or the only one. */
  #portFor(zone: Row | undefined, { port }: Readonly<Record<string, Json>>): string {
    const own = zone && this.#zones.get(zone.id)
    const [only, other] = [...this.#ports.keys()]
    const named =
      typeof port === 'string' && port !== ''
        ? port
        : (own && !(own instanceof Fault) ? own.port : this.#line) || (other === undefined ? only : undefined)
    if (named === undefined || named === '')
      throw new Fault('point_address', 'the gateway has several ports: name one, as {"port": "/dev/ttyUSB0"}')
    return named
  }

  #get(path: string, signal: AbortSignal): Promise<DeviceAnswer> {
    return this.#ask({ ...this.#place, method: 'GET', path, headers: this.#headers }, signal)
  }

  /** @throws Fault `gateway_https` */
  async #ask(asked: DeviceRequest, signal: AbortSignal): Promise<DeviceAnswer> {
    const answer = await this.#context.request(asked, signal)
    checkNotMoved(this.#place, answer)
    return answer
  }

  /** @param body is what the schema of the gateway takes: it says itself what is wrong with it */
  async #post(port: string, action: 'tx' | 'request', body: object, signal: AbortSignal): Promise<Ack> {
    const headers = { ...this.#headers, 'content-type': 'application/json' }
    const path = `/api/ports/${encodeURIComponent(port)}/rest/${action}`
    const bytes = new TextEncoder().encode(JSON.stringify(body))
    const answer = await this.#ask({ ...this.#place, method: 'POST', path, headers, body: bytes }, signal)
    if (answer.status !== 200) throw new Fault('device_refused', refusalOf(answer))
    return answerOf(answer)
  }
}

function answerOf({ body }: DeviceAnswer): Ack {
  try {
    return { answer: JSON.parse(new TextDecoder().decode(body)) as Json }
  } catch (cause) {
    throw new Fault('device_answer', 'the gateway answers what is no JSON: look at host and port', { cause })
  }
}

function picked(args: Readonly<Record<string, Json>>, names: readonly string[]): Record<string, Json> {
  return Object.fromEntries(names.flatMap((name) => (args[name] === undefined ? [] : [[name, args[name]]])))
}

/** @throws Fault `device_refused` */
function checkKey(answer: DeviceAnswer): void {
  if (answer.status === 401)
    throw new Fault('device_refused', 'the gateway takes no key from here: put a valid one into api_key of the device')
}

function refusalOf({ status, body }: DeviceAnswer): string {
  const sentence = readGatewayRefusal(body)
  return sentence === undefined ? `the gateway answers ${status}` : `the gateway says: ${sentence}`
}
