/**
 * The registry of configured ports: makes, changes and removes them, restores them after a restart, and finds what the
 * protocol of one can do.
 */

import type { FoundLine, LineFinder } from '#kit/line/line.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import type { Adapter, AdapterActions, AdapterFaces } from './adapter.ts'
import type { Port } from './port.ts'
import { type PortRecord, portRevision, sameLine } from './ports.ts'

/**
 * The face of a port's protocol.
 * @throws Fault `wrong_protocol` if it has no such face
 */
export function requireFace<Name extends keyof AdapterFaces>(
  { path, adapter }: { path: string; adapter: Pick<Adapter, 'faces'> },
  name: Name,
): NonNullable<AdapterFaces[Name]> {
  const face = adapter.faces?.[name]
  if (face === undefined)
    throw new Fault('wrong_protocol', `${path} has no ${name}: its protocol, or its mode, has none.`)
  return face as NonNullable<AdapterFaces[Name]>
}

/**
 * An action of a port's protocol.
 * @throws Fault `wrong_protocol` if it has no such action
 */
export function requireAction<Name extends keyof AdapterActions>(
  { adapter }: { adapter: Pick<Adapter, 'actions' | 'whyNoAction'> },
  name: Name,
): NonNullable<AdapterActions[Name]> {
  const action = adapter.actions?.[name]
  if (action === undefined) throw new Fault('wrong_protocol', adapter.whyNoAction(name))
  return action as NonNullable<AdapterActions[Name]>
}

/** What the registry needs. */
export interface RegistryParts {
  /** @throws Fault `port_not_allowed` */
  checkPath(path: string): void
  /** Makes a port for this record, in state `closed`. */
  makePort(record: PortRecord): Port
  /** Saves all records; resolves once they are on disk. @throws Fault `store_write_failed` */
  save(records: PortRecord[]): Promise<void>
  finder: LineFinder
  /** The most configured ports; key `ports.max`. */
  maxPorts: number
  /** The number of values that a port serves to others on its line, by its settings. */
  servedValues(record: PortRecord): number
  /** The most such values (coils and registers of slaves) of all ports together; key `ports.slave_values`. */
  maxSlaveValues: number
  /** A port was removed: what was kept for it can be dropped. */
  onRemoved(path: string): void
  /** A port has changed to another protocol. */
  onOtherProtocol(path: string): void
}

/** A port as the API shows it: what is configured, what was found, or both. */
export interface PortView {
  path: string
  found: FoundLine | null
  record: PortRecord | null
  port: Port | null
}

interface Entry {
  record: PortRecord
  port: Port
}

/** The settings in the body of PUT. */
export type PortSettings = Pick<PortRecord, 'protocol' | 'line' | 'settings'>

/** All configured ports, from start to stop. */
export class PortRegistry {
  readonly #parts: RegistryParts
  readonly #entries = new Map<string, Entry>()
  /** Lines that somebody has for a while, and what others are told. */
  readonly #lent = new Map<string, Fault>()
  readonly #inTurn = createSerialTurn()

  constructor(parts: RegistryParts) {
    this.#parts = parts
  }

  /** Makes a port for each record, and opens those that are enabled. */
  async start(records: PortRecord[]): Promise<void> {
    for (const record of records) this.#entries.set(record.path, { record, port: this.#parts.makePort(record) })
    await Promise.all(this.#list().map((entry) => entry.record.enabled && entry.port.open()))
  }

  async stop(): Promise<void> {
    await this.#inTurn(() => Promise.all(this.all().map((port) => port.close())))
  }

  /** Every line that is configured or found. */
  async list(): Promise<PortView[]> {
    const found = await this.#parts.finder.list()
    const paths = [...this.#entries.keys()]
    const others = found.filter((line) => !paths.some((path) => sameLine(path, line)))
    return [
      ...this.#list().map((entry) => viewOf(entry, found)),
      ...others.map((line) => ({ path: line.path, found: line, record: null, port: null })),
    ]
  }

  /** @throws Fault `unknown_port` */
  async view(path: string): Promise<PortView> {
    const found = await this.#parts.finder.list()
    const entry = this.#entries.get(path)
    if (entry) return viewOf(entry, found)
    const line = found.find((candidate) => sameLine(path, candidate))
    if (!line) throw unknownPort(path)
    return { path, found: line, record: null, port: null }
  }

  /** Every configured port. */
  all(): Port[] {
    return this.#list().map((entry) => entry.port)
  }

  /** The running port. @throws Fault `unknown_port` */
  require(path: string): Port {
    return this.#entry(path).port
  }

  /** The stored record of a port. @throws Fault `unknown_port` */
  record(path: string): PortRecord {
    return this.#entry(path).record
  }

  /**
   * Applies the settings at once and saves them; nothing changes if the driver refuses one of them.
   * @param expected called first, with the revision of the present settings
   * @throws what `expected` throws; Fault `port_not_allowed`, `too_many_ports`, `too_many_slave_values`,
   * `line_refused`, `line_not_tty`, `store_write_failed`
   */
  put(path: string, settings: PortSettings, expected?: (revision: string | undefined) => void): Promise<void> {
    this.#parts.checkPath(path)
    return this.#inTurn(async () => {
      const before = this.#entries.get(path)?.record
      expected?.(before && portRevision(before))
      this.#refuseLent(path)
      await this.#put(path, settings)
    })
  }

