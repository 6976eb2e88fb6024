/** Hosts and settings: which host gets the device, and which has to give it back. */
import t from 'tap'
import { createRig, fakeLink, startShared, usbDevice } from './sharing-rig.ts'

t.test('a freshly flashed board shares nothing and listens nowhere', async (t) => {
  const rig = createRig()
  rig.devices.set('1-1', usbDevice('1-1'))
  await rig.sharing.start()
  await rig.settle(10_000)
  t.same(rig.asked, [])
  t.equal(rig.port.isOpen, false)
})

t.test('B.endpoints enabled=1 gives the device to usbip-host at once, and offers it to hosts', async (t) => {
  const rig = createRig()
  rig.devices.set('1-1', usbDevice('1-1'))
  await rig.sharing.start()
  t.same(await rig.book.change({ enabled: true }), { enabled: true })
  await rig.settle()
  t.same(rig.asked, ['usbip-bind 1-1'])
  t.equal(rig.stateOf('1-1'), 'exported')
  t.equal(rig.port.isOpen, true)
  t.same(
    rig.port.desk?.list().map(({ device }) => device.busId),
    ['1-1'],
  )
  t.same(rig.saved, [{ enabled: true, allow: '', device: '' }])
})

t.test('B.endpoints enabled=0 gives it back to its own driver and closes the port', async (t) => {
  const rig = await startShared(t)
  await rig.book.change({ enabled: false })
  await rig.settle(300)
  t.same(rig.asked, ['usbip-bind 1-1', 'usbip-unbind 1-1'])
  t.equal(rig.devices.get('1-1')?.driver, 'usb')
  t.equal(rig.port.isOpen, false)
  t.same(rig.sharing.shares, [])
})

t.test('a host gets the device, and the next one hears that it is busy', async (t) => {
  const rig = await startShared(t)
  const first = fakeLink('10.0.0.5')
  const taken = await rig.port.desk?.take('1-1', first)
  t.equal(taken?.status, 'ok')
  t.equal(taken?.device?.busId, '1-1')
  t.equal(rig.stateOf('1-1'), 'attached')
  t.same(rig.port.desk?.list(), [], 'it is offered to nobody else')
  t.equal((await rig.port.desk?.take('1-1', fakeLink('10.0.0.6')))?.status, 'busy')
  t.equal((await rig.port.desk?.take('1-2', fakeLink('10.0.0.6')))?.status, 'no_device')
})

t.test('of two hosts that ask at the same moment one gets it', async (t) => {
  const rig = await startShared(t)
  const links = [fakeLink('10.0.0.5'), fakeLink('10.0.0.6'), fakeLink('10.0.0.7')]
  const answers = await Promise.all(links.map((link) => rig.port.desk?.take('1-1', link)))
  t.same(
    answers.map((answer) => answer?.status),
    ['ok', 'busy', 'busy'],
  )
  t.equal(rig.asked.filter((line) => line.startsWith('usbip-attach')).length, 1)
})

t.test('a host that goes leaves the device free once the kernel says so', async (t) => {
  const rig = await startShared(t)
  const link = fakeLink('10.0.0.5', { receivedBytes: 10, ackedBytes: 20 })
  await rig.port.desk?.take('1-1', link)
  link.end()
  t.equal(rig.stateOf('1-1'), 'freeing')
  t.equal((await rig.port.desk?.take('1-1', fakeLink()))?.status, 'busy')
  await rig.settle(1000)
  t.equal(rig.stateOf('1-1'), 'freeing', 'the kernel has not released it yet')
  rig.change('1-1', { usage: 'free' })
  await rig.settle(600)
  t.equal(rig.stateOf('1-1'), 'exported')
  t.match(rig.sharing.counts, { inBytes: 10, outBytes: 20 })
  t.equal(link.fd, -1, 'our copy is closed')
})

t.test('a kernel that does not release a host that left is told to', async (t) => {
  const rig = await startShared(t)
  const link = fakeLink()
  await rig.port.desk?.take('1-1', link)
  link.end()
  await rig.settle(4900)
  t.notOk(rig.asked.includes('usbip-detach 1-1'))
  await rig.settle(400)
  t.ok(rig.asked.includes('usbip-detach 1-1'))
  t.equal(rig.stateOf('1-1'), 'exported')
})

t.test('B.endpoints detach=1 frees the device within 2 s and holds off that host, others can come', async (t) => {
  const rig = await startShared(t)
  const link = fakeLink('10.0.0.5')
  await rig.port.desk?.take('1-1', link)
  t.same(await rig.sharing.detach(), ['10.0.0.5'])
  await rig.settle(300)
  t.ok(rig.asked.includes('usbip-detach 1-1'))
  t.equal(rig.stateOf('1-1'), 'exported')
  t.ok(link.wasCut)
  t.equal(rig.sharing.holdUntilAt, rig.clock.epochMs() - 300 + 60_000)
  t.equal((await rig.port.desk?.take('1-1', fakeLink('10.0.0.5')))?.status, 'not_available')
  const other = fakeLink('10.0.0.6')
  t.equal((await rig.port.desk?.take('1-1', other))?.status, 'ok')
  other.end()
  rig.change('1-1', { usage: 'free' })
  await rig.settle(61_000)
  t.equal(rig.sharing.holdUntilAt, null)
  t.equal((await rig.port.desk?.take('1-1', fakeLink('10.0.0.5')))?.status, 'ok', 'after its time it is allowed again')
})

