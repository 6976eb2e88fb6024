/** The state file of the serial server: settings of every port by its number. */

import { Fault } from '#kit/fault.ts'
import type { Log } from '#kit/log.ts'
import { createStore } from '#kit/store.ts'

/** Values as the file has them: whoever reads them checks them. */
export type SavedPorts = Readonly<Record<string, unknown>>

export function createSerialFile(folder: string, log: Log) {
  return createStore<{ ports: SavedPorts }>({
    folder,
    name: 'serial',
    log,
    check: (value) => ({ ports: checked(value) }),
    initial: () => ({ ports: {} }),
  })
}

/** @throws Fault `store_damaged` */
function checked(value: unknown): SavedPorts {
  const ports = typeof value === 'object' && value !== null ? (value as { ports?: unknown }).ports : undefined
  if (typeof ports !== 'object' || ports === null || Array.isArray(ports))
    throw new Fault('store_damaged', 'it holds no ports')
  return ports as SavedPorts
}
