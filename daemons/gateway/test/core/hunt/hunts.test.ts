import t from 'tap'
import { type FakeClock, fakeClock } from '#kit/clock-fake.ts'
import { withDefaults } from '#kit/http/check.ts'
import type { LineSettings } from '#kit/line/line.ts'
import { bytesOfHex } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import { plainLine } from '#kit/test/line/fake-line.ts'
import type { HuntSetting } from '../../../core/hunt/hunted.ts'
import { Hunts } from '../../../core/hunt/hunts.ts'
import { type HuntBody, type HuntLimits, huntKeys } from '../../../core/hunt/plan.ts'
import type { HuntJob } from '../../../core/hunt/run.ts'
import { huntedProtocols } from '../../../core/protocols.ts'
import { openMasterFrame, readFrame, responseFrame } from '../../../wire/mbus/frames.ts'
import { exceptionFrame, openRequestOrNull, replyFrame } from '../../../wire/modbus-reply.ts'
import { sealed } from '../../../wire/modbus-request.ts'
import { type WiredLine, wiredLine } from './wired-line.ts'

const PATH = '/dev/ttyTEST'

function setting(baud: number, parity: LineSettings['parity'] = 'none'): HuntSetting {
  return { baud, parity, data_bits: 8, stop_bits: 1 }
}

interface Bench {
  clock?: FakeClock
  wire?: HuntSetting
  counts?: boolean
  refuses?: readonly number[]
  closeFault?: Fault
  wasOpen?: boolean
  limits?: Partial<HuntLimits>
}

/** Hunts over one line with a wire; `told` is what the ledger got, `lent` what the port heard. */
function bench({ clock = fakeClock(), limits = {}, wasOpen = false, wire = setting(9600), ...more }: Bench = {}) {
  const line = wiredLine({ clock, wire, ...more })
  const told: [string, HuntJob][] = []
  const lent: string[] = []
  const hunts = new Hunts({
    clock,
    limits: { ...(withDefaults(huntKeys, {}) as HuntLimits), ...limits },
    protocols: huntedProtocols,
    opener: line,
    async lend(path, takeOver, why) {
      lent.push(`lent ${path} ${takeOver} ${why.code}`)
      return {
        wasOpen,
        settings: { ...plainLine, baud: 4800 },
        giveBack: async () => void lent.push(line.isOpen ? 'given back open' : 'given back'),
      }
    },
    onEnded: (path, job) => void told.push([path, job]),
  })
  /** Runs one hunt to its end. */
  async function hunted(body: HuntBody = {}, mostMs = 600_000): Promise<HuntJob> {
    await hunts.start(PATH, body)
    for (let ms = 0; ms < mostMs && hunts.job(PATH).state === 'running'; ms += 500) await clock.run(500)
    return hunts.job(PATH)
  }
  return { clock, hunted, hunts, lent, line, told }
}

async function rejectedFault(acting: Promise<unknown>): Promise<Fault> {
  return acting.then(
    () => new Fault('none', 'it did not fail'),
    (error) => error as Fault,
  )
}

/** A master asks units in turn, each answers after 20 ms. */
function converse(
  { clock, line }: { clock: FakeClock; line: WiredLine },
  units: readonly number[],
  everyMs = 200,
): void {
  let turn = 0
  clock.every(everyMs, () => {
    const unitId = units[turn++ % units.length] ?? 1
    const request = { unitId, fc: 3, address: 16, quantity: 4 }
    line.talk(sealed([unitId, 3, 0, 16, 0, 4]))
    clock.after(20, () => line.talk(replyFrame(request, [turn, 513, 40_000, 7])))
  })
}

/** A unit that answers any read of one register. */
function answering(
  { clock, line }: { clock: FakeClock; line: WiredLine },
  own: readonly number[],
  isFull = true,
): void {
  line.onAsked((bytes) => {
    const request = openRequestOrNull(bytes)
    if (!request || !own.includes(request.unitId)) return
    const reply = isFull ? replyFrame(request, [7]) : exceptionFrame(request.unitId, request.fc, 2)
    clock.after(30, () => line.talk(reply))
  })
}

