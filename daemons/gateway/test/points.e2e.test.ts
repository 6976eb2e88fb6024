/** Points of the real gateway, on a third-party unit. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { freePort } from '#kit/test/free-port.ts'
import { until } from '#kit/test/until.ts'
import { noLibmodbus, nullModem, startLibmodbus } from './peer/libmodbus.ts'
import { password, startGateway } from './running-gateway.ts'
import { sharedGateway } from './shared-gateway.ts'

const run = promisify(execFile)
const skip = noLibmodbus ?? false
const noMbpoll = existsSync('/usr/bin/mbpoll') ? skip : 'needs mbpoll'
const modbus = { protocol: 'modbus-rtu', line: { baud: 19_200 } }

/** For all tests; the last one restarts it. */
const gateway = await sharedGateway(['modbus_tcp.host=127.0.0.1'])

/** A port on a libmodbus unit 17 whose register n holds 3 * n. */
async function busOf(t: Test, settings: object = {}) {
  const [ours, theirs] = nullModem(t)
  await startLibmodbus(t, theirs.path, 17)
  t.equal((await gateway.openPort(t, ours.path, { ...modbus, settings })).status, 200)
  const points = async () => (await gateway.call('GET', gateway.portPath(ours.path, '/points'))).body
  return { path: ours.path, points }
}

const register = (address: number, keys: object = {}) => ({
  name: `r${address}`,
  unitId: 17,
  fc: 3,
  address,
  type: 'u16',
  pollMs: 200,
  ...keys,
})

t.test('A.points values of a libmodbus unit are right while others read it at once', { skip }, async (t) => {
  const { path, points } = await busOf(t, { response_timeout_ms: 2000, stale_after_ms: 10_000 })
  const table = [
    ...Array.from({ length: 20 }, (_, at) => register(at)),
    register(30, { type: 'u32', scale: 0.001 }),
    register(40, { name: 'low bit', type: 'bit', bit: 0 }),
    register(50, { name: 'not there', address: 5000 }),
  ]
  t.equal((await gateway.call('PUT', gateway.portPath(path, '/points'), { points: table })).status, 200)
  const asked = Array.from({ length: 12 }, (_, at) =>
    gateway.call('POST', gateway.portPath(path, '/rest/request'), { unitId: 17, fc: 3, address: 60 + at, quantity: 4 }),
  )
  const isRead = async () => (await points()).points.every(({ quality }: { quality: string }) => quality !== 'unknown')
  await until('every point was read', isRead)
  for (const [at, answer] of (await Promise.all(asked)).entries())
    t.match(answer, { status: 200, body: { values: [0, 1, 2, 3].map((more) => 3 * (60 + at + more)) } })
  const { points: found, polling } = await points()
  for (const [at, point] of found.slice(0, 20).entries())
    t.match(point, { value: 3 * at, quality: 'good', fault: null })
  t.match(found[20], { value: (90 * 65_536 + 93) / 1000, quality: 'good' })
  t.match(found[21], { value: false, text: 'off' })
  t.match(found[22], { value: null, quality: 'bad', fault: { code: 'modbus_exception' } })
  t.equal(polling.reads, 3)
  t.equal(polling.pointsPerRead, 7.67)
  const { body: metrics } = await gateway.call('GET', '/metrics')
  t.match(metrics, `plantroom_point_value{port="${path}",name="r7",unit=""} 21`)
})

