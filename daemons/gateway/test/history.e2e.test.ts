/** The history of the real gateway: over a kill, with a gap, as CSV. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '#kit/clock.ts'
import { until } from '#kit/test/until.ts'
import { openPty } from '#native/serial/index.ts'
import { energyMeter } from '../../../scripts/sim/energy-meter.ts'
import { simulateModbusLine } from '../../../scripts/sim/modbus-device.ts'
import { password, startGateway } from './running-gateway.ts'

const sets = ['history.slot_s=10', 'history.write_s=10']
const point = { name: 'voltage', unitId: 1, fc: 4, address: 0, type: 'f32', unit: 'V', decimals: 1, pollMs: 200 }
const body = { protocol: 'modbus-rtu', line: { baud: 19_200 } }

interface Bucket {
  mean: number | null
  last: number | null
  goodMs: number
  recordedMs: number
}

t.test('A.history is kept over a kill, with the gap, and a damaged file is put aside', async (t) => {
  const pty = openPty()
  const stopUnits = simulateModbusLine({ duplex: pty, units: [energyMeter(1, systemClock)], clock: systemClock })
  t.teardown(() => {
    stopUnits()
    return pty.close()
  })
  const first = await startGateway(t, { sets })
  await first.setUp()
  await first.call('PUT', first.portPath(pty.path), body)
  await first.call('PUT', first.portPath(pty.path, '/points'), { points: [point] })
  const place = first.portPath(pty.path, '/points/voltage/history')
  const bucketsOf = async (gateway: typeof first, token?: string): Promise<Bucket[]> =>
    (await gateway.call('GET', `${place}?step=10&from=${Date.now() - 600_000}`, undefined, token)).body.buckets
  const recorded = (buckets: Bucket[]) => buckets.filter(({ mean }) => mean !== null).length
  // The value is there at once, from memory; what a kill may not lose is there once a batch was written.
  await until('a value is in the history', async () => recorded(await bucketsOf(first)) > 0)
  await until('a second slot begins', async () => recorded(await bucketsOf(first)) > 1)
  const unit = await first.call(
    'GET',
    `${first.portPath(pty.path, '/units/1/history')}?step=10&from=${Date.now() - 600_000}`,
  )
  t.match(unit, { status: 200, body: { unitId: 1, stepMs: 10_000 } })
  // On a busy machine the unit of the test is slow or missed now and then, and the history says so.
  t.ok(
    unit.body.buckets.some(
      ({ replies, state }: { replies: number; state: string }) =>
        replies > 0 && ['well', 'slow', 'noisy'].includes(state),
    ),
  )
  await until('the batch is on the disk', () => existsSync(join(first.stateFolder, 'history.db-wal')))
  await first.stop('SIGKILL')

  const second = await startGateway(t, { sets, stateFolder: first.stateFolder })
  const { token } = (await second.call('POST', '/api/login', { password })).body
  const after = await bucketsOf(second, token)
  t.ok(recorded(after) > 0, 'what was written before the kill')
  for (const { last, mean } of after) if (last !== null && mean !== null) t.ok(mean > 200 && last > 200 && last < 260)
  t.match(await second.call('GET', first.portPath(pty.path, '/points/nothing/history'), undefined, token), {
    status: 404,
  })
  t.match(await second.call('GET', `${place}?step=7`, undefined, token), {
    status: 400,
    body: { error: 'bad_fields', message: /step is 7, expected a multiple of 10/ },
  })
  const table = await second.call('GET', `${first.portPath(pty.path, '/history.csv')}?step=3600`, undefined, token)
  t.match([table.status, table.headers.get('content-type')], [200, 'text/csv; charset=utf-8'])
  const [head, ...rows] = String(table.body).trim().split('\r\n')
  t.equal(head, 'time,point,unit,min,mean,max,last,goodMs,recordedMs')
  t.ok(rows.length === 24 || rows.length === 25, `${rows.length} hours`)
  t.match(rows.at(-1), /^\d{4}-\d\d-\d\dT\d\d:00:00.000Z,voltage,V,2\d\d\.?\d*,/)
  await second.stop()

  writeFileSync(join(first.stateFolder, 'history.db'), 'noise'.repeat(2000))
  const third = await startGateway(t, { sets, stateFolder: first.stateFolder })
  const again = (await third.call('POST', '/api/login', { password })).body.token
  await until('the damaged file is put aside', () => existsSync(join(first.stateFolder, 'history.db.damaged')))
  const isTold = async () =>
    (await third.call('GET', '/api/ledger', undefined, again)).body.entries.some(
      ({ what }: { what: string }) => what === 'history_put_aside',
    )
  await until('the ledger tells it', isTold)
  await until('values are recorded again', async () => recorded(await bucketsOf(third, again)) > 0)
})