t.test('Modbus is heard at its rate and parity, with the units that speak', async (t) => {
  const wire = setting(38_400, 'even')
  const at = bench({ wire })
  converse(at, [3, 7])
  const job = await at.hunted()
  t.match(job, { state: 'done', phase: null, current: null, etaMs: null, fault: null })
  t.match(job.found[0], { protocol: 'modbus-rtu', line: wire, also: [], how: 'heard', isSure: true, units: [3, 7] })
  t.match(job.verdict, /^38400 8E1: \d+ Modbus frames heard with the right checksum, units 3, 7\./)
  t.notOk(
    job.found.some((one) => one.isSure && one.line.parity !== 'even'),
    'the driver counted errors at the other parities',
  )
  t.strictSame(at.line.sent, [], 'nothing was sent')
  t.strictSame(at.lent, [`lent ${PATH} false line_hunted`, 'given back'])
  t.match(at.told, [[PATH, { state: 'done' }]])
})

t.test('each rate and parity of Modbus is found as it is', async (t) => {
  for (const baud of [1200, 4800, 9600, 19_200, 57_600, 115_200])
    for (const parity of ['none', 'even', 'odd'] as const) {
      const at = bench({ wire: setting(baud, parity) })
      converse(at, [5])
      const [best, ...others] = (await at.hunted()).found
      t.match(best, { protocol: 'modbus-rtu', line: { baud, parity }, isSure: true }, `${baud} ${parity}`)
      t.notOk(
        others.some((one) => one.isSure),
        `nothing else is sure at ${baud} ${parity}`,
      )
    }
})

t.test('what sounds the same is named: two stop bits without parity', async (t) => {
  const at = bench({ wire: setting(9600) })
  converse(at, [1])
  const job = await at.hunted()
  t.match(job.found[0], { line: setting(9600), also: [{ baud: 9600, parity: 'none', stop_bits: 2 }] })
  t.match(job.verdict, /9600 8N2 cannot be told from it/)
})

t.test('where the driver counts no errors, each parity that fits is named', async (t) => {
  const at = bench({ wire: setting(19_200, 'even'), counts: false })
  converse(at, [1])
  const job = await at.hunted()
  t.strictSame(
    job.found.filter(({ isSure }) => isSure).map(({ line, wrong }) => [line.parity, wrong]),
    [
      ['even', null],
      ['odd', null],
    ],
  )
  t.match(job.verdict, /^19200 8E1: .* 19200 8O1 cannot be told from it/)
})

t.test('MS/TP is heard by the headers of its frames, and never asked', async (t) => {
  const at = bench({ wire: setting(76_800) })
  at.clock.every(50, () => at.line.talk(bytesOfHex('55 FF 00 10 05 00 00 8C')))
  const job = await at.hunted({ ask: true })
  t.match(job.found[0], { protocol: 'bacnet-mstp', line: { baud: 76_800 }, isSure: true, units: [5] })
  t.match(job.verdict, /^76800 8N1: 8 BACnet MS\/TP frames heard with the right checksum, node 5\./)
  t.strictSame(at.line.sent, [])
  await t.rejects(at.hunts.start(PATH, { protocols: ['bacnet-mstp'], ask: true }), { code: 'bad_fields' })
})

t.test('a master that seldom speaks is waited for at the settings at which it was silent', async (t) => {
  const at = bench({ wire: setting(2400, 'even') })
  at.clock.every(4000, () => {
    at.line.talk(readFrame(12, true))
    at.clock.after(100, () => at.line.talk(responseFrame(12, 0x72, new Uint8Array(40).fill(0x31))))
  })
  const job = await at.hunted()
  t.match(job.found[0], { protocol: 'mbus', line: { baud: 2400, parity: 'even' }, isSure: true, units: [12] })
  t.match(job.verdict, /^2400 8E1: \d+ M-Bus frames heard with the right checksum, meter 12\./)
})

