/** A DNP3 outstation of the built gateway: masters on a pty and over TCP, points set over HTTP, frames read by tshark. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { freePort } from '#kit/test/free-port.ts'
import { until } from '#kit/test/until.ts'
import { SimulatedMaster } from '../../../scripts/sim/dnp3-master.ts'
import { PRIMARY, sealFrame } from '../wire/dnp3/link.ts'
import { pcapFileHead, pcapRecord } from '../wire/pcap.ts'
import { ptyOfFile, sharedGateway } from './shared-gateway.ts'

const run = promisify(execFile)
const noTshark = existsSync('/usr/bin/tshark') ? false : 'needs tshark'
const gateway = await sharedGateway()

/** Event classes 1, 2 and 3, and all present states. */
const EVENTS = '3C 02 06 3C 03 06 3C 04 06'
const EVERYTHING = `${EVENTS} 3C 01 06`

/** An event of the port, with what these tests look at. */
interface Told {
  event: string
  payload: { decoded?: { function?: string; unitId?: number; indications?: string[] }; state?: string }
}

const hex = (bytes: Uint8Array | undefined) =>
  Buffer.from(bytes ?? [])
    .toString('hex')
    .toUpperCase()

async function outstation(t: Test, settings: object = {}) {
  const pty = ptyOfFile()
  const put = await gateway.openPort(t, pty.path, { protocol: 'dnp3', line: { baud: 115_200 }, settings })
  t.equal(put.status, 200, JSON.stringify(put.body))
  const call = (method: string, rest: string, body?: object) =>
    gateway.call(method, gateway.portPath(pty.path, rest), body)
  const view = async (rest = '') => (await call('GET', `/outstation${rest}`)).body
  const events = async () => (await call('GET', '/frames?limit=500')).body as Told[]
  return { call, events, pty, view }
}

/** A master over TCP. */
async function overTcp(t: Test, port: number, parts: object = {}) {
  const socket = connect({ port, host: '127.0.0.1' })
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  const duplex = {
    onBytes: (handler: (bytes: Uint8Array) => void) => void socket.on('data', handler),
    write: (bytes: Uint8Array) => void socket.write(bytes),
  }
  return { socket, master: new SimulatedMaster({ duplex, ...parts }) }
}

t.test(
  'A.dnp3 points that are set over HTTP are told to a master on the line, and kept until it confirms',
  async (t) => {
    const sizes = { binary: 4, double_bit: 1, analog: 2, counter: 2, frozen_counter: 2, octet_string: 1 }
    const { call, events, pty, view } = await outstation(t, { points: sizes })
    const master = new SimulatedMaster({ duplex: pty })
    t.teardown(() => master.stop())
    const all = await master.ask(1, EVERYTHING)
    t.match(hex(all?.objects), /^0102000003020202020302000000021E050000010200/)
    t.equal(all?.iin, 0x80, 'it has just started')
    t.equal((await master.ask(2, '50 01 00 07 07 00'))?.iin, 0)

    const set = (body: object) => call('POST', '/rest/set-point', body)
    const time = 1_700_000_000_000
    t.match(await set({ kind: 'binary', index: 2, value: true, time }), {
      status: 200,
      body: { kind: 'binary', index: 2, value: true, flags: ['online'], time, isEvent: true },
    })
    await set({ kind: 'double_bit', index: 0, value: 'on', time })
    await set({ kind: 'analog', index: 1, value: 21.5, flags: ['online', 'over_range'], time })
    await set({ kind: 'counter', index: 0, value: 70_000, time })
    await set({ kind: 'frozen_counter', index: 0, value: 5, time })
    await set({ kind: 'octet_string', index: 0, value: '41 42', time })
    t.match((await view()).masters, [
      { address: 1, state: 'present', via: 'line', waiting: { class1: 2, class2: 1, class3: 3 } },
    ])
    const told = await master.ask(1, EVENTS)
    t.equal(
      hex(told?.objects),
      [
        '02022801000200810068E5CF8B01', // binary
        '04022801000000810068E5CF8B01', // double-bit
        '20072801000100210000AC410068E5CF8B01', // analog
        '1605280100000001701101000068E5CF8B01', // counter
        '1705280100000001050000000068E5CF8B01', // frozen counter
        '6F022801000000' + '4142', // octet string
      ].join(''),
    )
    await until('it has confirmed', async () => (await view()).masters[0].waiting.class3 === 0)
    t.match(await view('?kind=analog'), {
      address: 10,
      points: sizes,
      kind: 'analog',
      shown: [
        { index: 0, value: 0, flags: ['restart'], time: 0 },
        { index: 1, value: 21.5, flags: ['online', 'over_range'], time },
      ],
    })

    t.match(await set({ kind: 'analog', index: 2, value: 1 }), { status: 404, body: { error: 'dnp3_unknown_point' } })
    t.match(await set({ kind: 'counter', index: 0, value: -1 }), { status: 400, body: { error: 'bad_fields' } })
    t.match(await set({ kind: 'binary', index: 0, value: true, flags: ['over_range'] }), {
      status: 400,
      body: { fields: [{ field: 'flags' }] },
    })
    t.match(await set({ kind: 'octet_string', index: 0, value: 'AB C' }), { status: 400, body: { error: 'bad_hex' } })
    t.match(await call('POST', '/rest/set-iin', { device_trouble: true, need_time: true }), {
      status: 200,
      body: { indications: ['need_time', 'device_trouble'] },
    })
    t.equal((await master.ask(23))?.iin, 0x50)
    t.match(await call('POST', '/rest/set-iin', { class_1: true }), { status: 400 })
    t.equal((await master.ask(2, '32 01 07 01 00 68 E5 CF 8B 01'))?.iin, 0x40, 'the time is no longer needed')

    const seen = await events()
    t.match(seen.find(({ event }) => event === 'time')?.payload, { masterAddress: 1, epochMs: time, isFollowed: false })
    t.ok(seen.some(({ payload }) => payload.decoded?.function === 'read' && payload.decoded.unitId === 1))
    t.ok(seen.some(({ payload }) => payload.decoded?.indications?.includes('device_restart')))
    t.match(await call('POST', '/rest/tx', { hex: '01' }), { status: 409, body: { error: 'wrong_protocol' } })
  },
)

