/** Points on a Modbus line: what is read of them refreshes their values, whoever asked, and a poller asks in time. */
import { Fault } from '#kit/pure/fault.ts'
import { exceptionCode } from '../../wire/modbus-reply.ts'
import { bitsOf, type ModbusRequest, wordsOf } from '../../wire/modbus-request.ts'
import type { Adapter, AdapterContext } from '../lines/adapter.ts'
import { type PointDefinition, writtenPlace } from '../points/definition.ts'
import { PointPoller, type PollAsker } from '../points/polling.ts'
import { type PointsFace, PointTable, type ReadValues } from '../points/values.ts'
import type { ModbusSettings } from './settings.ts'
import { type MasterHooks, pointPlacesOf, type SeenReply } from './transactions.ts'

/** Points of one port, between its adapter and its line. */
export interface ModbusPoints {
  readonly face: PointsFace
  /** For the master, or for whoever listens to another. */
  readonly hooks: Required<Omit<MasterHooks, 'debts'>>
  /** The line is open. @param asker polls by it; left out where another master asks */
  start(asker?: PollAsker): void
  stop(fault?: Fault): void
  /** After `stop`, for good: values no longer grow old here. */
  end(): void
  counters(): Record<string, number>
}

/** @param settings with every default; `points` are checked */
export function createModbusPoints(
  { clock, port, publish }: Pick<AdapterContext, 'clock' | 'port' | 'publish'>,
  settings: ModbusSettings,
  points: readonly PointDefinition[],
): ModbusPoints {
  const table = new PointTable({ clock, staleAfterMs: settings.stale_after_ms, publish })
  const poller = new PointPoller({
    clock,
    limits: { mergeGap: settings.merge_gap, mergeRegisters: settings.merge_registers },
    window: pointPlacesOf(settings),
    rereadMs: settings.reread_ms,
    onFailed: (failed, event, fault) => table.fail(failed, event, fault),
  })

  let polled: ReadonlySet<number> = new Set()

  function set(definitions: readonly PointDefinition[]): void {
    polled = new Set(definitions.map(({ unitId }) => unitId))
    table.set(definitions)
    poller.set(definitions)
  }

  /** An answer says that it was carried out; after a broadcast nobody says, and all units are looked at. */
  function written(request: ModbusRequest): void {
    const place = writtenPlace(request)
    if (place) poller.readAgain(place)
  }

  set(points)
  return {
    face: { set, list: () => table.list(), polling: () => poller.view() },
    hooks: {
      onReply(seen) {
        if (exceptionCode(seen.reply) !== null) return
        const read = valuesOf(seen)
        if (read) table.take(read, seen.atMs)
        written(seen.request)
      },
      onBroadcast: written,
      idleMs: () => poller.idleMs(),
      isPolled: (unitId) => polled.has(unitId),
    },
    start(asker) {
      if (asker) poller.start(asker)
    },
    stop(fault = new Fault('line_closed', `${port} was closed, so nothing is read; open it to read on.`)) {
      poller.stop()
      table.failAll(fault)
    },
    end: () => table.close(),
    counters: () => poller.counts(),
  }
}

/** The adapter with its points: they begin when its line is open, and end before it goes. */
export function withPoints<Adapting extends Adapter>(
  adapter: Adapting,
  points: ModbusPoints,
  asker?: PollAsker,
): Adapting {
  return {
    ...adapter,
    faces: { ...adapter.faces, points: points.face },
    attach(line) {
      adapter.attach(line)
      points.start(asker)
    },
    detach(fault) {
      points.stop(fault)
      return adapter.detach(fault)
    },
    end() {
      points.end()
      adapter.end?.()
    },
    counters: () => ({ ...adapter.counters(), ...points.counters() }),
  }
}

/** What a reply, no exception, tells of coils, inputs or registers; undefined where nothing was read. Function 23 reads what 3 reads. */
function valuesOf({ request, reply }: SeenReply): ReadValues | undefined {
  const { unitId, fc, address, quantity } = request
  const data = reply.subarray(3, -2)
  if (fc === 1 || fc === 2) return { unitId, fc, address, values: bitsOf(data, quantity) }
  if (fc === 3 || fc === 4) return { unitId, fc, address, values: wordsOf(data, quantity) }
  return fc === 23 ? { unitId, fc: 3, address, values: wordsOf(data, quantity) } : undefined
}
