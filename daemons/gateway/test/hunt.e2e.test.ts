/** Hunts of the built gateway on ptys whose devices look at the rate that the gateway has set, and understand only theirs. */
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { until } from '#kit/test/until.ts'
import { addon } from '#native/serial/addon.ts'
import { Channel } from '#native/serial/binding.ts'
import { openRequestOrNull, replyFrame } from '../wire/modbus-reply.ts'
import { sealed } from '../wire/modbus-request.ts'
import { startGateway } from './running-gateway.ts'
import { sharedGateway } from './shared-gateway.ts'

/** Long enough for a machine that is busy; only what is really silent costs this time. */
const SETS = ['hunt.listen_ms=300', 'hunt.listen_most_ms=20000', 'hunt.ask_ms=1500']
const gateway = await sharedGateway(SETS)

/** A device at this rate. What it hears, and what is heard of it, is nonsense at any other. */
function deviceAt(baud: number) {
  const native = addon.openPty()
  const channel = new Channel(native)
  t.teardown(() => channel.close())
  const asked: Buffer[] = []
  const rate = async () => (await native.baud()) as number
  const send = async (bytes: Uint8Array) => {
    const isUnderstood = (await rate()) === baud
    await channel.write(Buffer.from(isUnderstood ? bytes : bytes.map((byte) => byte ^ 0x5a)))
  }
  const answered = async (bytes: Buffer, units: readonly number[]) => {
    asked.push(bytes)
    const request = openRequestOrNull(bytes)
    if (request && units.includes(request.unitId) && (await rate()) === baud) await send(replyFrame(request, [7]))
  }
  return {
    ...{ path: native.path, rate, asked },
    /** Answers for these units. */
    answer(...units: number[]) {
      channel.listen((bytes: Buffer) => void answered(bytes, units))
    },
    /** Talks as a master and its unit do. */
    talk(test: Test, unitId: number) {
      channel.listen((bytes: Buffer) => void asked.push(bytes))
      const request = { unitId, fc: 3, address: 0, quantity: 1 }
      const talking = systemClock.every(20, () => {
        const both = [sealed([unitId, 3, 0, 0, 0, 1]), replyFrame(request, [7])]
        void send(Buffer.concat(both)).catch(() => {})
      })
      test.teardown(() => talking.cancel())
    },
  }
}

function hunting(path: string) {
  const call = (method: string, body?: object) => gateway.call(method, gateway.portPath(path, '/hunt'), body)
  return { call, ended: () => until('the hunt ends', async () => (await call('GET')).body.state !== 'running') }
}

t.test(
  'a hunt takes an open port over, finds its unit by asking, and the port has its own settings again',
  async (t) => {
    const device = deviceAt(19_200)
    device.answer(7)
    await gateway.openPort(t, device.path, { protocol: 'modbus-rtu', line: { baud: 9600 } })
    const port = gateway.portPath(device.path)
    const { call, ended } = hunting(device.path)
    const asked = { ask: true, protocols: ['modbus-rtu'], bauds: [9600, 19_200], from: 7, to: 7 }
    t.match(await call('GET'), { status: 404, body: { error: 'no_hunt' } })
    t.match(await call('POST', asked), { status: 409, body: { error: 'line_in_use', message: /takeOver/ } })
    t.match(await call('POST', { ...asked, takeOver: true }), { status: 202, body: { state: 'running', total: 18 } })
    t.match(await gateway.call('GET', port), { body: { state: 'closed', fault: { code: 'line_hunted' } } })
    const request = { unitId: 7, fc: 3, address: 0, quantity: 1 }
    for (const [method, path, body] of [
      ['POST', `${port}/rest/request`, request],
      ['PUT', port, { protocol: 'raw' }],
      ['POST', `${port}/close`],
      ['DELETE', port],
    ] as const)
      t.match(
        await gateway.call(method, path, body),
        { status: 409, body: { error: 'line_hunted' } },
        `${method} ${path}`,
      )
    await ended()
    const { body } = await call('GET')
    t.match(body, {
      state: 'done',
      found: [
        { protocol: 'modbus-rtu', line: { baud: 19_200, parity: 'none' }, how: 'answered', isSure: true, units: [7] },
      ],
      refused: ['9600 8E1', '9600 8O1', '19200 8E1', '19200 8O1'],
      verdict: /^19200 8N1: 1 answer to Modbus questions, unit 7\. 19200 8N2 cannot be told from it/,
    })
    t.match(await gateway.call('GET', port), { body: { state: 'open', fault: null, line: { baud: 9600 } } })
    t.equal(await device.rate(), 9600)
    const journal = JSON.stringify((await gateway.call('GET', '/api/journal')).body)
    t.match(journal, /hunt started/)
    const { body: ledger } = await gateway.call('GET', '/api/ledger')
    t.match(JSON.stringify(ledger), /"what":"hunt_ended","where":"\/dev\/pts\/\d+"/)
  },
)

t.test('a line that is not set up is listened to, and nothing is sent on one where somebody talks', async (t) => {
  const device = deviceAt(38_400)
  device.talk(t, 3)
  const { call, ended } = hunting(device.path)
  t.match(await call('POST', { ask: true, protocols: ['modbus-rtu'], bauds: [9600, 38_400, 4800] }), { status: 202 })
  await ended()
  t.match((await call('GET')).body, {
    state: 'done',
    found: [{ protocol: 'modbus-rtu', line: { baud: 38_400 }, how: 'heard', isSure: true, units: [3], wrong: null }],
    verdict: /^38400 8N1: \d+ Modbus frames heard with the right checksum, unit 3\./,
  })
  t.strictSame(device.asked, [])
})

t.test('a hunt that is cancelled answers when the port is open again', async (t) => {
  const device = deviceAt(19_200)
  await gateway.openPort(t, device.path, { protocol: 'raw', line: { baud: 115_200 } })
  const { call } = hunting(device.path)
  await call('POST', { takeOver: true, bauds: [1200, 2400, 4800] })
  await until('another rate is tried', async () => (await device.rate()) !== 115_200)
  t.match(await call('DELETE'), { status: 200, body: { state: 'cancelled' } })
  t.match(await gateway.call('GET', gateway.portPath(device.path)), { body: { state: 'open' } })
  t.equal(await device.rate(), 115_200)
})

t.test('a gateway that is stopped gives the line its settings back, and starts with them', async (t) => {
  const device = deviceAt(19_200)
  const first = await startGateway(t, { sets: SETS })
  await first.setUp()
  const path = first.portPath(device.path)
  await first.call('PUT', path, { protocol: 'raw', line: { baud: 57_600 } })
  const { status } = await first.call('POST', `${path}/hunt`, { takeOver: true, bauds: [1200, 2400, 4800] })
  t.equal(status, 202)
  await until('another rate is tried', async () => (await device.rate()) !== 57_600)
  t.equal(await first.stop(), 0)
  t.equal(await device.rate(), 57_600)
  const second = await startGateway(t, { stateFolder: first.stateFolder, sets: SETS })
  const { token } = (await second.call('POST', '/api/login', { username: 'admin', password: 'correct horse battery' }))
    .body
  t.match(await second.call('GET', path, undefined, token), { body: { state: 'open', line: { baud: 57_600 } } })
})
