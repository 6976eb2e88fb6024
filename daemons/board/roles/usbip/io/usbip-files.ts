/** Files of the role: usbip.json with its settings, usbip-bound.json with devices bound to usbip-host. */
import { Type } from 'typebox'
import { createReader } from '#kit/http/check.ts'
import type { Log } from '#kit/log.ts'
import { createStore, type Store } from '#kit/store/store.ts'
import type { BoundMemory } from '../core/ports.ts'
import {
  changedSettings,
  firstSettings,
  LONGEST_ALLOW,
  LONGEST_DEVICE,
  type ParseAllow,
  type UsbipSettings,
} from '../core/settings.ts'
import { isBusId } from '../wire/usb.ts'

/** Version of the files' schemas. */
const VERSION = 1 as const

const strict = { additionalProperties: false }
const settingsFile = Type.Object(
  {
    version: Type.Literal(VERSION),
    enabled: Type.Boolean(),
    allow: Type.String({ maxLength: LONGEST_ALLOW }),
    device: Type.String({ maxLength: LONGEST_DEVICE }),
  },
  strict,
)
const boundFile = Type.Object({ version: Type.Literal(VERSION), bound: Type.Array(Type.String()) }, strict)

/** The two files. */
interface UsbipFiles {
  settings: Pick<Store<UsbipSettings>, 'load' | 'save'>
  bound: BoundMemory
}

/** @param folder the board's state folder */
export function createUsbipFiles(folder: string, log: Log, parseAllow: ParseAllow): UsbipFiles {
  const readSettings = createReader(settingsFile)
  const readBound = createReader(boundFile)
  const settings = createStore({
    ...{ folder, name: 'usbip', log },
    check(value) {
      const file = readSettings(value)
      changedSettings(firstSettings, file, parseAllow)
      return file
    },
    initial: () => ({ version: VERSION, ...firstSettings }),
  })
  const bound = createStore({
    ...{ folder, name: 'usbip-bound', log },
    check: (value) => readBound(value),
    initial: () => ({ version: VERSION, bound: [] as string[] }),
  })
  return {
    settings: {
      async load() {
        const { enabled, allow, device } = await settings.load()
        return { enabled, allow, device }
      },
      save: (value) => settings.save({ version: VERSION, ...value }),
    },
    bound: {
      // They become words of a request to the helper, which would refuse anything else.
      load: async () => (await bound.load()).bound.filter(isBusId),
      save: (busIds) => bound.save({ version: VERSION, bound: [...busIds] }),
    },
  }
}
