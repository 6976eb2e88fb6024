/** Serial ports of this machine: their saved settings, and the adapter behind each. */
import { realpath } from 'node:fs/promises'
import type { LineFinder } from '#kit/line/line.ts'
import type { Log } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createStore } from '#kit/store/store.ts'
import type { AdapterDevice } from '../core/ports.ts'

// The state file: settings of every port by its number.

/** Values as in the file; not checked yet. */
type SavedPorts = Readonly<Record<string, unknown>>

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

/** @param paths of ports 1, 2 and so on; links such as those below /dev/serial/by-id are followed */
export async function findAdapters(paths: readonly string[], finder: LineFinder): Promise<AdapterDevice[]> {
  const found = await finder.list()
  return Promise.all(
    paths.map(async (path, index) => {
      const real = await realpath(path).catch(() => null) // unplugged
      const line = found.find((one) => one.path === real)
      return {
        port: index + 1,
        path,
        found: real !== null,
        maker: line?.maker ?? null,
        product: line?.product ?? null,
        serial_number: line?.serialNumber ?? null,
      }
    }),
  )
}
