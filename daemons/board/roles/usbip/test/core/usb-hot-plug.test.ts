/** What happens to devices that come, go, and fail. */
import t from 'tap'
import { createRig, fakeLink, startShared, usbDevice } from './sharing-rig.ts'

t.test('unplugged while a host has it: the link ends, and the place is forgotten', async (t) => {
  const rig = await startShared(t)
  const link = fakeLink()
  await rig.port.desk?.take('1-1', link)
  rig.devices.delete('1-1')
  rig.uevent()
  await rig.settle(200)
  t.same(rig.sharing.shares, [])
  t.ok(link.wasCut)
  t.equal(rig.asked.at(-1), 'usbip-unbind 1-1')
  t.same(rig.remembered.busIds, [])
})

t.test('plugged in again it is shared within a second, even if its own driver took it', async (t) => {
  const rig = await startShared(t)
  rig.devices.delete('1-1')
  rig.uevent()
  await rig.settle(200)
  rig.devices.set('1-1', usbDevice('1-1', { record: { deviceNumber: 3 } }))
  rig.uevent()
  await rig.settle(500)
  t.equal(rig.stateOf('1-1'), 'exported')
  t.same(rig.asked, ['usbip-bind 1-1', 'usbip-unbind 1-1', 'usbip-bind 1-1'])
  t.same(rig.remembered.busIds, ['1-1'])
})

t.test('a device pulled and plugged in between two looks is a new one', async (t) => {
  const rig = await startShared(t)
  const link = fakeLink()
  await rig.port.desk?.take('1-1', link)
  rig.devices.set('1-1', usbDevice('1-1', { record: { deviceNumber: 3 } }))
  await rig.settle(4000)
  t.ok(link.wasCut)
  t.equal(rig.stateOf('1-1'), 'exported')
})

t.test('if the kernel sends no event, a device is found by looking', async (t) => {
  const rig = createRig({ enabled: true })
  await rig.sharing.start()
  rig.devices.set('1-1', usbDevice('1-1'))
  await rig.settle(3200)
  t.equal(rig.stateOf('1-1'), 'exported')
})

t.test('a thousand events of the kernel cause one look', async (t) => {
  const rig = await startShared(t)
  let looks = 0
  const { devices } = rig
  const values = devices.values.bind(devices)
  devices.values = () => {
    looks++
    return values()
  }
  for (let i = 0; i < 1000; i++) rig.uevent()
  await rig.settle(150)
  t.equal(looks, 1)
})

t.test('a device that another driver took is taken back', async (t) => {
  const rig = await startShared(t)
  rig.change('1-1', { driver: 'usb', usage: null })
  rig.uevent()
  await rig.settle(300)
  t.equal(rig.stateOf('1-1'), 'exported')
  t.same(rig.asked, ['usbip-bind 1-1', 'usbip-bind 1-1'])
})

t.test('a device in error is given back and taken again', async (t) => {
  const rig = await startShared(t)
  rig.change('1-1', { usage: 'error' })
  await rig.settle(3500)
  t.same(rig.asked, ['usbip-bind 1-1', 'usbip-unbind 1-1', 'usbip-bind 1-1'])
  t.equal(rig.stateOf('1-1'), 'exported')
})

t.test('a device that cannot be bound is tried again, but not constantly', async (t) => {
  const rig = createRig({ enabled: true })
  rig.devices.set('1-1', usbDevice('1-1'))
  rig.refuse.set('usbip-bind', 'bind_failed')
  await rig.sharing.start()
  await rig.settle(4900)
  t.equal(rig.stateOf('1-1'), 'failed')
  t.equal(rig.asked.length, 1)
  t.match(rig.sharing.lastError, { code: 'helper_refused', message: 'refused: bind_failed' })
  rig.refuse.clear()
  await rig.settle(4000)
  t.equal(rig.stateOf('1-1'), 'exported')
})

