/** mDNS for a daemon: its instance name, announcing it and finding others on every link, as links come and go. */
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { hostname as machineName } from 'node:os'
import type { Clock, Timer } from '../../clock.ts'
import { type MdnsConfig, parseListen } from '../../config/tables.ts'
import type { Log } from '../../log.ts'
import { plainText } from '../../pure/text.ts'
import type { Part } from '../../run/parts.ts'
import { interfacesNow } from '../address.ts'
import {
  DAEMON,
  domainOf,
  type HeardService,
  type Library,
  LibrarySocket,
  labelsOf,
  openLibrary,
  type ServiceKind,
  soughtOf,
} from './library.ts'
import { type Admitted, createGuard, mentions, type Refusal } from './message.ts'
import { areSameLinks, chooseLinks, type Interfaces, type Link, type OpenSockets, openMulticast } from './sockets.ts'

// Sockets and the library over them, reopened at each change of interfaces.

/** What is open now. */
interface Stage {
  links: readonly Link[]
  library: Library
  /** Skips a question that anybody asked within this time. */
  spareQuestions(withinMs: number): void
  /** @param farewell whether to withdraw what was announced */
  close(farewell: boolean): Promise<void>
}

/** Dependencies and settings. */
interface StageOptions {
  clock: Clock
  links: readonly Link[]
  port: number
  openSockets: OpenSockets
  chance(): number
  kind: ServiceKind
  /** The machine's host name, lower case, without a domain. Undefined if nothing is announced. */
  hostname: string | undefined
  /** The instance name announced. Undefined if nothing is announced. */
  instance: string | undefined
  perSecond: number
  isFinding: boolean
  onRefused(why: Refusal): void
  /** bonjour-service threw at a message. */
  onBroken(from: string, fault: unknown): void
  /** One link, or all, cannot send or receive. */
  onTrouble(link: Link | undefined, fault: unknown): void
}

/** How long a farewell may take. */
const FAREWELL_MS = 500

/** @throws the system's error if the port cannot be shared */
async function openStage(options: StageOptions): Promise<Stage> {
  const { clock, links, port, kind, isFinding, chance, hostname, openSockets, onTrouble } = options
  const sought = soughtOf(kind)
  const own = options.instance === undefined ? [] : [asHeard(options.instance)]
  const guard = createGuard({
    clock,
    links,
    port,
    kind: sought,
    labels: [...labelsOf(kind), '_dns-sd', ...(hostname === undefined ? [] : [hostname])],
    isFinding,
    perSecond: options.perSecond,
    onRefused: options.onRefused,
  })
  function onMessage(bytes: Uint8Array, from: { address: string; port: number }): void {
    const admitted = guard(bytes, from)
    if (!admitted || isOwn(bytes, from.address, admitted)) return
    try {
      socket.hear(bytes, from, admitted)
    } catch (fault) {
      options.onBroken(from.address, fault)
    }
  }
  /** Our own messages come back to us; those of another daemon on this machine have the same address. */
  function isOwn(bytes: Uint8Array, from: string, { message, link }: Admitted): boolean {
    return message.isResponse && link.addresses.includes(from) && mentions(bytes, own)
  }
  const sockets = await openSockets({ links, port, onMessage, onTrouble })
  const send = (link: Link, bytes: Uint8Array) => sockets.send(link, bytes)
  const socket = new LibrarySocket({ clock, links, kind: sought, host: `${hostname}.local`, send, chance })
  const library = await openLibrary(socket, kind, (fault) => onTrouble(undefined, fault))
  return {
    links,
    library,
    spareQuestions(withinMs) {
      socket.spareMs = withinMs
    },
    async close(farewell) {
      if (farewell) await library.farewell(clock, FAREWELL_MS)
      library.close()
      sockets.close()
    },
  }
}

/** A name as `mentions` compares it: its bytes, one character each, letters in lower case. */
function asHeard(instance: string): string {
  return Buffer.from(instance).toString('latin1').toLowerCase()
}

/** What a daemon announces. */
export interface Announcement {
  /** For a daemon, from `instanceName`. At most 63 bytes, without dots. */
  instance: string
  /** The machine's host name; a domain behind it is dropped. */
  hostname: string
  /** Port of its HTTP interface. */
  port: number
  /** role, name, version, path and what the role adds. */
  text: Readonly<Record<string, string>>
}

