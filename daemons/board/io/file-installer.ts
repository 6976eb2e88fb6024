/** Images as files in the state folder, handed to a command once they are proven. */
import { type FileHandle, mkdir, open, rename, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '#kit/fault.ts'
import { syncFolder, systemDisk } from '#kit/store/whole-file.ts'
import type { ImageSlot, Installer } from '../core/firmware-ports.ts'

/** How a file installer works. */
export interface FileInstallerOptions {
  /** Its own; what lies in it is removed whenever it is in the way. */
  folder: string
  /** Room that is left on the disk beside the image. */
  reserveBytes: number
  /** @throws Fault `ota_not_set_up` where `handOver` could not work */
  refuseUnready(): Promise<void>
  /** Installs the image at `path`. @throws Fault */
  handOver(path: string): Promise<void>
  /** Bytes free in a folder; a test says otherwise. */
  freeBytes?(folder: string): Promise<number>
  /** Opens the file of an image; a test has it fail. */
  openFile?(path: string): Promise<FileHandle>
}

/** Under this name it is written, and is worth nothing. */
const INCOMING = 'incoming.tmp'
/** Under this name it is whole and proven. What ends in .tmp is in no backup. */
const IMAGE = 'image.tmp'

/** Touches the disk when an image comes, and before it: what an interrupted update left is removed then. */
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
      const path = join(folder, INCOMING)
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
  const image = join(options.folder, IMAGE)
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
        await rename(join(options.folder, INCOMING), image)
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

/** `write` of a file may write less than it is given. */
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