t.test('a device bound by an earlier run is recognised; a host still attached is detached', async (t) => {
  const rig = createRig({ enabled: true }, ['1-1'])
  rig.devices.set('1-1', usbDevice('1-1', { driver: 'usbip-host', usage: 'used' }))
  await rig.sharing.start()
  await rig.settle(300)
  t.same(rig.asked, ['usbip-detach 1-1'])
  t.equal(rig.stateOf('1-1'), 'exported')
})

t.test('a device bound by an earlier run is given back if sharing is off now', async (t) => {
  const rig = createRig({}, ['1-1'])
  rig.devices.set('1-1', usbDevice('1-1', { driver: 'usbip-host', usage: 'free' }))
  rig.devices.set('1-2', usbDevice('1-2', { driver: 'usbip-host', usage: 'free' }))
  await rig.sharing.start()
  await rig.settle(300)
  t.same(rig.asked, ['usbip-unbind 1-1'], 'a device that another program bound is left alone')
  t.same(rig.remembered.busIds, [])
})

t.test('a stop gives everything back, even a device that was just being bound', async (t) => {
  const rig = createRig({ enabled: true })
  rig.devices.set('1-1', usbDevice('1-1'))
  await rig.sharing.start()
  await rig.sharing.stop()
  t.same(rig.asked, ['usbip-bind 1-1', 'usbip-unbind 1-1'])
  t.equal(rig.devices.get('1-1')?.driver, 'usb')
  t.equal(rig.port.isOpen, false)
  await rig.settle(60_000)
  t.equal(rig.asked.length, 2, 'nothing comes after it')
})

t.test('a kernel without usbip-host is checked again: it can be loaded later', async (t) => {
  const rig = createRig({ enabled: true })
  rig.support.is = 'no_usbip_host'
  rig.devices.set('1-1', usbDevice('1-1'))
  await rig.sharing.start()
  await rig.settle(5000)
  t.same(rig.asked, [])
  rig.support.is = 'ready'
  await rig.settle(3300)
  t.equal(rig.stateOf('1-1'), 'exported')
})

t.test('everything on a hub is shared, each with its own host', async (t) => {
  const rig = createRig({ enabled: true, device: '1-1' })
  rig.devices.set('1-1', usbDevice('1-1', { record: { deviceClass: 9 } }))
  rig.devices.set('1-1.1', usbDevice('1-1.1'))
  rig.devices.set('1-1.2', usbDevice('1-1.2'))
  rig.devices.set('1-2', usbDevice('1-2'))
  await rig.sharing.start()
  await rig.settle(300)
  t.same(rig.asked, ['usbip-bind 1-1.1', 'usbip-bind 1-1.2'])
  t.equal((await rig.port.desk?.take('1-1.1', fakeLink('10.0.0.5')))?.status, 'ok')
  t.equal((await rig.port.desk?.take('1-1.2', fakeLink('10.0.0.6')))?.status, 'ok')
})

t.test('a change of the device gives the old one back and takes the new one', async (t) => {
  const rig = await startShared(t)
  rig.devices.set('1-2', usbDevice('1-2', { serial: 'A1' }))
  await rig.book.change({ device: '0403:6001:A1' })
  await rig.settle(400)
  t.equal(rig.devices.get('1-1')?.driver, 'usb')
  t.equal(rig.stateOf('1-2'), 'exported')
})

t.test('while the kernel takes its time looks become less frequent, and pages get only changes', async (t) => {
  const rig = await startShared(t)
  const link = fakeLink()
  await rig.port.desk?.take('1-1', link)
  rig.refuse.set('usbip-detach', 'detach_failed')
  link.end()
  await rig.settle(200)
  let looks = 0
  const { devices } = rig
  const values = devices.values.bind(devices)
  devices.values = () => {
    looks++
    return values()
  }
  const before = rig.told()
  await rig.settle(4000)
  t.ok(looks >= 5 && looks <= 9, `${looks} looks in 4 s`)
  t.equal(rig.told(), before)
})
