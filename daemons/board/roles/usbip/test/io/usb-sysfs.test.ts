/** A tree like sysfs, read. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { silentLog } from '#kit/log.ts'
import { createUsbSysfs } from '../../io/usb-sysfs.ts'
import { FakeUsb } from '../fake-usb.ts'

function machine(t: Test, options?: { hostDriver?: boolean }) {
  const usb = new FakeUsb(t, options)
  const mountsFile = join(usb.root, 'mountinfo')
  writeFileSync(mountsFile, '26 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n')
  const bus = createUsbSysfs({ sysfs: usb.sysfs, mountsFile, log: silentLog })
  return { usb, bus }
}

t.test('reads a device as the kernel has it', async (t) => {
  const { usb, bus } = machine(t)
  usb.plug({ busId: '1-1', serial: 'A5069RR4' })
  t.same(await bus.look(), {
    support: 'ready',
    devices: [
      {
        record: {
          path: '/sys/devices/pci0000:00/0000:00:14.0/usb1/1-1',
          busId: '1-1',
          busNumber: 1,
          deviceNumber: 2,
          speed: 2,
          vendorId: 0x0403,
          productId: 0x6001,
          bcdDevice: 0x0600,
          deviceClass: 0,
          deviceSubClass: 0,
          deviceProtocol: 0,
          configurationValue: 1,
          configurations: 1,
          interfaces: 1,
        },
        interfaces: [{ interfaceClass: 255, interfaceSubClass: 255, interfaceProtocol: 255 }],
        maker: 'FTDI',
        product: 'FT232R USB UART',
        serial: 'A5069RR4',
        speedMbit: 12,
        driver: 'usb',
        usage: null,
        carries: null,
      },
    ],
  })
})

t.test('knows a system without USB, one without usbip-host, and one that can share', async (t) => {
  const none = createUsbSysfs({ sysfs: '/nonexistent', mountsFile: '/nonexistent', log: silentLog })
  t.same(await none.look(), { support: 'no_usb', devices: [] })
  const { usb, bus } = machine(t, { hostDriver: false })
  t.equal((await bus.look()).support, 'no_usbip_host')
  usb.loadHostDriver()
  t.equal((await bus.look()).support, 'ready')
})

t.test('follows driver and usage from look to look', async (t) => {
  const { usb, bus } = machine(t)
  usb.plug({ busId: '1-1' })
  const look = async () => {
    const [device] = (await bus.look()).devices
    return [device?.driver, device?.usage]
  }
  t.same(await look(), ['usb', null])
  usb.bind('1-1')
  t.same(await look(), ['usbip-host', 'free'])
  usb.setStatus('1-1', '2')
  t.same(await look(), ['usbip-host', 'used'])
  usb.setStatus('1-1', '3')
  t.same(await look(), ['usbip-host', 'error'])
})

t.test('another device in the same place is read again', async (t) => {
  const { usb, bus } = machine(t)
  usb.plug({ busId: '1-1', serial: 'A' })
  await bus.look()
  usb.unplug('1-1')
  t.same((await bus.look()).devices, [])
  usb.plug({ busId: '1-1', serial: 'B', productId: '6015' })
  const [device] = (await bus.look()).devices
  t.match(device, { serial: 'B', record: { productId: 0x6015, deviceNumber: 3 } })
})

t.test('interfaces come in order, and only those of the active configuration', async (t) => {
  const { usb, bus } = machine(t)
  const interfaces = Array.from({ length: 12 }, (_, i) => [i.toString(16).padStart(2, '0'), '00', '00'] as const)
  usb.plug({ busId: '1-1', interfaces })
  mkdirSync(join(usb.bus, 'devices/1-1/1-1:2.0'))
  const [device] = (await bus.look()).devices
  t.same(
    device?.interfaces.map(({ interfaceClass }) => interfaceClass),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
  )
  t.equal(device?.record.interfaces, 12)
})

t.test('texts of a device are plain and limited in length', async (t) => {
  const { usb, bus } = machine(t)
  usb.plug({ busId: '1-1', product: `<b>Evil</b>\u001b[2J\u202e ${'x'.repeat(500)}`, serial: '\u0007' })
  const [device] = (await bus.look()).devices
  t.equal(device?.product?.length, 126)
  t.match(device?.product, /^<b>Evil<\/b> \[2J {1,2}x+$/)
  t.equal(device?.serial, null)
})

t.test('a device with missing parts, such as one being unplugged, is read as far as possible', async (t) => {
  const { usb, bus } = machine(t)
  usb.plug({ busId: '1-1' })
  for (const name of ['idVendor', 'speed', 'manufacturer', 'driver']) rmSync(join(usb.bus, 'devices/1-1', name))
  const [device] = (await bus.look()).devices
  t.match(device, { maker: null, speedMbit: null, driver: null, record: { vendorId: 0, speed: 0 } })
  rmSync(join(usb.bus, 'devices/1-1/devnum'))
  t.same((await bus.look()).devices, [])
})

t.test('knows which devices the machine itself needs: its network, and a mounted disk', async (t) => {
  const { usb, bus } = machine(t)
  for (const busId of ['1-1', '1-2', '1-3', '1-4']) usb.plug({ busId })
  usb.addNetwork('1-1')
  usb.addDisk('1-2', '8:1')
  usb.addDisk('1-3', '8:17')
  const carried = async () => (await bus.look()).devices.map(({ record, carries }) => [record.busId, carries])
  t.same(
    new Map((await carried()) as [string, string][]),
    new Map([
      ['1-1', 'network'],
      ['1-2', 'disk'],
      ['1-3', null],
      ['1-4', null],
    ] as [string, string][]),
  )
  usb.bind('1-1')
  t.same((await carried())[0], ['1-1', null], 'once it is with usbip-host it carries nothing any more')
})
