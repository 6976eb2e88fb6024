/** How the pages call things: roles, states, reasons. */
import type { Lit } from '#kit/web/parts.ts'
import type { StartReason } from '../core/machine/ports.ts'
import type { RoleName } from '../wire/names.ts'

/** Roles as the name plate has them. */
export const roleTitles: Readonly<Record<RoleName, string>> = {
  encoder: 'Encoder',
  decoder: 'Decoder',
  serial: 'Serial server',
  usbip: 'USB server',
}

/** Roles within a sentence. */
export const roleNouns: Readonly<Record<RoleName, string>> = {
  encoder: 'encoder',
  decoder: 'decoder',
  serial: 'serial server',
  usbip: 'USB server',
}

/** What each role is for, in one sentence. */
export const roleSentences: Readonly<Record<RoleName, string>> = {
  encoder: 'Sends sound from its input to the network.',
  decoder: 'Plays a stream from the network.',
  serial: 'Shares up to four serial lines with computers on the network.',
  usbip: 'Shares a USB device with one computer on the network.',
}

/** The role of another board; what it says of itself may be anything. */
export function roleTitleOf(role: string): string {
  return Object.hasOwn(roleTitles, role) ? roleTitles[role as RoleName] : role || 'Unknown role'
}

/** States in one word, for where there is room for no more. */
export const stateWords: Readonly<Record<'ok' | 'busy' | 'warn' | 'fault' | 'off', string>> = {
  ok: 'well',
  busy: 'busy',
  warn: 'needs a look',
  fault: 'fault',
  off: 'off',
}

/** A state somebody else's board told, as a lamp; what is no state of ours is unknown. */
export function litOf(state: unknown): Lit {
  return typeof state === 'string' && Object.hasOwn(stateWords, state) ? (state as Lit) : 'off'
}

/** Why the board started last. */
export function startReason(reason: string): string {
  const known = Object.hasOwn(START_REASONS, reason)
  return known ? START_REASONS[reason as keyof typeof START_REASONS] : 'for a reason that is not known'
}

const START_REASONS: Readonly<Record<Exclude<StartReason, 'unknown'>, string>> = {
  first: 'for the first time',
  power: 'power came on',
  config: 'settings were saved',
  reboot: 'somebody restarted it',
  ota: 'new firmware was installed',
  factory_reset: 'it was reset',
  service: 'its service was started',
  crash: 'the program had ended by itself',
}
