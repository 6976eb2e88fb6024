import fc from 'fast-check'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { fakeLine, plainLine } from '#kit/test/line/fake-line.ts'
import { SimulatedMaster } from '../../../../../scripts/sim/dnp3-master.ts'
import { dnp3Protocol } from '../../../core/dnp3/dnp3.ts'
import { type Dnp3Settings, dnp3SettingsFaults, dnp3Weight } from '../../../core/dnp3/settings.ts'
import { dnp3MasterStateTable, type MasterEvent, Station } from '../../../core/dnp3/station.ts'
import { type MasterPayload, PortConditions } from '../../../core/lines/conditions.ts'
import type { TcpClient, TcpHouse } from '../../../core/lines/tcp.ts'
import { memoryPlan } from '../../../core/memory.ts'
import { settingsOfProtocol } from '../../../core/protocols.ts'
import { PRIMARY, sealFrame } from '../../../wire/dnp3/link.ts'
import type { PointKind } from '../../../wire/dnp3/objects.ts'
import { act } from '../act.ts'

const path = '/dev/ttyUSB0'
const defaults = defaultsOf(settingsOfProtocol.dnp3) as Dnp3Settings

function defaultsOf({ properties }: { properties: Record<string, unknown> }): object {
  return Object.fromEntries(
    Object.entries(properties).map(([key, schema]) => {
      const { default: value, properties: inner } = schema as { default: unknown; properties?: Record<string, unknown> }
      return [key, inner ? defaultsOf({ properties: inner }) : value]
    }),
  )
}

function outstation(over: Partial<Dnp3Settings> = {}) {
  const clock = fakeClock()
  const line = fakeLine()
  const events: { event: string; payload: unknown }[] = []
  let house: TcpHouse | undefined
  const context = {
    ...{ port: path, lineSettings: plainLine, clock, whyNotOpen: () => new Fault('line_closed', 'closed') },
    publish: (event: string, payload: unknown) =>
      void events.push({ event, payload: typeof payload === 'function' ? payload() : payload }),
  }
  const world = {
    retry: { firstMs: 500, maxMs: 30_000 },
    dnp3FramesPerS: 50,
    async openDnp3Tcp(_: unknown, given: TcpHouse) {
      house = given
      return { async close() {} }
    },
  }
  const record = { path, protocol: 'dnp3', line: plainLine, settings: { ...defaults, ...over } }
  const adapter = dnp3Protocol.make(record as never, context as never, world)
  adapter.attach(line)
  /** A master at the far end; what the outstation writes is carried to it with `carry`. */
  function master(parts: object = {}) {
    let hear: (bytes: Uint8Array) => void = () => {}
    const duplex = {
      onBytes(handler: (bytes: Uint8Array) => void) {
        hear = handler
      },
      write: (bytes: Uint8Array) => line.arrive(bytes, clock.monotonicMs() * 1000),
    }
    const simulated = new SimulatedMaster({ duplex, clock, ...parts })
    const carry = async (ms = 1) => {
      await clock.run(ms)
      for (const bytes of line.written.splice(0)) hear(bytes)
      await clock.run(1)
    }
    return { carry, simulated }
  }
  const of = (name: string) => events.filter(({ event }) => event === name).map(({ payload }) => payload)
  return { adapter, clock, events, house: () => house, line, master, of }
}

t.test(
  'a master that never confirms is told again, paused, put into the ledger, and answered all the same',
  async (t) => {
    const on = outstation({ unsolicited: true, events_per_class: 5 })
    const { carry, simulated } = on.master({ neverConfirms: true })
    const asked = simulated.ask(1, '3C 01 06', { withinMs: 60_000 })
    for (let at = 0; at < 6; at++) await carry(1000)
    t.ok(await asked, 'after one wait for a confirmation')
    for (let at = 0; at < 40; at++) {
      await act(on.adapter, 'set-point', { kind: 'binary', index: 0, value: at % 2 === 0 })
      await carry(2000)
    }
    t.match(
      on.of('master').map((payload) => [(payload as MasterPayload).state, (payload as MasterPayload).troubles.length]),
      [
        ['present', 0],
        ['present', 1],
        ['unconfirming', 2],
      ],
    )
    t.match((on.of('master').at(-1) as MasterPayload).troubles, [
      { code: 'dnp3_unconfirmed' },
      { code: 'dnp3_overflow' },
    ])
    t.ok(simulated.told.length < 20, `${simulated.told.length} times in 80 s`)
    t.match(on.adapter.faces?.outstation?.view().masters, [{ waiting: { class1: 5 }, isOverflown: true }])
  },
)

