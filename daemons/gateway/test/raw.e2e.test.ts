import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import t from 'tap'
import { freePort } from '#kit/test/free-port.ts'
import { type Device, plugIn } from '#kit/test/line/named-pty.ts'
import { residentMb } from '#kit/test/process-memory.ts'
import { until } from '#kit/test/until.ts'
import { openPty } from '#native/serial/index.ts'
import { startGateway } from './running-gateway.ts'
import { sharedGateway } from './shared-gateway.ts'

/** One for all tests that need no start of their own, and the last one restarts it: a device that returns is opened soon, and TCP is on loopback. */
const gateway = await sharedGateway([
  'raw_tcp.host=127.0.0.1',
  'ports.retry_first_ms=50',
  'ports.retry_max_ms=100',
  'ports.allow=["/dev/pts/*", "/dev/shm/*"]',
])

const delimited = { protocol: 'raw', settings: { framing: 'delimiter', delimiter_hex: '0D 0A' } }

/** What a device behind a pty heard. */
function heardBy(pty: Pick<Device, 'onBytes'>): () => string {
  let heard = ''
  pty.onBytes((bytes) => (heard += Buffer.from(bytes).toString('latin1')))
  return () => heard
}

t.test('bytes on a tty in, answers over HTTP out', async (t) => {
  const device = openPty()
  t.teardown(() => device.close())
  const heard = heardBy(device)
  for (const [data_bits, stop_bits] of [
    [5, 2],
    [8, 1.5],
  ])
    t.match(await gateway.openPort(t, device.path, { ...delimited, line: { data_bits, stop_bits } }), {
      status: 400,
      body: { fields: [{ field: 'line.stop_bits', message: /^(With )?(5 data bits|1\.5 stop)/ }] },
    })
  const put = await gateway.openPort(t, device.path, delimited)
  t.equal(put.status, 200, JSON.stringify(put.body))
  t.match(put.body, {
    path: device.path,
    state: 'open',
    protocol: 'raw',
    line: { baud: 9600, data_bits: 8, parity: 'none', stop_bits: 1, flow: 'none', rs485: null, low_latency: false },
    settings: { framing: 'delimiter', max_frame_bytes: 8192 },
  })

  t.match(await gateway.call('POST', gateway.portPath(device.path, '/rest/tx'), { hex: '50 49 4E 47 0D 0A' }), {
    status: 200,
    body: { sent: 6 },
  })
  t.match(await gateway.call('POST', gateway.portPath(device.path, '/rest/tx'), { data: 'UE9ORw==' }), {
    body: { sent: 4 },
  })
  await until('the device heard both', () => heard() === 'PING\r\nPONG')

  await device.write(Buffer.from('12.7 kg\r\n9'))
  const frames = async () => {
    const { body } = await gateway.call('GET', gateway.portPath(device.path, '/frames'))
    return body.filter((event: { event: string }) => event.event === 'frame')
  }
  await until('the frame is there', async () => (await frames()).length === 3)
  t.match((await frames())[2], {
    port: device.path,
    event: 'frame',
    payload: { direction: 'rx', hex: '31 32 2E 37 20 6B 67 0D 0A', length: 9, decoded: null },
  })
  const view = await gateway.call('GET', gateway.portPath(device.path))
  t.match(view.body.counters, { rxBytes: 10, txBytes: 10, rxFrames: 1, txFrames: 2 })
  t.type(view.body.unsupported, Array)
})

t.test('every one of the 256 byte values passes unchanged both ways', async (t) => {
  const device = openPty()
  t.teardown(() => device.close())
  let heard = Buffer.alloc(0)
  device.onBytes((bytes) => (heard = Buffer.concat([heard, bytes])))
  const all = Buffer.from(Array.from({ length: 256 }, (_, value) => value))
  const settings = { framing: 'length', frame_bytes: 256 }
  await gateway.openPort(t, device.path, { protocol: 'raw', settings })
  await gateway.call('POST', gateway.portPath(device.path, '/rest/tx'), { data: all.toString('base64') })
  await until('the device heard all', () => heard.length === 256)
  t.same(heard, all)
  await device.write(all)
  await until('the frame is there', async () => {
    const { body } = await gateway.call('GET', gateway.portPath(device.path, '/frames'))
    return body.some((event: { payload: { direction: string; hex: string } }) => {
      return event.payload.direction === 'rx' && event.payload.hex === hexOf(all)
    })
  })
})

