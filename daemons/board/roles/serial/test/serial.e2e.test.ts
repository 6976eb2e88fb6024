/** The real board as serial server: socat, rules of who may connect and write, 64 clients, slow ones, a device pulled. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import t from 'tap'
import { freePort } from '#kit/test/free-port.ts'
import { until } from '#kit/test/until.ts'
import { faultsOf } from '../../../test/running-board.ts'
import { client, serialRig, serialRigs } from './serial-rig.ts'

const noSocat = existsSync('/usr/bin/socat') ? false : 'needs socat'
const rigFor = serialRigs(t, { sets: ['serial.write_idle_ms=0'] })
const ALL = Buffer.from(Array.from({ length: 4096 }, (_, at) => (at * 7) & 255))

t.test('B.serial.raw socat passes every byte value both ways', { skip: noSocat }, async (t) => {
  const rig = await rigFor(t, ['raw'])
  const [device] = rig.devices
  device?.onBytes((bytes) => void device.write(bytes))
  const socat = spawn('socat', ['-,ignoreeof', `TCP:127.0.0.1:${rig.ports[0]},nodelay`])
  t.teardown(() => socat.kill())
  const got: Buffer[] = []
  socat.stdout.on('data', (bytes) => got.push(bytes))
  socat.stdin.write(ALL)
  await until('socat has it all', () => Buffer.concat(got).length === ALL.length)
  t.ok(Buffer.concat(got).equals(ALL))
})

t.test('B.serial a port is off until it is switched on, saved, and open again after a restart', async (t) => {
  const rig = await rigFor(t, ['raw'])
  const [device] = rig.devices
  await rig.set({ enabled: 0 })
  const off = await rig.port()
  t.match(off, { enabled: false, state: 'off' })
  t.same(off.clients, [])
  t.equal((await client(t, rig.ports[0] ?? 0)).isClosed, true)
  const answer = await rig.set({ enabled: 'on', label: 'Boiler 2', parity: 'none', stop_bits: '2' })
  t.match(answer, {
    status: 200,
    body: { port: rig.numberOf(1), enabled: true, state: 'open', label: 'Boiler 2', stop_bits: 2 },
  })
  t.match((await rig.get('/api/status')).body.verdict, {
    state: 'ok',
    text: 'One serial port is open, nobody is connected.',
  })
  const journal = (await rig.get('/api/journal')).body
  t.match(JSON.stringify(journal), /serial port set.*Boiler 2/)
  t.ok(device)
})

t.test('B.serial all invalid fields are reported at once, and nothing changes', async (t) => {
  const rig = await serialRig(t, ['raw', 'raw'])
  const [one = 0, other = 0] = rig.ports
  const { status, body } = await rig.set({
    tcp_port: other,
    bauds: 9600,
    data_bits: 9,
    allow: '10.0.0.300',
    stop_bits: 1.5,
  })
  t.equal(status, 400)
  t.equal(body.error, 'bad_fields')
  t.match(faultsOf(body), {
    tcp_port: `${other} is the TCP port of port 2. Choose another.`,
    bauds: /Do you mean baud\?/,
    data_bits: /"9" is not one of/,
    allow: /10\.0\.0\.300/,
    stop_bits: /1\.5 stop bits exist with 5 data bits only/,
  })
  const page = Number(new URL(rig.url).port)
  t.match(faultsOf((await rig.set({ tcp_port: page })).body).tcp_port, /board's own page/)
  t.match(await rig.set({ data_bits: 7 }), {
    status: 422,
    body: { error: 'line_refused', message: /data_bits: wanted 7/ },
  })
  t.match(await rig.set({}, 3), { status: 404, body: { error: 'unknown_port' } })
  const taken = await freePort()
  const socket = (await import('node:net')).createServer().listen(taken)
  t.teardown(() => socket.close())
  t.match(await rig.set({ tcp_port: taken }), { status: 409, body: { error: 'tcp_port_taken' } })
  t.match(await rig.port(), { tcp_port: one, data_bits: 8, state: 'open', fault: null })
})

t.test('B.serial.allow addresses and networks of both families are checked before a byte is read', async (t) => {
  const rig = await rigFor(t, ['raw'])
  const [port = 0] = rig.ports
  const mayCome = async (allow: string, host: string, from?: string) => {
    await rig.set({ allow })
    const one = await client(t, port, host, from)
    one.socket.write('hello')
    await until('let in or refused', async () => one.isClosed || (await rig.port()).clients.length > 0)
    const isIn = !one.isClosed
    one.socket.destroy()
    await until('left', async () => (await rig.port()).clients.length === 0)
    return isIn
  }
  t.equal(await mayCome('', '127.0.0.1'), true, 'empty: everyone')
  t.equal(await mayCome('127.0.0.1', '127.0.0.1'), true)
  t.equal(await mayCome('127.0.0.1', '127.0.0.1', '127.0.0.2'), false)
  t.equal(await mayCome('127.0.0.0/30', '127.0.0.1', '127.0.0.3'), true)
  t.equal(await mayCome('127.0.0.0/30', '127.0.0.1', '127.0.0.4'), false)
  t.equal(await mayCome('::1', '::1'), true)
  t.equal(await mayCome('::1', '127.0.0.1'), false)
  t.equal(await mayCome('fd00::/8, ::ffff:127.0.0.1', '127.0.0.1'), true)
  t.equal(await mayCome('fd00::/8', '::1'), false)
  t.equal((await rig.port()).counters.clients_refused, 4)
  t.match(JSON.stringify((await rig.get('/api/journal')).body), /serial client refused/)
})

t.test('B.serial.allow a client that is no longer allowed is dropped at once, others stay', async (t) => {
  const rig = await rigFor(t, ['raw'])
  const [port = 0] = rig.ports
  const stays = await client(t, port, '127.0.0.1', '127.0.0.5')
  const goes = await client(t, port, '127.0.0.1', '127.0.0.6')
  await until('both are in', async () => (await rig.port()).clients.length === 2)
  await rig.set({ allow: '127.0.0.5' })
  await until('one has gone', () => goes.isClosed)
  t.equal(stays.isClosed, false)
  t.match((await rig.port()).clients, [{ address: '127.0.0.5', may_write: true }])
})

t.test('B.serial.write all read; the setting decides which clients may write', async (t) => {
  const rig = await rigFor(t, ['raw'])
  const [port = 0] = rig.ports
  const [device] = rig.devices
  let line = ''
  device?.onBytes((bytes) => (line += String(bytes)))
  const [one, other] = [await client(t, port), await client(t, port)]
  await until('both are in', async () => (await rig.port()).clients.length === 2)
  const says = async (who: typeof one, text: string, isHeard: boolean) => {
    const before = (await rig.port()).counters
    line = ''
    who.socket.write(text)
    const counter = isHeard ? 'bytes_to_line' : 'bytes_discarded'
    await until(
      `${text} is counted`,
      async () => (await rig.port()).counters[counter] === before[counter] + text.length,
    )
    if (isHeard) await until(`${text} is heard`, () => line === text)
    t.equal(line, isHeard ? text : '', text)
  }
  await says(one, 'all one', true)
  await says(other, 'all other', true)
  await rig.set({ write: 'first' })
  await says(one, 'first one', true)
  await says(other, 'first other', false)
  await rig.set({ write: 'exclusive' })
  await says(other, 'took it', true)
  await says(one, 'too late', false)
  await says(other, 'has it', true)
  t.strictSame(
    (await rig.port()).clients.map(({ may_write }: { may_write: boolean }) => may_write),
    [false, true],
  )
  await device?.write(Buffer.from('for all'))
  await until('both have heard it', () => [one, other].every((who) => String(who.bytes()) === 'for all'))
})

t.test('B.serial 64 clients hear every byte, a 65th is refused', async (t) => {
  const rig = await rigFor(t, ['raw'])
  const [port = 0] = rig.ports
  const clients = await Promise.all(Array.from({ length: 64 }, () => client(t, port)))
  await until('all are in', async () => (await rig.port()).clients.length === 64)
  const late = await client(t, port)
  await until('the 65th is refused', () => late.isClosed)
  for (let at = 0; at < 200_000; at += ALL.length) await rig.devices[0]?.write(ALL)
  const length = Math.ceil(200_000 / ALL.length) * ALL.length
  await until('all have it all', () => clients.every((one) => one.bytes().length === length), 30_000)
  const wanted = Buffer.concat(Array(length / ALL.length).fill(ALL))
  t.ok(clients.every((one) => one.bytes().equals(wanted)))
  const { counters } = await rig.port()
  t.match(counters, { clients: 64, clients_total: 64, clients_refused: 1, clients_dropped: 0 })
})

t.test('B.serial a slow client is dropped and counted, and another misses nothing', async (t) => {
  const rig = await rigFor(t, ['raw'])
  const [port = 0] = rig.ports
  const [slow, quick] = [await client(t, port), await client(t, port)]
  await until('both are in', async () => (await rig.port()).clients.length === 2)
  slow.socket.pause()
  let sent = 0
  const isDropped = async () => (await rig.port()).counters.clients_dropped === 1
  while (sent < 60_000_000 && !(await isDropped()))
    for (let turn = 0; turn < 100; turn++, sent += ALL.length) await rig.devices[0]?.write(ALL)
  t.ok(await isDropped())
  await until('the quick one has it all', () => quick.bytes().length === sent, 30_000)
  t.equal(quick.isClosed, false)
  t.match((await rig.port()).clients, { length: 1 })
})

t.test('B.serial an unplugged device keeps its clients, and comes back on its own', async (t) => {
  const rig = await rigFor(t, ['raw'])
  const [device] = rig.devices
  const one = await client(t, rig.ports[0] ?? 0)
  await until('it is in', async () => (await rig.port()).clients.length === 1)
  await device?.unplug()
  await until('it is absent', async () => (await rig.port()).state === 'absent')
  t.match(await rig.port(), { fault: { code: /line_(gone|absent)/ }, clients: { length: 1 } })
  t.match((await rig.get('/api/status')).body.verdict, {
    state: 'warn',
    text: new RegExp(`^Port ${rig.numberOf(1)}: `),
  })
  one.socket.write('nobody hears this')
  await until('it is thrown away', async () => (await rig.port()).counters.bytes_discarded === 17)
  device?.replug()
  let line = ''
  device?.onBytes((bytes) => (line += String(bytes)))
  await until('it is open again', async () => (await rig.port()).state === 'open')
  await device?.write(Buffer.from('back'))
  await until('the client hears it', () => String(one.bytes()) === 'back')
  one.socket.write('and forth')
  await until('the line hears the client', () => line === 'and forth')
  t.equal(one.isClosed, false)
})