t.test('a master that is silent is missed, and found again; its troubles are those of the ledger', async (t) => {
  const on = outstation({ master_timeout_ms: 10_000 })
  const raised: string[] = []
  const cleared: string[] = []
  const conditions = new PortConditions({
    raise: ({ what, where }: { what: string; where: string }) => void raised.push(`${what} ${where}`),
    clear: (what: string, where: string) => void cleared.push(`${what} ${where}`),
  } as never)
  const { carry, simulated } = on.master()
  void simulated.ask(23)
  await carry()
  await carry(9000)
  void simulated.ask(23)
  await carry()
  await carry(9000)
  t.same(on.of('master').length, 1, 'it has spoken in time')
  await carry(2000)
  t.match(on.of('master').at(-1), { state: 'gone', previous: 'present' })
  void simulated.ask(23)
  await carry()
  for (const payload of on.of('master')) conditions.hear({ event: 'master', port: path, payload })
  t.same(raised, [`dnp3_master_gone ${path} master 1`])
  t.same(cleared, raised)
  await on.adapter.detach()
  t.match(on.of('master').at(-1), { state: 'unheard' })
})

t.test('the table of masters has every pair that it lists, and no other changes anything', async (t) => {
  const events: MasterEvent[] = ['heard', 'unconfirmed', 'confirmed', 'closed', 'silent', 'lineClosed']
  t.same(
    Object.entries(dnp3MasterStateTable).map(([state, row]) => [state, events.map((event) => row[event] ?? '')]),
    [
      ['unheard', ['present', '', '', '', 'gone', '']],
      ['present', ['', 'unconfirming', '', 'left', 'gone', 'unheard']],
      ['unconfirming', ['', '', 'present', 'left', 'gone', 'unheard']],
      ['left', ['present', '', '', '', 'gone', 'unheard']],
      ['gone', ['present', '', '', '', '', 'unheard']],
    ],
  )
})

t.test('a line that takes nothing holds so many bytes of answers; further ones are left out', async (t) => {
  const on = outstation({ unsent_bytes: 2560 })
  const taken: (() => void)[] = []
  on.line.write = () => new Promise((resolve) => void taken.push(resolve))
  const { carry, simulated } = on.master()
  for (let at = 0; at < 100; at++) void simulated.ask(1, '3C 01 06')
  await carry()
  const waiting = taken.length
  t.ok(on.adapter.counters().droppedAnswers)
  for (const take of taken.splice(0)) take()
  await carry()
  t.ok(waiting < 20, `${waiting} frames wait`)
  void simulated.ask(23)
  t.equal(taken.length, 1, 'and once it takes them, answers go out again')
})

t.test('over TCP the points are the same, and what is no DNP3 is let go', async (t) => {
  const on = outstation({ tcp_port: 20_000 })
  await on.clock.run(1)
  const ended: string[] = []
  const sent: [length: number, isUnasked: boolean | undefined][] = []
  const peer = {
    ...{ address: '192.0.2.7', waitingBytes: 0, pause() {}, resume() {} },
    send: (bytes: Uint8Array, isUnasked?: boolean) => void sent.push([bytes.length, isUnasked]),
    end: (why: string) => void ended.push(why),
  }
  const client = on.house()?.onClient(peer) as TcpClient
  const frame = { isFromMaster: true, isPrimary: true, frameCountBit: null, destination: 10, source: 1 }
  const asking = sealFrame({ ...frame, function: PRIMARY.unconfirmedData, data: Uint8Array.of(0xc0, 0xc0, 23) })
  client.onBytes(asking)
  t.same(sent, [[10 + 11 + 2, false]])
  t.match(on.of('master'), [{ state: 'present', via: '192.0.2.7' }])
  t.match(on.of('frame')[0], { direction: 'rx', decoded: { function: 'delay measure', unitId: 1, via: '192.0.2.7' } })
  client.onBytes(Uint8Array.of(...asking, 1, 2, 3))
  t.same(ended, ['malformed'])
  client.onBytes(asking)
  t.equal(sent.length, 2, 'nothing more is heard of it')
  client.onClosed()
  t.match(on.of('master').at(-1), { state: 'left', via: null })
  t.match(on.adapter.counters(), { tcpClients: 0 })
})

