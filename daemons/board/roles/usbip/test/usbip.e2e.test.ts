/** The real board in the role usbip: a tree like sysfs, the real helper, and the stock client. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startBoard } from '../../../test/running-board.ts'
import { openImportReply } from '../wire/op-reply.ts'
import { requestBytes } from '../wire/op-request.ts'
import { FakeUsb } from './fake-usb.ts'

const HELPER = join(
  import.meta.dirname,
  `../../../../../native/helper/prebuilds/linux-${process.arch}/plantroom-helper`,
)
const noClient = spawnSync('usbip', ['version']).error ? 'the package usbip is not installed' : false

/** The kernel does as it is told every few ms, the helper is the real one. */
async function startWorld(t: Test, sets: readonly string[] = []) {
  const usb = new FakeUsb(t)
  usb.plug({ busId: '1-1', serial: 'A5069RR4' })
  const kernel = setInterval(() => usb.obey(), 5)
  const socket = join(usb.root, 'helper.sock')
  const helper = spawn(HELPER, ['--listen', socket, '--sysroot', usb.root, '--state', usb.root], { stdio: 'ignore' })
  t.teardown(async () => {
    await ended(helper)
    clearInterval(kernel)
  })
  await until(() => existsSync(socket))
  const port = await freePort()
  const board = await startBoard(t, {
    sets: [
      ...['board.role=usbip', `usbip.sysfs=${usb.sysfs}`, `machine.helper=${socket}`, `usbip.port=${port}`],
      ...['usbip.host=127.0.0.1', 'usbip.look_ms=200', 'usbip.hold_ms=1500', ...sets],
    ],
  })
  return { usb, board, port, state: async () => (await board.get('/api/usbip')).body }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

async function freePort(): Promise<number> {
  const { createServer } = await import('node:net')
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<boolean> {
  for (let i = 0; i < 250; i++) {
    if (await isSo()) return true
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return false
}

/** Asks for the device as a host does. @returns the status, and the connection */
async function importFrom(t: Test, port: number): Promise<{ status: string; host: Socket }> {
  const host = connect({ port, host: '127.0.0.1' })
  t.teardown(() => host.destroy())
  host.on('error', () => {})
  host.write(requestBytes({ kind: 'import', busId: '1-1' }))
  const [reply] = await once(host, 'data')
  return { status: openImportReply(reply).status, host }
}

t.test('B.endpoints a board in the role usbip says how it is, and shares nothing before it is told to', async (t) => {
  const { board, state, usb } = await startWorld(t)
  const before = await state()
  t.match(before, { enabled: false, allow: '', supported: true, device: null, attached: null, traffic: null })
  t.match(before.devices, [{ busid: '1-1', vendor_id: '0403', product_id: '6001', key: '0403:6001:A5069RR4' }])
  t.match(before.text, /off/)
  t.equal(usb.driverOf('1-1'), 'usb')
  t.match((await board.get('/api/status')).body.usbip, { enabled: false })
})

t.test('B.endpoints POST /api/usbip shares at once, a host gets the device, detach=1 takes it again', async (t) => {
  const { board, port, state, usb } = await startWorld(t)
  const { status, body } = await board.post('/api/usbip', { enabled: '1' })
  t.equal(status, 200)
  t.match(body, { enabled: true, device: { busid: '1-1', speed: '12 Mbit/s', class: 'vendor specific' } })
  t.ok(await until(async () => (await state()).device?.state === 'exported'), 'it is offered')
  t.equal(usb.driverOf('1-1'), 'usbip-host')

  const first = await importFrom(t, port)
  t.equal(first.status, 'ok')
  t.ok(await until(() => usb.statusOf('1-1') === '2'), 'the kernel was given the connection')
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

t.test('B.endpoints a host that goes leaves the device free; one pulled and plugged in is shared again', async (t) => {
  const { board, port, state, usb } = await startWorld(t)
  await board.post('/api/usbip', { enabled: 'on' })
  await until(async () => (await state()).device?.state === 'exported')
  const { host } = await importFrom(t, port)
  await until(() => usb.statusOf('1-1') === '2')
  host.destroy()
  await until(async () => (await state()).device?.state === 'freeing')
  usb.setStatus('1-1', '1')
  t.ok(await until(async () => (await state()).device?.state === 'exported'))
  usb.unplug('1-1')
  t.ok(await until(async () => (await state()).device === null))
  usb.plug({ busId: '1-2', serial: 'A5069RR4' })
  t.ok(await until(async () => (await state()).device?.state === 'exported'))
  t.equal(usb.driverOf('1-2'), 'usbip-host')
})

t.test('B.endpoints what is set is kept over a restart; a stop gives the device back', async (t) => {
  const { board, state, usb } = await startWorld(t)
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

t.test('B.endpoints wrong and unknown fields are refused by name, and nothing changes', async (t) => {
  const { board, state } = await startWorld(t)
  const { status, body } = await board.post('/api/usbip', { enabled: '1', allow: 'kiosk', device: 'printer' })
  t.equal(status, 400)
  t.match(body, { error: 'bad_fields', fields: { allow: /"kiosk"/, device: /0403:6001/ } })
  t.match((await board.post('/api/usbip', { share: '1' })).body.fields, { share: String })
  t.match((await board.post('/api/usbip', { enabled: 'maybe' })).body.fields, { enabled: String })
  t.equal((await state()).enabled, false)
})

t.test('a stranger is closed before a byte is read, and the list is applied at once', async (t) => {
  const { board, port, state } = await startWorld(t)
  await board.post('/api/usbip', { enabled: '1' })
  await until(async () => (await state()).device?.state === 'exported')
  const { status } = await importFrom(t, port)
  t.equal(status, 'ok')
  await board.post('/api/usbip', { allow: '192.0.2.0/24' })
  t.ok(await until(async () => (await state()).attached === null), 'who has it is sent away')
  const stranger = connect({ port, host: '127.0.0.1' })
  let heardBytes = 0
  stranger.on('data', (bytes) => {
    heardBytes += bytes.length
  })
  stranger.on('error', () => {})
  await once(stranger, 'close')
  t.equal(heardBytes, 0)
  const { body } = await board.get('/metrics')
  t.match(body, /plantroom_usbip_connections_total\{outcome="not_allowed"\} 1/)
})

t.test('the stock client lists the device, and is answered when it asks for it', { skip: noClient }, async (t) => {
  const { board, port, state } = await startWorld(t)
  await board.post('/api/usbip', { enabled: '1' })
  await until(async () => (await state()).device?.state === 'exported')
  const listed = await run('usbip', ['--tcp-port', String(port), 'list', '-r', '127.0.0.1'])
  t.match(listed, /1-1: .*\(0403:6001\)/)
  t.match(listed, /Vendor Specific Class/i)
})

t.test('B.auth.1 /usbip.sh is made for the name it was asked under, without a password', async (t) => {
  const { board, port } = await startWorld(t)
  await board.post('/api/usbip', { device: '0403:6001' })
  t.equal((await board.post('/api/password', { password: 'correct horse' })).status, 200)
  t.equal((await board.get('/api/usbip')).status, 401)
  const { status, headers, body } = await board.get('/usbip.sh')
  t.equal(status, 200)
  t.match(headers.get('content-type'), /^text\/x-shellscript/)
  t.match(body, /^host='127\.0\.0\.1'$/m)
  t.ok(body.includes(`port='${port}'`))
  t.ok(body.includes("device='0403:6001'"))
  t.equal(spawnSync('sh', ['-n'], { input: body }).status, 0, 'a shell reads it')
})

t.test('a board whose kernel cannot share says so, keeps what is set, and serves everything else', async (t) => {
  const board = await startBoard(t, {
    sets: ['board.role=usbip', 'usbip.sysfs=/nonexistent', 'usbip.host=127.0.0.1', 'usbip.port=0'],
  })
  const { status, body } = await board.post('/api/usbip', { enabled: '1' })
  t.equal(status, 200)
  t.match(body, { enabled: true, supported: false, text: 'This system has no USB.', device: null })
  t.match((await board.get('/api/status')).body.verdict, { state: 'fault', text: 'This system has no USB.' })
})

function run(command: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn(command, args)
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (text += part))
    child.on('close', () => resolve(text))
  })
}
