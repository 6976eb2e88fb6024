/**
 * The serial ports of a board, each with its line, TCP port and clients; looked up by number, changed and saved one
 * after another.
 */
import type { Clock } from '#kit/clock.ts'
import type { ControlledLineOpener } from '#kit/line/line.ts'
import type { Log } from '#kit/log.ts'
import type { Places } from '#kit/net/places.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createListening, type Listening } from '#kit/pure/line.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import type { Condition } from '#kit/records/ledger-entry.ts'
import type { Verdict } from '../../../core/role.ts'
import type { Setting } from '../../../core/settings/setting.ts'
import { type ClientCounts, type ClientView, PortClients } from './clients.ts'
import { type DriverTotals, KeptLine, LineDesk, type SerialPortState } from './line.ts'
import type { Listener, ListenerOpener } from './ports.ts'
import { checkPortForm, lineSettings, type PortSettings, type SerialConfig } from './settings.ts'

// One port: its line, its TCP port, its clients, and how settings are applied to them.

/** Decides which addresses may connect. */
interface AllowRule {
  allows(address: string): boolean
}

interface SerialPortParts {
  /** 1 to 4. */
  port: number
  path: string
  settings: PortSettings
  config: SerialConfig
  places: Places
  clock: Clock
  log: Log
  opener: ControlledLineOpener
  listen: ListenerOpener
  /** @throws Fault `bad_allow` */
  allowRule(text: string): AllowRule
  /** A client was refused. */
  onRefused(address: string, why: 'too many' | 'not allowed'): void
  onChange(): void
}

/** State of a port, beside its settings. */
interface SerialPortLife {
  path: string
  state: SerialPortState
  fault: { code: string; message: string } | null
  /** What this driver cannot do. */
  unsupported: readonly string[]
  /** Line settings as changed by a client, if they differ from the saved ones. */
  line_now: Pick<PortSettings, 'baud' | 'data_bits' | 'parity' | 'stop_bits' | 'flow'> | null
  clients: ClientView[]
  counters: ClientCounts & { clients: number } & Record<keyof DriverTotals, number | null>
}

/** Counts before the driver has reported any. */
const UNKNOWN: Record<keyof DriverTotals, null> = { overruns: null, framing: null, parity: null, breaks: null }

export class SerialPort {
  readonly port: number
  readonly #parts: SerialPortParts
  readonly #kept: KeptLine
  readonly #desk: LineDesk
  readonly #clients: PortClients
  #settings: PortSettings
  #allow: AllowRule
  #listening: Listening | undefined

