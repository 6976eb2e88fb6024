/** Meters on M-Bus lines of the built gateway: simulated on ptys, read, searched for and polled over HTTP. */
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { fakeClock } from '#kit/clock-fake.ts'
import { until } from '#kit/test/until.ts'
import { heatMeter, waterMeter } from '../../../scripts/sim/heat-meter.ts'
import { type SimulatedMeter, simulateMbusLine } from '../../../scripts/sim/mbus-meters.ts'
import { ptyOfFile, sharedGateway } from './shared-gateway.ts'

const gateway = await sharedGateway()
const clock = systemClock

/** A port with these meters at its far end. */
async function lineOf(test: Test, meters: readonly SimulatedMeter[], settings: object = {}) {
  const pty = ptyOfFile()
  test.teardown(simulateMbusLine({ duplex: pty, clock, meters }))
  const put = await gateway.openPort(test, pty.path, {
    protocol: 'mbus',
    line: { baud: 115_200 },
    settings: { response_timeout_ms: 1000, quarantine_ms: 300, ...settings },
  })
  test.equal(put.status, 200, JSON.stringify(put.body))
  const call = (method: string, rest: string, body?: object) =>
    gateway.call(method, gateway.portPath(pty.path, rest), body)
  return { call, path: pty.path }
}

t.test('A.mbus a meter is read over HTTP, by its address and by its number', async (t) => {
  const meters = [heatMeter({ address: 1, id: '21314159', clock }), waterMeter({ address: 0, id: '40271828', clock })]
  const { call } = await lineOf(t, meters)
  const heat = await call('POST', '/rest/read', { address: 1 })
  t.match(heat, {
    status: 200,
    body: {
      unitId: 1,
      address: 1,
      secondary: '213141592D2C0804',
      meter: { id: '21314159', manufacturer: 'KAM', medium: { name: 'heat' } },
      isComplete: true,
      telegramsHex: [/^68 /, /^68 /],
    },
  })
  const values = Object.fromEntries(
    heat.body.records.map(({ record, unit }: { record: string; unit: string }) => [record, unit]),
  )
  t.same(values, {
    energy: 'Wh',
    volume: 'm³',
    power: 'W',
    'flow temperature': '°C',
    'return temperature': '°C',
    'energy storage 1': 'Wh',
  })
  t.match(await call('POST', '/rest/read', { secondary: '40271828' }), {
    status: 200,
    body: { unitId: 40_271_828, address: null, records: [{ record: 'volume', unit: 'm³' }] },
  })
  t.match(await call('POST', '/rest/init', { address: 1 }), { status: 200, body: { unitId: 1 } })
  const journal = (await gateway.call('GET', '/api/journal')).body
  t.ok(JSON.stringify(journal).includes('meter reset'), 'a reset is in the journal')
})

t.test('A.errors nobody answers: 504; a wrong checksum: 502; another address is not believed', async (t) => {
  const meters = [
    waterMeter({
      address: 2,
      id: '00000002',
      clock,
      faults: { damage: (frame) => (frame.length > 1 ? frame.with(-2, 0) : frame) },
    }),
    waterMeter({ address: 3, id: '00000003', clock, faults: { namesAddress: 9 } }),
  ]
  const { call } = await lineOf(t, meters, { retries: 0 })
  t.match(await call('POST', '/rest/read', { address: 1 }), {
    status: 504,
    body: { error: 'mbus_timeout', unitId: 1, message: /Unit 1 / },
  })
  t.match(await call('POST', '/rest/read', { address: 2 }), {
    status: 502,
    body: { error: 'mbus_bad_reply', unitId: 2 },
  })
  t.match(await call('POST', '/rest/read', { address: 3 }), { status: 504, body: { heard: { wrongUnit: 1 } } })
  t.match(await call('POST', '/rest/read', { address: 3, secondary: '00000003' }), {
    status: 400,
    body: { error: 'bad_fields' },
  })
  t.match(await call('POST', '/rest/read', { adress: 3 }), {
    status: 400,
    body: { message: /nearest known name is `address`/ },
  })
  t.match(await call('POST', '/rest/request', { unitId: 1, fc: 3, address: 0, quantity: 1 }), {
    status: 409,
    body: { error: 'wrong_protocol', message: /speaks mbus/ },
  })
})