t.test('a silent line is not asked unless its caller says so', async (t) => {
  const at = bench()
  answering(at, [1])
  const job = await at.hunted()
  t.match(job, { state: 'done', found: [], tried: 26, total: 26 })
  t.equal(
    job.verdict,
    'Nothing was heard in 39 s at 26 settings, and nobody was asked. If no other master is on the line, let the hunt ask.',
  )
  t.strictSame(at.line.sent, [])
})

t.test('a silent line is asked, and a unit that answers shows its settings', async (t) => {
  for (const isFull of [true, false]) {
    const at = bench({ wire: setting(19_200, 'even') })
    answering(at, [7, 247], isFull)
    const job = await at.hunted({ ask: true })
    t.strictSame(
      job.found.map(({ isSure, line, units }) => ({ isSure, line, units })),
      [{ isSure: true, line: setting(19_200, 'even'), units: [7, 247] }],
    )
    t.equal(job.verdict, '19200 8E1: 2 answers to Modbus questions, units 7, 247.')
  }
})

/** A unit that is silent where it is asked for what it does not have. */
function having(
  { clock, line }: ReturnType<typeof bench>,
  unitId: number,
  own: readonly number[],
  isRefusing = false,
): void {
  line.onAsked((bytes) => {
    const request = openRequestOrNull(bytes)
    if (request?.unitId !== unitId || !own.includes(request.fc)) return
    const reply = isRefusing ? exceptionFrame(unitId, request.fc, 2) : replyFrame(request, [1])
    clock.after(30, () => line.talk(reply))
  })
}

t.test(
  'a unit that has only input registers, coils or discrete inputs is found, and what it gave is said',
  async (t) => {
    const rows: [number, string][] = [
      [4, 'input registers'],
      [1, 'coils'],
      [2, 'discrete inputs'],
    ]
    for (const [fc, gave] of rows) {
      const at = bench({ wire: setting(9600, 'even') })
      having(at, 5, [fc])
      const job = await at.hunted({ ask: true })
      t.match(job.found, [{ line: setting(9600, 'even'), isSure: true, units: [5], gave: [gave] }], gave)
      t.equal(job.verdict, `9600 8E1: 1 answer to Modbus questions, unit 5; asked for ${gave}.`)
    }
  },
)

t.test('a unit that only refuses what it is asked for in the second round is found, too', async (t) => {
  const at = bench({ wire: setting(19_200) })
  having(at, 2, [1, 2], true)
  const job = await at.hunted({ ask: true, protocols: ['modbus-rtu'], bauds: [19_200], parities: ['none'] })
  t.match(job.found, [{ isSure: true, units: [2], frames: 2, gave: [] }])
  t.match(job.verdict, /2 answers to Modbus questions, unit 2\. 19200 8N2/)
})

t.test('what most devices answer is asked at every setting before anything else', async (t) => {
  const at = bench({ wire: setting(115_200, 'odd') })
  answering(at, [1])
  const job = await at.hunted({ ask: true, protocols: ['modbus-rtu'] })
  t.match(job.found, [{ line: setting(115_200, 'odd'), gave: [] }])
  t.ok(at.line.sent.every((frame) => frame[1] === 3))
})

t.test('a converter that gives back what is sent is no unit', async (t) => {
  const at = bench({ wire: setting(9600) })
  at.line.onAsked((bytes) => at.line.talk(bytes))
  const job = await at.hunted({ ask: true, protocols: ['modbus-rtu'], bauds: [9600] })
  t.match(job, { found: [], verdict: /and 132 questions were not answered\. Check A and B/ })
})

t.test('a unit that answers late, when the next one is asked, has answered', async (t) => {
  const at = bench({ wire: setting(9600) })
  at.line.onAsked((bytes) => {
    const request = openRequestOrNull(bytes)
    if (request?.unitId === 2) at.clock.after(400, () => at.line.talk(replyFrame(request, [7])))
  })
  const job = await at.hunted({
    ask: true,
    protocols: ['modbus-rtu'],
    bauds: [9600],
    parities: ['none'],
    from: 1,
    to: 4,
  })
  t.match(job.found, [{ units: [2], isSure: true }])
  t.match(job, { from: 1, to: 4 })
})