  constructor(parts: SerialPortParts) {
    const { clock, config, log, settings, opener, path } = parts
    this.port = parts.port
    this.#parts = parts
    this.#settings = settings
    this.#allow = parts.allowRule(settings.allow)
    this.#desk = new LineDesk({
      clock,
      saved: lineSettings(settings),
      drainMs: config.drain_ms,
      lookMs: config.look_ms,
      receivedBytes: () => this.#clients.counts.bytes_from_line,
      isModemWanted: () => this.#clients.wants('wantsModem'),
      isLookWanted: () => this.#clients.wants('wantsLook'),
      onModem: (lines) => this.#clients.modemChanged(lines),
      onLook: (look) => this.#clients.looked(look),
    })
    this.#clients = new PortClients({
      clock,
      log,
      config,
      places: parts.places,
      desk: this.#desk,
      write: settings.write,
      rules: () => this.#rules(),
      onRefused: parts.onRefused,
      onChange: parts.onChange,
    })
    this.#kept = new KeptLine({
      path,
      opener,
      clock,
      retry: { firstMs: config.retry_first_ms, maxMs: config.retry_max_ms },
      settings: () => this.#desk.settings,
      onOpened: (line) => {
        this.#desk.attach(line)
        this.#clients.attach(line)
      },
      onClosed: () => {
        this.#desk.detach()
        this.#clients.detach()
      },
      onChange: (state, fault) => this.#told(state, fault),
    })
  }

  get settings(): PortSettings {
    return this.#settings
  }

  get state(): SerialPortState {
    return this.#kept.state
  }

  /** Why the line, or else the TCP port, is not open. */
  get fault(): Fault | undefined {
    return this.#kept.fault ?? this.#listening?.fault
  }

  get clientCount(): number {
    return this.#clients.size
  }

  life(): SerialPortLife {
    const clients = this.#clients.views()
    const { fault } = this
    const { baud, data_bits, parity, stop_bits, flow } = this.#desk.settings
    return {
      path: this.#parts.path,
      state: this.#kept.state,
      fault: fault ? { code: fault.code, message: fault.message } : null,
      unsupported: this.#kept.line?.unsupported ?? [],
      line_now: this.#desk.isChanged ? { baud, data_bits, parity, stop_bits, flow } : null,
      clients,
      counters: { ...this.#clients.counts, clients: clients.length, ...UNKNOWN, ...this.#desk.driverTotals() },
    }
  }

  /** Resolves after the first try to open the line; the TCP port may still be opening. */
  async start(): Promise<void> {
    if (!this.#settings.enabled) return
    this.#listenOn(undefined)
    await this.#kept.open()
  }

  async stop(): Promise<void> {
    const stopped = this.#listening?.stop()
    this.#listening = undefined
    this.#clients.close()
    this.#desk.close()
    await Promise.all([stopped, this.#kept.close()])
  }

  /**
   * Applies settings at once. Clients stay if only the line changes; after a change of mode or TCP port, or if they are
   * no longer allowed, they are dropped.
   * @param save runs when everything that can be refused was accepted
   * @throws Fault `line_refused`, `tcp_port_taken`, or what `save` throws; then nothing has changed
   */
  async apply(next: PortSettings, save: () => Promise<void>): Promise<void> {
    const before = this.#settings
    const isMoved = next.enabled && (!before.enabled || next.tcp_port !== before.tcp_port)
    // Open the new port first: the old one stays until everything is accepted.
    const listener = isMoved ? await this.#listen(next.tcp_port) : undefined
    try {
      await this.#desk.save(lineSettings(next))
      await save().catch(async (error) => {
        await this.#desk.save(lineSettings(before)).catch(() => {}) // report the first failure, which says more
        throw error
      })
    } catch (error) {
      await listener?.close()
      throw error
    }
    this.#settings = next
    if (next.allow !== before.allow) this.#allow = this.#parts.allowRule(next.allow)
    if (next.write !== before.write) this.#clients.setWrite(next.write)
    if (isMoved || !next.enabled || next.mode !== before.mode) this.#clients.dropAll()
    else this.#clients.dropAll((address) => !this.#allow.allows(address))
    if (isMoved || !next.enabled) await this.#listening?.stop()
    if (isMoved) this.#listenOn(listener)
    else if (!next.enabled) this.#listening = undefined
    if (next.enabled) await this.#kept.open()
    else await this.#kept.close()
    this.#parts.onChange()
  }

  drop(client: number): ClientView | undefined {
    return this.#clients.drop(client)
  }

  #rules() {
    const { label, mode } = this.#settings
    const name = label === '' ? `port ${this.port}` : `port ${this.port}, ${label}`
    return {
      mode,
      allows: (address: string) => this.#allow.allows(address),
      signature: `Plantroom serial server, ${name}`,
    }
  }

  #listen(tcpPort: number): Promise<Listener> {
    return this.#parts.listen(tcpPort, (arrival) => this.#clients.accept(arrival))
  }

  /** @param first a listener that is already open */
  #listenOn(first: Listener | undefined): void {
    const { clock, config, log, onChange } = this.#parts
    const { tcp_port: tcpPort } = this.#settings
    let ready = first
    this.#listening = createListening({
      clock,
      retry: { firstMs: config.retry_first_ms, maxMs: config.retry_max_ms },
      onFault: (fault) => {
        log.warning('serial port not reachable', { port: this.port, fault })
        onChange()
      },
      open: async () => {
        const listener = ready ?? (await this.#listen(tcpPort))
        ready = undefined
        onChange()
        return listener
      },
    })
    this.#listening.start()
  }

  #told(state: SerialPortState, fault: Fault | undefined): void {
    const { log, onChange, path } = this.#parts
    if (fault && state !== 'opening') log.warning('serial line is not there', { port: this.port, path, state, fault })
    onChange()
  }
}

// All ports.

/** A port as the API shows it. */
export type SerialPortView = { port: number } & PortSettings & SerialPortLife

interface SerialPortsParts {
  ports: readonly SerialPort[]
  settings: readonly Setting[]
  /** TCP port of the board's own page. */
  httpPort(): number
  /** Settings by number, as loaded. Those of ports without a device are kept until they have one again. */
  loaded: Readonly<Record<string, unknown>>
  file: {
    /** @throws Fault `store_write_failed` */
    save(settings: { ports: Readonly<Record<string, unknown>> }): Promise<void>
  }
}

