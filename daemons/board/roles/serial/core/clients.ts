/** The clients of one serial port: admission, and bytes both ways between them and the line. */
import { type Clock, type Timer, wait } from '#kit/clock.ts'
import type { ControlledLine, ModemLines } from '#kit/line/line.ts'
import type { LineSender } from '#kit/line/line-queue.ts'
import type { Log } from '#kit/log.ts'
import type { Holder, Places } from '#kit/net/places.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createLogGate, type LogGate } from '#kit/pure/pace.ts'
import type { LineDesk, LineLook } from './line.ts'
import { SlowClients, type WriteMode, WriteRule } from './line-sharing.ts'
import type { Arrival, Client } from './ports.ts'
import { Rfc2217Session } from './rfc2217-session.ts'
import type { SerialConfig } from './settings.ts'

// Counters.

/** Counts of a port since the daemon started. */
export interface ClientCounts {
  /** Line to TCP, and TCP to line. */
  bytes_from_line: number
  bytes_to_line: number
  /** Sent without the right to write, while there was no line, or by clients that left before the line took them. */
  bytes_discarded: number
  clients_total: number
  /** Not allowed, or too many. */
  clients_refused: number
  /** Evicted for another address. */
  clients_evicted: number
  /** Too slow. */
  clients_dropped: number
  /** Suboptions and messages that could not be parsed. */
  telnet_faults: number
}

function noCounts(): ClientCounts {
  return {
    bytes_from_line: 0,
    bytes_to_line: 0,
    bytes_discarded: 0,
    clients_total: 0,
    clients_refused: 0,
    clients_evicted: 0,
    clients_dropped: 0,
    telnet_faults: 0,
  }
}

// One client: its connection, its protocol, its counters.

/** As the API shows it. */
export interface ClientView {
  id: number
  address: string
  client_port: number
  since_at: number
  may_write: boolean
  rfc2217: boolean
  /** From the client, and to it. */
  bytes_in: number
  bytes_out: number
}

/** Why a client is not read: it waits for a change of the line, or its address has enough queued for the line. */
type Pause = 'busy' | 'backlog'

class ServedClient {
  readonly id: number
  readonly sinceAt: number
  /** Set as soon as the connection was accepted. */
  connection!: Client
  /** Undefined on a raw port. */
  session: Rfc2217Session | undefined
  bytesIn = 0
  bytesOut = 0
  /** When bytes of it were last read, monotonic. */
  activeMs: number
  /** Its sender on the line that is open now. */
  sender: LineSender | undefined
  /** The key of its turn on the line. */
  network = ''
  leavePlace: () => void = () => {}
  /** It has finished sending. */
  isEnding = false
  /** Ends a client that is ending and takes nothing more. */
  endTimer: Timer | undefined
  readonly #pauses = new Set<Pause>()
  #reads: Parameters<Client['steer']>[0] = 'all'

  constructor(id: number, { epochMs, monotonicMs }: Pick<Clock, 'epochMs' | 'monotonicMs'>) {
    this.id = id
    this.sinceAt = epochMs()
    this.activeMs = monotonicMs()
  }

  /** Its bytes are not read, because its address has enough queued for the line. */
  get isResting(): boolean {
    return this.#pauses.has('backlog')
  }

  /** It waits for a change of the line. */
  get isBusy(): boolean {
    return this.#pauses.has('busy')
  }

