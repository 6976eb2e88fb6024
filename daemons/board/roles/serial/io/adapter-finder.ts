/** The devices behind the serial ports, as the machine knows them. */
import { realpath } from 'node:fs/promises'
import type { LineFinder } from '#kit/line/line.ts'
import type { AdapterDevice } from '../core/ports.ts'

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
