/** What is shown of sharing. */
import t from 'tap'
import { usbipVerdict, usbipView } from '../../core/usbip-view.ts'
import { createRig, fakeLink, startShared, usbDevice } from './sharing-rig.ts'

t.test('B.resources enabled, allow, the device, the attached host and traffic are shown', async (t) => {
  const rig = await startShared(t, { allow: '10.0.0.0/8' })
  await rig.port.desk?.take('1-1', fakeLink('10.0.0.5', { receivedBytes: 7, ackedBytes: 9 }))
  const view = usbipView(rig.sharing)
  const attached = { address: '10.0.0.5', since_at: rig.clock.epochMs() }
  const traffic = { in_bytes: 7, out_bytes: 9 }
  const device = {
    busid: '1-1',
    vendor_id: '0403',
    product_id: '6001',
    vendor: 'FTDI',
    product: 'FT232R',
    serial: null,
    class: 'vendor specific',
    speed: '12 Mbit/s',
    key: '1-1',
    state: 'attached',
    carries: null,
    attached,
    traffic,
  }
  t.same(view, {
    enabled: true,
    allow: '10.0.0.0/8',
    choice: '',
    supported: true,
    text: '10.0.0.5 has FT232R.',
    device,
    devices: [device],
    attached,
    traffic,
    hold_until: null,
    last_error: null,
  })
})

t.test('of several devices the attached one is shown first', async (t) => {
  const rig = createRig({ enabled: true, device: '1-1' })
  rig.devices.set('1-1', usbDevice('1-1', { record: { deviceClass: 9 } }))
  for (const busId of ['1-1.1', '1-1.2']) rig.devices.set(busId, usbDevice(busId))
  await rig.sharing.start()
  await rig.settle(300)
  t.equal(usbipView(rig.sharing).device?.busid, '1-1.1')
  await rig.port.desk?.take('1-1.2', fakeLink())
  t.equal(usbipView(rig.sharing).device?.busid, '1-1.2')
  t.equal(usbipView(rig.sharing).devices.length, 2, 'a hub is not one of them')
  t.match(usbipVerdict(rig.sharing).text, /2 devices are shared/)
})

t.test('one sentence describes each state', async (t) => {
  const off = createRig()
  t.same(usbipVerdict(off.sharing), { state: 'off', text: 'Sharing is off.' })
  off.support.is = 'no_usbip_host'
  await off.sharing.start()
  t.match(usbipVerdict(off.sharing), { state: 'off', text: /^Sharing is off. This system's kernel cannot share/ })
  await off.book.change({ enabled: true })
  t.match(usbipVerdict(off.sharing), { state: 'fault', text: /^This system's kernel cannot share/ })

  const rig = createRig({ enabled: true })
  await rig.sharing.start()
  t.same(usbipVerdict(rig.sharing), { state: 'warn', text: 'No USB device is plugged in.' })
  rig.devices.set('1-2', usbDevice('1-2', { product: 'RTL8153', carries: 'network' }))
  await rig.settle(3000)
  t.same(usbipVerdict(rig.sharing), {
    state: 'warn',
    text: "RTL8153 is this board's network, so it is shared only if it is chosen.",
  })
  await rig.book.change({ device: '0403:6001:A5' })
  t.same(usbipVerdict(rig.sharing), { state: 'warn', text: '0403:6001:A5 is not plugged in.' })
  rig.refuse.set('usbip-bind', 'bind_failed')
  rig.devices.set('1-1', usbDevice('1-1', { serial: 'A5', product: null }))
  await rig.settle(3300)
  t.same(usbipVerdict(rig.sharing), { state: 'fault', text: 'FTDI 0403:6001 cannot be shared: refused: bind_failed' })
  rig.refuse.clear()
  await rig.settle(9000)
  t.same(usbipVerdict(rig.sharing), { state: 'ok', text: 'FTDI 0403:6001 waits for a host.' })
  const link = fakeLink()
  await rig.port.desk?.take('1-1', link)
  link.end()
  t.same(usbipVerdict(rig.sharing), { state: 'busy', text: 'FTDI 0403:6001 is being prepared.' })
})

t.test('the sentence names a port that another program uses', async (t) => {
  const rig = createRig({ enabled: true })
  rig.port.isTaken = true
  await rig.sharing.start()
  t.match(usbipVerdict(rig.sharing), { state: 'fault', text: /TCP port 3240/ })
})
