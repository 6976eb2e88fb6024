/** The real board in the role usbip, and hosts: well-behaved ones, strangers, floods, the stock client. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { requestBytes } from '../wire/op.ts'
import { importFrom, said, startWorld, until } from './usbip-world.ts'

const noClient = spawnSync('usbip', ['version']).error ? 'the package usbip is not installed' : false

/** One board for all, which each test gets with its device offered and nobody at it. */
const { board, port, state, usb } = await startWorld(t, ['usbip.op_timeout_ms=2000'])
const offered = async () => {
  await board.post('/api/usbip', { enabled: 'on', allow: '' })
  if (!(await until(async () => (await state()).device?.state === 'exported'))) throw new Error('it is not offered')
}

t.test('B.endpoints a host that leaves frees the device; a device pulled and plugged in is shared again', async (t) => {
  await offered()
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
  t.ok(await until(() => usb.driverOf('1-2') === 'usbip-host'))
  usb.unplug('1-2')
  t.ok(await until(async () => (await state()).device === null))
  usb.plug({ busId: '1-1', serial: 'A5069RR4' })
})

t.test('a stranger is closed before a byte is read, and the list is applied at once', async (t) => {
  await offered()
  const { status } = await importFrom(t, port)
  t.equal(status, 'ok')
  await board.post('/api/usbip', { allow: '192.0.2.0/24' })
  t.ok(await until(async () => (await state()).attached === null), 'the host that has it is detached')
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
  await offered()
  const listed = await said('usbip', ['--tcp-port', String(port), 'list', '-r', '127.0.0.1'])
  t.match(listed, /1-1: .*\(0403:6001\)/)
  t.match(listed, /Vendor Specific Class/i)
})

t.test('a thousand connections of one host keep nobody else out, and leave nothing behind', async (t) => {
  await offered()
  const before = await connections()
  const flood = Array.from({ length: 1000 }, (_, i) => {
    const host = connect({ port, host: '127.0.0.1' })
    host.on('error', () => {})
    // Silence, rubbish, and half of a request.
    if (i % 3 === 1) host.write('GET / HTTP/1.1\r\n\r\n')
    if (i % 3 === 2) host.write(requestBytes({ kind: 'import', busId: '1-1' }).subarray(0, 20))
    return host
  })
  t.teardown(() => flood.forEach((host) => void host.destroy()))
  const other = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' })
  t.teardown(() => other.destroy())
  other.write(requestBytes({ kind: 'devlist' }))
  const [list] = await once(other, 'data')
  t.equal(list.length, 12 + 312 + 4)
  t.equal((await board.get('/api/status')).status, 200)
  t.ok(await until(() => flood.every((host) => host.closed)), 'all are closed')
  t.equal((await importFrom(t, port)).status, 'ok')
  t.equal((await connections()) - before, 1002, 'each is counted once')
})

t.test('B.auth.1 /usbip.sh and /usbip.ps1 are made for the name in the request, without a password', async (t) => {
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
  const windows = await board.get('/usbip.ps1')
  t.equal(windows.status, 200)
  t.match(windows.headers.get('content-type'), /^text\/plain/)
  t.match(windows.body, /^\$BoardHost = '127\.0\.0\.1'\r$/m)
  t.ok(windows.body.includes(`$BoardPort = '${port}'`))
})

/** All that the board has counted, however they ended. */
async function connections(): Promise<number> {
  const { body: metrics } = await board.get('/metrics')
  const counts = [...metrics.matchAll(/plantroom_usbip_connections_total\{outcome="(\w+)"\} (\d+)/g)]
  return counts.reduce((sum, [, , count]) => sum + Number(count), 0)
}
