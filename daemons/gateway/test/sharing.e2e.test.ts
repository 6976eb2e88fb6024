/** One line, many callers, one dead unit: on the real bundle, with libmodbus as unit and mbpoll as a client. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { freePort } from '#kit/test/free-port.ts'
import { until } from '#kit/test/until.ts'
import { openPty } from '#native/serial/index.ts'
import type { UnitView } from '../core/bus/units.ts'
import { noLibmodbus, startLibmodbus } from './peer/libmodbus.ts'
import { sharedGateway } from './shared-gateway.ts'

const run = promisify(execFile)
const skip = noLibmodbus ?? (existsSync('/usr/bin/mbpoll') ? false : 'needs mbpoll')

const REQUEST_BYTES = 8

/**
 * Two connected ptys; the far end hears only requests to unit 17. libmodbus takes whatever follows a request to another
 * unit for that unit's answer: with a dead one beside it, it would swallow every other request.
 */
function filteredLine(t: Test) {
  const [ours, theirs] = [openPty(), openPty()]
  t.teardown(() => Promise.all([ours.close(), theirs.close()]))
  theirs.onBytes((bytes) => void ours.write(bytes).catch(() => {}))
  let held = Buffer.alloc(0)
  ours.onBytes((bytes) => {
    // All requests here are reads, which have one length.
    held = Buffer.concat([held, bytes])
    for (; held.length >= REQUEST_BYTES; held = held.subarray(REQUEST_BYTES))
      if (held[0] === 17) void theirs.write(held.subarray(0, REQUEST_BYTES)).catch(() => {})
  })
  return { ours, theirs }
}

const gateway = await sharedGateway(['modbus_tcp.host=127.0.0.1'])

/** libmodbus is unit 17, register n of it holds 3 * n; nobody is unit 18. Both have a point. */
async function sharedLine(t: Test) {
  const { ours, theirs } = filteredLine(t)
  await startLibmodbus(t, theirs.path, 17)
  const tcpPort = await freePort()
  const waits = { response_timeout_ms: 1000, quarantine_ms: 300, breaker_retry_ms: 1000, background_wait_ms: 1000 }
  const settings = { tcp_port: tcpPort, ...waits }
  const call = (method: string, rest: string, body?: unknown) =>
    gateway.call(method, gateway.portPath(ours.path, rest), body)
  await gateway.openPort(t, ours.path, { protocol: 'modbus-rtu', line: { baud: 19_200 }, settings })
  const points = [17, 18].map((unitId) => ({
    name: `p${unitId}`,
    unitId,
    fc: 3,
    address: 10,
    type: 'u16',
    pollMs: 500,
  }))
  t.equal((await call('PUT', '/points', { points })).status, 200)
  const unit = async (unitId: number): Promise<UnitView | undefined> =>
    (await call('GET', '/units')).body.find((one: UnitView) => one.unitId === unitId)
  const metrics = async (): Promise<string> => (await gateway.call('GET', '/metrics')).body
  return { call, metrics, tcpPort, unit }
}

t.test('one line, a dead unit on it', { skip }, async (t) => {
  const { call, metrics, tcpPort, unit } = await sharedLine(t)
  await until('unit 18 is silent', async () => (await unit(18))?.state === 'silent')

  await t.test('an operator reaches a silent unit at once, and each change of a unit is an event', async (t) => {
    t.match(await call('POST', '/rest/request', { unitId: 18, fc: 3, address: 0, quantity: 1 }), {
      status: 504,
      body: { error: 'modbus_timeout', unitId: 18 },
    })
    const events = (await call('GET', '/frames?limit=500')).body
    const told = events.filter(({ event }: { event: string }) => event === 'unit')
    t.match(
      told.map(({ payload }: { payload: { unitId: number; state: string } }) => `${payload.unitId} ${payload.state}`),
      ['17 well', '18 failing', '18 silent'],
    )
  })

  await t.test('while a dead unit is polled, operators, points and TCP clients get their values', async (t) => {
    t.match(await metrics(), /port_units\{port="[^"]+",state="well"\} 1/)
    t.match(await metrics(), /port_units\{port="[^"]+",state="(silent|probing)"\} 1/)
    const client = run('mbpoll', [
      ...['-m', 'tcp', '-p', String(tcpPort), '-0', '-o', '5', '-l', '100', '-a', '17'],
      ...['-t', '4', '-r', '30', '-c', '2', '127.0.0.1'],
    ])
    for (let address = 0; address < 40; address++) {
      const answer = await call('POST', '/rest/request', { unitId: 17, fc: 3, address, quantity: 2 })
      t.match(answer, { status: 200, body: { values: [3 * address, 3 * address + 3] } })
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    client.child.kill('SIGINT')
    const { stdout } = await client.catch((ended: { stdout: string }) => ended)
    t.match(stdout, /\[30\]:\s+90\s+\[31\]:\s+93/)
    t.match(await unit(17), { state: 'well', timeouts: 0, crcErrors: 0, lateReplies: 0 })
    t.match(await unit(18), { state: /silent|probing/, replies: 0, lastError: { code: 'modbus_timeout' } })
    let points = (await call('GET', '/points')).body.points
    // The point whose poll was the last try has timed out; its next one is told that the unit is silent.
    await until('a poll between two tries', async () => {
      points = (await call('GET', '/points')).body.points
      return points[1].fault.code === 'modbus_unit_silent'
    })
    const [p17, p18] = points
    t.match(p17, { value: 30, quality: 'good' })
    t.match(p18, { value: null, quality: 'bad', fault: { code: 'modbus_unit_silent', message: /Unit 18/ } })
  })

  await t.test('a scan finds the one unit that is there while points are polled', async (t) => {
    t.match(await call('POST', '/rest/scan', { from: 15, to: 20 }), {
      status: 202,
      body: { state: 'running', total: 6 },
    })
    const isOver = async () => (await call('GET', '/rest/scan')).body.state !== 'running'
    await until('the scan is over', isOver, 40_000)
    const { body: job } = await call('GET', '/rest/scan')
    t.match(job, { state: 'done', asked: 6, found: [{ unitId: 17, exception: null }], fault: null })
    t.strictSame(
      (await call('GET', '/units')).body.map(({ unitId }: UnitView) => unitId),
      [17, 18],
    )
  })
})