/** What to do with other daemons. Without it none is looked for, and no response is decoded. */
export interface Finding {
  /** How often to ask, unless somebody else on the link has just asked. */
  queryMs: number
  /** A daemon is there or has changed: called at least once per query, and as soon as it announces itself. */
  onHeard(service: HeardService): void
  /** A goodbye was sent, perhaps by somebody else in its name: ask the daemon itself. */
  onGoodbye(id: string): void
}

/** Counts since the start. */
export interface MdnsCounts {
  refused: Readonly<Record<Refusal, number>>
  /** Messages that made bonjour-service throw. */
  broken: number
  /** Interfaces in use now. */
  links: number
}

/** Dependencies and settings; tests replace `world`. */
interface MdnsOptions {
  clock: Clock
  log: Log
  config: MdnsConfig
  /** The host that HTTP listens on: if it is one address, only that one is announced. */
  listenHost: string
  /** Default: the kind of daemons. */
  kind?: ServiceKind
  /** What to announce; called again at each check of the interfaces. Undefined if nothing is to be announced. */
  announcement(): Announcement | undefined
  finding?: Finding
  /** What `id` returns may have changed. */
  onRenamed?(): void
  world?: Partial<MdnsWorld>
}

/** System calls and chance, replaced in tests. */
export interface MdnsWorld {
  interfaces(): Interfaces
  openSockets: OpenSockets
  /** Port of the group, 5353. */
  port: number
  chance(): number
}

const WORLD: MdnsWorld = { interfaces: interfacesNow, openSockets: openMulticast, port: 5353, chance: Math.random }
/** Delays of two further questions after the start, when others may be starting too; then they are regular. */
const ASKED_AGAIN_MS = [1000, 3000]
const ASKED_APART_MS = 1000
/** Different troubles logged until the interfaces change. */
const MOST_TOLD = 64

/** The full name of an instance, lower case, as others see it. */
function fullName(instance: string, kind: ServiceKind = DAEMON): string {
  return `${instance}.${domainOf(kind)}`.toLowerCase()
}

/** One daemon on multicast DNS, from `start` to `stop`. Whatever fails is logged and tried again. */
export class Mdns {
  readonly #options: MdnsOptions
  readonly #world: MdnsWorld
  readonly #kind: ServiceKind
  readonly #wanted: string
  readonly #refused: Record<Refusal, number> = { malformed: 0, stranger: 0, flood: 0 }
  #broken = 0
  /** What is announced now. */
  #said: Announcement | undefined
  /** Appended to the instance name once another daemon has the same. */
  #suffix = ''
  #stage: Stage | undefined
  #isStarted = false
  #turn: Promise<void> = Promise.resolve()
  readonly #timers: Timer[] = []
  readonly #told = new Set<string>()
  #askedMs = Number.NEGATIVE_INFINITY
  #tried: readonly Link[] = []

  constructor(options: MdnsOptions) {
    const { config, listenHost } = options
    this.#options = options
    this.#world = { ...WORLD, ...options.world }
    this.#kind = options.kind ?? DAEMON
    this.#wanted = config.interface === '' && !isEverywhere(listenHost) ? listenHost : config.interface
  }

