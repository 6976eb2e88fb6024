import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { type ModbusLineParts, simulateModbusLine } from '../../../scripts/sim/modbus-device.ts'
import { simulatedUnit } from '../../../scripts/sim/modbus-unit.ts'
import { noLibmodbus, nullModem, startLibmodbus } from './peer/libmodbus.ts'
import { ptyOfFile, sharedGateway } from './shared-gateway.ts'

const modbus = { protocol: 'modbus-rtu', line: { baud: 115_200 } }

const gateway = await sharedGateway()

/** A port on simulated units; `say` decides how their replies go out. Register n of unit u holds 100 * u + n. */
async function busOf(test: Test, options: { units?: number[]; say?: ModbusLineParts['say']; settings?: object } = {}) {
  const pty = ptyOfFile()
  const units = (options.units ?? [1, 2]).map((unitId) =>
    simulatedUnit({ unitId, holding: Array.from({ length: 99 }, (_, address) => 100 * unitId + address) }),
  )
  test.teardown(simulateModbusLine({ duplex: pty, clock: systemClock, units, say: options.say }))
  await gateway.openPort(test, pty.path, { ...modbus, settings: options.settings ?? {} })
  return { ask: asker(pty.path), counters: counterReader(pty.path) }
}

function asker(path: string) {
  return (body: object) => gateway.call('POST', gateway.portPath(path, '/rest/request'), body)
}

function counterReader(path: string) {
  return async () => (await gateway.call('GET', gateway.portPath(path))).body.counters
}

t.test('A.modbus-rtu a libmodbus unit is read and written over HTTP', { skip: noLibmodbus ?? false }, async (t) => {
  const [ours, theirs] = nullModem(t)
  await startLibmodbus(t, theirs.path, 17)
  await gateway.openPort(t, ours.path, { ...modbus, line: { baud: 19_200 } })
  const ask = asker(ours.path)
  t.match(await ask({ unitId: 17, fc: 3, address: 10, quantity: 3 }), {
    status: 200,
    body: { unitId: 17, fc: 3, address: 10, quantity: 3, values: [30, 33, 36] },
  })
  t.match(await ask({ unitId: 17, fc: 16, address: 10, quantity: 2, values: [7, 8] }), { status: 200 })
  t.match(await ask({ unitId: 17, fc: 3, address: 10, quantity: 3 }), { body: { values: [7, 8, 36] } })
  t.match(await ask({ unitId: 17, fc: 3, address: 99, quantity: 2 }), {
    status: 502,
    body: { error: 'modbus_exception', message: /illegal data address/i },
  })
})

t.test('A.errors a bus timeout is 504 and names the unit and the milliseconds waited', async (t) => {
  const { ask } = await busOf(t, { settings: { response_timeout_ms: 50 } })
  const answer = await ask({ unitId: 9, fc: 3, address: 0, quantity: 1 })
  t.match(answer, { status: 504, body: { error: 'modbus_timeout', unitId: 9, message: /Unit 9 .*\d+ ms/ } })
  t.ok(answer.body.waitedMs >= 50)
})

for (const lateMs of [350, 450, 700])
  t.test(
    `a reply that comes ${lateMs} ms after the question, too late, is not the answer of the next read`,
    async (t) => {
      let asked = 0
      const { ask, counters } = await busOf(t, {
        settings: { response_timeout_ms: 300, quarantine_ms: 1000 },
        say: (reply) => [{ afterMs: asked++ === 0 ? lateMs : 0, bytes: reply }],
      })
      const [first, second] = await Promise.all([
        ask({ unitId: 1, fc: 3, address: 5, quantity: 2 }),
        ask({ unitId: 1, fc: 3, address: 70, quantity: 2 }),
      ])
      t.equal(first.status, 504)
      t.match(second, { status: 200, body: { values: [170, 171] } })
      t.match(await counters(), { timeouts: 1, lateReplies: 1 })
    },
  )

/** Eight callers, each with its own registers, until that many answers of either kind came. */
async function eightCallers(ask: ReturnType<typeof asker>, answers: number) {
  const seen = { right: 0, wrong: 0, faults: 0 }
  async function caller(address: number): Promise<void> {
    while (seen.right + seen.wrong + seen.faults < answers) {
      const { status, body } = await ask({ unitId: 1, fc: 3, address, quantity: 2 })
      if (status !== 200) seen.faults++
      else if (body.values[0] === 100 + address && body.values[1] === 101 + address) seen.right++
      else seen.wrong++
    }
  }
  await Promise.all([0, 10, 20, 30, 40, 50, 60, 70].map(caller))
  return seen
}