t.test('A.dnp3 commands are selected first, answered by the policy, and told as events', async (t) => {
  const { events, pty } = await outstation(t, { command_answer: 'success', restart_answer: 'delay' })
  const master = new SimulatedMaster({ duplex: pty })
  t.teardown(() => master.stop())
  const relay = '0C 01 28 01 00 03 00 03 01 64 00 00 00 00 00 00 00'.replaceAll(' ', '')
  t.equal(hex((await master.ask(4, `${relay}00`))?.objects), `${relay}02`, 'nothing was selected')
  t.equal(hex((await master.ask(3, `${relay}00`))?.objects), `${relay}00`)
  t.equal(hex((await master.ask(4, `${relay}00`))?.objects), `${relay}00`)
  await master.ask(5, '29 03 17 01 07 00 00 AC 41 00')
  t.equal(hex((await master.ask(13))?.objects), '340207018813')
  const controls = (await events()).filter(({ event }) => event === 'control').map(({ payload }) => payload)
  t.match(controls, [
    {
      masterAddress: 1,
      kind: 'binary_output',
      index: 3,
      operation: 'latch_on',
      relay: null,
      count: 1,
      onMs: 100,
      status: 'success',
      isDirect: false,
    },
    { masterAddress: 1, kind: 'analog_output', index: 7, value: 21.5, status: 'success', isDirect: true },
    { masterAddress: 1, kind: 'cold_restart', status: 'delay' },
  ])
  t.equal(controls.length, 3)
})

t.test('A.dnp3 a client that floods over TCP is read no further, and others are answered', async (t) => {
  const tcp = await freePort()
  const { call } = await outstation(t, { tcp_port: tcp, more_masters: [2] })
  const { socket } = await overTcp(t, tcp)
  const asking = sealFrame({
    ...{ isFromMaster: true, isPrimary: true, frameCountBit: null, destination: 10, source: 1 },
    ...{ function: PRIMARY.requestStatus, data: new Uint8Array(0) },
  })
  socket.write(Buffer.alloc(16_000_000, asking))
  await once(socket, 'data')
  const { master } = await overTcp(t, tcp, { address: 2 })
  t.ok(await master.ask(1, EVERYTHING))
  master.stop()
  const { status, body } = await call('GET', '')
  t.equal(status, 200)
  // What one read of a connection holds is 6500 of them already.
  t.ok(body.counters.rxFrames < 5000, `${body.counters.rxFrames} frames`)
  t.ok(socket.writableLength > 0, 'the rest waits at the client')
})