t.test('the answer to what its own port asked last is nobody who talks: the units are asked', async (t) => {
  const at = bench({ wire: setting(9600), wasOpen: true })
  at.line.onAsked((bytes) => {
    const request = openRequestOrNull(bytes)
    if (request?.unitId === 3) at.line.talk(replyFrame(request, [7]))
  })
  // The reply of unit 9: one register.
  at.clock.after(900, () => at.line.talk(sealed([9, 3, 2, 0, 1])))
  const job = await at.hunted({ protocols: ['modbus-rtu'], bauds: [9600], ask: true, takeOver: true })
  t.match(job.found, [{ line: setting(9600), how: 'answered', isSure: true, units: [3] }])
})

t.test('a byte of noise when the line turns around does not end the wait for an answer', async (t) => {
  const at = bench({ wire: setting(19_200, 'even') })
  at.line.onAsked((bytes) => {
    const request = openRequestOrNull(bytes)
    if (!request) return
    at.line.talk(Uint8Array.of(0))
    if (request.unitId === 3) at.clock.after(150, () => at.line.talk(replyFrame(request, [7])))
  })
  const job = await at.hunted({ protocols: ['modbus-rtu'], bauds: [19_200], parities: ['even'], ask: true })
  t.match(job.found, [{ line: setting(19_200, 'even'), how: 'answered', isSure: true, units: [3] }])
})

t.test('a meter is found by the address at which all answer; several that answer at once are said', async (t) => {
  const at = bench({ wire: setting(2400, 'even') })
  const meter =
    (...own: number[]) =>
    (bytes: Uint8Array) => {
      const asked = openMasterFrame(bytes)
      if (!asked || asked.kind === 'select' || !own.includes(asked.address)) return
      const answer = asked.kind === 'init' ? Uint8Array.of(0xe5) : responseFrame(3, 0x72, new Uint8Array(20))
      at.clock.after(60, () => at.line.talk(answer))
    }
  at.line.onAsked(meter(254, 3))
  t.match(await at.hunted({ ask: true, protocols: ['mbus'] }), {
    found: [{ protocol: 'mbus', line: { baud: 2400 }, isSure: true, units: [3], frames: 3 }],
    verdict: '2400 8E1: 3 answers to M-Bus questions, meter 3.',
  })
  at.line.onAsked((bytes) => {
    if (openMasterFrame(bytes)) at.clock.after(60, () => at.line.talk(Uint8Array.of(0x68, 0x12, 0x34, 0x56)))
  })
  t.match(await at.hunted({ ask: true, protocols: ['mbus'] }), {
    found: [],
    verdict: /bytes came at 2400 8E1: several may answer at once/,
  })
})

t.test('somebody who talks and is not understood is not disturbed', async (t) => {
  const at = bench({ wire: setting(9600) })
  at.clock.every(150, () => at.line.talk(new TextEncoder().encode('PWR=ON VOL=-12.5\r\n')))
  const job = await at.hunted({ ask: true })
  t.match(job, {
    state: 'done',
    verdict: /^Somebody talks on the line, and nothing of it was understood .*Nothing was asked/,
  })
  t.notOk(job.found.some(({ isSure }) => isSure))
  t.strictSame(at.line.sent, [])
})

t.test('the noise of a line without bias does not keep it from being asked', async (t) => {
  const at = bench({ wire: setting(9600) })
  answering(at, [1])
  at.clock.every(1000, () => at.line.talk(Uint8Array.of(0xff)))
  t.match(await at.hunted({ ask: true, protocols: ['modbus-rtu'] }), { found: [{ line: { baud: 9600 }, units: [1] }] })
})

