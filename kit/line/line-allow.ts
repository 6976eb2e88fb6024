/** Which device paths may be a port at all. */
import { Fault } from '#kit/fault.ts'
import type { LineOpener } from './line.ts'

/** The kernel's serial tty classes and udev's stable names. `*` stands for anything but a slash. */
export const serialLineGlobs: readonly string[] = [
  '/dev/ttyS*',
  '/dev/ttyUSB*',
  '/dev/ttyACM*',
  '/dev/ttyAMA*',
  '/dev/ttymxc*',
  '/dev/ttyO*',
  '/dev/ttySC*',
  '/dev/ttyMAX*',
  '/dev/ttyXRUSB*',
  '/dev/ttyLP*',
  '/dev/ttyPS*',
  '/dev/ttyGS*',
  '/dev/serial/by-id/*',
  '/dev/serial/by-path/*',
]

/** The longest path the kernel takes (PATH_MAX, without its end). */
const PATH_BYTES = 4095

/**
 * @param globs patterns, each below /dev
 * @param setting the key they come from, for the sentence
 * @returns a check that throws Fault `port_not_allowed`, naming what is wrong with the path
 */
export function createLineRule(globs: readonly string[], setting: string): (path: string) => void {
  const patterns = globs.map(patternOf)
  return (path) => {
    if (path.length > PATH_BYTES)
      throw new Fault(
        'port_not_allowed',
        `The path has ${path.length} characters; a device path has at most ${PATH_BYTES}.`,
      )
    if (!path.startsWith('/dev/') || path.split('/').some((part) => part === '..' || part === '.') || hasControl(path))
      throw new Fault(
        'port_not_allowed',
        `${shown(path)} is no device path; it begins with /dev/ and has no . or .. parts.`,
      )
    if (!patterns.some((pattern) => pattern.test(path)))
      throw new Fault(
        'port_not_allowed',
        `${shown(path)} is not among the lines that may be used here. They are set by ${setting}: ${globs.join(', ')}.`,
      )
  }
}

/**
 * The same opener for paths that the rule allows: a port that was kept from before the patterns were narrowed, or that
 * came with a restored backup, is held to it like a new one.
 * @returns an opener that throws Fault `port_not_allowed` too
 */
export function openerOfAllowed(checkPath: (path: string) => void, opener: LineOpener): LineOpener {
  return {
    async open(path, settings) {
      checkPath(path)
      return await opener.open(path, settings)
    },
  }
}

function patternOf(glob: string): RegExp {
  return new RegExp(`^${glob.split('*').map(escapeOf).join('[^/]*')}$`)
}

function escapeOf(text: string): string {
  return text.replace(/[.+?^${}()|[\]\\]/g, '\\$&')
}

function hasControl(text: string): boolean {
  return [...text].some((character) => character < ' ' || character === '\x7f')
}

function shown(path: string): string {
  const text = [...path].map((character) => (character < ' ' || character === '\x7f' ? '?' : character)).join('')
  return text.length > 120 ? `${text.slice(0, 120)}…` : text
}
