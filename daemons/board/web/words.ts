/** Words of the pages for roles, states and reasons. */
import type { Lit } from '#kit/web/parts.ts'
import type { StartReason } from '../core/machine/ports.ts'
import type { RoleName } from '../wire/names.ts'
import * as texts from './texts.ts'

/** Roles on the name plate. */
export const roleTitles: Readonly<Record<RoleName, string>> = {
  encoder: texts.encoder,
  decoder: texts.decoder,
  serial: texts.serialServer,
  usbip: texts.usbServer,
}

/** Roles within a sentence. */
export const roleNouns: Readonly<Record<RoleName, string>> = {
  encoder: 'encoder',
  decoder: 'decoder',
  serial: texts.wordsSerialServer,
  usbip: texts.usbServer,
}

/** The purpose of each role, in one sentence. */
export const roleSentences: Readonly<Record<RoleName, string>> = {
  encoder: texts.sendsSoundFromInputToNetwork,
  decoder: texts.playsStreamFromNetwork,
  serial: texts.sharesUpToFourSerialLines,
  usbip: texts.sharesUsbDevice,
}

/** The role of another board, whose text may be anything. */
export function roleTitleOf(role: string): string {
  return Object.hasOwn(roleTitles, role) ? roleTitles[role as RoleName] : role || texts.unknownRole
}

/** States in one word, where there is no room for more. */
export const stateWords: Readonly<Record<'ok' | 'busy' | 'warn' | 'fault' | 'off', string>> = {
  ok: 'well',
  busy: 'busy',
  warn: texts.needsLook,
  fault: 'fault',
  off: 'off',
}

/** The lamp for another board's state; an unknown state is `off`. */
export function litOf(state: unknown): Lit {
  return typeof state === 'string' && Object.hasOwn(stateWords, state) ? (state as Lit) : 'off'
}

/** Why the board last started. */
export function startReason(reason: string): string {
  const known = Object.hasOwn(START_REASONS, reason)
  return known ? START_REASONS[reason as keyof typeof START_REASONS] : texts.forReasonIsNotKnown
}

const START_REASONS: Readonly<Record<Exclude<StartReason, 'unknown'>, string>> = {
  first: texts.forFirstTime,
  power: texts.powerCame,
  config: texts.settingsWereSaved,
  reboot: texts.somebodyRestarted,
  ota: texts.newFirmwareWasInstalled,
  factory_reset: texts.wasReset,
  service: texts.serviceWasStarted,
  crash: texts.crashMeans,
}