  pause(why: Pause): boolean {
    if (this.#pauses.has(why)) return false
    this.#pauses.add(why)
    this.#flow()
    return true
  }

  resume(why: Pause): boolean {
    if (!this.#pauses.delete(why)) return false
    this.#flow()
    return true
  }

  /**
   * A client waiting for a change of the line is stopped, so that what it sent before it left is processed in order,
   * after the change.
   */
  #flow(): void {
    this.connection.setReading(this.#pauses.has('busy') ? 'stopped' : this.#pauses.size > 0 ? 'resting' : 'reading')
  }

  /** @param mayPass whether its bytes may go to the line without asking each time */
  steer(mayPass: boolean): void {
    const plain = this.session === undefined ? 'all' : this.session.isPlain ? 'untilCommand' : 'none'
    const reads = mayPass ? plain : 'none'
    if (reads === this.#reads) return
    this.#reads = reads
    this.connection.steer(reads)
  }

  view(mayWrite: boolean): ClientView {
    return {
      id: this.id,
      address: this.connection.address,
      client_port: this.connection.port,
      since_at: this.sinceAt,
      may_write: mayWrite,
      rfc2217: this.session?.isComPort ?? false,
      bytes_in: this.bytesIn,
      bytes_out: this.bytesOut,
    }
  }
}

// All clients of a port.

/** Rules for new clients of a port. */
interface ClientRules {
  mode: 'raw' | 'rfc2217'
  allows(address: string): boolean
  signature: string
}

interface PortClientsParts {
  clock: Clock
  log: Log
  config: SerialConfig
  /** Places for the port's TCP clients. */
  places: Places
  desk: LineDesk
  write: WriteMode
  rules(): ClientRules
  /** A client was refused. */
  onRefused(address: string, why: 'too many' | 'not allowed'): void
  /** Clients came or went, or their right to write changed. */
  onChange(): void
}

/** Size of one write for a client that has left. */
const LEFT_PIECE_BYTES = 4096

/** Evicted clients may reconnect at once, forever: at most one log line in this time. */
const LOG_EVERY_MS = 60_000

export class PortClients {
  readonly counts: ClientCounts = noCounts()
  readonly #parts: PortClientsParts
  readonly #clients = new Set<ServedClient>()
  readonly #rule: WriteRule<ServedClient>
  readonly #slow: SlowClients<ServedClient>
  #line: ControlledLine | undefined
  readonly #gate: LogGate
  #lastId = 0

  constructor(parts: PortClientsParts) {
    this.#parts = parts
    const { clock, config } = parts
    this.#gate = createLogGate(clock, LOG_EVERY_MS, (times, facts) =>
      parts.log.warning('serial clients made room for another address', { times, ...facts }),
    )
    this.#rule = new WriteRule(parts.write, {
      clock,
      idleMs: config.write_idle_ms,
      onChange: () => this.#steerAll(),
    })
    this.#slow = new SlowClients({
      clock,
      limitMs: config.slow_client_ms,
      count: () => this.#clients.size,
      onWait: (isWaiting) => (isWaiting ? this.#line?.pause() : this.#line?.resume()),
      drop: (client) => this.#dropSlow(client),
    })
  }

  get size(): number {
    return this.#clients.size
  }

  views(): ClientView[] {
    this.#line?.settle()
    return [...this.#clients].map((client) => client.view(this.#rule.mayWrite(client)))
  }

  accept(arrival: Arrival): void {
    const { clock, config, rules } = this.#parts
    const { allows, mode, signature } = rules()
    const served = new ServedClient(++this.#lastId, clock)
    const isAllowed = allows(arrival.address)
    if (!isAllowed || !this.#takePlace(arrival.address, served)) {
      this.counts.clients_refused++
      this.#parts.onRefused(arrival.address, isAllowed ? 'too many' : 'not allowed')
      arrival.refuse()
      return
    }
    // Bytes that the line sent before it connected are not for it.
    this.#line?.settle()
    served.network = arrival.network
    served.connection = arrival.take(
      {
        onBytes: (bytes, taken) => this.#received(served, bytes, taken),
        onBehind: () => this.#slow.fellBehind(served),
        onCaughtUp: () => this.#slow.caughtUp(served),
        onEnding: () => this.#ending(served),
        onClosed: () => this.#left(served),
      },
      { backlogBytes: config.backlog_bytes, tellMs: config.tell_ms },
    )
    this.counts.clients_total++
    this.#clients.add(served)
    if (mode === 'rfc2217') this.#beginSession(served, signature)
    this.#rule.came(served)
    this.#slow.judge()
    this.#attach(served)
    this.#parts.onChange()
  }

  /** From now on bytes pass. */
  attach(line: ControlledLine): void {
    this.#line = line
    line.onBytes((bytes) => this.#fromLine(bytes))
    // The line came back while it should be paused.
    if (this.#slow.isWaiting) line.pause()
    for (const client of this.#clients) this.#attach(client)
  }

  detach(): void {
    this.#line = undefined
    for (const client of this.#clients) {
      client.sender = undefined
      client.connection.detach()
      this.#setRest(client, false)
    }
  }

  setWrite(mode: WriteMode): void {
    this.#rule.setMode(mode)
    this.#parts.onChange()
  }

  modemChanged(lines: ModemLines): void {
    for (const { session } of this.#clients) session?.modemChanged(lines)
  }

  looked(look: LineLook): void {
    for (const { session } of this.#clients) session?.looked(look)
  }

  wants(what: 'wantsModem' | 'wantsLook'): boolean {
    return [...this.#clients].some(({ session }) => session?.[what])
  }

  /** @returns the client, if there was one */
  drop(id: number): ClientView | undefined {
    const client = [...this.#clients].find((one) => one.id === id)
    const view = client?.view(this.#rule.mayWrite(client))
    client?.connection.destroy()
    return view
  }

  dropAll(isMeant: (address: string) => boolean = () => true): void {
    for (const { connection } of [...this.#clients]) if (isMeant(connection.address)) connection.destroy()
  }

  close(): void {
    this.dropAll()
    this.#rule.close()
    this.#gate.close()
  }

  #takePlace(address: string, served: ServedClient): boolean {
    const { clock, config, places } = this.#parts
    const { evicted } = places.counts()
    const holder: Holder = {
      use() {
        // It may be gone: its end arrives behind bytes that its kernel holds while none are read.
        const isStuck = served.isResting && clock.monotonicMs() - served.activeMs > config.slow_client_ms
        return { use: isStuck ? 'idle' : 'kept', sinceMs: served.activeMs }
      },
      giveWay: () => served.connection.destroy(),
    }
    served.leavePlace = () => places.leave(holder)
    const isIn = places.take(address, holder)
    this.counts.clients_evicted = places.counts().evicted
    if (this.counts.clients_evicted > evicted) this.#gate.note({ for: address })
    return isIn
  }

  /**
   * A client that stops reading would never close by itself, so its end has a timeout. Changes of the line that it
   * requested come first, within `left_ms`.
   */
  #ending(served: ServedClient): void {
    const { clock, config } = this.#parts
    const sinceMs = clock.monotonicMs()
    const judgeLater = () => {
      served.endTimer = clock.after(config.slow_client_ms, () => {
        if (served.isBusy && clock.monotonicMs() - sinceMs < config.left_ms) judgeLater()
        else served.connection.destroy()
      })
    }
    served.isEnding = true
    judgeLater()
  }

  #setRest(served: ServedClient, isResting: boolean): void {
    if (isResting ? served.pause('backlog') : served.resume('backlog')) served.session?.setFlow(isResting)
  }

  #attach(client: ServedClient): void {
    const { connection } = client
    try {
      if (this.#line) {
        connection.attach(this.#line)
        client.sender = this.#line.sender(client.network, { onRest: (isResting) => this.#setRest(client, isResting) })
      } else connection.detach()
    } catch (error) {
      // The line closed this very moment, or the descriptor is gone: the client may reconnect.
      this.#parts.log.info('client not attached', { client: connection.address, why: String(error) })
      connection.destroy()
    }
  }

  #beginSession(served: ServedClient, signature: string): void {
    const { clock, config, desk, log } = this.#parts
    const { connection } = served
    connection.setTelnet(false)
    served.session = new Rfc2217Session({
      desk,
      suboptionBytes: config.suboption_bytes,
      signature,
      breakMs: config.break_ms,
      wait: (delayMs) => wait(clock, delayMs),
      mayWrite: () => this.#rule.write(served),
      tell: (bytes) => connection.tell(bytes),
      write: (bytes) => this.#write(served, bytes),
      setHeld: (isHeld) => connection.setHeld(isHeld),
      dropWaiting: () => connection.dropWaiting(),
      onBusy: (isBusy) => this.#setBusy(served, isBusy),
      onComPort: () => this.#parts.onChange(),
      onTrouble: (fault) => {
        this.counts.telnet_faults++
        if (fault instanceof Fault) return
        log.error('serial client failed', { client: connection.address, error: fault as Error })
        connection.destroy()
      },
      onLost: (fault) => this.#misspoke(served, fault),
    })
    served.session.start()
  }

  #setBusy(served: ServedClient, isBusy: boolean): void {
    if (isBusy) served.pause('busy')
    else {
      served.resume('busy')
      this.#steer(served)
    }
  }

  #received(served: ServedClient, bytes: Uint8Array, taken: number): void {
    served.bytesIn += bytes.length
    served.activeMs = this.#parts.clock.monotonicMs()
    this.counts.bytes_to_line += served.session ? dataBytesOf(bytes, taken) : taken
    if (taken > 0) this.#rule.write(served)
    if (taken === bytes.length) return
    const rest = taken === 0 ? bytes : bytes.subarray(taken)
    const { session } = served
    if (session === undefined) this.#write(served, rest)
    else {
      session.feed(rest)
      if (this.#isNvt(served)) served.connection.setTelnet(true)
    }
    this.#steer(served)
  }

  #isNvt({ session }: ServedClient): boolean {
    return session?.isNvt ?? false
  }

  #misspoke(served: ServedClient, error: unknown): void {
    this.counts.telnet_faults++
    const { address } = served.connection
    this.#parts.log.warning('serial client dropped', { client: address, error: error as Error })
    served.connection.destroy()
  }

  #write(served: ServedClient, bytes: Uint8Array): void {
    if (bytes.length === 0) return
    const { sender } = served
    if (!this.#rule.write(served) || sender === undefined) {
      this.counts.bytes_discarded += bytes.length
      return
    }
    // What the kernel held of a client that left comes in large pieces: split, so that others get their turn between.
    const pieceBytes = served.isEnding ? LEFT_PIECE_BYTES : bytes.length
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      if (served.isEnding && sender.heldBytes >= this.#parts.config.left_bytes) {
        this.counts.bytes_discarded += bytes.length - at
        return
      }
      this.#send(sender, bytes.subarray(at, at + pieceBytes))
    }
  }

  #send(sender: LineSender, bytes: Uint8Array): void {
    const settle = (written: number) => {
      this.counts.bytes_to_line += written
      this.counts.bytes_discarded += bytes.length - written
    }
    // The line went away during the write: what it had not taken is lost.
    sender.write(bytes).then(settle, () => settle(0))
  }

  #fromLine(bytes: Uint8Array): void {
    this.counts.bytes_from_line += bytes.length
    for (const client of this.#clients) {
      client.bytesOut += bytes.length
      client.connection.fromLine(bytes)
    }
  }

  #dropSlow(client: ServedClient): void {
    this.counts.clients_dropped++
    const { address, waitingBytes } = client.connection
    this.#parts.log.warning('serial client too slow, dropped', { client: address, waitingBytes })
    client.connection.destroy()
  }

  #left(served: ServedClient): void {
    if (!this.#clients.delete(served)) return
    const { log, desk, onChange } = this.#parts
    this.counts.bytes_discarded += served.session?.end() ?? 0
    served.endTimer?.cancel()
    served.leavePlace()
    served.sender?.leave(served.isEnding)
    this.#slow.caughtUp(served)
    this.#rule.left(served)
    const isLast = served.session?.isComPort && ![...this.#clients].some(({ session }) => session?.isComPort)
    if (isLast) desk.restore().catch((error) => log.error('settings not restored', { error: error as Error }))
    this.#slow.judge()
    onChange()
  }

  #steerAll(): void {
    for (const client of this.#clients) this.#steer(client)
  }

  #steer(client: ServedClient): void {
    client.steer(this.#rule.mayPass(client))
  }
}

/** Number of data bytes among the first `end`, which hold no command: a doubled FF counts once. */
function dataBytesOf(bytes: Uint8Array, end: number): number {
  let pairs = 0
  for (let at = bytes.indexOf(0xff); at >= 0 && at < end; at = bytes.indexOf(0xff, at + 2)) pairs++
  return end - pairs
}