t.test('a device that goes away is absent, and open again when it is back', async (t) => {
  const device = plugIn('comes-and-goes')
  t.teardown(() => device.unplug())
  await gateway.openPort(t, device.path, delimited)
  const state = async () => (await gateway.call('GET', gateway.portPath(device.path))).body
  t.match(await state(), { state: 'open' })
  await device.unplug()
  await until('it is absent', async () => (await state()).state === 'absent')
  const send = () => gateway.call('POST', gateway.portPath(device.path, '/rest/tx'), { hex: '01' })
  t.match(await send(), {
    status: 503,
    body: { error: 'line_absent', message: / is unplugged: plug the adapter in; it is opened again by itself\.$/ },
  })
  await gateway.call('POST', gateway.portPath(device.path, '/close'))
  t.match(await send(), { status: 409, body: { error: 'line_closed', message: / is closed: open it with POST / } })
  await gateway.call('POST', gateway.portPath(device.path, '/open'))
  device.replug()
  const heard = heardBy(device)
  await until('it is open again', async () => (await state()).state === 'open')
  await gateway.call('POST', gateway.portPath(device.path, '/rest/tx'), { hex: '41' })
  await until('it hears again', () => heard() === 'A')
  t.match(await state(), { fault: null, nextTryAt: null })
})

t.test('a raw TCP client writes to the line and hears it', async (t) => {
  const device = openPty()
  t.teardown(() => device.close())
  const heard = heardBy(device)
  const port = await freePort()
  await gateway.openPort(t, device.path, { ...delimited, settings: { tcp_port: port } })
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write('ask')
  await until('the device was asked', () => heard() === 'ask')
  const answer = once(socket, 'data')
  await device.write(Buffer.from('told'))
  t.equal(String((await answer)[0]), 'told')
  socket.destroy()
})

t.test('clients that keep sending much and leaving cost no memory, and an operator gets through', async (t) => {
  const gateway = await startGateway(t, { sets: ['raw_tcp.host=127.0.0.1'] })
  await gateway.setUp()
  const device = openPty()
  t.teardown(() => device.close())
  const tcp_port = await freePort()
  await gateway.call('PUT', gateway.portPath(device.path), { ...delimited, settings: { tcp_port, tcp_clients: 8 } })
  const beforeMb = residentMb(gateway.pid)
  // 45 MB, from eight addresses at once, to a line that takes nothing; each is gone before it is read.
  const come = (localAddress: string) =>
    new Promise<void>((resolve) => {
      const socket = connect({ host: '127.0.0.1', port: tcp_port, localAddress })
      socket.on('error', () => {}).on('close', () => resolve())
      socket.write(Buffer.alloc(150_000, 0x41), () => socket.destroy())
      setTimeout(() => socket.destroy(), 200).unref()
    })
  for (let times = 0; times < 40; times++)
    await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((host) => come(`127.0.0.${host}`)))
  const afterMb = residentMb(gateway.pid)
  t.ok(afterMb - beforeMb < 40, `${Math.round(beforeMb)} MB before, ${Math.round(afterMb)} MB after`)
  const heard = heardBy(device)
  const sent = gateway.call('POST', gateway.portPath(device.path, '/rest/tx'), { hex: '21' })
  t.match(await sent, { status: 200, body: { sent: 1 } })
  await until('the device has the byte of the operator', () => heard().includes('!'))
})

