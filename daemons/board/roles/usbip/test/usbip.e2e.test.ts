/** The real board in the role usbip: its settings, and their effect. */
import t from 'tap'
import { faultsOf, startBoard } from '../../../test/running-board.ts'
import { importFrom, startWorld, until } from './usbip-world.ts'

/** Its tests are the life of one board: what one leaves is where the next begins. */
const { board, port, state, usb } = await startWorld(t)

t.test('B.endpoints a board in the role usbip shows its state, and shares nothing before it is told to', async (t) => {
  const before = await state()
  t.match(before, { enabled: false, allow: '', supported: true, device: null, attached: null, traffic: null })
  t.match(before.devices, [{ busid: '1-1', vendor_id: '0403', product_id: '6001', key: '0403:6001:A5069RR4' }])
  t.match(before.text, /off/)
  t.equal(usb.driverOf('1-1'), 'usb')
  t.match((await board.get('/api/status')).body.usbip, { enabled: false })
})

t.test('B.endpoints wrong and unknown fields are refused by name, and nothing changes', async (t) => {
  const { status, body } = await board.post('/api/usbip', { enabled: '1', allow: 'kiosk', device: 'printer' })
  t.equal(status, 400)
  t.match(body, { error: 'bad_fields' })
  t.match(faultsOf(body), { allow: /"kiosk"/, device: /0403:6001/ })
  t.match(faultsOf((await board.post('/api/usbip', { share: '1' })).body), { share: String })
  t.match(faultsOf((await board.post('/api/usbip', { enabled: 'maybe' })).body), { enabled: String })
  t.equal((await state()).enabled, false)
})

t.test('B.endpoints POST /api/usbip shares at once, a host gets the device, detach=1 takes it back', async (t) => {
  const { status, body } = await board.post('/api/usbip', { enabled: '1' })
  t.equal(status, 200)
  t.match(body, { enabled: true, device: { busid: '1-1', speed: '12 Mbit/s', class: 'vendor specific' } })
  t.ok(await until(async () => (await state()).device?.state === 'exported'), 'it is offered')
  t.equal(usb.driverOf('1-1'), 'usbip-host')

  const first = await importFrom(t, port)
  t.equal(first.status, 'ok')
  t.ok(await until(() => usb.statusOf('1-1') === '2'), 'the kernel got the connection')
  t.match(await state(), {
    attached: { address: '127.0.0.1' },
    traffic: { in_bytes: 40 },
    device: { state: 'attached' },
  })
  const second = await importFrom(t, port)
  t.equal(second.status, 'busy')

  const detached = await board.post('/api/usbip', { detach: '1' })
  t.equal(detached.status, 200)
  t.ok(await until(() => first.host.closed), 'its connection ends')
  t.ok(await until(async () => (await state()).device?.state === 'exported'), 'free again')
  t.ok((await state()).hold_until > Date.now())
  t.equal((await importFrom(t, port)).status, 'not_available', 'that host is held off')
  t.ok(await until(async () => (await state()).hold_until === null))
  t.equal((await importFrom(t, port)).status, 'ok')
  const { body: journal } = await board.get('/api/journal')
  t.match(
    journal.map(({ what }: { what: string }) => what),
    ['took the usb device from its host', 'changed usb sharing'],
  )
})

t.test('B.endpoints settings survive a restart; a stop gives the device back', async (t) => {
  // The kernel frees the device of the host that has just left.
  usb.setStatus('1-1', '1')
  await board.post('/api/usbip', { enabled: '1', allow: '127.0.0.0/8 fd00::7', device: '0403:6001' })
  await until(async () => (await state()).device?.state === 'exported')
  await board.stop()
  t.equal(usb.driverOf('1-1'), 'usb')
  const again = await startBoard(t, {
    stateFolder: board.stateFolder,
    sets: ['board.role=usbip', `usbip.sysfs=${usb.sysfs}`, 'usbip.host=127.0.0.1', 'usbip.port=0'],
  })
  t.match((await again.get('/api/usbip')).body, { enabled: true, allow: '127.0.0.0/8 fd00::7', choice: '0403:6001' })
})

t.test('a board whose kernel cannot share says so, keeps its settings, and serves everything else', async (t) => {
  const board = await startBoard(t, {
    sets: ['board.role=usbip', 'usbip.sysfs=/nonexistent', 'usbip.host=127.0.0.1', 'usbip.port=0'],
  })
  const { status, body } = await board.post('/api/usbip', { enabled: '1' })
  t.equal(status, 200)
  t.match(body, { enabled: true, supported: false, text: 'This system has no USB.', device: null })
  t.match((await board.get('/api/status')).body.verdict, { state: 'fault', text: 'This system has no USB.' })
})
