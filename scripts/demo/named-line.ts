/** Simulated lines under names that a person can read, as udev gives them to USB adapters. */
import { lstatSync, rmSync, symlinkSync } from 'node:fs'
import { openPty, type Pty } from '#native/serial/index.ts'

/** A line whose path is a link in /dev/shm: nothing else ever gets that name, as it may get the number of a pty. */
export interface NamedLine extends Omit<Pty, 'path'> {
  /** Such as /dev/shm/meters; /dev/shm/meters-2 where that is taken by another demo. */
  readonly path: string
}

/** What the gateway must allow for these lines. */
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
