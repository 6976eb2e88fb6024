/** Third-party masters, and our own, ask units that the real gateway serves. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { hasGoodCrc } from '../wire/modbus-request.ts'
import { noLibmodbus, nullModem, sharedLine, startLibmodbus, startLibmodbusMaster } from './peer/libmodbus.ts'
import { sharedGateway } from './shared-gateway.ts'

const run = promisify(execFile)
const line = { baud: 19_200 }
const tables = ['coils', 'discrete_inputs', 'holding_registers', 'input_registers']

const gateway = await sharedGateway()

/** Units 1 and 9 with a hundred of each table, and registers 200 to 209 that nobody has written. */
async function slaveOn(t: Test, path: string): Promise<void> {
  const blocks = tables.map((table) => ({ table, address: 0, quantity: 100, initial: 0 }))
  const unknown = { table: 'holding_registers', address: 200, quantity: 10, initial: null }
  const answer = await gateway.openPort(t, path, {
    protocol: 'modbus-rtu',
    line,
    settings: { mode: 'slave', slave_units: [1, 9], slave_blocks: [...blocks, unknown], response_timeout_ms: 900 },
  })
  t.equal(answer.status, 200, JSON.stringify(answer.body))
}

t.test('libmodbus as master: all functions and all exceptions', { skip: noLibmodbus ?? false }, async (t) => {
  const [ours, theirs] = nullModem(t)
  await slaveOn(t, ours.path)
  const registers = gateway.portPath(ours.path, '/registers')
  const put = (table: string, address: number, values: (number | null)[]) =>
    gateway.call('PUT', registers, { unitId: 1, table, address, values })
  t.match(await put('input_registers', 10, [7, 65_535]), { status: 200, body: { values: [7, 65_535] } })
  t.match(await put('discrete_inputs', 3, [1, 0, 1]), { status: 200 })
  const ask = await startLibmodbusMaster(t, theirs.path)

  t.strictSame(await ask(1, 4, 9, 3), { values: [0, 7, 65_535] })
  t.strictSame(await ask(1, 2, 2, 5), { values: [0, 1, 0, 1, 0] })
  t.strictSame(await ask(1, 5, 20, 1), { values: [] })
  t.strictSame(await ask(1, 15, 30, 1, 1, 0, 1, 1, 0, 0, 1, 1), { values: [] })
  t.strictSame(await ask(1, 1, 19, 3), { values: [0, 1, 0] })
  t.strictSame(await ask(1, 1, 30, 9), { values: [1, 1, 0, 1, 1, 0, 0, 1, 1] })
  t.strictSame(await ask(1, 6, 4, 0x12), { values: [] })
  t.strictSame(await ask(1, 22, 4, 0xf2, 0x25), { values: [] })
  t.strictSame(await ask(1, 16, 5, 1, 2, 3), { values: [] })
  t.strictSame(await ask(1, 3, 4, 4), { values: [0x17, 1, 2, 3] })
  t.strictSame(await ask(1, 23, 4, 3, 5, 500), { values: [0x17, 500, 2] })
  t.strictSame(await ask(9, 3, 4, 2), { values: [0, 0] }, 'unit 9 has values of its own')
  t.match((await ask(1, 3, 0, 100)).values?.length, 100)

  t.match(await ask(1, 3, 99, 2), { error: /illegal data address/i })
  t.match(await ask(1, 6, 100, 1), { error: /illegal data address/i })
  t.match(await ask(1, 3, 200, 1), { error: /slave device or server failure/i })
  t.match(await ask(2, 3, 0, 1), { error: /timed out/i }, 'unit 2 is not ours')

  t.match(await gateway.call('GET', `${registers}?unitId=1&table=holding_registers&address=4&quantity=4`), {
    status: 200,
    body: { unitId: 1, table: 'holding_registers', address: 4, values: [0x17, 500, 2, 3], writtenAt: Number },
  })
  const { body } = await gateway.call('GET', gateway.portPath(ours.path, '/frames?limit=500'))
  const controls = body.filter(({ event }: { event: string }) => event === 'control')
  t.match(
    controls.map(({ payload }: { payload: object }) => payload),
    [
      { unitId: 1, fc: 5, table: 'coils', address: 20, values: [1] },
      { fc: 15, table: 'coils', address: 30, values: [1, 1, 0, 1, 1, 0, 0, 1, 1] },
      { fc: 6, table: 'holding_registers', address: 4, values: [0x12] },
      { fc: 22, values: [0x17] },
      { fc: 16, address: 5, values: [1, 2, 3] },
      { fc: 23, address: 5, values: [500] },
    ],
  )
})

