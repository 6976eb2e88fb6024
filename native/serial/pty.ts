/** Pseudo terminals for simulated devices: the demo and the tests hold one end, a line opens the other. */
import { addon } from './addon.ts'
import { Channel } from './channel.ts'

/** The far end of a simulated line. Until `onBytes` is called nothing is read, so that a full line can be tried. */
export interface Pty {
  /** Device path a line opens, such as /dev/pts/3. */
  readonly path: string
  onBytes(handler: (bytes: Buffer) => void): void
  /** Nothing is read until `resume`: for a device that takes its time. */
  pause(): void
  resume(): void
  /** Resolves once the kernel has taken all bytes. */
  write(bytes: Uint8Array): Promise<void>
  /** The device is gone: a line that has it open is told. */
  close(): Promise<void>
}

/** @throws CallError where the system has no pty to give */
export function openPty(): Pty {
  const native = addon.openPty()
  const channel = new Channel(native)
  return {
    path: native.path,
    onBytes: (handler) => channel.listen(handler),
    pause: () => channel.pause(),
    resume: () => channel.resume(),
    write: (bytes) => channel.write(bytes),
    close: () => channel.close(),
  }
}