t.test('late-replies: late and doubled answers never give eight callers a value of another request', async (t) => {
  const slow = await busOf(t, {
    // Callers that wait for their turn time out sooner; everything that the values depend on is the default.
    settings: { request_deadline_ms: 3000 },
    say: (bytes) => [{ afterMs: 1250 + Math.random() * 1250, bytes }],
  })
  const doubling = await busOf(t, {
    say: (bytes) => [
      { afterMs: 5, bytes },
      { afterMs: Math.random() * 450, bytes },
    ],
  })
  const [late, double] = await Promise.all([eightCallers(slow.ask, 12), eightCallers(doubling.ask, 60)])
  t.comment(JSON.stringify({ late, double }))
  t.match(late, { right: 0, wrong: 0 })
  t.equal(double.wrong, 0)
  t.ok(double.right >= 48)
  const counted = await doubling.counters()
  t.ok(counted.copies > 0, 'and it is counted')
})

for (const callers of [3, 24])
  t.test(`${callers} callers at once each get their own values`, async (t) => {
    const { ask } = await busOf(t)
    const answers = await Promise.all(
      Array.from({ length: callers }, (_, n) => ask({ unitId: 1 + (n % 2), fc: 3, address: n, quantity: 2 })),
    )
    for (const [n, answer] of answers.entries()) {
      const first = 100 * (1 + (n % 2)) + n
      t.match(answer, { status: 200, body: { values: [first, first + 1] } })
    }
  })

const faults: { title: string; say: ModbusLineParts['say']; counts: object; status: number }[] = [
  {
    title: 'a wrong checksum',
    say: (reply) => [{ afterMs: 0, bytes: withByte(reply, reply.length - 1, (byte) => byte ^ 1) }],
    counts: { crcErrors: 1 },
    status: 502,
  },
  {
    title: 'a reply of another unit with a right checksum',
    say: (reply) => [{ afterMs: 0, bytes: reply[0] === 1 ? Buffer.from('0203020FFFB9F4', 'hex') : reply }],
    counts: { wrongUnit: 1 },
    status: 504,
  },
  { title: 'a short frame', say: (reply) => [{ afterMs: 0, bytes: reply.subarray(0, 4) }], counts: {}, status: 502 },
  {
    title: 'a reply split in single bytes',
    say: (reply) => Array.from(reply, (byte) => ({ afterMs: 3, bytes: Uint8Array.of(byte) })),
    counts: { replies: 1 },
    status: 200,
  },
  {
    title: 'noise before a reply',
    say: (reply) => [{ afterMs: 0, bytes: Buffer.concat([Buffer.from('FF00', 'hex'), reply]) }],
    counts: { noiseBytes: 2 },
    status: 200,
  },
]
for (const { title, say, counts, status } of faults)
  t.test(`${title} never gives a wrong value`, async (t) => {
    // Only silence is waited for to its end: an answer may be slow where the whole suite runs beside it.
    const { ask, counters } = await busOf(t, {
      say,
      settings: { response_timeout_ms: status === 504 ? 100 : 2000 },
    })
    const answer = await ask({ unitId: 1, fc: 3, address: 7, quantity: 1 })
    t.equal(answer.status, status, JSON.stringify(answer.body))
    if (status === 200) t.match(answer.body, { values: [107] })
    t.match(await counters(), counts)
  })

t.test('an impossible request is refused with the field that is wrong', async (t) => {
  const { ask } = await busOf(t)
  const cases: [object, RegExp][] = [
    [{ unitId: 1, fc: 3, address: 0, quantity: 126 }, /quantity/],
    [{ unitId: 300, fc: 3, address: 0, quantity: 1 }, /unitId/],
    [{ unitId: 1, fc: 99, address: 0, quantity: 1 }, /fc/],
    [{ unitId: 1, fc: 3, address: 65_535, quantity: 2 }, /address|quantity/],
    [{ unitId: 1, fc: 16, address: 0, quantity: 2, values: [1] }, /values|quantity/],
    [{ unitId: 1, fc: 3, adress: 0, quantity: 1 }, /adress/],
  ]
  for (const [body, field] of cases) t.match(await ask(body), { status: 400, body: { message: field } })
})

function withByte(bytes: Uint8Array, at: number, change: (byte: number) => number): Uint8Array {
  return bytes.map((byte, index) => (index === at ? change(byte) : byte))
}