t.test('B.endpoints detach=1 does nothing if nobody has the device', async (t) => {
  const rig = await startShared(t)
  t.same(await rig.sharing.detach(), [])
  t.equal(rig.sharing.holdUntilAt, null)
})

t.test('detach ends the link even if the helper does not', async (t) => {
  const rig = await startShared(t)
  const link = fakeLink()
  await rig.port.desk?.take('1-1', link)
  rig.refuse.set('usbip-detach', 'detach_failed')
  await rig.sharing.detach()
  t.ok(link.wasCut)
  t.match(rig.sharing.lastError, { code: 'helper_refused' })
})

t.test('a host that leaves before it is detached is not a fault', async (t) => {
  const rig = await startShared(t)
  await rig.port.desk?.take('1-1', fakeLink())
  rig.refuse.set('usbip-detach', 'not_attached')
  await rig.sharing.detach()
  t.equal(rig.sharing.lastError, undefined)
})

t.test('a host removed from the allow list is detached at once, without being held off', async (t) => {
  const rig = await startShared(t)
  const link = fakeLink('10.0.0.5')
  await rig.port.desk?.take('1-1', link)
  await rig.book.change({ allow: '10.0.0.6' })
  await rig.settle(300)
  t.ok(link.wasCut)
  t.equal(rig.stateOf('1-1'), 'exported')
  t.equal(rig.sharing.holdUntilAt, null)
  t.equal(rig.port.desk?.admits('10.0.0.5'), false)
  t.equal(rig.port.desk?.admits('10.0.0.6'), true)
})

t.test('a host removed from the allow list after it connected does not get the device', async (t) => {
  const rig = await startShared(t, { allow: '10.0.0.0/24' })
  t.equal(rig.port.desk?.admits('10.0.0.5'), true)
  await rig.book.change({ allow: '10.0.0.6' })
  t.equal((await rig.port.desk?.take('1-1', fakeLink('10.0.0.5')))?.status, 'not_available')
  t.same(rig.asked, ['usbip-bind 1-1'])
})

t.test('a host removed from the allow list during the hand-over is detached', async (t) => {
  const rig = await startShared(t, { allow: '10.0.0.0/24' })
  const link = fakeLink('10.0.0.5')
  const taken = rig.port.desk?.take('1-1', link)
  const changed = rig.book.change({ allow: '10.0.0.6' })
  await Promise.all([taken, rig.settle(300), changed])
  t.equal(link.wasCut, true)
  t.same(rig.asked.slice(1), ['usbip-attach 1-1', 'usbip-detach 1-1'])
  t.equal(rig.stateOf('1-1'), 'exported')
})

t.test('a hand-over that fails is reported to the host, and the device stays free', async (t) => {
  const rig = await startShared(t)
  rig.refuse.set('usbip-attach', 'attach_failed')
  t.equal((await rig.port.desk?.take('1-1', fakeLink()))?.status, 'device_error')
  rig.refuse.set('usbip-attach', 'busy')
  t.equal((await rig.port.desk?.take('1-1', fakeLink()))?.status, 'busy')
  t.equal(rig.stateOf('1-1'), 'exported')
})

t.test('a host that is gone when its turn comes is not handed over', async (t) => {
  const rig = await startShared(t)
  const link = fakeLink()
  link.close()
  t.equal((await rig.port.desk?.take('1-1', link))?.status, 'device_error')
  t.notOk(rig.asked.some((line) => line.startsWith('usbip-attach')))
})

t.test('a link that closes during the hand-over is taken from the kernel again', async (t) => {
  const rig = await startShared(t)
  const link = fakeLink()
  const taking = rig.port.desk?.take('1-1', link)
  await Promise.resolve()
  await Promise.resolve()
  link.close()
  t.equal((await taking)?.status, 'no_device')
  await rig.settle(400)
  t.ok(rig.asked.includes('usbip-detach 1-1'))
  t.equal(rig.stateOf('1-1'), 'exported')
})

t.test('a port that another program uses is tried again', async (t) => {
  const rig = createRig({ enabled: true })
  rig.port.isTaken = true
  await rig.sharing.start()
  t.match(rig.sharing.portFault, { code: 'usbip_port_taken' })
  rig.port.isTaken = false
  await rig.settle(3000)
  t.equal(rig.sharing.portFault, undefined)
  t.equal(rig.port.isOpen, true)
})

t.test('settings that are wrong are refused with a sentence for each field, and nothing changes', async (t) => {
  const rig = await startShared(t)
  await t.rejects(rig.book.change({ allow: 'kiosk', device: 'printer', enabled: false }), {
    code: 'bad_fields',
    details: { fields: [{ field: 'allow' }, { field: 'device' }] },
  })
  t.equal(rig.sharing.settings.enabled, true)
  t.same(rig.saved, [])
})

t.test('two changes at once are both kept', async (t) => {
  const rig = await startShared(t)
  await Promise.all([rig.book.change({ allow: '10.0.0.0/8' }), rig.book.change({ device: '1-1' })])
  t.same(rig.saved.at(-1), { enabled: true, allow: '10.0.0.0/8', device: '1-1' })
})