export class SerialPorts {
  readonly #parts: SerialPortsParts
  readonly #inTurn = createSerialTurn()

  constructor(parts: SerialPortsParts) {
    this.#parts = parts
  }

  get all(): readonly SerialPort[] {
    return this.#parts.ports
  }

  /** Lines that are wanted open and are not, for the ledger. */
  conditions(): Condition[] {
    return this.all.flatMap((each) => {
      const { fault, port, state } = each
      if (state !== 'absent' && state !== 'failed') return []
      const { path } = viewOf(each)
      const what = state === 'absent' ? 'line_absent' : 'line_refused'
      const sentence = fault?.message ?? `${path} is not open.`
      return [{ what, where: `port ${port} ${path}`, severity: 'fault', sentence }]
    })
  }

  views(): SerialPortView[] {
    return this.all.map(viewOf)
  }

  async start(): Promise<void> {
    await Promise.all(this.all.map((port) => port.start()))
  }

  async stop(): Promise<void> {
    await Promise.all(this.all.map((port) => port.stop()))
  }

  /**
   * Checks a form, applies it and saves it: all of it or nothing.
   * @throws Fault `bad_fields`, `unknown_port`, `line_refused`, `tcp_port_taken`, `store_write_failed`
   */
  change(
    number: number,
    given: Readonly<Record<string, string>>,
  ): Promise<{ view: SerialPortView; changed: string[] }> {
    return this.#inTurn(async () => {
      const port = this.require(number)
      const before = port.settings
      const next = checkPortForm(given, before, { settings: this.#parts.settings, takenPorts: this.#taken(port) })
      const { file, loaded } = this.#parts
      await port.apply(next, () => file.save({ ports: { ...loaded, ...this.#saved(), [number]: next } }))
      const changed = Object.keys(next).filter(
        (name) => next[name as keyof PortSettings] !== before[name as keyof PortSettings],
      )
      return { view: viewOf(port), changed }
    })
  }

  /** @throws Fault `unknown_port`, `unknown_client` */
  drop(number: number, client: number): ClientView {
    const view = this.require(number).drop(client)
    if (view === undefined)
      throw new Fault('unknown_client', `Port ${number} has no client ${client}; it may have left.`)
    return view
  }

  /** @throws Fault `unknown_port` */
  require(number: number): SerialPort {
    const port = this.all.find((one) => one.port === number)
    if (port) return port
    const count = this.all.length
    const has = count === 0 ? 'no serial device' : count === 1 ? 'one serial device' : `${count} serial devices`
    throw new Fault(
      'unknown_port',
      `This board has ${has}, so there is no port ${number}. Name its device in the settings.`,
    )
  }

  verdict(): Verdict {
    const enabled = this.all.filter(({ settings }) => settings.enabled)
    if (this.all.length === 0)
      return { state: 'off', text: 'No serial device is named. Name up to four in the settings.' }
    if (enabled.length === 0) return { state: 'off', text: 'No serial port is switched on.' }
    const troubled = enabled.find(({ fault }) => fault !== undefined)
    if (troubled?.fault) {
      const state = troubled.state === 'absent' ? 'warn' : 'fault'
      return { state, text: `Port ${troubled.port}: ${troubled.fault.message}` }
    }
    const clients = enabled.reduce((sum, { clientCount }) => sum + clientCount, 0)
    const ports = enabled.length === 1 ? 'One serial port is open' : `${enabled.length} serial ports are open`
    const who =
      clients === 0
        ? 'nobody is connected'
        : clients === 1
          ? 'one client is connected'
          : `${clients} clients are connected`
    return { state: 'ok', text: `${ports}, ${who}.` }
  }

  #saved(): Record<number, PortSettings> {
    return Object.fromEntries(this.all.map(({ port, settings }) => [port, settings]))
  }

  #taken(port: SerialPort): Map<number, string> {
    const taken = new Map([[this.#parts.httpPort(), "this board's own page"]])
    for (const one of this.all) if (one !== port) taken.set(one.settings.tcp_port, `port ${one.port}`)
    return taken
  }
}

function viewOf(port: SerialPort): SerialPortView {
  return { port: port.port, ...port.settings, ...port.life() }
}
