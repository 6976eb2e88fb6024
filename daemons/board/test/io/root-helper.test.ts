/** The client, against the real helper in its own directory tree and against sockets that misbehave. */
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { driveBy, startHelper } from '#native/helper/test/running-helper.ts'
import { createRootHelper } from '../../io/own-machine.ts'
import { fakeHelper } from '../fake-helper.ts'

function client(path: string, timeoutMs = 2000) {
  return createRootHelper({ path, timeoutMs, installMs: timeoutMs })
}

/** A socket in its own folder that treats each connection as the test wants. */
async function listening(t: Test, onConnection: (socket: Socket) => void): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'helper-'))
  const path = join(folder, 'socket')
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    onConnection(socket)
  })
  await new Promise<void>((resolve) => void server.listen(path, resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
    rmSync(folder, { recursive: true })
  })
  return path
}

t.test('a request is carried out, and a refusal has its reason', async (t) => {
  const helper = await startHelper(t)
  const { ask } = client(helper.path)
  t.equal(await ask('hostname', ['cellar-1']), '')
  t.same(helper.ran(), ['hostnamectl --no-ask-password --static set-hostname cellar-1'])
  await t.rejects(ask('usbip-bind', ['9-9']), { code: 'helper_refused', details: { reason: 'no_device' } })
})

t.test('if nobody listens it is absent, at once', async (t) => {
  await t.rejects(client('/nonexistent/socket').ask('reboot'), { code: 'helper_absent' })
})

t.test('a helper that does not answer is abandoned', async (t) => {
  const path = await listening(t, () => {})
  await t.rejects(client(path, 50).ask('reboot'), { code: 'helper_absent', message: /no answer within 50 ms/ })
})

t.test('a helper that hangs up is absent', async (t) => {
  const path = await listening(t, (socket) => socket.end())
  await t.rejects(client(path).ask('reboot'), { code: 'helper_absent' })
})

t.test('a helper that sends without end is cut off', async (t) => {
  const path = await listening(t, (socket) => void socket.write('x'.repeat(100_000)))
  await t.rejects(client(path).ask('reboot'), { code: 'helper_refused', details: { reason: 'bad_answer' } })
})

t.test('a descriptor is sent with the line that needs it', async (t) => {
  const helper = await startHelper(t)
  driveBy(helper.root, '1-1', 'usbip-host')
  const server = createServer((socket) => socket.unref())
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const far = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.teardown(() => far.destroy())
  await new Promise((resolve) => far.once('connect', resolve))
  const fd = (far as unknown as { _handle: { fd: number } })._handle.fd
  t.equal(await client(helper.path).ask('usbip-attach', ['1-1'], fd), '')
  t.match(helper.file('sys/bus/usb/devices/1-1/usbip_sockfd'), /^\d+$/)
  await t.rejects(client(helper.path).ask('reboot', [], fd), {
    code: 'helper_refused',
    message: /no descriptor may come/,
  })
  await t.rejects(client('/nonexistent/socket').ask('usbip-attach', ['1-1'], fd), { code: 'helper_absent' })
})

t.test('the fake of other tests refuses like the helper', async (t) => {
  const real = client((await startHelper(t)).path)
  const fake = fakeHelper()
  fake.answers('usbip-detach', { reason: 'not_bound' })
  fake.answers('usbip-unbind', { text: 'was no longer bound' })
  const told = (error: { code: string; details: unknown }) => ({ code: error.code, details: error.details })
  const [one, other] = await Promise.all([real, fake].map((it) => it.ask('usbip-detach', ['1-1']).catch(told)))
  t.same(one, other)
  t.equal(await fake.ask('usbip-unbind', ['1-1']), await real.ask('usbip-unbind', ['1-1']))
  t.equal(await fake.ask('usbip-attach', ['1-1'], 7), '')
  t.same(fake.asked, ['usbip-detach 1-1', 'usbip-unbind 1-1', 'usbip-attach 1-1'])
  t.same(fake.descriptors, [7])
})