t.test('when somebody begins to talk, nothing more is sent', async (t) => {
  const at = bench({ wire: setting(115_200) })
  await at.hunts.start(PATH, { ask: true, protocols: ['modbus-rtu'] })
  while (at.hunts.job(PATH).phase === 'listen') await at.clock.run(500)
  converse(at, [1], 40)
  await at.clock.run(20_000)
  const job = at.hunts.job(PATH)
  t.match(job, { state: 'done', verdict: /^Somebody began to talk while units were asked, so nothing more was sent\./ })
  const count = at.line.sent.length
  await at.clock.run(60_000)
  t.equal(at.line.sent.length, count)
})

t.test('one frame alone may be chance, and is called so', async (t) => {
  const at = bench({ wire: setting(9600) })
  at.clock.after(700, () => at.line.talk(sealed([9, 3, 0, 16, 0, 4])))
  const job = await at.hunted({ protocols: ['modbus-rtu'] })
  t.match(job, { found: [{ isSure: false, units: [9] }], verdict: /^Perhaps 9600 8N1: 1 Modbus frame heard .*chance/ })
})

t.test('progress says what is tried, how much is done and how long it takes', async (t) => {
  const at = bench()
  const first = await at.hunts.start(PATH, { ask: true, protocols: ['modbus-rtu'] })
  t.match(first, { state: 'running', phase: 'listen', current: '9600 8N1', tried: 0, total: 72, verdict: null })
  const { etaMs = 0 } = first
  await at.clock.run(4600)
  t.match(at.hunts.job(PATH), { current: '19200 8N1', tried: 3 })
  await at.clock.run(33_000)
  t.match(at.hunts.job(PATH), { phase: 'ask', current: /^9600 8N1, unit \d+$/, tried: 24 })
  let tookMs = 37_600
  for (; at.hunts.job(PATH).state === 'running'; tookMs += 500) await at.clock.run(500)
  t.ok(Math.abs((etaMs ?? 0) - tookMs) < tookMs / 10, `${etaMs} was told, ${tookMs} it took`)
})

t.test('a hunt that is cancelled gives the line back before it says so', async (t) => {
  const at = bench()
  await at.hunts.start(PATH, { takeOver: true })
  await at.clock.run(2000)
  t.match(await at.hunts.cancel(PATH), { state: 'cancelled', verdict: /^It was ended after 2 s\./ })
  t.strictSame(at.lent, [`lent ${PATH} true line_hunted`, 'given back'])
  t.notOk(at.line.isOpen)
  t.match(await at.hunts.cancel(PATH), { state: 'cancelled' }, 'once more it does nothing')
  t.equal(at.told.length, 1)
  t.equal(at.clock.pending(), 0)
})

t.test('a line that is lost fails the hunt', async (t) => {
  const at = bench()
  await at.hunts.start(PATH, {})
  await at.clock.run(2000)
  at.line.vanish()
  await at.clock.run(10)
  t.match(at.hunts.job(PATH), { state: 'failed', fault: { code: 'line_gone' }, endedAt: Number })
  t.strictSame(at.lent.slice(1), ['given back'])
})

t.test('a line that cannot be closed is given back all the same, and the hunt has failed', async (t) => {
  const at = bench({ closeFault: new Fault('close_failed', 'close: EIO') })
  const job = await at.hunted({ bauds: [9600] })
  t.match(job, { state: 'failed', fault: { code: 'close_failed' } })
  t.equal(at.lent.at(-1), 'given back', 'or nobody could use the port until the next start')
})

t.test('a line that cannot be opened or lent is not hunted on', async (t) => {
  const clock = fakeClock()
  const given: string[] = []
  const hunts = new Hunts({
    clock,
    limits: withDefaults(huntKeys, {}) as HuntLimits,
    protocols: huntedProtocols,
    opener: { open: () => Promise.reject(new Fault('line_absent', 'it is not there')) },
    async lend(path, takeOver) {
      if (!takeOver) throw new Fault('line_in_use', 'it is open')
      return { wasOpen: true, settings: undefined, giveBack: async () => void given.push(path) }
    },
    onEnded: () => given.push('ended'),
  })
  t.equal((await rejectedFault(hunts.start(PATH, {}))).code, 'line_in_use')
  t.equal((await rejectedFault(hunts.start(PATH, { takeOver: true }))).code, 'line_absent')
  t.strictSame(given, [PATH])
  t.throws(() => hunts.job(PATH), { code: 'no_hunt' })
})