t.test('a frame with a wrong checksum is never answered, whatever else is right', async (t) => {
  const [ours] = nullModem(t)
  await slaveOn(t, ours.path)
  const heard: Buffer[] = []
  ours.onBytes((bytes) => void heard.push(Buffer.from(bytes)))
  const good = Buffer.from('010300000001840A', 'hex')
  for (let bit = 0; bit < 64; bit++) {
    const bad = Buffer.from(good)
    bad[bit >> 3] = (bad[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    t.notOk(hasGoodCrc(bad))
    await ours.write(bad)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  await new Promise((resolve) => setTimeout(resolve, 300))
  t.equal(Buffer.concat(heard).length, 0)
  await ours.write(good)
  await until('the right one is answered', () => Buffer.concat(heard).toString('hex') === '0103020000b844')
  const { counters } = (await gateway.call('GET', gateway.portPath(ours.path))).body
  t.match(counters, { asked: 1, answers: 1 })
})

t.test(
  'mbpoll as master reads floats that were set, and writes coils',
  { skip: existsSync('/usr/bin/mbpoll') ? false : 'needs mbpoll' },
  async (t) => {
    const [ours, theirs] = nullModem(t)
    await slaveOn(t, ours.path)
    const registers = gateway.portPath(ours.path, '/registers')
    const values = [0x4366, 0x0000, 0xc1a4, 0x0000]
    await gateway.call('PUT', registers, { unitId: 9, table: 'holding_registers', address: 0, values })
    const mbpoll = async (...words: string[]) =>
      (await run('mbpoll', ['-m', 'rtu', '-a', '9', '-b', '19200', '-P', 'none', '-0', '-1', ...words])).stdout
    t.match(await mbpoll('-t', '4:float', '-B', '-r', '0', '-c', '2', theirs.path), /\[0\]:\s+230\s+\[2\]:\s+-20\.5/)
    await mbpoll('-t', '0', '-r', '7', theirs.path, '1', '0', '1')
    t.match(await gateway.call('GET', `${registers}?unitId=9&table=coils&address=7&quantity=3`), {
      body: { values: [1, 0, 1] },
    })
    await t.rejects(mbpoll('-t', '3', '-r', '99', '-c', '2', theirs.path))
  },
)

t.test('a port of ours as master reads a port of ours as slave, also its identification', async (t) => {
  const [one, other] = nullModem(t)
  await slaveOn(t, one.path)
  await gateway.openPort(t, other.path, { protocol: 'modbus-rtu', line, settings: {} })
  const ask = (body: object) => gateway.call('POST', gateway.portPath(other.path, '/rest/request'), body)
  t.match(await ask({ unitId: 1, fc: 43, address: 0, quantity: 1 }), {
    status: 200,
    body: {
      values: [
        { name: 'VendorName', value: 'Plantroom' },
        { name: 'ProductCode', value: 'gateway' },
        { name: 'MajorMinorRevision', value: /^\d+\.\d+/ },
      ],
    },
  })
  t.match(await ask({ unitId: 1, fc: 3, address: 205, quantity: 1 }), {
    status: 502,
    body: { error: 'modbus_exception', exception: { code: 4 } },
  })
  await ask({ unitId: 0, fc: 16, address: 50, values: [11, 12] })
  for (const unitId of [1, 9])
    t.match(await ask({ unitId, fc: 3, address: 50, quantity: 2 }), { body: { values: [11, 12] } })
})

t.test('with another unit on the line each answers for itself', { skip: noLibmodbus ?? false }, async (t) => {
  const { ends } = sharedLine(t, 3)
  const [ours, theirs, master] = ends.map(({ path }) => path) as [string, string, string]
  await slaveOn(t, ours)
  await startLibmodbus(t, theirs, 17)
  const ask = await startLibmodbusMaster(t, master)
  for (let turn = 0; turn < 40; turn++) {
    t.strictSame(await ask(17, 3, turn, 2), { values: [3 * turn, 3 * turn + 3] })
    t.strictSame(await ask(1, 6, turn, turn), { values: [] })
    t.strictSame(await ask(1, 3, turn, 1), { values: [turn] })
    t.strictSame(await ask(17, 1, 0, 20 + (turn % 5)), {
      values: Array.from({ length: 20 + (turn % 5) }, (_, at) => (at % 3 === 0 ? 1 : 0)),
    })
  }
  const { counters } = (await gateway.call('GET', gateway.portPath(ours))).body
  t.match(counters, { asked: 80, answers: 80, replies: 80, noiseBytes: 0, droppedAnswers: 0, crcErrors: 0 })
})

t.test('impossible registers are refused by name', async (t) => {
  const [ours] = nullModem(t)
  await slaveOn(t, ours.path)
  const registers = gateway.portPath(ours.path, '/registers')
  const put = (body: object) => gateway.call('PUT', registers, { unitId: 1, table: 'coils', address: 0, ...body })
  t.match(await put({ values: [2] }), { status: 400, body: { message: /values\[0\] is 2; coils hold 0 or 1/ } })
  t.match(await put({ address: 99, values: [1, 1] }), {
    status: 404,
    body: { error: 'unknown_registers', message: /coils 99 to 100/ },
  })
  t.match(await put({ unitId: 3, values: [1] }), { status: 404, body: { message: /Unit 3 is not served here/ } })
  t.match(await put({ values: [] }), { status: 400 })
  t.match(await put({ table: 'coil', values: [1] }), { status: 400, body: { message: /table/ } })
  t.match(await put({ address: 65_536, values: [1] }), { status: 400, body: { message: /address/ } })
  t.match(await gateway.call('GET', `${registers}?unitId=1&table=coils&address=0&quantity=2001`), { status: 400 })
  const bad = await gateway.call('PUT', gateway.portPath(ours.path), {
    protocol: 'modbus-rtu',
    settings: {
      mode: 'slave',
      slave_units: [1, 1],
      slave_blocks: [
        { table: 'coils', address: 0, quantity: 10 },
        { table: 'coils', address: 9, quantity: 10 },
      ],
    },
  })
  t.match(bad, { status: 400, body: { message: /slave_units/ } })
  const journal = await gateway.call('GET', '/api/journal')
  t.match(JSON.stringify(journal.body), /port set up/)
})
