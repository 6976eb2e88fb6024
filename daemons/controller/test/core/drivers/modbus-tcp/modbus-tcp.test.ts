/** The driver behind the host, with libmodbus as its device, and with devices that lie. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { createModbusTcpDriver } from '../../../../core/drivers/modbus-tcp/modbus-tcp.ts'
import type { Json } from '../../../../core/json.ts'
import type { Row } from '../../../../core/site/book.ts'
import { startLibmodbusTcp } from '../../../peer/libmodbus.ts'
import { toyStage } from '../toy-stage.ts'

type Columns = Readonly<Record<string, Json>>

function stage(t: Test, port: number, zone: Columns, device: Columns = {}) {
  return toyStage(t, {
    driver: createModbusTcpDriver(),
    transport: { kind: 'modbus-tcp', host: '127.0.0.1', port },
    ...{ device, zone },
    limits: { frameBytes: 512 },
  })
}

/** A device. @param answer its reaction to a request: transaction, unit, function, address */
async function fakeUnit(t: Test, answer: (socket: Socket, request: Buffer) => void) {
  const sockets = new Set<Socket>()
  const requests: Buffer[] = []
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
    socket.on('data', (request) => {
      requests.push(request)
      answer(socket, request)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, requests, sockets }
}

/** A reply to a read of one register. */
function holding(request: Buffer, value: number): Buffer {
  return Buffer.from([
    request[0] ?? 0,
    request[1] ?? 0,
    0,
    0,
    0,
    5,
    request[6] ?? 0,
    request[7] ?? 0,
    2,
    value >> 8,
    value & 0xff,
  ])
}

t.test('libmodbus: coils and registers are read, written and read back', async (t) => {
  const port = await startLibmodbusTcp(t)
  const address = 'on=1/coil/1 level=1/holding/10/int16*0.5 temperature=1/input/20/uint32/cdab'
  const { command, reading, live } = stage(t, port, { address }, { poll_ms: 50 })
  await until('it is read', () => reading().level === 15)
  t.match(reading(), { state: 'off', on: false, temperature: 60 + 63 * 65_536 })
  await command('on')
  t.match(reading(), { state: 'on', on: true }, 'it is read back at once')
  await command('toggle')
  t.match(reading(), { state: 'off', on: false })
  await command('level', { level: 40.5 })
  t.match(reading(), { level: 40.5, state: 'off' })
  await t.rejects(command('level', { level: 20_000 }), { message: /more than int16 holds with the scale 0.5/ })
  await t.rejects(command('temperature', { temperature: 3 }), { message: /can only be read/ })
  await t.rejects(command('setpoint', { setpoint: 3 }), {
    message: /has no setpoint in its address, it has on, level, temperature/,
  })
  t.equal(live.device(1).state, 'online')
})

t.test('libmodbus: what a unit lacks is said once, and its neighbours are read all the same', async (t) => {
  const port = await startLibmodbusTcp(t)
  const { reading, said, command } = stage(t, port, { address: 'a=1/holding/98 b=1/holding/101' }, { poll_ms: 20 })
  await until('the one that there is is read', () => reading().a === 294)
  t.notOk('b' in reading())
  await t.rejects(command('b', { b: 1 }), { message: 'device 1: unit 1: it has nothing at this address (exception 2)' })
  t.strictSame(said, [
    'holding 98: unit 1: it has nothing at this address (exception 2)',
    'holding 101: unit 1: it has nothing at this address (exception 2)',
  ])
})

t.test('a dimmer of one register is on at 100 and off at 0', async (t) => {
  const port = await startLibmodbusTcp(t)
  const { command, reading } = stage(
    t,
    port,
    { address: '1/holding/5', type: 'dimmer' },
    { config: { write_multiple: true } },
  )
  await command('on')
  t.match(reading(), { level: 100, state: 'on' })
  await command('off')
  t.match(reading(), { level: 0, state: 'off' })
})

t.test('a late answer is never taken for that of the next question', async (t) => {
  let held: Buffer | undefined
  const { port, requests } = await fakeUnit(t, (socket, request) => {
    if (requests.length === 1) {
      // It answers the first question only after the second, which is about another address.
      held = holding(request, 111)
      return
    }
    if (held) socket.write(held)
    held = undefined
    socket.write(holding(request, 222))
  })
  const { reading, host } = stage(t, port, { address: '1/holding/0' }, { poll_ms: 20 })
  await until('the first question is out', () => requests.length === 1)
  t.equal(host.view(1)?.state, 'busy')
  await until('the second is answered', () => reading().value === 222, 15_000)
  t.equal(reading().value, 222)
})

t.test('answers of others, of strangers and without sense are no values', async (t) => {
  const { port } = await fakeUnit(t, (socket, request) => {
    const lies = [holding(request, 1), holding(request, 2), holding(request, 3), holding(request, 4)]
    lies[0]?.writeUInt16BE((request.readUInt16BE(0) + 1) & 0xffff, 0)
    lies[1]?.writeUInt8(9, 6)
    lies[2]?.writeUInt8(4, 7)
    lies[3]?.writeUInt16BE(1, 2)
    socket.write(Buffer.concat([...lies, holding(request, 42)]))
  })
  const { reading, live, said } = stage(t, port, { address: '1/holding/0' }, { poll_ms: 20 })
  await until('the true one is read', () => reading().value === 42)
  t.equal(live.device(1).state, 'online')
  t.match(said[0], /sent a message that its driver does not know/)
})

t.test('a unit that its gateway cannot reach is unknown, and known again when it answers', async (t) => {
  let isAway = false
  const { port } = await fakeUnit(t, (socket, request) => {
    const fc = (request[7] ?? 0) | 0x80
    const exception = Buffer.from([request[0] ?? 0, request[1] ?? 0, 0, 0, 0, 3, request[6] ?? 0, fc, 11])
    socket.write(isAway ? exception : holding(request, 5))
  })
  const { reading, live } = stage(t, port, { address: '1/holding/0' }, { poll_ms: 20 })
  await until('it is read', () => reading().value === 5)
  isAway = true
  await until('it is unknown', () => reading().state === 'unknown')
  t.equal(live.device(1).state, 'online', 'the gateway is there')
  isAway = false
  await until('it is known again', () => reading().state === 'ok')
})

t.test('a megabyte of rubbish loses its time and nothing else', async (t) => {
  const { port, requests } = await fakeUnit(t, (socket, request) => {
    if (requests.length === 1) socket.write(Buffer.alloc(1_000_000, 0xff))
    socket.write(holding(request, 7))
  })
  const { reading, live } = stage(t, port, { address: '1/holding/0' }, { poll_ms: 20 })
  await until('it is read, now or anew', () => reading().value === 7, 30_000)
  t.equal(live.device(1).state, 'online')
})

t.test('rows are checked: gap, write_multiple, the address of a zone', async (t) => {
  const { flaw, zoneFlaw } = createModbusTcpDriver()
  const row = (columns: object) => ({ id: 1, ...columns }) as unknown as Row
  const transport = { kind: 'modbus-tcp', host: 'a' }
  t.equal(flaw?.(row({ transport })), undefined, '502 is the usual port')
  t.match(flaw?.(row({ transport, config: { gap: 101 } })), /^config\.gap is a whole number, expected .* from 0 to 100/)
  t.match(flaw?.(row({ transport, config: { write_multiple: 1 } })), /write_multiple has to be true or false/)
  t.match(zoneFlaw?.(row({ address: 'x' }), row({})), /the address of zone 1 has "x", expected UNIT/)
})

t.test('the bounds of a zone hold for its one value under any name, and for on', async (t) => {
  const [one, other] = [await startLibmodbusTcp(t), await startLibmodbusTcp(t)]
  const heat = stage(t, one, { address: 'heat=1/holding/5', min: 10, max: 30 })
  for (const value of [200, '2e2', 9])
    await t.rejects(heat.command('heat', { heat: value }), { message: /heat (200|9) is (above 30|below 10)/ })
  t.strictSame(await heat.command('heat', { heat: 30 }), {})
  const dimmer = stage(t, other, { address: '1/holding/6', type: 'dimmer', max: 60 })
  await dimmer.command('on')
  await until('it is read back', () => dimmer.reading().level === 60)
  t.equal(dimmer.reading().level, 60)
})
