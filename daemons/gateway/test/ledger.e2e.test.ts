/** The ledger of the real gateway: a line that is pulled and a unit that is silent, in the API, the log and an alarm. */
import { mkdtempSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '#kit/clock.ts'
import type { LedgerEntry } from '#kit/records/ledger-entry.ts'
import { plugIn } from '#kit/test/line/named-pty.ts'
import { until } from '#kit/test/until.ts'
import { simulateModbusLine } from '../../../scripts/sim/modbus-device.ts'
import { simulatedUnit } from '../../../scripts/sim/modbus-unit.ts'
import { password, startGateway } from './running-gateway.ts'

type Alarm = { event: string; entries: (LedgerEntry & { event: string })[] }

const alarms: Alarm[] = []
const target = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part) => parts.push(part))
  request.on('end', () => {
    alarms.push(JSON.parse(Buffer.concat(parts).toString()))
    response.writeHead(204).end()
  })
}).listen(0, '127.0.0.1')
await new Promise((resolve) => target.once('listening', resolve))
t.teardown(() => target.close())

const sets = [
  'ports.allow=["/dev/shm/*"]',
  'ports.retry_first_ms=50',
  'ledger.hold_ms=100',
  'ledger.save_ms=20',
  `alarms.url="http://127.0.0.1:${(target.address() as AddressInfo).port}/alarm"`,
  'alarms.gather_ms=0',
]
const stateFolder = mkdtempSync(join(tmpdir(), 'ledger-'))
t.teardown(() => rmSync(stateFolder, { recursive: true, force: true }))
const file = join(stateFolder, 'ledger.jsonl')
const gateway = await startGateway(t, { sets, stateFolder })
await gateway.setUp()

const settings = { response_timeout_ms: 400, breaker_failures: 2, breaker_retry_ms: 100, local_echo: 'absent' }

async function list(query = ''): Promise<LedgerEntry[]> {
  return (await gateway.call('GET', `/api/ledger?${query}`)).body.entries
}

t.test('a line that is pulled and a unit that is killed are entries until they are back', async (t) => {
  const device = plugIn('ledger')
  const unit = simulatedUnit({ unitId: 1, holding: [7] })
  let stopUnit = simulateModbusLine({ duplex: device, clock: systemClock, units: [unit] })
  t.teardown(async () => {
    stopUnit()
    await device.unplug()
  })
  const body = { protocol: 'modbus-rtu', line: { baud: 115_200 }, settings }
  t.match(await gateway.openPort(t, device.path, body), { status: 200 })
  const ask = () =>
    gateway.call('POST', gateway.portPath(device.path, '/rest/request'), { unitId: 1, fc: 3, address: 0, quantity: 1 })
  t.match(await ask(), { status: 200 })
  t.same(await list(), [])

  stopUnit()
  await ask()
  await ask()
  const place = `${device.path} unit 1`
  t.match(await list('open=true'), [{ what: 'unit_silent', where: place, severity: 'fault', until: null, count: 1 }])

  await device.unplug()
  await until('the line is absent', async () => (await list('open=true'))[0]?.what === 'line_absent')
  t.match(await list(), [
    { what: 'line_absent', where: device.path, until: null, sentence: /unplugged|not there|gone/ },
    { what: 'unit_silent', ended: 'cleared' },
  ])
  const [{ id } = { id: 0 }] = await list('open=true')
  const metrics = await fetch(`${gateway.url}/metrics`, { headers: { authorization: `Bearer ${gateway.token()}` } })
  t.match(await metrics.text(), /plantroom_ledger_open\{severity="fault"\} 1/)

  t.match(await gateway.call('POST', '/api/ledger/acknowledge', { id }), {
    status: 200,
    body: { acknowledgedBy: 'admin', acknowledgedAt: Number },
  })
  t.match((await gateway.call('GET', '/api/journal?what=acknowledged')).body, [{ who: 'admin', target: 'line_absent' }])
  t.match(await gateway.call('POST', '/api/ledger/acknowledge', { id: 999 }), {
    status: 404,
    body: { error: 'unknown_entry' },
  })

  device.replug()
  stopUnit = simulateModbusLine({ duplex: device, clock: systemClock, units: [unit] })
  await until('the line is back', async () => (await list('open=true')).length === 0)
  const [entry] = await list('where=ledger')
  t.match(entry, { what: 'line_absent', ended: 'cleared', acknowledgedBy: 'admin' })
  t.ok((entry?.durationMs ?? 0) > 0 && (entry?.until ?? 0) >= (entry?.since ?? 1), 'it says how long')

  const ended = new RegExp(
    `condition ended what=line_absent where=${device.path} durationMs=\\d+ count=1 ended=cleared`,
  )
  await until('the log has the end', () => ended.test(gateway.output()))
  t.match(gateway.output(), new RegExp(`condition opened what=unit_silent where="${place}"`))
  await until('the end is told', () => alarms.some(({ entries }) => entries.some(({ event }) => event === 'ended')))
  t.match(alarms[0], { event: 'alarm', role: 'gateway', entries: [{ what: 'unit_silent', where: place }] })

  const csv = await gateway.call('GET', '/api/ledger/export')
  t.match(String(csv.body), /^id,severity,what,where,since.*\r\n\d+,fault,line_absent,/)
})

t.test('who may see one port sees its entries alone', async (t) => {
  const [mine, other] = [plugIn('ledger-mine'), plugIn('ledger-other')]
  for (const device of [mine, other]) {
    t.teardown(() => device.unplug())
    await gateway.openPort(t, device.path, { protocol: 'raw', line: {}, settings: {} })
    await device.unplug()
  }
  await until('both are lost', async () => (await list('open=true&where=ledger-')).length === 2)
  const key = { name: 'pump', role: 'viewer', ports: [mine.path] }
  const { secret, key: made } = (await gateway.call('POST', '/api/keys', key)).body
  const seen = (await gateway.call('GET', '/api/ledger?open=true', undefined, secret ?? made)).body
  t.match(seen, { entries: [{ where: mine.path }], open: { fault: 1 } })
  t.equal(seen.entries.length, 1)
})

t.test('after kill -9 what lasts is the same entry', async (t) => {
  const device = plugIn('ledger-kill')
  t.teardown(() => device.unplug())
  await gateway.openPort(t, device.path, { protocol: 'raw', line: {}, settings: {} })
  await device.unplug()
  await until('the line is lost', async () => (await list('open=true&where=kill')).length === 1)
  const [{ id, since } = { id: 0, since: 0 }] = await list('where=kill')
  await until('it is on the disk', async () => (await readFile(file, 'utf8')).includes(`"id":${id},`))
  await gateway.stop('SIGKILL')
  const second = await startGateway(t, { sets, stateFolder })
  const { body } = await second.call('POST', '/api/login', { username: 'admin', password })
  const after = await second.call('GET', '/api/ledger?where=kill', undefined, body.token)
  t.match(after.body.entries, [{ id, since, until: null, count: 1, what: 'line_absent' }])
  t.equal(after.body.entries.length, 1)
})
