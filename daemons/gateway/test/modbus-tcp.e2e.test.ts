/** Modbus TCP to a line, on the real bundle. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { openPty } from '#native/serial/index.ts'
import { type ModbusLineParts, simulateModbusLine } from '../../../scripts/sim/modbus-device.ts'
import { simulatedUnit } from '../../../scripts/sim/modbus-unit.ts'
import { freePort } from './free-port.ts'
import { compileLibmodbus, noLibmodbus } from './peer/libmodbus.ts'
import { dialMbap } from './peer/mbap-client.ts'
import { startGateway } from './running-gateway.ts'
import { until } from './until.ts'

const run = promisify(execFile)
const noMbpoll = existsSync('/usr/bin/mbpoll') ? false : 'needs mbpoll'

interface Setup {
  units?: number[]
  say?: ModbusLineParts['say']
  settings?: object
  sets?: string[]
  tcpPort?: number
}

/** A line with Modbus TCP to simulated units. Register n of unit u holds 100 * u + n. */
async function lineOf(t: Test, setup: Setup = {}) {
  const gateway = await startGateway(t, { sets: ['modbus_tcp.host=127.0.0.1', ...(setup.sets ?? [])] })
  await gateway.setUp()
  const pty = openPty()
  t.teardown(() => pty.close())
  const units = (setup.units ?? [1, 2]).map((unitId) =>
    simulatedUnit({
      unitId,
      holding: Array.from({ length: 100 }, (_, address) => 100 * unitId + address),
      coils: Array.from({ length: 16 }, () => 0),
      identity: ['Plantroom', `unit ${unitId}`, '1.0'],
    }),
  )
  t.teardown(simulateModbusLine({ duplex: pty, clock: systemClock, units, say: setup.say }))
  const tcpPort = setup.tcpPort ?? (await freePort())
  const settings = { tcp_port: tcpPort, response_timeout_ms: 1000, ...setup.settings }
  const put = await gateway.call('PUT', gateway.portPath(pty.path), {
    protocol: 'modbus-rtu',
    line: { baud: 115_200 },
    settings,
  })
  t.equal(put.status, 200)
  const view = async () => (await gateway.call('GET', gateway.portPath(pty.path))).body
  const ask = (body: object) => gateway.call('POST', gateway.portPath(pty.path, '/rest/request'), body)
  return { ask, gateway, path: pty.path, tcpPort, view }
}

t.test('mbpoll reads and writes a unit of the line over Modbus TCP', { skip: noMbpoll }, async (t) => {
  const { tcpPort, view } = await lineOf(t)
  const mbpoll = async (...args: string[]) =>
    (await run('mbpoll', ['-m', 'tcp', '-p', String(tcpPort), '-0', '-1', '-o', '5', ...args])).stdout
  t.match(await mbpoll('-a', '2', '-t', '4', '-r', '10', '-c', '3', '127.0.0.1'), /210[\s\S]*211[\s\S]*212/)
  t.match(await mbpoll('-a', '2', '-t', '4', '-r', '20', '127.0.0.1', '4711'), /Written 1 references/)
  t.match(await mbpoll('-a', '2', '-t', '4', '-r', '20', '-c', '1', '127.0.0.1'), /4711/)
  t.match(await mbpoll('-a', '2', '-t', '0', '-r', '3', '127.0.0.1', '1', '1'), /Written 2 references/)
  t.match(
    await mbpoll('-a', '2', '-t', '0', '-r', '2', '-c', '4', '127.0.0.1'),
    /\[2\]:\s+0[\s\S]*\[3\]:\s+1[\s\S]*\[4\]:\s+1/,
  )
  await t.rejects(mbpoll('-a', '2', '-t', '4', '-r', '500', '127.0.0.1'), /Illegal data address/)
  t.match((await view()).counters, { tcpClients: 0, tcpRequests: 6, tcpWrites: 2 })
})