t.test('the time that a master sets is followed where the settings say so', async (t) => {
  const on = outstation({ time_source: 'master', time_valid_ms: 60_000 })
  const { carry, simulated } = on.master()
  const iin = async () => {
    const asked = simulated.ask(23)
    await carry()
    return ((await asked)?.iin ?? 0) & 0x10
  }
  t.equal(await iin(), 0x10)
  void simulated.ask(2, '32 01 07 01 00 68 E5 CF 8B 01')
  await carry()
  t.equal(await iin(), 0)
  await act(on.adapter, 'set-point', { kind: 'analog', index: 0, value: 3 })
  const [{ time = 0 } = {}] = on.adapter.faces?.outstation?.points('analog', 0, 1) ?? []
  t.ok(time >= 1_700_000_000_000 && time < 1_700_000_001_000)
  await on.clock.run(60_001)
  t.equal(await iin(), 0x10, 'it is asked for again')
})

t.test('random and changed requests make no fault but a named one, and no more than is bounded', async (t) => {
  const on = outstation({ unsolicited: true, command_answer: 'success', events_per_class: 20, fragment_bytes: 512 })
  const requests = [
    'C0 01 3C 02 06 3C 03 06 3C 04 06 3C 01 06',
    'C2 03 0C 01 28 01 00 01 00 03 01 64 00 00 00 64 00 00 00 00',
    'C4 05 29 03 17 01 00 00 00 C0 3F 00',
    'C5 07 14 00 06',
    'C6 02 32 01 07 01 00 68 E5 CF 8B 01',
    'C8 14 3C 02 06 3C 03 06',
    'CC 01 1E 00 17 02 01 05',
  ].map((text) => Buffer.from(text.replaceAll(' ', ''), 'hex'))
  const frame = { isFromMaster: true, isPrimary: true, frameCountBit: null, destination: 10, source: 1 }
  await fc.assert(
    fc.asyncProperty(
      fc.nat(requests.length - 1),
      fc.array(fc.tuple(fc.nat(24), fc.nat(255)), { maxLength: 4 }),
      fc.uint8Array({ maxLength: 120 }),
      async (which, changes, tail) => {
        const fragment = Buffer.concat([requests[which] as Buffer, tail])
        for (const [at, byte] of changes) fragment[at % fragment.length] = byte
        const data = Uint8Array.of(0xc0, ...fragment)
        on.line.arrive(sealFrame({ ...frame, function: PRIMARY.unconfirmedData, data }), on.clock.monotonicMs() * 1000)
        on.line.arrive(tail, on.clock.monotonicMs() * 1000)
        await on.clock.run(10)
        on.line.written.length = 0
        on.events.length = 0
      },
    ),
    { numRuns: 1500 },
  )
  const [master] = on.adapter.faces?.outstation?.view().masters ?? []
  t.ok(Object.values(master?.waiting ?? {}).every((count) => count <= 20))
})

t.test('settings that do not go together are named', async (t) => {
  t.same(dnp3SettingsFaults(defaults), [])
  t.match(dnp3SettingsFaults({ ...defaults, address: 1, more_masters: [1, 7] }), [
    { field: 'master_address', message: /address of this outstation/ },
    { field: 'more_masters[0]', message: /address of this outstation/ },
  ])
})