t.test(
  'TCP clients of a device that goes away are disconnected; they reach it when it is back, and every byte is counted',
  async (t) => {
    const device = plugIn('tcp-comes-and-goes')
    t.teardown(() => device.unplug())
    const tcp_port = await freePort()
    await gateway.openPort(t, device.path, { ...delimited, settings: { tcp_port } })
    const view = async () => (await gateway.call('GET', gateway.portPath(device.path))).body
    async function client() {
      const socket = connect(tcp_port, '127.0.0.1').on('error', () => undefined)
      t.teardown(() => socket.destroy())
      await once(socket, 'connect')
      let heard = 0
      socket.on('data', (bytes) => (heard += bytes.length))
      return { socket, heard: () => heard }
    }
    const first = await client()
    const heard = heardBy(device)
    const sent = 'x'.repeat(50_000)
    first.socket.write(sent)
    await device.write(Buffer.from(sent))
    await until('all is at both ends', () => heard().length === sent.length && first.heard() === sent.length)
    t.match((await view()).counters, { rxBytes: sent.length, txBytes: sent.length, tcpClients: 1 })
    await device.unplug()
    await until('the client is disconnected', () => first.socket.closed)
    device.replug()
    await until('it is open again', async () => (await view()).state === 'open')
    const again = await client()
    await until('the client is taken', async () => (await view()).counters.tcpClients === 1)
    await device.write(Buffer.from('back'))
    await until('the client hears it', () => again.heard() === 4)
    t.match((await view()).counters, { rxBytes: sent.length + 4 })
  },
)

function hexOf(bytes: Buffer): string {
  return bytes
    .toString('hex')
    .toUpperCase()
    .replace(/..(?=.)/g, '$& ')
}

const TAKEN = /\(EADDRINUSE\): another program has it\. Stop that one, .* It is tried again, and opened by itself/

t.test(
  'a TCP port that is taken is a fault of a raw line, which works anyway and opens it once it is free',
  async (t) => {
    const device = openPty()
    t.teardown(() => device.close())
    const heard = heardBy(device)
    const tcpPort = await freePort()
    const squatter = createServer().listen(tcpPort, '127.0.0.1')
    await once(squatter, 'listening')
    const settings = { ...delimited.settings, tcp_port: tcpPort }
    t.equal((await gateway.openPort(t, device.path, { protocol: 'raw', settings })).status, 200)
    const view = async () => (await gateway.call('GET', gateway.portPath(device.path))).body
    await until('its fault is reported', async () => (await view()).fault !== null)
    t.match(await view(), { state: 'open', fault: { code: 'tcp_port_taken', message: TAKEN } })
    await gateway.call('POST', gateway.portPath(device.path, '/rest/tx'), { hex: '41' })
    await until('the line takes bytes', () => heard() === 'A')
    squatter.close()
    await until('its fault is gone', async () => (await view()).fault === null)
    const { body: events } = await gateway.call('GET', gateway.portPath(device.path, '/frames'))
    t.equal(events.filter(({ event }: { event: string }) => event === 'error').length, 1, 'told once')
    const client = connect(tcpPort, '127.0.0.1')
    t.teardown(() => client.destroy())
    client.write('B')
    await until('a client reaches the line', () => heard() === 'AB')
  },
)

t.test('settings, ports and users are there again after a restart', async (t) => {
  const device = openPty()
  t.teardown(() => device.close())
  await gateway.openPort(t, device.path, delimited)
  await gateway.call('PATCH', '/api/system', { name: 'Plant room B2' })
  const token = gateway.token()
  t.equal(await gateway.stop(), 0)

  const second = await startGateway(t, { stateFolder: gateway.stateFolder })
  t.match(await second.call('GET', '/api/me', undefined, token), { status: 401 })
  const login = await second.call('POST', '/api/login', { password: 'correct horse battery' })
  t.equal(login.status, 200)
  const ports = await second.call('GET', '/api/ports', undefined, login.body.token)
  const own = ports.body.find(({ path }: { path: string }) => path === device.path)
  t.match(own, { state: 'open', settings: { framing: 'delimiter', delimiter_hex: '0D 0A' } })
  t.match((await second.call('GET', '/api/status')).body, { name: 'Plant room B2', adminConfigured: true })
})