t.test('libmodbus and REST at once each get their own values', { skip: noLibmodbus, timeout: 120_000 }, async (t) => {
  const { ask, tcpPort, view } = await lineOf(t, { units: [1, 2, 3], settings: { gap_us: 100 } })
  const client = await compileLibmodbus(t, 'libmodbus-client')
  const clients = Promise.all(
    [1, 2].map((unit) => run(client, [String(tcpPort), String(unit), '200']).catch((error) => error)),
  )
  let isDone = false
  const rest = (async () => {
    let asked = 0
    for (; !isDone; asked++) {
      const address = asked % 50
      const answer = await ask({ unitId: 3, fc: 3, address, quantity: 4 })
      const wanted = Array.from({ length: 4 }, (_, n) => 300 + address + n)
      if (answer.status !== 200 || `${answer.body.values}` !== `${wanted}`)
        return `request ${asked}: ${answer.status} ${JSON.stringify(answer.body)}`
    }
    return asked
  })()
  const told = await clients
  isDone = true
  t.strictSame(
    told.map(({ stdout }) => stdout),
    ['all right\n', 'all right\n'],
  )
  t.ok(Number(await rest) > 10, `REST was right ${await rest} times meanwhile`)
  t.match((await view()).counters, { timeouts: 0, crcErrors: 0, tcpClients: 0 })
})

t.test('pipelined requests are answered in order, with their transaction ids', async (t) => {
  const { tcpPort } = await lineOf(t, { settings: { tcp_pipeline: 4 } })
  const client = await dialMbap(t, tcpPort)
  const ids = Array.from({ length: 40 }, (_, n) => (65_530 + n * 7) & 0xffff)
  for (const [n, id] of ids.entries()) client.ask(id, `0${1 + (n % 2)} 03 00 ${hexByte(n)} 00 01`)
  await until('all are answered', () => client.told.length === 40)
  t.strictSame(
    client.told,
    ids.map((id, n) => {
      const value = 100 * (1 + (n % 2)) + n
      return [id, `0${1 + (n % 2)} 03 02 ${hexByte(value >> 8)} ${hexByte(value & 0xff)}`]
    }),
  )
})

t.test('every function passes, with the exceptions of the unit; what is none is refused', async (t) => {
  const { tcpPort } = await lineOf(t)
  const client = await dialMbap(t, tcpPort)
  for (const [asked, told] of [
    ['01 06 00 05 12 34', '01 06 00 05 12 34'],
    ['01 10 00 06 00 02 04 00 01 00 02', '01 10 00 06 00 02'],
    ['01 03 00 05 00 03', '01 03 06 12 34 00 01 00 02'],
    ['01 16 00 05 00 FF 00 00', '01 16 00 05 00 FF 00 00'],
    ['01 17 00 05 00 02 00 07 00 01 02 00 09', '01 17 04 00 34 00 01'],
    ['01 05 00 00 FF 00', '01 05 00 00 FF 00'],
    ['01 0F 00 01 00 03 01 05', '01 0F 00 01 00 03'],
    ['01 01 00 00 00 05', '01 01 01 0B'],
    ['01 2B 0E 01 00', `01 2B 0E 01 83 FF 01 01 00 09 ${text('Plantroom')}`],
    ['01 03 00 63 00 02', '01 83 02'],
    ['01 02 00 00 00 01', '01 82 01'],
    ['01 08 00 00 00 00', '01 88 01'],
    ['01 03 00 00 00 7E', '01 83 03'],
    ['FF 03 00 00 00 01', 'FF 83 0A'],
    ['09 03 00 00 00 01', '09 83 0B'],
  ] as const)
    t.equal(await client.exchange(asked), told, asked)
})

t.test('a broadcast reaches every unit and is answered with nothing', async (t) => {
  const { tcpPort } = await lineOf(t)
  const client = await dialMbap(t, tcpPort)
  client.ask(1, '00 06 00 07 00 2A')
  client.ask(2, '01 03 00 07 00 01')
  client.ask(3, '02 03 00 07 00 01')
  await until('both reads are answered', () => client.told.length === 2)
  t.strictSame(client.told, [
    [2, '01 03 02 00 2A'],
    [3, '02 03 02 00 2A'],
  ])
})

t.test('a dead unit costs its own client its time, and no other client a reply', async (t) => {
  const { tcpPort, view } = await lineOf(t, { settings: { response_timeout_ms: 500 } })
  const [stubborn, other] = [await dialMbap(t, tcpPort), await dialMbap(t, tcpPort)]
  let isDone = false
  const asksTheDead = (async () => {
    const told = new Set<string>()
    while (!isDone) told.add(await stubborn.exchange('63 03 00 00 00 01'))
    return [...told]
  })()
  for (let n = 0; n < 60; n++)
    t.equal(await other.exchange(`01 03 00 ${hexByte(n)} 00 01`), `01 03 02 00 ${hexByte(100 + n)}`)
  isDone = true
  t.strictSame(await asksTheDead, ['63 83 0B'])
  t.match((await view()).counters, { tcpClients: 2, badReplies: 0 })
})

