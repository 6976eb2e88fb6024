/** A tree like sysfs with USB devices, and the kernel's reactions to it. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** A device as a test describes it; omitted values are those of a serial adapter. */
export interface FakeDevice {
  busId: string
  vendorId?: string
  productId?: string
  serial?: string
  product?: string
  deviceClass?: string
  /** Class, subclass and protocol of each interface, hex. */
  interfaces?: readonly (readonly [string, string, string])[]
  speed?: string
}

const HOST_DRIVER = 'usbip-host'

/** The USB of one machine. */
export class FakeUsb {
  /** Root folder, for `--sysroot` of the helper; `proc` is beside sysfs. */
  readonly root: string
  readonly #devices = new Set<string>()
  #nextNumber = 2

  constructor(t: Pick<Test, 'teardown'>, options: { hostDriver?: boolean } = {}) {
    this.root = mkdtempSync(join(tmpdir(), 'fake-usb-'))
    t.teardown(() => rmSync(this.root, { recursive: true, force: true }))
    for (const folder of ['devices', 'drivers/usb']) mkdirSync(join(this.bus, folder), { recursive: true })
    for (const file of ['bind', 'unbind']) writeFileSync(join(this.bus, 'drivers/usb', file), '')
    if (options.hostDriver !== false) this.loadHostDriver()
  }

  get sysfs(): string {
    return join(this.root, 'sys')
  }

  get bus(): string {
    return join(this.sysfs, 'bus/usb')
  }

  /** Loads usbip-host, as modprobe does. */
  loadHostDriver(): void {
    const folder = join(this.bus, 'drivers', HOST_DRIVER)
    mkdirSync(folder)
    for (const file of ['bind', 'unbind', 'match_busid', 'rebind']) writeFileSync(join(folder, file), '')
  }

  /** Plugs in a device; its own driver binds it at once. */
  plug(device: FakeDevice): void {
    const { busId, interfaces = [['ff', 'ff', 'ff']], deviceClass = '00' } = device
    const folder = this.#folder(busId)
    mkdirSync(folder, { recursive: true })
    const files: Record<string, string | undefined> = {
      ...{ busnum: busId.split('-')[0], devnum: String(this.#nextNumber++), speed: device.speed ?? '12' },
      ...{ idVendor: device.vendorId ?? '0403', idProduct: device.productId ?? '6001', bcdDevice: '0600' },
      ...{ bDeviceClass: deviceClass, bDeviceSubClass: '00', bDeviceProtocol: '00', bConfigurationValue: '1' },
      ...{ bNumConfigurations: '1', bNumInterfaces: ` ${interfaces.length}`, serial: device.serial },
      ...{ manufacturer: 'FTDI', product: device.product ?? 'FT232R USB UART' },
    }
    for (const [name, text] of Object.entries(files)) if (text !== undefined) this.#write(busId, name, text)
    for (const [i, numbers] of interfaces.entries()) this.#plugInterface(join(folder, `${busId}:1.${i}`), numbers)
    symlinkSync(folder, join(this.bus, 'devices', busId))
    this.#devices.add(busId)
    this.#link(busId, deviceClass === '09' ? 'hub' : 'usb')
  }

  unplug(busId: string): void {
    rmSync(join(this.bus, 'devices', busId))
    rmSync(this.#folder(busId), { recursive: true })
    this.#devices.delete(busId)
  }

  driverOf(busId: string): string {
    return readFileSync(join(this.#folder(busId), 'driver-name'), 'utf8')
  }

  statusOf(busId: string): string {
    return readFileSync(join(this.#folder(busId), 'usbip_status'), 'utf8').trim()
  }

  /** Sets the status that usbip-host would report: 1 free, 2 used, 3 in error. */
  setStatus(busId: string, status: '1' | '2' | '3'): void {
    this.#write(busId, 'usbip_status', status)
  }

  bind(busId: string): void {
    this.setStatus(busId, '1')
    this.#write(busId, 'usbip_sockfd', '')
    this.#link(busId, HOST_DRIVER)
  }

  unbind(busId: string): void {
    for (const name of ['usbip_status', 'usbip_sockfd']) rmSync(join(this.#folder(busId), name), { force: true })
    this.#link(busId, 'usb')
  }

  /** Adds a network interface, as the interface's driver would. */
  addNetwork(busId: string): void {
    mkdirSync(join(this.#folder(busId), `${busId}:1.0`, 'net/eth0'), { recursive: true })
  }

  /** @param number major:minor of its partition */
  addDisk(busId: string, number: string): void {
    const disk = join(this.#folder(busId), `${busId}:1.0`, 'host0/target0:0:0/0:0:0:0/block/sda')
    mkdirSync(join(disk, 'sda1/holders'), { recursive: true })
    writeFileSync(join(disk, 'dev'), '8:0\n')
    writeFileSync(join(disk, 'sda1/dev'), `${number}\n`)
  }

  /** Executes what was written to the drivers' files, as the kernel does at once. */
  obey(): void {
    for (const busId of this.#take(`drivers/${HOST_DRIVER}/bind`)) if (this.#devices.has(busId)) this.bind(busId)
    for (const busId of this.#take(`drivers/${HOST_DRIVER}/unbind`)) if (this.#devices.has(busId)) this.unbind(busId)
    for (const busId of this.#devices) {
      const path = join(this.#folder(busId), 'usbip_sockfd')
      const told = existsSync(path) ? readFileSync(path, 'utf8').trim() : ''
      if (told === '') continue
      writeFileSync(path, '')
      this.setStatus(busId, told === '-1' ? '1' : '2')
    }
  }

  #take(file: string): string[] {
    const path = join(this.bus, file)
    const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
    if (text !== '') writeFileSync(path, '')
    return text.split('\n').filter((line) => line !== '')
  }

  #folder(busId: string): string {
    return join(this.sysfs, 'devices/pci0000:00/0000:00:14.0', `usb${busId.split('-')[0]}`, busId)
  }

  #write(busId: string, name: string, text: string): void {
    writeFileSync(join(this.#folder(busId), name), `${text}\n`)
  }

  #plugInterface(folder: string, [interfaceClass, subClass, protocol]: readonly [string, string, string]): void {
    mkdirSync(folder)
    writeFileSync(join(folder, 'bInterfaceClass'), `${interfaceClass}\n`)
    writeFileSync(join(folder, 'bInterfaceSubClass'), `${subClass}\n`)
    writeFileSync(join(folder, 'bInterfaceProtocol'), `${protocol}\n`)
  }

  #link(busId: string, driver: string): void {
    const link = join(this.#folder(busId), 'driver')
    rmSync(link, { force: true })
    symlinkSync(join(this.bus, 'drivers', driver), link)
    writeFileSync(join(this.#folder(busId), 'driver-name'), driver)
  }
}