t.test('rates that the driver refuses are told, and the others are tried', async (t) => {
  const at = bench({ wire: setting(9600), refuses: [76_800, 300] })
  const job = await at.hunted()
  t.strictSame(job.refused, ['300 8E1', '76800 8N1'])
  t.match(job, { state: 'done', tried: 26 })
})

t.test('the verdict counts only the settings that were listened to', async (t) => {
  const at = bench({ refuses: [9600] })
  const bauds = { protocols: ['modbus-rtu'], bauds: [9600, 19_200] }
  t.match(
    (await at.hunted(bauds)).verdict,
    /^Nothing was heard in 4\.5 s at 3 settings,/,
    'the driver refused the others',
  )
  await at.hunts.start(PATH, { ...bauds, bauds: [19_200, 38_400] })
  await at.clock.run(2000)
  await at.hunts.cancel(PATH)
  t.match(at.hunts.job(PATH).verdict, /Nothing was heard in 2 s at 2 settings,/, 'it was cancelled before the others')
})

t.test('hunts are bounded: one a line, so many at once, so long, so many kept', async (t) => {
  const at = bench({ limits: { max: 1, kept: 2 } })
  await at.hunts.start('/dev/a', {})
  t.equal((await rejectedFault(at.hunts.start('/dev/a', {}))).code, 'hunt_running')
  t.equal((await rejectedFault(at.hunts.start('/dev/b', {}))).code, 'too_many_hunts')
  await at.hunts.cancel('/dev/a')
  for (const path of ['/dev/b', '/dev/c']) {
    await at.hunts.start(path, {})
    await at.hunts.cancel(path)
  }
  t.throws(() => at.hunts.job('/dev/a'), { code: 'no_hunt' }, 'the oldest is forgotten')
  t.match(at.hunts.job('/dev/b'), { state: 'cancelled' })
  const long = { ask: true, bauds: [300, 600, 1200], from: 0, to: 250 }
  t.match(await rejectedFault(at.hunts.start('/dev/d', long)), {
    code: 'bad_fields',
    message: /hunt\.most_ms allows 20 min/,
  })
  for (const body of [{ from: 3 }, { to: 3 }, { from: 4, to: 3 }])
    t.equal((await rejectedFault(at.hunts.start('/dev/d', body))).code, 'bad_fields', JSON.stringify(body))
})

t.test('a hunt that takes longer than it may is ended', async (t) => {
  const at = bench({ limits: { most_ms: 45_000 } })
  at.clock.every(31_000, () => at.line.talk(new Uint8Array(64).fill(0x41)))
  t.match(await at.hunted(), { state: 'done', verdict: /^It was ended after 45 s, as long as hunt\.most_ms allows\./ })
})

t.test('all hunts end with the gateway, and none begins after', async (t) => {
  const at = bench()
  await at.hunts.start(PATH, {})
  await at.hunts.close()
  t.match(at.hunts.job(PATH), { state: 'cancelled' })
  t.strictSame(at.lent.slice(1), ['given back'])
  t.equal((await rejectedFault(at.hunts.start(PATH, {}))).code, 'too_many_hunts')
})

t.test('what is kept of a hunt has a bound, however much was heard', async (t) => {
  const at = bench({ wire: setting(9600), counts: false })
  let unit = 0
  at.clock.every(10, () => {
    for (const baud of [9600, 19_200, 38_400, 57_600, 115_200])
      for (const parity of ['none', 'even', 'odd'] as const)
        at.line.talkAt(setting(baud, parity), sealed([1 + (unit++ % 247), 3, 0, 0, 0, 1]))
  })
  const job = await at.hunted()
  t.ok(job.found.length <= 16)
  t.ok(job.found.every(({ units }) => units.length <= 64))
  t.ok(JSON.stringify(job).length < 16_384)
})
