/** Lines found in a fake sysfs, with and without udev. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import { createLineFinder } from '../../line/line-finder.ts'

/** A sysfs and a /dev with a console, two UARTs (one without a chip) and a USB converter. */
function machine(t: Test) {
  const root = mkdtempSync(join(tmpdir(), 'sysfs-'))
  t.teardown(() => rmSync(root, { recursive: true }))
  const sys = join(root, 'class/tty')
  const dev = join(root, 'dev')
  mkdirSync(join(dev, 'serial/by-id'), { recursive: true })
  const add = (name: string, device: string | null, type?: string) => {
    mkdirSync(join(sys, name), { recursive: true })
    if (device !== null) {
      mkdirSync(join(root, device), { recursive: true })
      symlinkSync(join(root, device), join(sys, name, 'device'))
    }
    if (type !== undefined) writeFileSync(join(sys, name, 'type'), `${type}\n`)
    writeFileSync(join(dev, name), '')
  }
  add('tty1', null)
  add('ttyS10', 'devices/uart10', '4')
  add('ttyS0', 'devices/uart0', '4')
  add('ttyS1', 'devices/uart1', '0')
  add('ttyUSB0', 'devices/usb1/1-1/1-1:1.0/ttyUSB0')
  const usb = join(root, 'devices/usb1/1-1')
  for (const [name, text] of Object.entries({ idVendor: '0403', idProduct: '6001', product: 'FT232R', serial: 'A1' }))
    writeFileSync(join(usb, name), `${text}\n`)
  symlinkSync('../../ttyUSB0', join(dev, 'serial/by-id/usb-FTDI_FT232R_A1-if00-port0'))
  return { sys, dev, add }
}

t.test('finds lines with a driver, by sysfs alone if udev is missing', async (t) => {
  const { sys, dev } = machine(t)
  const udev = () => Promise.reject(new Error('spawn udevadm ENOENT'))
  const found = await createLineFinder({ log: silentLog, sys, dev, udev }).list()
  t.same(
    found.map((line) => line.path),
    ['ttyS0', 'ttyS10', 'ttyUSB0'].map((name) => join(dev, name)),
  )
  t.same(found[2], {
    path: join(dev, 'ttyUSB0'),
    byId: join(dev, 'serial/by-id/usb-FTDI_FT232R_A1-if00-port0'),
    maker: null,
    product: 'FT232R',
    serialNumber: 'A1',
    vendorId: '0403',
    productId: '6001',
  })
})

t.test('adds what only udev knows', async (t) => {
  const { sys, dev } = machine(t)
  const udev = async () => [{ path: join(dev, 'ttyUSB0'), manufacturer: 'FTDI' }]
  const found = await createLineFinder({ log: silentLog, sys, dev, udev }).list()
  t.equal(found[2]?.maker, 'FTDI')
})

t.test('asks udev again only when lines came or went', async (t) => {
  const { sys, dev, add } = machine(t)
  let asked = 0
  const udev = async () => {
    asked++
    return []
  }
  const finder = createLineFinder({ log: silentLog, sys, dev, udev })
  await finder.list()
  await finder.list()
  t.equal(asked, 1)
  add('ttyACM0', 'devices/acm')
  t.equal((await finder.list()).length, 4)
  t.equal(asked, 2)
})

t.test('waits for a hanging udev only for its limit, and starts no second one', async (t) => {
  const { sys, dev } = machine(t)
  const clock = fakeClock()
  let asked = 0
  const udev = () => {
    asked++
    return new Promise<never>(() => undefined)
  }
  const finder = createLineFinder({ log: silentLog, clock, udevMs: 3000, sys, dev, udev })
  for (let call = 1; call <= 2; call++) {
    const list = finder.list()
    let isDone = false
    void list.then(() => {
      isDone = true
    })
    while (!isDone) {
      clock.advance(3000)
      await new Promise((resolve) => setImmediate(resolve))
    }
    t.equal((await list).length, 3)
  }
  t.equal(asked, 1)
})

t.test('finds nothing, and does not fail, if there is no sysfs', async (t) => {
  const finder = createLineFinder({ log: silentLog, sys: '/nonexistent', dev: '/nonexistent', udev: async () => [] })
  t.same(await finder.list(), [])
})

t.test("works on this machine with serialport's own listing", async (t) => {
  for (const line of await createLineFinder({ log: silentLog }).list()) t.match(line.path, /^\/dev\/tty/)
})
