/** Tells a serial line from every other file before it is opened: opening alone can start a watchdog or rewind a tape. */
import { readlink, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { Fault } from '#kit/fault.ts'

/**
 * Resolves where the path leads to a character device of the kernel's tty class that is no console.
 * @returns whether it is a pty, which has no wire
 * @throws Fault `line_absent`, `line_not_tty`
 * @source Linux, Documentation/admin-guide/devices.txt
 */
export async function requireTerminal(path: string): Promise<{ isPty: boolean }> {
  const status = await stat(path, { bigint: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR')
      throw new Fault('line_absent', `${path} is not there; it may be unplugged.`, { cause: error })
    throw new Fault('line_not_tty', `${path} cannot be looked at: ${error.code}.`, { cause: error })
  })
  if (!status.isCharacterDevice()) throw new Fault('line_not_tty', `${path} is no character device.`)
  const major = Number(((status.rdev >> 8n) & 0xfffn) | ((status.rdev >> 32n) & 0xfffff000n))
  const minor = Number((status.rdev & 0xffn) | ((status.rdev >> 12n) & 0xffffff00n))
  // The device ends of ptys: sysfs does not know them.
  if (major >= 136 && major <= 143) return { isPty: true }
  // Virtual consoles, and /dev/tty, /dev/console, /dev/ptmx.
  if (major === 5 || (major === 4 && minor < 64)) throw new Fault('line_not_tty', `${path} is a console.`)
  const subsystem = await readlink(`/sys/dev/char/${major}:${minor}/subsystem`).catch(() => '')
  if (basename(subsystem) !== 'tty')
    throw new Fault('line_not_tty', `${path} is no serial line: device ${major}:${minor} is not of class tty.`)
  return { isPty: false }
}
