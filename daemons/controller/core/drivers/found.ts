/** Boards, gateways and recorders that announce themselves on the network, and the rows that make devices of them. */
import { Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import type { HeardService } from '#kit/net/mdns/library.ts'
import { Fault } from '#kit/pure/fault.ts'
import { dropGreediest } from '#kit/pure/pace.ts'
import { plainText } from '#kit/pure/text.ts'
import { isObject, type Json } from '../json.ts'
import { countKey } from '../keys.ts'
import type { Book, Row } from '../site/book.ts'
import { driverNameOf } from './driver.ts'
import { ROOT_KEY, rootOf, writtenPlace } from './gateway/gateway-place.ts'
import { RECORDER_PORT } from './recorder/recorder.ts'

/** Boards, gateways and recorders of the network that are no devices yet. */
export const foundKeys = Type.Object(
  {
    query_ms: countKey(
      'ms',
      10_000,
      [1000, 600_000],
      'how often the network is asked which boards, gateways and recorders there are',
    ),
    forget_ms: countKey('ms', 60_000, [15_000, 86_400_000], 'after so long without being announced one is not listed'),
    max: countKey('', 256, [1, 4096], 'daemons listed; of the sender with most the oldest goes first'),
    per_sender: countKey('', 32, [1, 4096], 'of one sender, which may be a repeater'),
  },
  { additionalProperties: false, default: {}, description: 'boards, gateways and recorders found on the network' },
)

/** Drivers of what can be found. */
export const foundDrivers = ['board', 'gateway', 'recorder'] as const
export type FoundDriver = (typeof foundDrivers)[number]

/** Roles that have a driver here. */
const DRIVERS: ReadonlyMap<string, FoundDriver> = new Map<string, FoundDriver>([
  ['gateway', 'gateway'],
  ['recorder', 'recorder'],
  ...(['encoder', 'decoder', 'serial', 'usbip'] as const).map((role) => [role, 'board'] as const),
])

/** What a daemon says of itself. Whoever can send to the network can say it. */
export interface FoundDaemon {
  /** Its full name on the network. */
  id: string
  role: string
  driver: FoundDriver
  name: string
  /** `lobby.local`, or empty. */
  host: string
  address: string
  port: number
  version: string | null
  /** Epoch ms. */
  heardAt: number
  /** Whether it announces HTTPS: then it is adopted together with its root CA. */
  hasTls: boolean
  /** The device that it is already; `isMoved` if its row has another address, `hasRoot` if a root CA was adopted. */
  device: { id: number; name: string; isMoved: boolean; hasRoot: boolean } | null
}

/** What somebody fills in to make a device of a daemon. */
export interface AdoptWish {
  /** As it was listed. */
  id: string
  name?: string
  secret?: string
}

export interface FoundLimits {
  /** After so long without being announced it is no longer listed. */
  forgetMs: number
  /** Most daemons in all, and of one sender. */
  max: number
  perSender: number
}

interface Heard {
  service: HeardService
  driver: FoundDriver
  atMs: number
  heardAt: number
}

/** After a goodbye, which anybody can send, it has so much time to be heard again. */
const DOUBT_MS = 15_000
const LONGEST_NAME = 60
const VERSION = /^\d{1,5}\.\d{1,5}\.\d{1,5}(?:[-+][0-9A-Za-z.+-]{1,32})?$/

/** Lives as long as the daemon. */
export class FoundDaemons {
  readonly #clock: Clock
  readonly #book: Book
  readonly #limits: FoundLimits
  readonly #heard = new Map<string, Heard>()

  constructor(clock: Clock, book: Book, limits: FoundLimits) {
    this.#clock = clock
    this.#book = book
    this.#limits = limits
  }

  /** A claim in the name of one that was just heard from elsewhere is left out: it may be anybody's. */
  hear(service: HeardService): void {
    const driver = DRIVERS.get(service.text.get('role') ?? '')
    if (!driver || service.reach.length === 0) return
    this.#forgetOld()
    const before = this.#heard.get(service.id)
    if (before && before.service.from !== service.from && this.#ageMs(before) < this.#limits.forgetMs / 2) return
    if (!before) this.#makeRoom(service.from)
    const atMs = this.#clock.monotonicMs()
    this.#heard.set(service.id, { service, driver, atMs, heardAt: this.#clock.epochMs() })
  }

  doubt(id: string): void {
    const heard = this.#heard.get(id)
    if (heard) heard.atMs = Math.min(heard.atMs, this.#clock.monotonicMs() - this.#limits.forgetMs + DOUBT_MS)
  }

  /** By name. */
  list(): FoundDaemon[] {
    this.#forgetOld()
    const devices = this.#devices()
    return [...this.#heard.values()]
      .map((heard) => foundOf(heard, devices))
      .sort((one, other) => one.name.localeCompare(other.name) || (one.id < other.id ? -1 : 1))
  }

  /**
   * The row of a site file that makes a device of it, or gives its device the address where it is now.
   * @param wish.secret a board's password, a key of a gateway, or a token of a recorder
   * @param wish.root root CA of a gateway or recorder, PEM, whose fingerprint somebody compared; the device uses TLS from then on
   * @param waiting devices that wait for Apply All
   * @throws Fault `found_gone`, `found_known`, `found_root`
   */
  rowOf({ id, name, secret, root }: AdoptWish & { root?: string }, waiting: readonly Row[] = []): Record<string, Json> {
    const found = this.daemon(id)
    const { driver, device, address, port, hasTls } = found
    if (device && !device.isMoved && root === undefined)
      throw new Fault('found_known', `It is device ${device.id} already, ${JSON.stringify(device.name)}.`)
    if (waiting.some((row) => row.serial_number === labelOf(id)))
      throw new Fault('found_known', 'It was adopted already, and waits for Apply All.')
    if (hasTls && root === undefined && !device?.hasRoot)
      throw new Fault('found_root', 'It speaks HTTPS. Compare the fingerprint of its root CA, then adopt it with that.')
    const before = device ? this.#book.row('device', device.id) : undefined
    const transport = {
      ...objectOf(before?.transport),
      kind: driver,
      host: address,
      port,
      // A recorder's root says it alone.
      ...(root !== undefined && driver === 'gateway' && { tls: true }),
    }
    const config: Record<string, Json> =
      root === undefined ? {} : { config: { ...objectOf(before?.config), [ROOT_KEY]: root } }
    if (device) return { id: device.id, transport, ...config }
    return {
      name: this.#freeName(plainText(name ?? '', LONGEST_NAME) || found.name, waiting),
      ...{ driver, transport, serial_number: labelOf(id), model: found.role, firmware: found.version },
      ...(secret ? { [driver === 'board' ? 'password' : 'api_key']: secret } : {}),
      ...config,
    }
  }

  /** @throws Fault `found_gone` */
  daemon(id: string): FoundDaemon {
    const found = this.list().find((each) => each.id === id)
    if (!found) throw new Fault('found_gone', 'It is not announced any more. Look whether it runs, then look again.')
    return found
  }

  /** A row of a site file that has the name of another would change that. */
  #freeName(name: string, waiting: readonly Row[]): string {
    const taken = new Set([...this.#book.rows('device'), ...waiting].map((device) => device.name))
    let free = name
    for (let n = 2; taken.has(free); n++) free = `${name} ${n}`
    return free
  }

  #devices(): Devices {
    const own = this.#book.rows('device').filter((row) => foundDrivers.some((driver) => driver === driverNameOf(row)))
    return {
      byLabel: new Map(own.map((row) => [row.serial_number, row])),
      byPlace: new Map(own.map((row) => [placeOf(row), row])),
    }
  }

  #ageMs({ atMs }: Heard): number {
    return this.#clock.monotonicMs() - atMs
  }

  #forgetOld(): void {
    for (const [id, heard] of this.#heard) if (this.#ageMs(heard) > this.#limits.forgetMs) this.#heard.delete(id)
  }

  #makeRoom(sender: string): void {
    const { max, perSender } = this.#limits
    const own = [...this.#heard].filter(([, { service }]) => service.from === sender)
    const [oldest] = own
    if (own.length >= perSender && oldest) this.#heard.delete(oldest[0])
    dropGreediest(this.#heard, max, ({ service }) => service.from)
  }
}

interface Devices {
  byLabel: ReadonlyMap<Json | undefined, Row>
  byPlace: ReadonlyMap<string, Row>
}

function foundOf({ service, driver, heardAt }: Heard, { byLabel, byPlace }: Devices): FoundDaemon {
  const { id, host, port, reach, text } = service
  const bare = host.replace(/\.local$/, '')
  const version = text.get('version') ?? ''
  const places = [...reach, host, bare].map((each) => `${each}:${port}`)
  const here = places.map((place) => byPlace.get(place)).find((row) => row !== undefined)
  const row = here ?? byLabel.get(labelOf(id))
  return {
    ...{ id, role: text.get('role') ?? '', driver, host, port, heardAt },
    name: plainText(text.get('name') ?? '', LONGEST_NAME) || bare || labelOf(id),
    address: reach[0] ?? '',
    version: VERSION.test(version) ? version : null,
    hasTls: driver !== 'board' && text.get('scheme') === 'https',
    device: row
      ? { id: row.id, name: String(row.name ?? ''), isMoved: here === undefined, hasRoot: rootOf(row) !== undefined }
      : null,
  }
}

/** `board-4f0c1a2b9d`, which stays the same over restarts and addresses. */
function labelOf(id: string): string {
  return plainText(id.split('.', 1)[0] ?? '', LONGEST_NAME)
}

function placeOf(row: Row): string {
  const { host, port: written } = writtenPlace(row)
  const port = written ?? (driverNameOf(row) === 'recorder' ? RECORDER_PORT : null)
  return `${String(host).toLowerCase()}:${port}`
}

function objectOf(value: Json | undefined): Readonly<Record<string, Json>> {
  return isObject(value) ? value : {}
}
