/** Implements firmware updates: keys, storage of an image, its installer, and the oldest version accepted. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, constants, type FileHandle, mkdir, open, rename, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { Type } from 'typebox'
import { readPublicKeys, signerOf } from '#kit/auth/signing-key.ts'
import type { Clock } from '#kit/clock.ts'
import { createReader } from '#kit/http/check.ts'
import type { Log } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import { createStore, syncFolder, systemDisk } from '#kit/store/store.ts'
import { createOta, laterOf, type Ota, type OtaConfig } from '../core/machine/firmware.ts'
import type { Digest, FirmwareKeys, FloorBook, ImageSlot, Installer, RootHelper } from '../core/machine/ports.ts'
import { VERSION_PATTERN } from '../wire/firmware-image.ts'

// The keys, read again for each image: added or removed ones count at once.

/** @param places files and folders of PEM files */
function createFirmwareKeys(places: readonly string[]): FirmwareKeys {
  return {
    async load() {
      const keys = await readPublicKeys(places).catch((cause: Fault) => {
        throw new Fault('ota_not_set_up', `this board cannot tell whose image it is: ${cause.message}`, { cause })
      })
      if (keys.length === 0)
        throw new Fault(
          'ota_not_set_up',
          `this board takes no image, as it knows no key: ${places.join(', ') || 'ota.keys'} holds none`,
        )
      return (signed, signature) => signerOf(keys, signed, signature) !== undefined
    },
  }
}

// SHA-256 as core asks for it.

export function createSha256(): Digest {
  const hash = createHash('sha256')
  return { feed: (bytes) => void hash.update(bytes), hex: () => hash.digest('hex') }
}

// Installs a verified image: by the helper if the board owns the machine, else by a command from the settings.

/** How to install images. */
interface HandOver {
  /** @throws Fault `ota_not_set_up` */
  refuseUnready(): Promise<void>
  /** @throws Fault `helper_absent`, `helper_refused`, `install_command_failed` */
  handOver(path: string): Promise<void>
}

/** The program that the helper runs; a fixed path, which no caller can choose. */
const HELPER_INSTALLER = '/etc/plantroom/install-firmware'

/** By the helper, as root. @param program checked before an image is accepted */
export function byHelper(helper: RootHelper, program = HELPER_INSTALLER): HandOver {
  return {
    async refuseUnready() {
      await access(program, constants.F_OK).catch((cause) => {
        throw new Fault('ota_not_set_up', `this board takes no image, as there is no ${program} to install it`, {
          cause,
        })
      })
    },
    handOver: async (path) => void (await helper.ask('install', [path])),
  }
}

/** By a command, as the board's user. @param command program and words; the image's path is appended */
export function byCommand(command: readonly string[], timeoutMs: number): HandOver {
  return {
    async refuseUnready() {
      if (command.length === 0)
        throw new Fault('ota_not_set_up', 'this board takes no image, as ota.command names no program to install it')
    },
    handOver: (path) => runInstallCommand(command, path, timeoutMs),
  }
}

/** Most characters reported of the command's output. */
const MOST_SAID = 300

/** Within this time the kernel has ended a process that is killed, unless it cannot. */
const END_MS = 5000

function runInstallCommand(
  [program = '', ...words]: readonly string[],
  path: string,
  timeoutMs: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    // In its own process group, so that its children are killed with it on timeout.
    const child = spawn(program, [...words, path], { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    let said = ''
    let isLate = false
    let timer: NodeJS.Timeout
    function fail(how: string, cause?: unknown): void {
      clearTimeout(timer)
      const tail = said.trim() === '' ? '' : `: ${said.trim()}`
      reject(new Fault('install_command_failed', `${program} ${how}${tail}`, { cause }))
    }
    function end(): void {
      isLate = true
      const late = `took longer than ${durationText(timeoutMs)}, and still runs: it cannot be ended`
      // A program that waits for a broken disk ends when the disk answers, which may be never.
      timer = setTimeout(() => fail(late), END_MS)
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      } catch (cause) {
        // It runs as another user, as below sudo.
        fail(`${late} (${(cause as NodeJS.ErrnoException).code})`, cause)
      }
    }
    timer = setTimeout(end, timeoutMs)
    // Attached first: without free descriptors the child has no streams, and the error comes in the next turn.
    child.on('error', (cause) => fail(`could not be run: ${cause.message}`, cause))
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        said = (said + text).slice(-MOST_SAID)
      })
    // Not `close`: background processes may keep its streams open.
    child.on('exit', (code, signal) => {
      clearTimeout(timer)
      if (code === 0) resolve()
      else if (isLate) fail(`took longer than ${durationText(timeoutMs)}`)
      else setImmediate(() => fail(code === null ? `was ended by ${signal}` : `ended with ${code}`))
    })
  })
}