t.test(
  'points keep their values, and are refreshed, while mbpoll reads over Modbus TCP',
  { skip: noMbpoll },
  async (t) => {
    const tcpPort = await freePort()
    const { path, points } = await busOf(t, { tcp_port: tcpPort })
    const table = [...Array.from({ length: 8 }, (_, at) => register(at)), register(70, { pollMs: 86_400_000 })]
    await gateway.call('PUT', gateway.portPath(path, '/points'), { points: table })
    await until('it was read', async () => (await points()).points[8].value === 210)
    const mbpoll = (...args: string[]) =>
      run('mbpoll', ['-m', 'tcp', '-p', String(tcpPort), '-0', '-1', '-a', '17', '-t', '4', ...args])
    await mbpoll('-r', '70', '127.0.0.1', '9')
    for (let times = 0; times < 10; times++) {
      const [{ stdout }, told] = await Promise.all([mbpoll('-r', '60', '-c', '20', '127.0.0.1'), points()])
      t.match(stdout, /\[60\]:\s+180[\s\S]*\[69\]:\s+207[\s\S]*\[70\]:\s+9\b/)
      for (const [at, point] of told.points.slice(0, 8).entries()) t.match(point, { value: 3 * at, quality: 'good' })
    }
    t.match((await points()).points[8], { value: 9, quality: 'good' }, 'what mbpoll read refreshed it')
  },
)

t.test('a value that an operator writes and reads is published as an event', { skip }, async (t) => {
  const { path, points } = await busOf(t)
  await gateway.call('PUT', gateway.portPath(path, '/points'), { points: [register(10, { pollMs: 86_400_000 })] })
  await until('it was read', async () => (await points()).points[0].value === 30)
  const ask = (body: object) => gateway.call('POST', gateway.portPath(path, '/rest/request'), { unitId: 17, ...body })
  await ask({ fc: 6, address: 10, values: [444] })
  await ask({ fc: 3, address: 8, quantity: 5 })
  t.match((await points()).points[0], { value: 444, quality: 'good' })
  const { body: events } = await gateway.call('GET', gateway.portPath(path, '/frames'))
  const values = events.filter(({ event }: { event: string }) => event === 'value')
  t.match(values.at(-1).payload, { name: 'r10', unitId: 17, value: 444, previous: 30, quality: 'good' })
})

t.test('A.templates a device is added by its template, with the source of its registers', async (t) => {
  const { status, body: templates } = await gateway.call('GET', '/api/templates/modbus')
  t.equal(status, 200)
  t.ok(templates.length >= 12)
  for (const { source, points, line } of templates) {
    t.ok(source.title && source.revision && source.note)
    t.ok(points.length > 0 && line.baud > 0)
  }
  const [ours] = nullModem(t)
  await gateway.openPort(t, ours.path, modbus)
  const added = await gateway.call('POST', gateway.portPath(ours.path, '/points'), {
    template: 'eastron-sdm120',
    unitId: 3,
    prefix: 'flat 1 ',
  })
  t.equal(added.status, 201)
  t.match(added.body.points[0], { name: 'flat 1 voltage', unitId: 3, template: 'eastron-sdm120', unit: 'V' })
})

t.test(
  'points survive a restart and a change of the port, and are changed without opening it again',
  { skip },
  async (t) => {
    const { path, points } = await busOf(t)
    const at = (rest: string) => gateway.portPath(path, rest)
    await gateway.call('PUT', at('/points'), { points: [register(10)] })
    const { body: before } = await gateway.call('GET', at(''))
    t.equal((await gateway.call('PATCH', at('/points/r10'), { name: 'cold water', scale: 0.1 })).status, 200)
    await until('it is read again', async () => (await points()).points[0].value === 3)
    const { body: after } = await gateway.call('GET', at(''))
    t.equal(after.stateSince, before.stateSince, 'the line stayed open')
    await gateway.call('PUT', at(''), { ...modbus, settings: { merge_gap: 0 } })
    t.match(await points(), { points: [{ name: 'cold water', scale: 0.1 }] })
    await gateway.stop()
    const again = await startGateway(t, { stateFolder: gateway.stateFolder })
    const login = await again.call('POST', '/api/login', { password })
    await until('it is read after the restart', async () => {
      const { points: found } = (await again.call('GET', again.portPath(path, '/points'), undefined, login.body.token))
        .body
      return found[0].name === 'cold water' && found[0].value === 3
    })
  },
)
