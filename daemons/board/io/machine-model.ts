/** What kind of machine the board runs on. */
import { readFileSync } from 'node:fs'

/** Where makers write it: device tree on ARM, firmware tables on PCs. */
const PLACES = ['/proc/device-tree/model', '/sys/class/dmi/id/product_name']

/** The maker's name of the model; null where nobody wrote one. */
export function machineModel(places: readonly string[] = PLACES): string | null {
  for (const place of places) {
    // Device tree texts end with a NUL.
    const model = textOf(place).replaceAll('\0', '').trim()
    if (model !== '') return model.slice(0, 128)
  }
  return null
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // not this kind of machine
  }
}
