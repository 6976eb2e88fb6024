/** The points of a line: every reply refreshes the values it carries, whoever asked, and a poller asks in time. */
import { Fault } from '#kit/pure/fault.ts'
import type { Adapter, AdapterContext } from '../lines/adapter.ts'
import type { PointBase, PointProtocol } from '../points/definition.ts'
import { PointPoller, type PollAsker } from '../points/polling.ts'
import { type PointsFace, PointTable } from '../points/values.ts'
import type { BusReply, BusRequest } from './protocol.ts'
import type { BusSettings } from './settings.ts'
import { type BusHooks, pointPlacesOf, type SeenReply } from './transactions.ts'

/** The points of one port: the link between its adapter and its line. */
export interface BusPoints<Point extends PointBase, Request extends BusRequest, Reply extends BusReply> {
  readonly face: PointsFace<Point>
  /** For the master, or for the listener to another master. They change with the points, so they are not copied. */
  readonly hooks: BusHooks<Request, Reply>
  /** The line is open. @param asker sends the polls; left out where another master asks */
  start(asker?: PollAsker<Request>): void
  stop(fault?: Fault): void
  /** Called once after `stop`: values no longer become stale. */
  end(): void
  counters(): Record<string, number>
}

/** @param protocol of the points and of the writes; @param points have been checked */
export function createBusPoints<Point extends PointBase, Request extends BusRequest, Reply extends BusReply, Reading>(
  { clock, port, publish }: Pick<AdapterContext, 'clock' | 'port' | 'publish'>,
  settings: BusSettings,
  protocol: PointProtocol<Point, Request, Reply, Reading>,
  points: readonly Point[],
): BusPoints<Point, Request, Reply> {
  const table = new PointTable<Point, Reading>({ clock, protocol, staleAfterMs: settings.stale_after_ms, publish })
  const poller = new PointPoller<Point, Request>({
    clock,
    planner: protocol.planner(),
    verdict: (fault) => protocol.verdict(fault),
    window: pointPlacesOf(settings),
    rereadMs: settings.reread_ms,
    onFailed: (failed, event, fault) => table.fail(failed, event, fault),
  })

  /** Ids of the units that have points. */
  let polled: ReadonlySet<number> = new Set()
  const hooks: BusHooks<Request, Reply> = {
    onBroadcast: written,
    idleMs: () => (polled.size === 0 ? Number.POSITIVE_INFINITY : poller.idleMs()),
    isPolled: (unitId) => polled.has(unitId),
  }

  function set(definitions: readonly Point[]): void {
    polled = new Set(definitions.map(({ unitId }) => unitId))
    hooks.onReply = polled.size === 0 ? undefined : replied
    table.set(definitions)
    poller.set(definitions)
  }

  function replied({ atMs, reply, request }: SeenReply<Request, Reply>): void {
    if (reply.refusal) return
    const reading = protocol.readingOf(request, reply)
    if (reading !== undefined) table.take(reading, atMs)
    written(request)
  }

  /**
   * Reads the touched points again. A reply confirms its write; no unit confirms a broadcast, so it touches all units.
   */
  function written(request: Request): void {
    poller.readAgain((point) => protocol.isTouchedBy(point, request))
  }

  set(points)
  return {
    face: { takes: protocol.takes, set, list: () => table.list(), polling: () => poller.view() },
    hooks,
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

/** Adds points to an adapter: they start when its line opens, and end before it does. */
export function withPoints<
  Adapting extends Adapter,
  Point extends PointBase,
  Request extends BusRequest,
  Reply extends BusReply,
>(adapter: Adapting, points: BusPoints<Point, Request, Reply>, asker?: PollAsker<Request>): Adapting {
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