  async start(): Promise<void> {
    const { clock, config, finding } = this.#options
    if (!config.enabled || this.#isStarted) return
    this.#isStarted = true
    await this.#inTurn(() => this.#renew())
    this.#timers.push(clock.every(config.recheck_ms, () => this.#look()))
    if (!finding) return
    for (const delayMs of ASKED_AGAIN_MS) this.#timers.push(clock.after(delayMs, () => this.#ask()))
    const inRhythm = () => {
      this.#stage?.spareQuestions(finding.queryMs / 2)
      this.#ask()
    }
    this.#timers.push(clock.every(finding.queryMs, inRhythm))
  }

  /** Withdraws the announcement. */
  async stop(): Promise<void> {
    for (const timer of this.#timers.splice(0)) timer.cancel()
    this.#isStarted = false
    await this.#inTurn(() => this.#close(true))
  }

  /** Asks which daemons are there now, at most once a second. */
  askNow(): void {
    if (this.#options.clock.monotonicMs() - this.#askedMs < ASKED_APART_MS) return
    this.#stage?.spareQuestions(ASKED_APART_MS / 2)
    this.#ask()
  }

  /** The full name as others see it, lower case; undefined if nothing was announced yet. */
  id(): string | undefined {
    return this.#said && fullName(this.#said.instance, this.#kind)
  }

  /** Its address on the first interface in use; empty if there is none. */
  address(): string {
    return this.#stage?.links[0]?.address ?? ''
  }

  counts(): MdnsCounts {
    return { refused: { ...this.#refused }, broken: this.#broken, links: this.#stage?.links.length ?? 0 }
  }

  /**
   * Runs one after the other: an interface that changes while sockets are being opened waits. What fails is tried
   * again.
   */
  #inTurn(run: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(run).catch((fault) => this.#warn('the network could not be looked at', { fault }))
    return this.#turn
  }

  /** Reopens everything. What fails now is tried again at the next check of the interfaces. */
  async #renew(): Promise<void> {
    const said = this.#announcement()
    await this.#close(this.#said !== undefined && this.#said.instance !== said?.instance)
    this.#said = said
    this.#options.onRenamed?.()
    const links = this.#links()
    if (!areSameLinks(this.#tried, links)) this.#told.clear()
    this.#tried = links
    if (!this.#isStarted || links.length === 0) return
    try {
      this.#stage = await this.#open(links, said)
    } catch (fault) {
      this.#warn('daemons cannot find each other', { fault })
      return
    }
    if (said) {
      this.#stage.library.publish(said)
      const interfaces = links.map(({ name }) => name).join(' ')
      this.#options.log.info('announced', { instance: said.instance, port: said.port, interfaces })
    }
    this.#ask()
  }

  async #close(farewell: boolean): Promise<void> {
    const old = this.#stage
    this.#stage = undefined
    await old?.close(farewell)
  }

  #open(links: readonly Link[], said: Announcement | undefined): Promise<Stage> {
    const { clock, config, finding } = this.#options
    return openStage({
      clock,
      links,
      port: this.#world.port,
      openSockets: this.#world.openSockets,
      chance: this.#world.chance,
      kind: this.#kind,
      hostname: said?.hostname,
      instance: said?.instance,
      perSecond: config.per_second,
      isFinding: finding !== undefined,
      onRefused: (why) => void this.#refused[why]++,
      onBroken: (from, fault) => {
        this.#broken++
        this.#warn('a message could not be read', { from, fault })
      },
      onTrouble: (link, fault) => this.#warn('an interface takes no multicast', { interface: link?.name, fault }),
    })
  }

  #links(): Link[] {
    return chooseLinks(this.#world.interfaces(), this.#wanted)
  }

  #look(): void {
    void this.#inTurn(async () => {
      if (!this.#isStarted) return
      const isSame = areSameLinks(this.#stage?.links ?? [], this.#links()) && isEqual(this.#said, this.#announcement())
      if (!isSame) await this.#renew()
    })
  }

  #announcement(): Announcement | undefined {
    const said = this.#options.announcement()
    if (!said) return undefined
    const { instance, hostname, ...rest } = said
    return { ...rest, instance: instance + this.#suffix, hostname: hostLabel(hostname) }
  }

  #ask(): void {
    const { finding } = this.#options
    if (!finding || !this.#stage) return
    const { library, links } = this.#stage
    this.#askedMs = this.#options.clock.monotonicMs()
    library.find({
      onHeard: (service) => {
        if (service.id === this.id()) this.#meetDouble(service.from)
        else finding.onHeard(service)
      },
      onGoodbye: (id) => finding.onGoodbye(id),
      links,
    })
  }

  /** Cloned SD cards may share one identity: a daemon that hears its own name changes it, once. */
  #meetDouble(from: string): void {
    if (this.#suffix !== '') return
    this.#suffix = `-${randomBytes(4).toString('hex')}`
    this.#options.log.warning('another daemon goes by the same name', { from, instance: this.#said?.instance })
    void this.#inTurn(() => this.#renew())
  }

  /** Logs each trouble once, until the interfaces change. */
  #warn(what: string, facts: Record<string, unknown>): void {
    const key = `${what} ${facts.interface ?? ''}`
    if (this.#told.has(key) || this.#told.size >= MOST_TOLD) return
    this.#told.add(key)
    this.#options.log.warning(what, facts)
  }
}

function isEverywhere(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}

function isEqual(one: Announcement | undefined, other: Announcement | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

/** A valid label before `.local`, by which a daemon that is announced is found. @source RFC 1123, 2.1 */
export function hostLabel(hostname: string): string {
  const label =
    hostname
      .split('.')[0]
      ?.toLowerCase()
      .replace(/[^a-z0-9-]/g, '-')
      .slice(0, 63) ?? ''
  return label.replace(/^-+|-+$/g, '') || 'plantroom'
}

// The presence of a daemon on the network, and its name there.

// The instance name: unique on the whole network, the same at each start.

/** What tells one daemon from another. */
interface Identity {
  /** The machine's id; cloned images may share it. */
  machineId: string
  /** Hardware addresses of its network cards, which clones do not share. */
  hardware: readonly string[]
  /** Tells two daemons on one machine apart. */
  stateFolder: string
}

/**
 * `board-4f0c1a2b9d`: the machine's id is only sent as part of a digest, since it must not leave the machine.
 * @source machine-id(5), "should be considered confidential"
 */
export function instanceName(daemon: string, { machineId, hardware, stateFolder }: Identity): string {
  const digest = createHash('sha256').update(JSON.stringify(['plantroom', daemon, machineId, hardware, stateFolder]))
  return `${daemon}-${digest.digest('hex').slice(0, 10)}`
}

/** The identity of this machine and state folder. Without a machine id, cards and folder still tell it apart. */
export function identityHere(stateFolder: string): Identity {
  return { machineId: machineIdHere(), hardware: hardwareHere(), stateFolder }
}

function machineIdHere(): string {
  try {
    return readFileSync('/etc/machine-id', 'utf8').trim()
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw cause
  }
}

/** Physical cards only: bridges and tunnels get new addresses at each start. */
function hardwareHere(): string[] {
  const cards = Object.entries(interfacesNow()).filter(([name]) => existsSync(`/sys/class/net/${name}/device`))
  return [...new Set(cards.flatMap(([, infos = []]) => infos.map(({ mac }) => mac)))].sort()
}

/** What to announce for which daemon. */
interface PresenceOptions {
  clock: Clock
  log: Log
  config: { mdns: MdnsConfig; http: { listen: string } }
  stateFolder: string
  /** Name of the daemon. */
  daemon: string
  version: string
  /** Port of HTTP; called once it is known. */
  port(): number
  /**
   * Its name and role; read again from time to time. `hostname` defaults to the machine's; `more` are texts that only
   * this kind of daemon has.
   */
  says(): { role: string; name: string; hostname?: string; more?: Readonly<Record<string, string>> }
  finding?: Finding
  /** What `id` returns may have changed. */
  onRenamed?(): void
}

/** An announced daemon. */
interface Presence {
  part: Part
  /** Its full name, lower case, as others see it or would see it; it may change once. */
  id(): string
  /** Asks which daemons are there now. */
  ask(): void
  counts(): MdnsCounts
  /** Its address on the first interface in use; empty if there is none. */
  address(): string
}

/** Limit of a name: a character has four bytes at most, and a text with its key 255. @source RFC 6763, 6.1 */
const LONGEST_TEXT = 60

export function createPresence(options: PresenceOptions): Presence {
  const { clock, log, config, daemon, stateFolder, version, port, says, finding, onRenamed } = options
  const instance = instanceName(daemon, identityHere(stateFolder))
  const name = fullName(instance)
  const mdns = new Mdns({
    clock,
    log,
    config: config.mdns,
    listenHost: parseListen(config.http.listen).host,
    announcement() {
      const { role, name, hostname = machineName(), more } = says()
      const text = { role, name: plainText(name, LONGEST_TEXT), version, path: '/', ...more }
      return { instance, hostname, port: port(), text }
    },
    ...(finding ? { finding } : {}),
    ...(onRenamed ? { onRenamed } : {}),
  })
  return {
    part: { name: 'mdns', start: () => mdns.start(), stop: () => mdns.stop() },
    id: () => mdns.id() ?? name,
    ask: () => mdns.askNow(),
    counts: () => mdns.counts(),
    address: () => mdns.address(),
  }
}