// Stores images as files in the state folder, and has them installed once they are verified.

/** How a file installer works. */
export interface FileInstallerOptions {
  /** Its own folder; leftovers in it are removed. */
  folder: string
  /** Space to keep free on the disk beside the image. */
  reserveBytes: number
  /** @throws Fault `ota_not_set_up` if `handOver` could not work */
  refuseUnready(): Promise<void>
  /** Installs the image at `path`. @throws Fault */
  handOver(path: string): Promise<void>
  /** Bytes free in a folder; replaced in tests. */
  freeBytes?(folder: string): Promise<number>
  /** Opens the file of an image; made to fail in tests. */
  openFile?(path: string): Promise<FileHandle>
}

/** Name of an image while it is written and not usable. */
const INCOMING_FILE = 'incoming.tmp'
/** Name of an image that is whole and verified. Backups leave out .tmp files. */
const IMAGE_FILE = 'image.tmp'

/** Touches the disk only for an image, and before it: leftovers of an interrupted update are then removed. */
export function createFileInstaller(options: FileInstallerOptions): Installer & { clear(): Promise<void> } {
  const { folder } = options
  const clear = () => rm(folder, { recursive: true, force: true })
  return {
    clear,
    refuseUnready: () => options.refuseUnready(),
    async begin(bytes) {
      await clear()
      await guarded('made', () => mkdir(folder, { recursive: true, mode: 0o700 }))
      await refuseFull(options, bytes)
      const path = join(folder, INCOMING_FILE)
      const file = await guarded('opened', () => (options.openFile ?? openNew)(path))
      return slotOf(options, file, clear)
    },
  }
}

async function refuseFull({ folder, reserveBytes, freeBytes = freeOf }: FileInstallerOptions, bytes: number) {
  const free = await freeBytes(folder)
  if (free >= bytes + reserveBytes) return
  throw new Fault(
    'image_no_room',
    `the image has ${bytes} bytes, and ${Math.max(0, free - reserveBytes)} are free beside the ${reserveBytes} that stay so`,
  )
}

function slotOf(options: FileInstallerOptions, file: FileHandle, clear: () => Promise<void>): ImageSlot {
  const image = join(options.folder, IMAGE_FILE)
  let isOpen = true
  async function close(): Promise<void> {
    if (!isOpen) return
    isOpen = false
    await file.close()
  }
  return {
    write: (bytes) => guarded('written', () => writeAll(file, bytes)),
    finish: () =>
      guarded('saved', async () => {
        await file.sync()
        await close()
        await rename(join(options.folder, INCOMING_FILE), image)
        await syncFolder(systemDisk, options.folder)
      }),
    async install() {
      try {
        await options.handOver(image)
      } catch (cause) {
        const why = cause instanceof Error ? cause.message : String(cause)
        throw new Fault('image_not_installed', `the image was received and proven, and not installed: ${why}`, {
          cause,
        })
      }
    },
    async discard() {
      // What cannot be closed or removed now is removed before the next image, or at the next start.
      await close().catch(() => {})
      await clear().catch(() => {})
    },
  }
}

/** `write` of a file may write fewer bytes than given. */
async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten
}

function openNew(path: string): Promise<FileHandle> {
  return open(path, 'wx', 0o600)
}

async function freeOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

async function guarded<T>(what: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (cause) {
    const { code = 'unknown error' } = cause as NodeJS.ErrnoException
    if (code === 'ENOSPC' || code === 'EDQUOT') throw new Fault('image_no_room', 'the disk is full', { cause })
    throw new Fault('image_not_kept', `the image could not be ${what}: the disk answered ${code}`, { cause })
  }
}

// Updates put together.

/** Dependencies. */
interface FirmwareWorld {
  clock: Clock
  log: Log
  config: OtaConfig
  /** Whether images are installed as root, by the helper; else by `ota.command`. */
  isOwned: boolean
  helper: RootHelper
  stateFolder: string
  onChange(): void
}

/** Loads the floor set by installed images, and removes leftovers of an interrupted update. */
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

/** Name of the file with the oldest version accepted. */
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
