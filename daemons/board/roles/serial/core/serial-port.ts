/** One serial port: its line, its TCP port, its clients, and what the settings make of them. */
import type { Clock } from '#kit/clock.ts'
import type { Fault } from '#kit/fault.ts'
import type { ControlledLineOpener } from '#kit/line/controlled-line.ts'
import { createListening, type Listening } from '#kit/line/tcp-listening.ts'
import type { Log } from '#kit/log.ts'
import type { Places } from '#kit/places.ts'
import type { ClientCounts } from './client-counts.ts'
import type { DriverTotals } from './driver-totals.ts'
import { KeptLine } from './kept-line.ts'
import { LineDesk } from './line-desk.ts'
import { PortClients } from './port-clients.ts'
import type { SerialPortState } from './port-state-table.ts'
import type { Listener, ListenerOpener } from './ports.ts'
import type { SerialConfig } from './serial-keys.ts'
import { lineOf, type PortSettings } from './serial-settings.ts'
import type { ClientView } from './served-client.ts'

/** What tells whether an address may connect. */
export interface AllowRule {
  allows(address: string): boolean
}

export interface SerialPortParts {
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
  /** Somebody was turned away. */
  onRefused(address: string, why: 'too many' | 'not allowed'): void
  onChange(): void
}

/** What a reader is told of a port, beside its settings. */
export interface SerialPortLife {
  path: string
  state: SerialPortState
  fault: { code: string; message: string } | null
  /** What this driver cannot do. */
  unsupported: readonly string[]
  /** The line as a client has set it, where that is otherwise than saved. */
  line_now: Pick<PortSettings, 'baud' | 'data_bits' | 'parity' | 'stop_bits' | 'flow'> | null
  clients: ClientView[]
  counters: ClientCounts & { clients: number } & Record<keyof DriverTotals, number | null>
}

/** Names of the driver's counts. */
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
      saved: lineOf(settings),
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

  /** Resolves when the line was tried once; the TCP port may still be on its way. */
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
   * Applies settings at once. Clients stay where the line alone is otherwise; of another mode or TCP port, or where they
   * are no longer allowed, they are dropped.
   * @param save runs when everything that can be refused was taken
   * @throws Fault `line_refused`, `tcp_port_taken`, or what `save` throws; then all is as before
   */
  async apply(next: PortSettings, save: () => Promise<void>): Promise<void> {
    const before = this.#settings
    const isMoved = next.enabled && (!before.enabled || next.tcp_port !== before.tcp_port)
    // The own old port is free for nobody else, and a port that was off has none.
    const listener = isMoved ? await this.#listen(next.tcp_port) : undefined
    try {
      await this.#desk.save(lineOf(next))
      await save().catch(async (error) => {
        await this.#desk.save(lineOf(before)).catch(() => {}) // the first failure tells more
        throw error
      })
    } catch (error) {
      await listener?.close()
      throw error
    }
    this.#settings = next
    this.#allow = this.#parts.allowRule(next.allow)
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

  /** @param first one that listens already */
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