t.test('what is no Modbus TCP ends that client alone, counted and told with what was seen', async (t) => {
  const { gateway, tcpPort, view } = await lineOf(t)
  const [good, bad] = [await dialMbap(t, tcpPort), await dialMbap(t, tcpPort)]
  bad.ask(1, '01 03 00 00 00 01')
  bad.socket.write('GET / HTTP/1.1\r\n\r\n')
  await until('it is let go', bad.isClosed)
  t.strictSame(bad.told, [[1, '01 03 02 00 64']], 'what it asked before is answered')
  t.equal(await good.exchange('02 03 00 00 00 01'), '02 03 02 00 C8')
  t.match((await view()).counters, { tcpClients: 1, tcpMalformed: 1 })
  t.match(gateway.output(), /modbus tcp clients let go.*why=malformed.*protocol id is/)
})

t.test('a client that leaves withdraws what waits; nothing of it goes out later', async (t) => {
  const { tcpPort, view } = await lineOf(t, {
    units: [1],
    say: (bytes) => [{ afterMs: 60, bytes }],
    settings: { local_echo: 'absent' },
  })
  const client = await dialMbap(t, tcpPort)
  for (let n = 0; n < 10; n++) client.ask(n, `01 06 00 ${hexByte(n)} 00 01`)
  await until('the first is out', async () => (await view()).counters.requests >= 1)
  client.socket.resetAndDestroy()
  await until('it is gone', async () => (await view()).counters.tcpClients === 0)
  const { requests } = (await view()).counters
  t.equal(requests, 1, 'the one that was out when it left')
  await new Promise((resolve) => setTimeout(resolve, 300))
  t.match((await view()).counters, { requests: 1, tcpWithdrawn: 9 })
})

t.test('a TCP port that is taken is the fault of the port, which works, and opens it once it is free', async (t) => {
  const tcpPort = await freePort()
  const squatter = createServer().listen(tcpPort, '127.0.0.1')
  await once(squatter, 'listening')
  const sets = ['ports.retry_first_ms=50', 'ports.retry_max_ms=100']
  const { ask, view } = await lineOf(t, { tcpPort, sets })
  await until('its fault is told', async () => (await view()).fault !== null)
  t.match(await view(), {
    state: 'open',
    fault: { code: 'tcp_port_taken', message: new RegExp(`${tcpPort}.*EADDRINUSE`) },
  })
  t.match(await ask({ unitId: 1, fc: 3, address: 0, quantity: 1 }), { status: 200, body: { values: [100] } })
  squatter.close()
  await until('its fault is gone', async () => (await view()).fault === null)
  const client = await dialMbap(t, tcpPort)
  t.equal(await client.exchange('01 03 00 00 00 01'), '01 03 02 00 64')
})

t.test('mode listen with a TCP port is refused by the name of the field, and the port runs on', async (t) => {
  const { gateway, path, tcpPort } = await lineOf(t)
  const settings = { mode: 'listen', tcp_port: tcpPort }
  t.match(await gateway.call('PUT', gateway.portPath(path), { protocol: 'modbus-rtu', settings }), {
    status: 400,
    body: { error: 'bad_fields', fields: [{ field: 'settings.tcp_port', message: /mode master/ }] },
  })
  const client = await dialMbap(t, tcpPort)
  t.equal(await client.exchange('01 03 00 00 00 01'), '01 03 02 00 64')
})

t.test('the TCP port closes with the line and opens with it', async (t) => {
  const { gateway, path, tcpPort } = await lineOf(t)
  const client = await dialMbap(t, tcpPort)
  t.equal(await client.exchange('01 03 00 00 00 01'), '01 03 02 00 64')
  await gateway.call('POST', gateway.portPath(path, '/close'))
  await until('it is let go', client.isClosed)
  const [error] = await once(connect(tcpPort, '127.0.0.1'), 'error')
  t.equal(error.code, 'ECONNREFUSED')
  await gateway.call('POST', gateway.portPath(path, '/open'))
  const again = await dialMbap(t, tcpPort)
  t.equal(await again.exchange('01 03 00 00 00 01'), '01 03 02 00 64')
})

function hexByte(value: number): string {
  return value.toString(16).toUpperCase().padStart(2, '0')
}

function text(words: string): string {
  return [...Buffer.from(words)].map(hexByte).join(' ')
}
