/** The USB devices of this machine from sysfs, and what the machine itself would lose with one. */
import { readdir, readFile, readlink, realpath } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import type { Log } from '#kit/log.ts'
import { UeventSocket } from '#native/usbip/index.ts'
import type { Support, UsbBus, UsbDevice, UsbLook } from '../core/ports.ts'
import { type DeviceRecord, type InterfaceRecord, speedCode } from '../wire/op.ts'
import { isBusId, openUevent } from '../wire/usb.ts'

// Small files and folders of sysfs; anything absent, or vanishing while it is read, reads as nothing.

/** Errors of reading while a device is being pulled or its driver lets go. */
const GONE = new Set(['ENOENT', 'ENODEV', 'ENXIO', 'EIO', 'ENOTDIR', 'EINVAL', 'EACCES'])

async function orNothing<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading
  } catch (error) {
    if (GONE.has((error as NodeJS.ErrnoException).code ?? '')) return null
    throw error
  }
}

/** @returns the trimmed text; null if it is absent or empty */
async function attribute(path: string): Promise<string | null> {
  const text = await orNothing(readFile(path, 'utf8'))
  return text?.trim() || null
}

/** @returns 0 if it is absent or not a number, as on an unconfigured device */
async function number(path: string, base: 10 | 16): Promise<number> {
  const value = Number.parseInt((await attribute(path)) ?? '', base)
  return Number.isNaN(value) ? 0 : value
}

/** @returns names; none if there is no such folder */
async function names(path: string): Promise<string[]> {
  return (await orNothing(readdir(path))) ?? []
}

/** @returns the last name in the link's target */
async function linkedName(path: string): Promise<string | null> {
  const target = await orNothing(readlink(path))
  return target === null ? null : basename(target)
}

/** @returns the path with links resolved */
async function realPath(path: string): Promise<string | null> {
  return await orNothing(realpath(path))
}

// What this machine itself would lose with a device: its network, or a disk in use.

/** @param interfaces folders of the device's interfaces below sysfs; @param mountsFile as /proc/self/mountinfo */
async function carriedBy(interfaces: readonly string[], mountsFile: string): Promise<UsbDevice['carries']> {
  for (const folder of interfaces) {
    if ((await names(join(folder, 'net'))).length > 0) return 'network'
    for (const disk of await disksOf(folder)) if (await isInUse(disk, mountsFile)) return 'disk'
  }
  return null
}

/** Folders of an interface's block devices: `host0/target0:0:0/0:0:0:0/block/sda`. */
async function disksOf(folder: string): Promise<string[]> {
  const targets = await below([folder], (name) => name.startsWith('host'))
  const units = await below(await below(targets, (name) => name.startsWith('target')), (name) => name.includes(':'))
  return await below(
    units.map((unit) => join(unit, 'block')),
    () => true,
  )
}

async function below(folders: readonly string[], isMeant: (name: string) => boolean): Promise<string[]> {
  const found = await Promise.all(
    folders.map(async (folder) => (await names(folder)).filter(isMeant).map((name) => join(folder, name))),
  )
  return found.flat()
}

/** Whether a disk or a partition of it is mounted, or part of something else such as an encrypted or joined disk. */
async function isInUse(disk: string, mountsFile: string): Promise<boolean> {
  const mounted = await mountedNumbers(mountsFile)
  const parts = [disk, ...(await below([disk], (name) => disk.endsWith(name.replace(/p?\d+$/, ''))))]
  for (const part of parts) {
    if (mounted.has((await attribute(join(part, 'dev'))) ?? '')) return true
    if ((await names(join(part, 'holders'))).length > 0) return true
  }
  return false
}

/** `major:minor` of all that is mounted. @source proc_pid_mountinfo(5), field 3 */
async function mountedNumbers(mountsFile: string): Promise<ReadonlySet<string>> {
  const lines = (await readFile(mountsFile, 'utf8')).split('\n')
  return new Set(lines.map((line) => line.split(' ')[2] ?? ''))
}

// Devices, and the kernel's events for them.

/** Where to read. */
interface UsbSysfsOptions {
  /** `/sys`, or a tree like it. */
  sysfs: string
  /** `/proc/self/mountinfo`, or a file like it. */
  mountsFile: string
  log: Log
}

const HOST_DRIVER = 'usbip-host'

/**
 * Values of `usbip_status`, which only this driver has: enum usbip_device_status, SDEV_ST_AVAILABLE to SDEV_ST_ERROR.
 */
const USAGES: Readonly<Record<string, UsbDevice['usage']>> = { 1: 'free', 2: 'used', 3: 'error' }

/** Longest string descriptor (USB 2.0, 9.6.7: 255 bytes of UTF-16 with a head of 2). */
const LONGEST_TEXT = 126

/** @source Linux, Documentation/ABI/stable/sysfs-bus-usb and testing/sysfs-bus-usb */
export function createUsbSysfs({ sysfs, mountsFile, log }: UsbSysfsOptions): UsbBus {
  const bus = join(sysfs, 'bus/usb')
  /** Facts that cannot change while a device is plugged in: read once, not at each look. */
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

  /** @returns undefined for one that is being pulled */
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

/** The facts that are read once. */
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

/** The number to sort by: 1-1:1.10 comes after 1-1:1.9. */
function indexOf(name: string): number {
  return Number(name.slice(name.lastIndexOf('.') + 1))
}

/** Devices may send anything: control characters are removed, and the length is that of a descriptor. */
function plainText(text: string | null): string | null {
  return (
    text
      ?.replaceAll(/\p{C}+/gu, ' ')
      .trim()
      .slice(0, LONGEST_TEXT) || null
  )
}

/** Calls for every device that is plugged in or pulled. Without kernel events the regular looks have to do. */
function watchKernel(onChange: () => void, log: Log): () => void {
  const unheard = (fault: Error) =>
    log.notice('no device events from the kernel; devices are polled instead', { fault })
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
