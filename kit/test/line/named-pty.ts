/** Pseudo terminals under a name of their own, as udev gives USB adapters one: they can be pulled and plugged again. */
import { renameSync, rmSync, symlinkSync } from 'node:fs'
import { openPty, type Pty } from '#native/serial/index.ts'

/** A simulated device behind a link in /dev/shm; `ports.allow` must let /dev/shm/* pass. */
export interface Device {
  /** The link. */
  readonly path: string
  onBytes(handler: (bytes: Uint8Array) => void): void
  /** The same of a device that takes so many bytes in a second. */
  onBytesAt(bytesPerS: number, handler: (bytes: Uint8Array) => void): void
  write(bytes: Uint8Array): Promise<void>
  /** The link goes, then the device. */
  unplug(): Promise<void>
  /** Another pty under the same name; it has no handler yet. */
  replug(): void
}

/**
 * A gateway that waits for /dev/pts/3 to come back would take whatever gets that number next, also the pty of another
 * test; a link of one's own nobody else gets.
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
