/** The real gateway listens between a libmodbus master and libmodbus units, and hears everything as it was sent. */
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import {
  type MasterAnswer,
  noLibmodbus,
  type SharedLine,
  sharedLine,
  startLibmodbus,
  startLibmodbusMaster,
} from './peer/libmodbus.ts'
import { sharedGateway } from './shared-gateway.ts'

/** What a `frame` event of a reply says. */
interface Pair {
  unitId: number
  fc: number
  address: number
  quantity: number
  values?: number[]
  exception?: { code: number }
}

interface Told {
  event: string
  payload: { length: number; decoded: { kind: string } | null }
}

interface Rig extends SharedLine {
  ask(unitId: number, fc: number, ...numbers: number[]): Promise<MasterAnswer>
  pairs(): Promise<Pair[]>
  counters(): Promise<Record<string, number>>
  /** Bytes of all frames published so far, including noise. */
  heardBytes(): Promise<number>
  path: string
}

const gateway = await sharedGateway(['ports.history=5000'])

/** Units 17 and 18 of libmodbus, its master, and our listener at the fourth end. */
async function listening(t: Test, points: object[] = []): Promise<Rig> {
  const shared = sharedLine(t, 4)
  const [master, one, other, ours] = shared.ends.map(({ path }) => path) as [string, string, string, string]
  await gateway.openPort(t, ours, {
    protocol: 'modbus-rtu',
    line: { baud: 19_200 },
    settings: { mode: 'listen', response_timeout_ms: 900 },
  })
  if (points.length > 0) {
    const put = await gateway.call('PUT', gateway.portPath(ours, '/points'), { points })
    t.equal(put.status, 200, JSON.stringify(put.body))
  }
  await startLibmodbus(t, one, 17)
  await startLibmodbus(t, other, 18)
  const ask = await startLibmodbusMaster(t, master, 1000)
  const frames = async () => {
    const { body } = await gateway.call('GET', gateway.portPath(ours, '/frames?limit=5000'))
    return (body as Told[]).filter(({ event }) => event === 'frame').map(({ payload }) => payload)
  }
  return {
    ...shared,
    ask,
    path: ours,
    heardBytes: async () => (await frames()).reduce((sum, { length }) => sum + length, 0),
    async pairs() {
      const pairs = (await frames()).filter(({ decoded }) => /^(reply|exception)$/.test(decoded?.kind ?? ''))
      return pairs.map(({ decoded }) => decoded as unknown as Pair)
    },
    counters: async () => (await gateway.call('GET', gateway.portPath(ours))).body.counters,
  }
}

/** One transaction of every kind, and what the sniffer must report of it. */
function transactions(turn: number): { asked: [number, number, ...number[]]; heard: Partial<Pair> }[] {
  const unitId = 17 + (turn % 2)
  const at = turn % 60
  const values = Array.from({ length: 1 + (turn % 30) }, (_, place) => (place * 7 + turn) % 65_536)
  const bits = values.map((value) => value & 1)
  const said = (fc: number, address: number, quantity: number, more: object = {}) => ({
    unitId,
    fc,
    address,
    quantity,
    ...more,
  })
  return [
    { asked: [unitId, 16, at, ...values], heard: said(16, at, values.length, { values }) },
    { asked: [unitId, 3, at, values.length], heard: said(3, at, values.length, { values }) },
    { asked: [unitId, 15, at, ...bits], heard: said(15, at, bits.length, { values: bits }) },
    { asked: [unitId, 1, at, bits.length], heard: said(1, at, bits.length, { values: bits }) },
    { asked: [unitId, 5, at, turn & 1], heard: said(5, at, 1, { values: [turn & 1] }) },
    { asked: [unitId, 6, at, turn], heard: said(6, at, 1, { values: [turn] }) },
    { asked: [unitId, 22, at, 0xffff, 0], heard: said(22, at, 1) },
    { asked: [unitId, 23, at, 1, at, turn + 1], heard: said(23, at, 1, { values: [turn + 1] }) },
    { asked: [unitId, 4, at, 2], heard: said(4, at, 2, { values: [3 * at, 3 * at + 3] }) },
    {
      asked: [unitId, 2, 0, 20],
      heard: said(2, 0, 20, { values: Array.from({ length: 20 }, (_, n) => (n % 3 === 0 ? 1 : 0)) }),
    },
    { asked: [unitId, 3, 99, 2], heard: said(3, 99, 2, { exception: { code: 2 } }) },
  ]
}

