/** Which device is shared: what the setting `device` says, against what is plugged in. */
import { Fault } from '#kit/fault.ts'
import { compareBusIds, isBelow, isBusId } from '../wire/bus-id.ts'
import { hex4 } from '../wire/hex4.ts'
import type { UsbDevice } from './ports.ts'

/** Hubs are never shared; what is plugged into them may be. */
const HUB_CLASS = 9

/** The setting, understood. */
export type DeviceChoice =
  | { kind: 'first' }
  | { kind: 'place'; busId: string }
  | { kind: 'product'; vendorId: number; productId: number; serial: string | null }

/**
 * @param text empty for the first device there is; `0403:6001` or `0403:6001:SERIAL` for one by what it is; `1-1.4` for
 *   one by where it is plugged in, or for everything on the hub there
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

/** Devices that could be shared, by place. */
export function candidatesOf(devices: readonly UsbDevice[]): UsbDevice[] {
  return devices
    .filter(({ record }) => record.deviceClass !== HUB_CLASS)
    .sort((one, other) => compareBusIds(one.record.busId, other.record.busId))
}

/**
 * @param isShared whether a device is shared already: where several would do, it stays with that one
 * @returns those to be shared: one, or all on a hub
 */
export function chooseDevices(
  choice: DeviceChoice,
  devices: readonly UsbDevice[],
  isShared: (device: UsbDevice) => boolean,
): UsbDevice[] {
  const candidates = candidatesOf(devices)
  if (choice.kind === 'place') {
    const place = candidates.filter(({ record: { busId } }) => busId === choice.busId || isBelow(busId, choice.busId))
    return place
  }
  const fitting =
    choice.kind === 'product'
      ? candidates.filter((device) => isProduct(device, choice))
      : // Nobody named it: what the machine itself lives on is not taken from it.
        candidates.filter((device) => isShared(device) || device.carries === null)
  const one = fitting.find(isShared) ?? fitting[0]
  return one ? [one] : []
}

/**
 * What names a device over unplugging and restarts, as the setting takes it: what it is and its serial number, else the
 * place it is plugged in, as for two that say the same of themselves.
 */
export function keyOf(device: UsbDevice, devices: readonly UsbDevice[]): string {
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
