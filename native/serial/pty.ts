/** Pseudo terminals for simulated devices: the demo and the tests hold one end, a line opens the other. */
import { addon } from './addon.ts'
import { Channel } from './binding.ts'

/** The far end of a simulated line. Nothing is read until `onBytes` is called, so that tests can fill the line. */
export interface Pty {
  /** Device path a line opens, such as /dev/pts/3. */
  readonly path: string
  onBytes(handler: (bytes: Buffer) => void): void
  /** Stops reading until `resume`: for a slow device. */
  pause(): void
  resume(): void
  /** Resolves once the kernel has taken all bytes. */
  write(bytes: Uint8Array): Promise<void>
  /** Closes the device: a line that has it open loses it. */
  close(): Promise<void>
}

/** @throws CallError if the system has no pty left */
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
