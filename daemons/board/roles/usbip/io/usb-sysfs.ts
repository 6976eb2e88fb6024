/** The USB of this machine as sysfs has it. */
import { join, relative } from 'node:path'
import type { Log } from '#kit/log.ts'
import { UeventSocket } from '#native/usbip/index.ts'
import type { Support, UsbBus, UsbDevice, UsbLook } from '../core/ports.ts'
import { isBusId } from '../wire/bus-id.ts'
import { type DeviceRecord, type InterfaceRecord, speedCode } from '../wire/device-record.ts'
import { openUevent } from '../wire/uevent.ts'
import { attribute, linkedName, names, number, realPath } from './sysfs-files.ts'
import { carriedBy } from './usb-carries.ts'

/** Where it is read. */
export interface UsbSysfsOptions {
  /** `/sys`, or a tree like it. */
  sysfs: string
  /** `/proc/self/mountinfo`, or a file like it. */
  mountsFile: string
  log: Log
}

const HOST_DRIVER = 'usbip-host'

/** `usbip_status`, which no other driver has: enum usbip_device_status, SDEV_ST_AVAILABLE to SDEV_ST_ERROR. */
const USAGES: Readonly<Record<string, UsbDevice['usage']>> = { 1: 'free', 2: 'used', 3: 'error' }

/** Longest string descriptor (USB 2.0, 9.6.7: 255 bytes of UTF-16 with a head of 2). */
const LONGEST_TEXT = 126

/** @source Linux, Documentation/ABI/stable/sysfs-bus-usb and testing/sysfs-bus-usb */
export function createUsbSysfs({ sysfs, mountsFile, log }: UsbSysfsOptions): UsbBus {
  const bus = join(sysfs, 'bus/usb')
  /** What cannot change while a device is plugged in: read once, and not at each look. */
  const known = new Map<string, FixedFacts>()

  async function look(): Promise<UsbLook> {
    const busIds = (await names(join(bus, 'devices'))).filter(isBusId)
    for (const busId of known.keys()) if (!busIds.includes(busId)) known.delete(busId)
    const devices = await Promise.all(busIds.map(readDevice))
    return { support: await readSupport(), devices: devices.filter((device) => device !== undefined) }
  }

  async function readSupport(): Promise<Support> {
    if ((await realPath(join(bus, 'devices'))) === null) return 'no_usb'
    return (await realPath(join(bus, 'drivers', HOST_DRIVER))) === null ? 'no_usbip_host' : 'ready'
  }

  /** @returns undefined for one that goes right now */
  async function readDevice(busId: string): Promise<UsbDevice | undefined> {
    const folder = join(bus, 'devices', busId)
    const [deviceNumber, configurationValue, driver] = await Promise.all([
      number(join(folder, 'devnum'), 10),
      number(join(folder, 'bConfigurationValue'), 10),
      linkedName(join(folder, 'driver')),
    ])
    const fixed = await fixedOf(busId, folder, deviceNumber)
    if (!fixed || deviceNumber === 0) return undefined
    const interfaces = await interfaceFolders(folder, busId, configurationValue)
    const isOurs = driver === HOST_DRIVER
    const status = isOurs ? await attribute(join(folder, 'usbip_status')) : null
    return {
      ...fixed,
      record: { ...fixed.record, configurationValue, interfaces: interfaces.length },
      interfaces: await Promise.all(interfaces.map(readInterface)),
      driver,
      usage: USAGES[status ?? ''] ?? null,
      carries: isOurs ? null : await carriedBy(interfaces, mountsFile),
    }
  }

  async function fixedOf(busId: string, folder: string, deviceNumber: number): Promise<FixedFacts | undefined> {
    const before = known.get(busId)
    if (before?.record.deviceNumber === deviceNumber) return before
    const path = await realPath(folder)
    if (path === null) return undefined
    const facts = await readFixed(folder, busId, join('/sys', relative((await realPath(sysfs)) ?? sysfs, path)))
    known.set(busId, facts)
    return facts
  }

  async function interfaceFolders(folder: string, busId: string, configurationValue: number): Promise<string[]> {
    const prefix = `${busId}:${configurationValue}.`
    const own = (await names(folder)).filter((name) => name.startsWith(prefix))
    return own.sort((one, other) => indexOf(one) - indexOf(other)).map((name) => join(folder, name))
  }

  return { look, watch: (onChange) => watchKernel(onChange, log) }
}

/** The part of a device that is read once. */
interface FixedFacts extends Pick<UsbDevice, 'maker' | 'product' | 'serial' | 'speedMbit'> {
  record: Omit<DeviceRecord, 'configurationValue' | 'interfaces'>
}

async function readFixed(folder: string, busId: string, path: string): Promise<FixedFacts> {
  const hex = (name: string) => number(join(folder, name), 16)
  const decimal = (name: string) => number(join(folder, name), 10)
  const text = async (name: string) => plainText(await attribute(join(folder, name)))
  const speed = Number(await attribute(join(folder, 'speed')))
  const speedMbit = Number.isFinite(speed) && speed > 0 ? speed : null
  return {
    maker: await text('manufacturer'),
    product: await text('product'),
    serial: await text('serial'),
    speedMbit,
    record: {
      path,
      busId,
      busNumber: await decimal('busnum'),
      deviceNumber: await decimal('devnum'),
      speed: speedCode(speedMbit),
      vendorId: await hex('idVendor'),
      productId: await hex('idProduct'),
      bcdDevice: await hex('bcdDevice'),
      deviceClass: await hex('bDeviceClass'),
      deviceSubClass: await hex('bDeviceSubClass'),
      deviceProtocol: await hex('bDeviceProtocol'),
      configurations: await decimal('bNumConfigurations'),
    },
  }
}

async function readInterface(folder: string): Promise<InterfaceRecord> {
  const hex = (name: string) => number(join(folder, name), 16)
  return {
    interfaceClass: await hex('bInterfaceClass'),
    interfaceSubClass: await hex('bInterfaceSubClass'),
    interfaceProtocol: await hex('bInterfaceProtocol'),
  }
}

/** 1-1:1.10 comes after 1-1:1.9. */
function indexOf(name: string): number {
  return Number(name.slice(name.lastIndexOf('.') + 1))
}

/** A device says what it likes: no control characters, and no more than a descriptor holds. */
function plainText(text: string | null): string | null {
  return (
    text
      ?.replaceAll(/\p{C}+/gu, ' ')
      .trim()
      .slice(0, LONGEST_TEXT) || null
  )
}

/** Tells of every device that comes or goes. Without the kernel's word the looks in between have to do. */
function watchKernel(onChange: () => void, log: Log): () => void {
  const unheard = (fault: Error) => log.notice('the kernel is not heard about devices, they are looked at', { fault })
  try {
    const socket = new UeventSocket({
      onMessage(message) {
        if (openUevent(message)?.subsystem === 'usb') onChange()
      },
      onLost: onChange,
      onFailed: unheard,
    })
    return () => socket.close()
  } catch (error) {
    unheard(error as Error)
    return () => {}
  }
}