t.test(
  'every transaction is paired, its values are right, and not a byte is ours',
  { skip: noLibmodbus ?? false },
  async (t) => {
    const { ask, pairs, said, counters, path } = await listening(t)
    const expected: Partial<Pair>[] = []
    for (let turn = 0; turn < 40; turn++)
      for (const { asked, heard } of transactions(turn)) {
        await ask(...asked)
        expected.push(heard)
      }
    await until('all was heard', async () => (await counters()).replies === expected.length)
    const found = await pairs()
    t.equal(found.length, expected.length)
    for (const [at, pair] of expected.entries()) t.match(found[at], pair)
    t.match(await counters(), {
      requests: expected.length,
      timeouts: 0,
      noiseBytes: 0,
      crcErrors: 0,
      strayFrames: 0,
      txBytes: 0,
    })
    t.equal(said[3], 0, 'bytes from our end')
    const { body: units } = await gateway.call('GET', gateway.portPath(path, '/units'))
    t.match(units, [
      { unitId: 17, state: 'well', replies: expected.length / 2, exceptions: 20 },
      { unitId: 18, state: 'well', replies: expected.length / 2, exceptions: 20 },
    ])
  },
)

/** Noise of the same bytes in every run. */
function noiseMaker() {
  let seed = 1
  const next = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
    return (seed >> 8) % below
  }
  return () => (next(3) === 0 ? Uint8Array.from({ length: 1 + next(12) }, () => next(256)) : new Uint8Array(0))
}

t.test('noise between frames hides no transaction', { skip: noLibmodbus ?? false }, async (t) => {
  const { ask, pairs, said, ends, heardBytes } = await listening(t)
  const noise = noiseMaker()
  const expected: Partial<Pair>[] = []
  let noiseBytes = 0
  for (let turn = 0; turn < 8; turn++)
    for (const { asked, heard } of transactions(turn)) {
      const bytes = noise()
      noiseBytes += bytes.length
      // Only our listener hears it: libmodbus would lose its own frames.
      if (bytes.length > 0) await ends[3]?.write(bytes)
      const all = said.reduce((sum, one) => sum + one, noiseBytes)
      await until('the noise is over', async () => (await heardBytes()) === all)
      await ask(...asked)
      expected.push(heard)
    }
  await until('all was heard', async () => (await pairs()).length >= expected.length)
  const found = await pairs()
  t.equal(found.length, expected.length)
  for (const [at, pair] of expected.entries()) t.match(found[at], pair)
  t.ok(noiseBytes > 100)
  t.equal(said[3], 0)
})

t.test(
  'noise between the bytes of frames makes no pair that was not sent',
  { skip: noLibmodbus ?? false },
  async (t) => {
    const { ask, pairs, said, ends } = await listening(t)
    const noise = noiseMaker()
    const expected: Partial<Pair>[] = []
    for (let turn = 0; turn < 20; turn++)
      for (const { asked, heard } of transactions(turn)) {
        await ends[3]?.write(noise())
        await ask(...asked)
        expected.push(heard)
      }
    await new Promise((resolve) => setTimeout(resolve, 500))
    await ask(17, 4, 60, 3)
    const last = { unitId: 17, fc: 4, address: 60, quantity: 3, values: [180, 183, 186] }
    await until('what follows silence is heard', async () => (await pairs()).at(-1)?.address === 60)
    const found = await pairs()
    t.match(found.at(-1), last)
    let from = 0
    for (const pair of found.slice(0, -1)) {
      const at = expected.findIndex((one, index) => index >= from && isLike(pair, one))
      t.ok(at >= 0, `${JSON.stringify(pair)} was sent, in this order`)
      from = at + 1
    }
    t.equal(said[3], 0)
  },
)

function isLike(pair: Pair, said: Partial<Pair>): boolean {
  return Object.entries(said).every(([key, value]) => {
    const found = pair[key as keyof Pair]
    const isPart = key === 'exception' && pair.exception?.code === said.exception?.code
    return isPart || JSON.stringify(found) === JSON.stringify(value)
  })
}

t.test(
  'a missing unit is seen as silent, and the next one is heard at once',
  { skip: noLibmodbus ?? false },
  async (t) => {
    const { ask, counters, path, said } = await listening(t)
    for (let turn = 0; turn < 4; turn++) {
      t.match(await ask(33, 3, 0, 1), { error: /timed out/i })
      t.strictSame(await ask(17, 4, 5, 1), { values: [15] })
    }
    await until('the last answer was heard', async () => (await counters()).replies === 4)
    t.match(await counters(), { requests: 8, replies: 4, timeouts: 4 })
    const { body: units } = await gateway.call('GET', gateway.portPath(path, '/units'))
    t.match(units, [
      { unitId: 17, state: 'well' },
      { unitId: 33, state: 'silent', timeouts: 4, replies: 0, lastError: { code: 'modbus_timeout' } },
    ])
    t.equal(said[3], 0)
  },
)

t.test('points get their values from the reads of others', { skip: noLibmodbus ?? false }, async (t) => {
  const point = { name: 'level', unitId: 17, fc: 4, address: 12, type: 'u16', scale: 0.1, pollMs: 1000 }
  const { ask, path, said } = await listening(t, [point])
  await ask(17, 4, 10, 5)
  await until('the point has its value', async () => {
    const { body } = await gateway.call('GET', gateway.portPath(path, '/points'))
    return body.points[0].quality === 'good' && body.points[0].value === 3.6
  })
  t.equal(said[3], 0)
})
