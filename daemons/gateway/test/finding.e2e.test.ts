/** Finding out over HTTP what a unit has and what it is, on the built gateway. */
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { until } from '#kit/test/until.ts'
import { simulateModbusLine } from '../../../scripts/sim/modbus-device.ts'
import { simulatedUnit } from '../../../scripts/sim/modbus-unit.ts'
import { ptyOfFile, sharedGateway } from './shared-gateway.ts'

const gateway = await sharedGateway()

/** A type designation and 230.0 V, as a B23 has them. */
function codedMeter(unitId: number) {
  const holding: number[] = []
  holding.splice(0, 2, 0x4366, 0x199a)
  for (const [at, word] of [0x4232, 0x3320].entries()) holding[35_168 + at] = word
  for (const [at, word] of [0, 2300].entries()) holding[23_296 + at] = word
  return simulatedUnit({ unitId, holding })
}

/** A line with a unit that says what it is, and one that has a code. @returns asks `rest/` and the points */
async function lineOf(t: Test, settings = {}) {
  const pty = ptyOfFile()
  const units = [simulatedUnit({ unitId: 1, holding: [7], identity: ['Acme\0', 'X-1', '2.0'] }), codedMeter(2)]
  t.teardown(simulateModbusLine({ duplex: pty, units, clock: systemClock }))
  // The units answer at once, but live in this process, which may have to wait for a processor.
  const patient = { response_timeout_ms: 2000, ...settings }
  await gateway.openPort(t, pty.path, { protocol: 'modbus-rtu', settings: patient })
  const at = (rest: string) => gateway.portPath(pty.path, rest)
  return {
    call: (method: string, rest: string, body?: object) => gateway.call(method, at(rest), body),
    readings: (body: object) => gateway.call('POST', at('/rest/test-read'), body),
  }
}

t.test('what a test read shows is what a point with that type and order gives', async (t) => {
  const { call, readings } = await lineOf(t)
  const { status, body } = await readings({ unitId: 2, fc: 3, address: 0, quantity: 2 })
  t.equal(status, 200)
  const shown = body.registers[0].readings
  t.match(
    shown.find(({ type }: { type: string }) => type === 'f32'),
    { value: 230.1, text: '230.1', doubt: null },
  )
  const points = shown.map(
    ({ value: _, text: _text, doubt: _doubt, ...fields }: { [name: string]: unknown }, n: number) => ({
      ...{ name: `p${n}`, unitId: 2, fc: 3, address: 0, pollMs: 60_000 },
      ...fields,
    }),
  )
  t.equal((await call('PUT', '/points', { points })).status, 200)
  const given = async () => (await call('GET', '/points')).body.points as { quality: string; value: unknown }[]
  await until('all were read', async () => (await given()).every(({ quality }) => quality !== 'unknown'))
  t.strictSame(
    (await given()).map(({ value }) => value),
    shown.map(({ value }: { value: unknown }) => value),
  )
  t.match(await readings({ unitId: 2, fc: 3, address: 0, quantity: 33 }), {
    status: 400,
    body: { fields: [{ field: 'quantity', message: /at most 32/ }] },
  })
  t.match(await readings({ unitId: 2, fc: 3, address: 50, quantity: 1 }), { status: 502 })
})

t.test('a unit says what it is, or could be a device whose code it has', async (t) => {
  const { call } = await lineOf(t)
  t.match(await call('POST', '/rest/identify', { unitId: 1 }), {
    status: 200,
    body: { unitId: 1, kind: 'said', objects: [{ value: 'Acme' }, { value: 'X-1' }, { value: '2.0' }], candidates: [] },
  })
  const b23 = { template: 'abb-b23', maker: 'ABB', signs: 2, fit: 2, by: 'codes' }
  t.match(await call('POST', '/rest/identify', { unitId: 2 }), {
    status: 200,
    body: { kind: 'possible', objects: [], candidates: [b23] },
  })
  t.equal((await call('POST', '/rest/scan', { from: 1, to: 2, identify: true })).status, 202)
  await until('the scan is done', async () => (await call('GET', '/rest/scan')).body.state === 'done')
  t.match((await call('GET', '/rest/scan')).body.found, [
    { unitId: 1, identity: { kind: 'said' } },
    { unitId: 2, identity: { kind: 'possible', candidates: [b23] } },
  ])
})

t.test('a line that only listens, or serves others, asks nothing', async (t) => {
  for (const mode of ['listen', 'slave']) {
    const { call, readings } = await lineOf(t, { mode })
    const refused = {
      status: 409,
      body: { error: 'wrong_protocol', message: new RegExp(mode === 'listen' ? 'listens' : 'slave') },
    }
    t.match(await readings({ unitId: 1, fc: 3, address: 0, quantity: 1 }), refused)
    t.match(await call('POST', '/rest/identify', { unitId: 1 }), refused)
  }
})
