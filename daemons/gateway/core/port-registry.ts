/** Every port that is configured: made, changed, removed, found again after a restart. */
import { Fault } from '#kit/fault.ts'
import type { Port } from './port.ts'
import { type PortRecord, type Protocol, sameLine } from './port-record.ts'
import type { FoundLine, LineFinder } from './ports.ts'

/** What the registry needs. */
export interface RegistryParts {
  /** @throws Fault `port_not_allowed` */
  checkPath(path: string): void
  /** A port in state `closed` for this record. */
  makePort(record: PortRecord): Port
  /** Keeps every record; resolves once they are safe. @throws Fault `store_write_failed` */
  save(records: PortRecord[]): Promise<void>
  finder: LineFinder
  /** Configured ports at most; key `ports.max`. */
  maxPorts: number
  /** A port is gone for good: whatever was kept for it can go. */
  onRemoved(path: string): void
}

/** A port as a reader sees it: what is configured, what is found, or both. */
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

export interface PortRegistry {
  /** Opens every port of the records that is enabled. */
  start(records: PortRecord[]): Promise<void>
  stop(): Promise<void>
  list(): Promise<PortView[]>
  /** @throws Fault `unknown_port` */
  view(path: string): Promise<PortView>
  /** The running port. @throws Fault `unknown_port` */
  require(path: string): Port
  record(path: string): PortRecord
  /** Applied at once and saved; refused as a whole where the driver refuses a setting. */
  put(path: string, settings: PortSettings): Promise<void>
  remove(path: string): Promise<void>
  setEnabled(path: string, isEnabled: boolean): Promise<void>
  /** Changes a record that needs no new line, such as its webhooks, and saves. */
  amend(path: string, change: (record: PortRecord) => PortRecord): Promise<void>
  /** Every configured port. */
  all(): Port[]
}

/** What PUT sets. */
export type PortSettings = Pick<PortRecord, 'line'> & { protocol: Protocol; settings: Record<string, unknown> }

export function createPortRegistry(parts: RegistryParts): PortRegistry {
  const entries = new Map<string, Entry>()
  let turn: Promise<unknown> = Promise.resolve()

  /** Changes run one after another: two that cross would each save without the other. */
  function inTurn<Result>(change: () => Promise<Result>): Promise<Result> {
    const mine = turn.then(change)
    turn = mine.catch(() => {})
    return mine
  }

  function entryOf(path: string): Entry {
    const entry = entries.get(path)
    if (!entry) throw unknownPort(path)
    return entry
  }

  async function save(path: string, record: PortRecord | undefined): Promise<void> {
    const others = [...entries.values()].map((entry) => entry.record).filter((kept) => kept.path !== path)
    await parts.save(record ? [...others, record] : others)
  }

  async function put(path: string, settings: PortSettings): Promise<void> {
    const before = entries.get(path)
    if (!before && entries.size >= parts.maxPorts)
      throw new Fault('too_many_ports', `${entries.size} ports are configured; ports.max allows ${parts.maxPorts}.`)
    const record: PortRecord = { webhooks: before?.record.webhooks ?? [], ...settings, path, enabled: true }
    const port = parts.makePort(record)
    record.settings = { ...port.adapter.settings }
    await before?.port.close()
    try {
      await port.open()
      refuseWhatTheDriverRefused(port)
      await save(path, record)
    } catch (error) {
      await port.close()
      if (before?.record.enabled) await before.port.open()
      throw error
    }
    entries.set(path, { record, port })
  }

  async function setEnabled(path: string, enabled: boolean): Promise<void> {
    const entry = entryOf(path)
    const record = { ...entry.record, enabled }
    await save(path, record)
    entry.record = record
    await (enabled ? entry.port.open() : entry.port.close())
  }

  return {
    async start(records) {
      for (const record of records) entries.set(record.path, { record, port: parts.makePort(record) })
      await Promise.all([...entries.values()].map((entry) => entry.record.enabled && entry.port.open()))
    },
    async stop() {
      await turn
      await Promise.all([...entries.values()].map((entry) => entry.port.close()))
    },
    async list() {
      const found = await parts.finder.list()
      const configured = [...entries.values()].map((entry) => viewOf(entry, found))
      const others = found.filter((line) => ![...entries.keys()].some((path) => sameLine(path, line)))
      return [...configured, ...others.map((line) => ({ path: line.path, found: line, record: null, port: null }))]
    },
    async view(path) {
      const found = await parts.finder.list()
      const entry = entries.get(path)
      if (entry) return viewOf(entry, found)
      const line = found.find((candidate) => sameLine(path, candidate))
      if (!line) throw unknownPort(path)
      return { path, found: line, record: null, port: null }
    },
    require: (path) => entryOf(path).port,
    record: (path) => entryOf(path).record,
    put(path, settings) {
      parts.checkPath(path)
      return inTurn(() => put(path, settings))
    },
    remove: (path) =>
      inTurn(async () => {
        const entry = entryOf(path)
        await save(path, undefined)
        entries.delete(path)
        await entry.port.close()
        parts.onRemoved(path)
      }),
    setEnabled: (path, isEnabled) => inTurn(() => setEnabled(path, isEnabled)),
    amend: (path, change) =>
      inTurn(async () => {
        const entry = entryOf(path)
        const record = change(entry.record)
        await save(path, record)
        entry.record = record
      }),
    all: () => [...entries.values()].map((entry) => entry.port),
  }
}

function viewOf(entry: Entry, found: FoundLine[]): PortView {
  const { path } = entry.record
  return { path, found: found.find((line) => sameLine(path, line)) ?? null, record: entry.record, port: entry.port }
}

function unknownPort(path: string): Fault {
  return new Fault('unknown_port', `No port ${path} is configured. Set it up first, with a protocol and line settings.`)
}

/** An absent device may come, a busy one may be let go; settings that the driver refuses stay wrong. */
function refuseWhatTheDriverRefused(port: Port): void {
  const { fault } = port.life()
  if (fault && (fault.code === 'line_refused' || fault.code === 'line_not_tty'))
    throw new Fault(fault.code, fault.message)
}