t.test('A.mbus a scan is a job with progress, finds meters that collide, and is cancelled', async (t) => {
  // A meter for each first digit: each selection but the first has one answer, so that none waits for nobody, and
  // the time for an answer may be long. What they say is the same in each run, as answers may fall together to a whole one.
  const ids = '00112233 11235813 21314159 31415926 40271828 57721566 61803398 74205079 82246703 91316022'.split(' ')
  const meters = ids.map((id) => waterMeter({ address: 0, id, clock: fakeClock() }))
  const { call } = await lineOf(t, meters, { response_timeout_ms: 3000 })
  t.match(await call('POST', '/rest/scan', { by: 'secondary' }), {
    status: 202,
    body: { state: 'running', by: 'secondary' },
  })
  await until('the scan is over', async () => (await call('GET', '/rest/scan')).body.state !== 'running')
  const { body } = await call('GET', '/rest/scan')
  t.match(body, { state: 'done', progress: 1, collisions: [] })
  t.same(body.found.map(({ meter }: { meter: { id: string } }) => meter.id).sort(), [...ids].sort())
  t.match(await call('POST', '/rest/scan', { from: 0, to: 250 }), { status: 202, body: { by: 'primary' } })
  t.match(await call('POST', '/rest/scan', {}), { status: 409, body: { error: 'scan_running' } })
  await until('address 0 was asked', async () => (await call('GET', '/rest/scan')).body.collisions.length > 0)
  t.match(await call('DELETE', '/rest/scan'), { status: 200, body: { state: 'cancelled', collisions: ['0'] } })
  t.match(await call('POST', '/rest/scan', { fc: 3 }), {
    status: 400,
    body: { message: /^fc is of a scan for Modbus/ },
  })
})

t.test('A.mbus points name records, are polled, and survive another protocol on their line', async (t) => {
  const { call, path } = await lineOf(t, [heatMeter({ address: 1, id: '21314159', clock })])
  const points = [
    { name: 'heat', unitId: 1, record: 'energy', scale: 0.001, unit: 'kWh', decimals: 0, pollMs: 200 },
    { name: 'month', unitId: 1, record: 'energy storage 1', pollMs: 200 },
  ]
  t.match(await call('PUT', '/points', { points }), {
    status: 200,
    body: { points: [{ name: 'heat', record: 'energy', pollMs: 200 }, {}] },
  })
  await until('both are read', async () =>
    (await call('GET', '/points')).body.points.every(({ quality }: { quality: string }) => quality === 'good'),
  )
  t.match((await call('GET', '/points')).body.points, [{ unit: 'kWh', text: /^12\d{3}$/ }, { value: Number }])
  const { body: history } = await call('GET', `/points/heat/history?step=60&from=${Date.now() - 120_000}`)
  t.match(history, { name: 'heat', unit: 'kWh' })
  t.ok(history.buckets.some(({ last }: { last: number | null }) => last !== null && last > 12_000))
  t.match(await call('POST', '/points/flow', { unitId: 1, record: 'flow temperature' }), {
    status: 201,
    body: { name: 'flow', pollMs: 60_000 },
  })
  t.match(await call('PATCH', '/points/flow', { pollMs: 500 }), { status: 200, body: { pollMs: 500 } })
  t.match(await call('PATCH', '/points/flow', { fc: 3 }), { status: 400, body: { fields: [{ field: 'fc' }] } })
  t.match(await call('PATCH', '/points/flow', { unitId: 300 }), {
    status: 400,
    body: { fields: [{ field: 'unitId' }] },
  })
  const register = { unitId: 1, fc: 3, address: 0, type: 'u16' }
  t.match(await call('POST', '/points/other', register), { status: 400, body: { fields: [{ field: 'record' }] } })
  t.match(await call('POST', '/points', { template: 'eastron-sdm120', unitId: 1 }), {
    status: 409,
    body: { error: 'wrong_protocol' },
  })
  t.match(await call('GET', '/units'), { body: [{ unitId: 1, state: 'well' }] })

  await gateway.call('PUT', gateway.portPath(path), { protocol: 'modbus-rtu', line: { baud: 115_200 } })
  t.match(await call('GET', '/points'), { body: { points: [] } })
  t.match(await call('POST', '/points/other', { unitId: 1, record: 'energy' }), {
    status: 400,
    body: { fields: [{ field: 'record' }] },
  })
  t.match(await call('PATCH', '/points/none', { pollMs: 500 }), { status: 404 })
  await gateway.call('PUT', gateway.portPath(path), { protocol: 'mbus', line: { baud: 115_200 } })
  t.match((await call('GET', '/points')).body.points, [{ name: 'heat' }, { name: 'month' }, { name: 'flow' }])
})
