/** What is set about sharing, and a form against it: everything that is wrong is told at once. */
import { Fault } from '#kit/fault.ts'
import { parseDeviceChoice } from './device-choice.ts'
import type { AllowList } from './ports.ts'

/** As saved. */
export interface UsbipSettings {
  enabled: boolean
  /** Addresses and networks, by commas or spaces; empty: everybody. */
  allow: string
  /** See `parseDeviceChoice`. */
  device: string
}

/** A board that was just flashed shares nothing. */
export const firstSettings: UsbipSettings = { enabled: false, allow: '', device: '' }

/** Characters of `allow` and of `device`: a USB serial number has at most 126. */
export const LONGEST_ALLOW = 2048
export const LONGEST_DEVICE = 160

/** What a form may change; what is absent stays. */
export type UsbipChange = Partial<UsbipSettings>

/** @throws Fault `bad_allow` */
export type ParseAllow = (text: string) => AllowList

/**
 * @returns the settings after the change
 * @throws Fault `bad_fields` with a sentence for each field in `details.fields`
 */
export function changedSettings(now: UsbipSettings, change: UsbipChange, parseAllow: ParseAllow): UsbipSettings {
  const settings = { ...now, ...change }
  const faults = [
    ...fieldFault('allow', () => parseAllow(settings.allow)),
    ...fieldFault('device', () => parseDeviceChoice(settings.device)),
  ]
  if (faults.length === 0) return settings
  const sentence = faults.map(({ field, message }) => `${field} ${message}`).join('; ')
  throw new Fault('bad_fields', sentence, { details: { fields: faults } })
}

function fieldFault(field: string, parse: () => unknown): { field: string; message: string }[] {
  try {
    parse()
    return []
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault
    return [{ field, message: fault.message }]
  }
}
