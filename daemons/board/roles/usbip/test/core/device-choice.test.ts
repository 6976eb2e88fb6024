/** Which device is shared. */
import fc from 'fast-check'
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { holds } from '#kit/test/holds.ts'
import type { UsbDevice } from '../../core/ports.ts'
import { chooseDevices, deviceKey, parseDeviceChoice } from '../../core/settings.ts'
import { usbDevice } from './sharing-rig.ts'

const hub = usbDevice('1-1', { record: { deviceClass: 9 } })
const adapter = usbDevice('1-1.1', { serial: 'A5' })
const twin = usbDevice('1-1.2', { serial: 'A6' })
const stick = usbDevice('1-3', { record: { vendorId: 0x46f4, productId: 1 } })
const dongle = usbDevice('1-2', { record: { vendorId: 0x0bda, productId: 0x8153 }, carries: 'network' })
const all = [stick, dongle, twin, adapter, hub]

/** Places of the devices that a setting chooses. */
function chosen(setting: string, shared: readonly UsbDevice[] = [], devices: readonly UsbDevice[] = all): string[] {
  const found = chooseDevices(parseDeviceChoice(setting), devices, (one) => shared.includes(one))
  return found.map(({ record }) => record.busId)
}

t.test('nothing set: the first device that is not a hub and that the board does not need itself', (t) => {
  t.same(chosen(''), ['1-1.1'])
  t.same(chosen('', [], [hub, dongle, stick]), ['1-3'])
  t.same(chosen('', [], [hub, dongle]), [])
  t.end()
})

t.test('nothing set: the shared device stays, whatever else is plugged in', (t) => {
  t.same(chosen('', [stick]), ['1-3'])
  t.end()
})

t.test('by vendor and product, in either case, with or without its serial number', (t) => {
  t.same(chosen('0403:6001'), ['1-1.1'])
  t.same(chosen('0403:6001', [twin]), ['1-1.2'], 'the shared one stays')
  t.same(chosen('0403:6001:A6'), ['1-1.2'])
  t.same(chosen('0403:6001:a6'), [], 'a serial number is case-sensitive')
  t.same(chosen('46F4:0001'), ['1-3'])
  t.same(chosen('0bda:8153'), ['1-2'], 'a named device is shared even if the board needs it')
  t.same(chosen('ffff:ffff'), [])
  t.end()
})

t.test('by where it is plugged in, and everything on a hub', (t) => {
  t.same(chosen('1-3'), ['1-3'])
  t.same(chosen('1-1'), ['1-1.1', '1-1.2'])
  t.same(chosen('1-9'), [])
  t.end()
})

t.test('refuses anything that is neither', (t) => {
  for (const text of ['printer', '403:6001', '0403:6001:', '1-1:1.0', 'usb1', '0403:600g', ' 1-1'])
    t.throws(() => parseDeviceChoice(text), { code: 'bad_device' }, text)
  holds(
    t,
    fc.property(fc.string(), (text) => {
      try {
        parseDeviceChoice(text)
      } catch (error) {
        if (!(error instanceof Fault)) throw error
      }
    }),
  )
  t.end()
})

t.test('the key of a device chooses it again', (t) => {
  t.equal(deviceKey(adapter, all), '0403:6001:A5')
  t.equal(deviceKey(stick, all), '1-3', 'without a serial number it is identified by its place')
  const copy = usbDevice('1-4', { serial: 'A5' })
  t.equal(deviceKey(copy, [...all, copy]), '1-4', 'so are two with the same identity')
  for (const device of [adapter, twin, stick, dongle]) t.same(chosen(deviceKey(device, all)), [device.record.busId])
  t.end()
})
