/** Pseudo terminals with fixed names, as udev gives USB adapters: they can be unplugged and plugged in again. */
import { renameSync, rmSync, symlinkSync } from 'node:fs'
import { openPty, type Pty } from '#native/serial/index.ts'

/** A simulated device behind a link in /dev/shm; `ports.allow` must permit /dev/shm/*. */
export interface Device {
  /** The link. */
  readonly path: string
  onBytes(handler: (bytes: Uint8Array) => void): void
  /** The same for a device that accepts this many bytes per second. */
  onBytesAt(bytesPerS: number, handler: (bytes: Uint8Array) => void): void
  write(bytes: Uint8Array): Promise<void>
  /** Removes the link, then the device. */
  unplug(): Promise<void>
  /** Creates another pty under the same name, without a handler yet. */
  replug(): void
}

/**
 * A gateway waiting for /dev/pts/3 would take whatever gets that number next, even another test's pty; nobody else gets
 * a link of ours.
 */
export function plugIn(name: string): Device {
  const path = `/dev/shm/${name}-${process.pid}`
  let pty = linked(path)
  return {
    path,
    onBytes: (handler) => pty.onBytes(handler),
    onBytesAt(bytesPerS, handler) {
      const slow = pty
      slow.onBytes((bytes) => {
        slow.pause()
        setTimeout(() => slow.resume(), (bytes.length * 1000) / bytesPerS).unref()
        handler(bytes)
      })
    },
    write: (bytes) => pty.write(bytes),
    async unplug() {
      rmSync(path, { force: true })
      await pty.close()
    },
    replug() {
      pty = linked(path)
    },
  }
}

function linked(path: string): Pty {
  const pty = openPty()
  symlinkSync(pty.path, `${path}.new`)
  renameSync(`${path}.new`, path)
  return pty
}