  /** Closes a port and forgets it. @throws Fault `unknown_port`, `store_write_failed` */
  remove(path: string): Promise<void> {
    return this.#inTurn(async () => {
      const { port } = this.#entry(path)
      this.#refuseLent(path)
      await this.#save(path, undefined)
      this.#entries.delete(path)
      await port.close()
      port.end()
      this.#parts.onRemoved(path)
    })
  }

  /** Opens or closes a port, now and at every start. */
  setEnabled(path: string, isEnabled: boolean): Promise<void> {
    return this.#inTurn(async () => {
      const entry = this.#entry(path)
      this.#refuseLent(path)
      const record = { ...entry.record, enabled: isEnabled }
      await this.#save(path, record)
      entry.record = record
      await (isEnabled ? entry.port.open() : entry.port.close())
    })
  }

  /** Changes and saves a part of the record that does not concern the line, such as its webhooks. */
  amend(path: string, change: (record: PortRecord) => PortRecord): Promise<void> {
    return this.#inTurn(async () => {
      const entry = this.#entry(path)
      const record = change(entry.record)
      await this.#save(path, record)
      entry.record = record
    })
  }

  /**
   * Lends a line, set up or not: its port is closed and cannot be changed until it is given back. Its record stays as it
   * is, so that it is opened with its own settings then, or when the gateway starts next.
   * @param mayTake whether it is lent even if it is open
   * @param why what others are told meanwhile
   * @throws Fault `port_not_allowed`, `line_in_use`, and the `why` of whoever has it
   */
  lend(path: string, mayTake: boolean, why: Fault) {
    this.#parts.checkPath(path)
    return this.#inTurn(async () => {
      this.#refuseLent(path)
      const entry = this.#entries.get(path)
      const state = entry?.port.life().state
      const wasOpen = state === 'open' || state === 'opening'
      if (!mayTake && wasOpen)
        throw new Fault('line_in_use', `${path} is open: its protocol has it. Close it first, or send takeOver: true.`)
      this.#lent.set(path, why)
      try {
        await entry?.port.close(why)
      } catch (error) {
        await this.#takeBack(path)
        throw error
      }
      return { wasOpen, settings: entry?.record.line, giveBack: () => this.#inTurn(() => this.#takeBack(path)) }
    })
  }

  async #takeBack(path: string): Promise<void> {
    this.#lent.delete(path)
    const entry = this.#entries.get(path)
    await (entry?.record.enabled ? entry.port.open() : entry?.port.close())
  }

  #refuseLent(path: string): void {
    const why = this.#lent.get(path)
    if (why) throw why
  }

  async #put(path: string, settings: PortSettings): Promise<void> {
    const { makePort, maxPorts } = this.#parts
    const before = this.#entries.get(path)
    if (!before && this.#entries.size >= maxPorts)
      throw new Fault('too_many_ports', `${this.#entries.size} ports are configured; ports.max allows ${maxPorts}.`)
    const { webhooks = [], points = [] } = before?.record ?? {}
    const record: PortRecord = { webhooks, points, ...settings, path, enabled: true }
    this.#checkSlaveValues(record)
    const port = makePort(record)
    await before?.port.close()
    if (before && before.record.protocol !== record.protocol) this.#parts.onOtherProtocol(path)
    try {
      await port.open()
      refuseWhatTheDriverRefused(port)
      await this.#save(path, record)
    } catch (error) {
      await port.close()
      port.end()
      if (before?.record.enabled) await before.port.open()
      throw error
    }
    this.#entries.set(path, { record, port })
    before?.port.end()
  }

  #checkSlaveValues(record: PortRecord): void {
    const { maxSlaveValues: most, servedValues } = this.#parts
    const own = servedValues(record)
    const others = this.#list().filter((entry) => entry.record.path !== record.path)
    const all = others.reduce((sum, entry) => sum + servedValues(entry.record), own)
    if (own > 0 && all > most)
      throw new Fault(
        'too_many_slave_values',
        `With these ${own} values all ports would serve ${all}; ports.slave_values allows ${most}.`,
      )
  }

  async #save(path: string, record: PortRecord | undefined): Promise<void> {
    const kept = new Map(this.#list().map((entry) => [entry.record.path, entry.record]))
    // A changed record keeps its place, so that the order is the same after a restart.
    if (record) kept.set(path, record)
    else kept.delete(path)
    await this.#parts.save([...kept.values()])
  }

  #list(): Entry[] {
    return [...this.#entries.values()]
  }

  #entry(path: string): Entry {
    const entry = this.#entries.get(path)
    if (!entry) throw unknownPort(path)
    return entry
  }
}

function viewOf(entry: Entry, found: FoundLine[]): PortView {
  const { path } = entry.record
  return { path, found: found.find((line) => sameLine(path, line)) ?? null, record: entry.record, port: entry.port }
}

function unknownPort(path: string): Fault {
  const how = `PUT /api/ports/${encodeURIComponent(path)} with {"protocol": "raw", "line": {"baud": 9600}} or another protocol`
  return new Fault('unknown_port', `No port ${path} is set up. Set it up first: ${how}, or on its page.`)
}

/**
 * Throws only for settings that the driver refuses, as these stay wrong. An absent device may come, and a busy one may
 * become free.
 */
function refuseWhatTheDriverRefused(port: Port): void {
  const { fault } = port.life()
  if (fault && (fault.code === 'line_refused' || fault.code === 'line_not_tty'))
    throw new Fault(fault.code, fault.message)
}
