/** Who may have how many places in the queue of a Modbus line: nobody fills it so that others find none. */
import type { Priority } from './modbus-ask.ts'
import type { ModbusSettings } from './modbus-settings.ts'

type QueueSettings = Pick<ModbusSettings, 'queue' | 'queue_reserve' | 'tcp_clients'>

/** How many may wait in all, with one more of a priority: each leaves places to those above it, and has one in any case. */
export function placesOf({ queue, queue_reserve: reserve }: QueueSettings): Record<Priority, number> {
  const leaving = (places: number) => Math.max(1, queue - places)
  return { operator: queue, poll: leaving(reserve), background: leaving(2 * reserve) }
}

/** Places that polls find whatever operators fill. Beyond `queue`, so that none is taken from those. */
export function ownPlacesOf({ queue_reserve: reserve }: QueueSettings): Record<Priority, number> {
  return { operator: 0, poll: reserve, background: 0 }
}

/**
 * Reads of points handed to the bus at once: a part of the queue, so that what is due goes in order of its instants, and
 * not in order of arrival with what others ask; what a dead unit holds up leaves room for the rest.
 */
export function pointPlacesOf({ queue, queue_reserve: reserve }: QueueSettings): number {
  return Math.max(1, Math.min(Math.floor(queue / 4), queue - reserve))
}

/** Requests of one Modbus TCP client at the bus at once: all clients together leave the places of points. */
export function clientPlacesOf(settings: QueueSettings): number {
  return Math.max(1, Math.floor((placesOf(settings).poll - pointPlacesOf(settings)) / settings.tcp_clients))
}
