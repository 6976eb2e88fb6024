/** Settings of USB sharing: its table in board.toml, the choice of device, and the check of a submitted form. */
import { Type } from 'typebox'
import { Fault } from '#kit/pure/fault.ts'
import { hex4, USBIP_PORT } from '../wire/op.ts'
import { compareBusIds, isBehindHub, isBusId } from '../wire/usb.ts'
import type { AllowList, UsbDevice } from './ports.ts'

// The choice of devices: matches the setting `device` against what is plugged in.

/** Hubs are never shared, but devices plugged into them may be. */
const HUB_CLASS = 9

/** The parsed setting. */
export type DeviceChoice =
  | { kind: 'first' }
  | { kind: 'place'; busId: string }
  | { kind: 'product'; vendorId: number; productId: number; serial: string | null }

/**
 * @param text empty for the first device; `0403:6001` or `0403:6001:SERIAL` for one by product; `1-1.4` for one by
 *   place, or for everything on the hub there
 * @throws Fault `bad_device`
 */
export function parseDeviceChoice(text: string): DeviceChoice {
  if (text === '') return { kind: 'first' }
  if (isBusId(text)) return { kind: 'place', busId: text }
  const [, vendor, product, serial] = /^([0-9a-f]{4}):([0-9a-f]{4})(?::(.+))?$/i.exec(text) ?? []
  if (vendor === undefined || product === undefined)
    throw new Fault(
      'bad_device',
      'is neither a device (0403:6001, or 0403:6001:SERIAL) nor a place (1-1.4), expected one of them or nothing',
    )
  return {
    kind: 'product',
    vendorId: Number.parseInt(vendor, 16),
    productId: Number.parseInt(product, 16),
    serial: serial ?? null,
  }
}

/** Devices that can be shared, sorted by place. */
export function shareableDevices(devices: readonly UsbDevice[]): UsbDevice[] {
  return devices
    .filter(({ record }) => record.deviceClass !== HUB_CLASS)
    .sort((one, other) => compareBusIds(one.record.busId, other.record.busId))
}

/**
 * @param isShared whether a device is shared already: of several matches it is preferred
 * @returns the devices to share: one, or all on a hub
 */
export function chooseDevices(
  choice: DeviceChoice,
  devices: readonly UsbDevice[],
  isShared: (device: UsbDevice) => boolean,
): UsbDevice[] {
  const candidates = shareableDevices(devices)
  if (choice.kind === 'place') {
    const place = candidates.filter(
      ({ record: { busId } }) => busId === choice.busId || isBehindHub(busId, choice.busId),
    )
    return place
  }
  const fitting =
    choice.kind === 'product'
      ? candidates.filter((device) => isProduct(device, choice))
      : // Not named by anybody: a device that the machine itself depends on is left to it.
        candidates.filter((device) => isShared(device) || device.carries === null)
  const one = fitting.find(isShared) ?? fitting[0]
  return one ? [one] : []
}

/**
 * A key for the setting that survives unplugging and restarts: product and serial number, or the place if the device
 * has no serial number or two have the same.
 */
export function deviceKey(device: UsbDevice, devices: readonly UsbDevice[]): string {
  const { vendorId, productId, busId } = device.record
  const { serial } = device
  if (serial === null) return busId
  const same = devices.filter((other) => isProduct(other, { vendorId, productId, serial }))
  return same.length > 1 ? busId : `${hex4(vendorId)}:${hex4(productId)}:${serial}`
}

function isProduct(
  { record, serial }: UsbDevice,
  choice: { vendorId: number; productId: number; serial: string | null },
): boolean {
  return (
    record.vendorId === choice.vendorId &&
    record.productId === choice.productId &&
    (choice.serial === null || serial === choice.serial)
  )
}

// The settings, and the check of a form: all faults are reported at once.

/** As saved. */
export interface UsbipSettings {
  enabled: boolean
  /** Addresses and networks, separated by commas or spaces; empty for everyone. */
  allow: string
  /** See `parseDeviceChoice`. */
  device: string
}

/** A newly flashed board shares nothing. */
export const firstSettings: UsbipSettings = { enabled: false, allow: '', device: '' }

/** Longest `allow` and `device` in characters: a USB serial number has at most 126. */
export const LONGEST_ALLOW = 2048
export const LONGEST_DEVICE = 160

/** The fields a form may change; absent ones stay. */
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

// The table `usbip` of board.toml.

/** Port, limits and times of USB sharing. */
export const usbipTable = Type.Object(
  {
    port: Type.Integer({
      default: USBIP_PORT,
      minimum: 0,
      maximum: 65_535,
      description: 'TCP port for USB/IP hosts; 0 takes a free one',
    }),
    host: Type.String({
      default: '::',
      minLength: 2,
      maxLength: 45,
      description: 'address to listen on for them; :: is every one, of IPv4 as well',
    }),
    allow_entries: Type.Integer({
      default: 64,
      minimum: 1,
      maximum: 1024,
      description: 'addresses and networks that the list of those who may connect can hold',
    }),
    connections: Type.Integer({
      default: 32,
      minimum: 1,
      maximum: 4096,
      description:
        'hosts that may be asking at once; beyond that the address with the most is closed first. A host that has a device does not count',
    }),
    connections_per_host: Type.Integer({
      default: 8,
      minimum: 1,
      maximum: 4096,
      description: 'of them, from one address (IPv6: one /64)',
    }),
    op_timeout_ms: Type.Integer({
      default: 5000,
      minimum: 100,
      maximum: 60_000,
      unit: 'ms',
      description: 'time a host has to say what it wants, and to take the answer',
    }),
    hold_ms: Type.Integer({
      default: 60_000,
      minimum: 0,
      maximum: 3_600_000,
      unit: 'ms',
      description: 'time for which a host that a device was taken from does not get it again',
    }),
    look_ms: Type.Integer({
      default: 3000,
      minimum: 200,
      maximum: 60_000,
      unit: 'ms',
      description: 'time between looks at what is plugged in, where the kernel says nothing',
    }),
    retry_ms: Type.Integer({
      default: 5000,
      minimum: 200,
      maximum: 600_000,
      unit: 'ms',
      description: 'time until a device that could not be shared, or freed, is tried again',
    }),
    keepalive_idle_s: Type.Integer({
      default: 5,
      minimum: 1,
      maximum: 32_767,
      unit: 's',
      description: 'silence of a host after which it is asked whether it is there',
    }),
    keepalive_interval_s: Type.Integer({
      default: 2,
      minimum: 1,
      maximum: 32_767,
      unit: 's',
      description: 'time between such questions',
    }),
    keepalive_count: Type.Integer({
      default: 3,
      minimum: 1,
      maximum: 127,
      description: 'keep-alive probes without an answer after which the device is freed',
    }),
    user_timeout_ms: Type.Integer({
      default: 11_000,
      minimum: 1000,
      maximum: 600_000,
      unit: 'ms',
      description: 'time for which what was sent to a host may stay unacknowledged before the device is freed',
    }),
    sysfs: Type.String({
      default: '/sys',
      minLength: 1,
      maxLength: 256,
      description: 'the folder in which the kernel lists its USB devices',
    }),
  },
  { additionalProperties: false, default: {}, description: 'sharing a USB device' },
)
