/** Simulated lines with readable names, as udev gives to USB adapters. */
import { lstatSync, rmSync, symlinkSync } from 'node:fs'
import { openPty, type Pty } from '#native/serial/index.ts'

/** A line whose path is a link in /dev/shm: unlike the number of a pty, that name is never given to anything else. */
export interface NamedLine extends Omit<Pty, 'path'> {
  /** For example /dev/shm/meters; /dev/shm/meters-2 if another demo has that. */
  readonly path: string
}

/** Pattern that the gateway must allow for these lines. */
export const NAMED_LINES = '/dev/shm/*'

const MOST_NAMES = 100

/** @param name a word without slashes */
export function openNamedLine(name: string): NamedLine {
  const pty = openPty()
  const path = linked(pty.path, name)
  return {
    path,
    onBytes: (handler) => pty.onBytes(handler),
    pause: () => pty.pause(),
    resume: () => pty.resume(),
    write: (bytes) => pty.write(bytes),
    async close() {
      rmSync(path, { force: true })
      await pty.close()
    },
  }
}

function linked(device: string, name: string): string {
  for (let turn = 1; turn <= MOST_NAMES; turn++) {
    const path = `/dev/shm/${name}${turn === 1 ? '' : `-${turn}`}`
    if (!lstatSync(path, { throwIfNoEntry: false })) {
      symlinkSync(device, path)
      return path
    }
  }
  throw new Error(`/dev/shm has ${MOST_NAMES} names like ${name}; remove those that no demo uses`)
}