t.test('points, and buffers full of events, take no more memory than their weight says', async (t) => {
  const kinds: PointKind[] = ['binary', 'double_bit', 'analog', 'counter', 'frozen_counter', 'octet_string']
  const none = Object.fromEntries(kinds.map((kind) => [kind, 0])) as Record<PointKind, number>
  for (const kind of ['binary', 'analog', 'octet_string'] as const) {
    const points = { ...none, [kind]: 4096 }
    const settings = { ...defaults, points, events_per_class: 5000, more_masters: [2, 3, 4], master_timeout_ms: 0 }
    const { allBytes } = rowOf(memoryPlan().rows, 'coils and registers', {
      'ports.max': 0,
      'ports.slave_values': dnp3Weight(settings),
    })
    const bytes = await heapBytesOf(() => {
      const station = new Station({ clock: fakeClock(), settings, publish() {} })
      for (let at = 0; at < 3 * 5000; at++) {
        const value = kind === 'binary' ? at % 2 === 0 : kind === 'analog' ? at + 0.5 : new Uint8Array(255).fill(at)
        station.setPoint(kind, at % 4096, { value, timeMs: 1_700_000_000_000 + at })
      }
      return station
    })
    t.ok(bytes < allBytes, `${bytes} of ${allBytes} bytes of ${kind}`)
  }
})

t.test('a TCP client is heard only so fast, and loses nothing of what it sends', async (t) => {
  const on = outstation({ tcp_port: 20_000, frame_timeout_ms: 10 })
  await on.clock.run(1)
  const calls: string[] = []
  let answers = 0
  const peer = {
    ...{ address: '192.0.2.7', waitingBytes: 0 },
    pause: () => void calls.push('pause'),
    resume: () => void calls.push('resume'),
    send: () => void answers++,
    end: (why: string) => void calls.push(why),
  }
  const client = on.house()?.onClient(peer) as TcpClient
  const asking = sealFrame({
    ...{ isFromMaster: true, isPrimary: true, frameCountBit: null, destination: 10, source: 1 },
    ...{ function: PRIMARY.requestStatus, data: new Uint8Array(0) },
  })
  const flood = Uint8Array.from({ length: 400 * asking.length }, (_, at) => asking[at % asking.length] ?? 0)
  client.onBytes(flood.slice(0, 3995))
  t.ok(answers >= 50 && answers < 90, `${answers} at once, those of a second and a piece`)
  t.same(calls, ['pause'])
  for (let second = 1; second <= 3; second++) {
    await on.clock.run(1000)
    t.ok(answers >= 50 * (second + 1) && answers < 50 * (second + 1) + 40, `${answers} after ${second} s`)
  }
  for (let waited = 0; waited < 9000 && calls.at(-1) !== 'resume'; waited += 5) await on.clock.run(5)
  t.equal(answers, 399)
  client.onBytes(flood.slice(3995, 4000))
  await on.clock.run(1000)
  t.equal(answers, 400, 'the frame that was not whole has waited as well')
  t.notOk(calls.includes('malformed'))
  client.onBytes(flood.slice())
  client.onClosed()
  await on.clock.run(6000)
  t.ok(answers < 490, 'nothing more is heard of who has left')
})

t.test('a TCP client takes no more memory than its row says', async (t) => {
  const settings = { 'dnp3_tcp.clients': 1, 'dnp3_tcp.backlog_bytes': 65_536 }
  const { allBytes } = rowOf(memoryPlan().rows, 'TCP clients of DNP3', settings)
  const many = 100
  const bytes = await heapBytesOf(async () => {
    const on = outstation({ tcp_port: 20_000, more_masters: [2, 3, 4] })
    await on.clock.run(1)
    const frame = { isFromMaster: true, isPrimary: true, frameCountBit: null, destination: 10 }
    const data = new Uint8Array(250)
    data[0] = 0x40
    return Array.from({ length: many }, () => {
      const peer = { address: '192.0.2.7', waitingBytes: 0, pause() {}, resume() {}, send() {}, end() {} }
      const client = on.house()?.onClient(peer) as TcpClient
      for (const source of [1, 2, 3, 4]) {
        // The first of a fragment that goes on, up to what is taken; and the beginning of a frame.
        for (let at = 0; at < 8; at++) {
          const segment = Uint8Array.of(at === 0 ? 0x40 : at, ...data.subarray(1))
          client.onBytes(sealFrame({ ...frame, source, function: PRIMARY.unconfirmedData, data: segment }))
        }
      }
      client.onBytes(sealFrame({ ...frame, source: 1, function: PRIMARY.unconfirmedData, data }).subarray(0, 280))
      // The hub keeps these, within bounds of its own.
      on.events.length = 0
      return client
    })
  })
  t.ok(bytes / many < allBytes, `${bytes / many} of ${allBytes} bytes`)
})
