/** Firmware updates put together: keys, the place of an image, who installs it, and the oldest version that is taken. */
import { join } from 'node:path'
import { Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import { createReader } from '#kit/http/check.ts'
import type { Log } from '#kit/log.ts'
import { createStore } from '#kit/store.ts'
import type { FloorBook } from '../core/firmware-ports.ts'
import { laterOf } from '../core/firmware-rules.ts'
import { createOta, type Ota } from '../core/ota.ts'
import type { OtaConfig } from '../core/ota-keys.ts'
import type { RootHelper } from '../core/ports.ts'
import { VERSION_PATTERN } from '../wire/version-number.ts'
import { createFileInstaller } from './file-installer.ts'
import { createFirmwareKeys } from './firmware-keys.ts'
import { byCommand, byHelper } from './install-command.ts'
import { createSha256 } from './sha256.ts'

/** What updates need of the board. */
export interface FirmwareWorld {
  clock: Clock
  log: Log
  config: OtaConfig
  /** Images are installed as root, by the helper; else by `ota.command`. */
  isOwned: boolean
  helper: RootHelper
  stateFolder: string
  onChange(): void
}

/** Loads what installed images said, and removes what an interrupted update left. */
export async function openFirmware(world: FirmwareWorld): Promise<Ota> {
  const { clock, log, config, stateFolder } = world
  const installer = createFileInstaller({
    folder: join(stateFolder, 'firmware'),
    reserveBytes: config.reserve_bytes,
    ...(world.isOwned ? byHelper(world.helper) : byCommand(config.command, config.install_ms)),
  })
  await installer.clear()
  return createOta({
    clock,
    log,
    installer,
    keys: createFirmwareKeys(config.keys),
    floors: await openFloors(world),
    rules: { compatible: config.compatible, floor: config.floor },
    createDigest: createSha256,
    onChange: world.onChange,
  })
}

/** The file that says how old firmware may be. */
export const FLOORS = 'firmware'

const floorFile = Type.Object(
  { version: Type.Literal(1), floor: Type.String({ pattern: VERSION_PATTERN }) },
  { additionalProperties: false },
)

async function openFloors({ clock, log, stateFolder }: FirmwareWorld): Promise<FloorBook> {
  const file = createStore({
    folder: stateFolder,
    name: FLOORS,
    check: createReader(floorFile),
    initial: () => ({ version: 1 as const, floor: '0.0.0' }),
    clock,
    log,
  })
  let { floor } = await file.load()
  return {
    floor: () => floor,
    async raise(version) {
      const later = laterOf(floor, version)
      if (later === floor) return
      floor = later
      await file.save({ version: 1, floor })
    },
  }
}