t.test(
  'A.dnp3 over TCP each master has its own events, is told them unasked, and is missed when it has gone',
  async (t) => {
    const tcp = await freePort()
    const settings = {
      tcp_port: tcp,
      more_masters: [2],
      unsolicited: true,
      unsolicited_delay_ms: 0,
      events_per_class: 3,
    }
    const { call, events, view } = await outstation(t, settings)
    await until('it listens', async () => {
      const socket = connect({ port: tcp, host: '127.0.0.1' }).on('error', () => {})
      const isThere = await once(socket, 'connect').then(
        () => true,
        () => false,
      )
      socket.destroy()
      return isThere
    })
    const one = await overTcp(t, tcp)
    const two = await overTcp(t, tcp, { address: 2 })
    await one.master.ask(1, EVERYTHING)
    await until('it says that it has started', () => one.master.told.length > 0)
    await one.master.ask(20, '3C 02 06')
    await two.master.ask(1, EVERYTHING)
    await call('POST', '/rest/set-point', { kind: 'binary', index: 1, value: true })
    await until('it is told', () => one.master.told.some(({ objects }) => hex(objects).startsWith('0202280100010081')))
    await until('and has confirmed', async () => (await view()).masters[0].waiting.class1 === 0)
    t.match((await view()).masters, [
      { address: 1, via: '127.0.0.1', unsolicited: [1] },
      { address: 2, via: '127.0.0.1', unsolicited: [], waiting: { class1: 1 } },
    ])

    for (const value of [1, 2, 3, 4]) await call('POST', '/rest/set-point', { kind: 'analog', index: 0, value })
    const said = await two.master.ask(1, '3C 03 06')
    t.equal((said?.iin ?? 0) & 0x0800, 0x0800, 'events were lost')
    const ledger = async () => JSON.stringify((await gateway.call('GET', '/api/ledger')).body)
    t.match(await ledger(), /dnp3_overflow/)
    two.socket.destroy()
    await until('it has left', async () => (await view()).masters[1].state === 'left')
    t.ok((await events()).some(({ event, payload }) => event === 'master' && payload.state === 'left'))

    const stranger = await overTcp(t, tcp)
    stranger.socket.write('GET / HTTP/1.1\r\n\r\n')
    await once(stranger.socket, 'close')
    t.equal((await call('GET', '')).body.counters.tcpMalformed, 1)
  },
)

t.test('tshark reads a capture of a whole talk without a complaint', { skip: noTshark }, async (t) => {
  const { call, pty } = await outstation(t, { command_answer: 'success' })
  const folder = mkdtempSync(join(tmpdir(), 'dnp3-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const master = new SimulatedMaster({ duplex: pty })
  t.teardown(() => master.stop())
  await master.ask(1, EVERYTHING)
  await master.ask(2, '50 01 00 07 07 00')
  for (const kind of ['binary', 'analog', 'counter'])
    await call('POST', '/rest/set-point', { kind, index: 0, value: kind === 'binary' ? true : 5 })
  await master.ask(7, '14 00 06')
  await master.ask(1, EVENTS)
  await master.ask(3, '0C 01 28 01 00 03 00 03 01 64 00 00 00 00 00 00 00 00')
  await master.ask(4, '0C 01 28 01 00 03 00 03 01 64 00 00 00 00 00 00 00 00')
  await master.ask(23)
  t.equal((await master.ask(22, '3C 01 06 1E 00 06 3C 04 06 01 00 00 00 03'))?.iin, 0)
  t.match((await call('GET', '/outstation')).body.masters, [{ address: 1, assigned: 20 }])
  await master.ask(1, '01 01 06 1E 01 00 00 03 15 05 06')
  const frames = (await call('GET', '/frames?limit=500')).body
    .filter(({ event }: { event: string }) => event === 'frame')
    .map(({ payload }: { payload: { hex: string } }) => Buffer.from(payload.hex.replaceAll(' ', ''), 'hex'))
  const file = join(folder, 'talk.pcap')
  writeFileSync(
    file,
    Buffer.concat([pcapFileHead(151), ...frames.map((frame: Buffer, at: number) => pcapRecord(at, frame))]),
  )
  const dlt = 'uat:user_dlts:"User 4 (DLT=151)","dnp3.udp","0","","0",""'
  const { stdout } = await run('tshark', ['-r', file, '-o', dlt, '-V'])
  t.ok(frames.length > 15)
  t.equal(stdout.match(/^Distributed Network Protocol 3\.0/gm)?.length, frames.length)
  t.notMatch(stdout, /Malformed|incorrect|Expert Info \((Error|Warning)/)
  t.match(stdout, /Analog|Binary Input/)
})
