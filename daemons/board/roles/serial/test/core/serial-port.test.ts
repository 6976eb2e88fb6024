/** A serial port with a line and connections in memory. */
import t from 'tap'
import { Value } from 'typebox/value'
import { fakeClock } from '#kit/clock-fake.ts'
import { createLog } from '#kit/log.ts'
import { createShareOf, parseAllowList } from '#kit/net/address.ts'
import { createPlaces } from '#kit/net/places.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Arrival } from '../../core/ports.ts'
import { SerialPort } from '../../core/serial-ports.ts'
import { firstPortSettings, type PortSettings, type SerialConfig, serialKeys } from '../../core/settings.ts'
import { comPortFrame } from '../../wire/com-port.ts'
import { OPTION, optionFrame } from '../../wire/telnet.ts'
import { type FakeArrival, fakeArrival } from './fake-arrival.ts'
import { fakeOpener } from './fake-line.ts'
import { settled } from './settled.ts'

const config = Value.Parse(serialKeys, Value.Default(serialKeys, {})) as SerialConfig

async function portHere(settings: Partial<PortSettings> = {}, limits: Partial<SerialConfig> = {}) {
  const clock = fakeClock()
  const opener = fakeOpener()
  const refused: string[] = []
  const tcp = { ports: new Map<number, (arrival: Arrival) => void>(), taken: new Set<number>() }
  const port = new SerialPort({
    port: 1,
    path: '/dev/ttyX',
    settings: { ...firstPortSettings(1), enabled: true, ...settings },
    config: { ...config, ...limits },
    places: createPlaces({
      most: limits.max_clients ?? config.max_clients,
      mostPerAddress: 256,
      shareOf: createShareOf([]),
    }),
    clock,
    log: createLog({ level: 'error' }),
    opener,
    async listen(tcpPort, onArrival) {
      if (tcp.taken.has(tcpPort)) throw new Fault('tcp_port_taken', `${tcpPort} is taken`)
      tcp.ports.set(tcpPort, onArrival)
      return { close: async () => void tcp.ports.delete(tcpPort) }
    },
    allowRule: (text) => parseAllowList(text, 64),
    onRefused: (address, why) => refused.push(`${address} ${why}`),
    onChange() {},
  })
  await port.start()
  await settled()
  async function connect(address?: string): Promise<FakeArrival> {
    const arrival = fakeArrival(address)
    tcp.ports.get(port.settings.tcp_port)?.(arrival)
    await settled()
    return arrival
  }
  const line = () => opener.line ?? (undefined as never)
  const set = (change: Partial<PortSettings>, save = async () => {}) =>
    port.apply({ ...port.settings, ...change }, save)
  return { refused, clock, opener, tcp, port, connect, line, set }
}

t.test('bytes go to the line from clients that may write, and from the line to everybody', async (t) => {
  const { port, connect, line } = await portHere()
  const [one, other] = [await connect(), await connect()]
  one.says('hello')
  line().says(Buffer.from('there'))
  await settled()
  t.strictSame(line().did, ['write hello'])
  t.equal(one.got + other.got, 'therethere')
  t.match(port.life().counters, { bytes_to_line: 5, bytes_from_line: 5, clients: 2, clients_total: 2 })
  t.match(port.life().clients, [
    { id: 1, bytes_in: 5, bytes_out: 5 },
    { id: 2, bytes_in: 0, bytes_out: 5 },
  ])
})

t.test('bytes that the line has already taken are counted and not written again', async (t) => {
  const { port, connect, line } = await portHere()
  const one = await connect()
  one.says('abcdef', 6)
  one.says('ghi', 1)
  await settled()
  t.strictSame(line().did, ['write hi'])
  t.equal(port.life().counters.bytes_to_line, 9)
})

t.test('bytes of a client that may not write are discarded and counted', async (t) => {
  const { port, connect, line } = await portHere({ write: 'first' })
  const [one, other] = [await connect(), await connect()]
  t.strictSame([one.reads, other.reads], ['all', 'none'])
  other.says('psst')
  await settled()
  t.strictSame(line().did, [])
  t.equal(port.life().counters.bytes_discarded, 4)
  t.strictSame(
    port.life().clients.map(({ may_write }) => may_write),
    [true, false],
  )
  port.drop(1)
  t.equal(other.reads, 'all', 'the next in turn')
})

t.test('strangers, and a client over the limit, are refused before anything is read from them', async (t) => {
  const { port, connect, refused } = await portHere({ allow: '192.0.2.0/24' }, { max_clients: 2 })
  const stranger = await connect('198.51.100.1')
  const [one, two, three] = [await connect(), await connect(), await connect()]
  t.strictSame(
    [stranger, one, two, three].map(({ isRefused }) => isRefused),
    [true, false, false, true],
  )
  t.equal(port.life().counters.clients_refused, 2)
  t.strictSame(refused, ['198.51.100.1 not allowed', '192.0.2.7 too many'])
})

t.test('a client is not read further while enough bytes of its address wait for the line', async (t) => {
  const { connect, line } = await portHere()
  const one = await connect()
  line().isStuck = true
  one.says('x'.repeat(960))
  t.equal(one.isReading, true)
  one.says('y')
  t.equal(one.isReading, false)
  line().unstick()
  await settled()
  t.equal(one.isReading, true)
})

t.test('a slow client among others is dropped, and the line is read on', async (t) => {
  const { port, connect, line } = await portHere()
  const [slow, quick] = [await connect(), await connect()]
  slow.fallsBehind()
  t.equal(slow.isClosed, true)
  t.equal(quick.isClosed, false)
  t.equal(line().isPaused, false)
  t.equal(port.life().counters.clients_dropped, 1)
})

t.test('a single slow client holds the line, but no longer than the limit', async (t) => {
  const { clock, connect, line } = await portHere()
  const slow = await connect()
  slow.fallsBehind()
  t.equal(line().isPaused, true)
  clock.advance(2000)
  t.equal(slow.isClosed, true)
  t.equal(line().isPaused, false)
})

t.test(
  'data sent while the device is away is discarded; the client stays, and works again when the device is back',
  async (t) => {
    const { clock, port, connect, line, opener } = await portHere()
    const one = await connect()
    const before = line()
    before.goes()
    t.equal(one.line, undefined)
    one.says('too late')
    t.equal(port.life().counters.bytes_discarded, 8)
    t.match(port.life(), { state: 'absent', fault: { code: 'line_gone' } })
    await clock.run(500)
    t.equal(one.line, opener.line)
    t.not(opener.line, before)
    t.equal(one.isClosed, false)
  },
)

t.test('settings of the line apply at once, and no client is dropped', async (t) => {
  const { connect, line, set, port } = await portHere()
  const one = await connect()
  await set({ baud: 19_200, parity: 'even' })
  t.strictSame(line().did, ['update 19200 8 even 1 none none'])
  t.equal(one.isClosed, false)
  t.equal(port.settings.baud, 19_200)
})

t.test('a setting that the line refuses changes nothing at all', async (t) => {
  const { connect, line, set, port, tcp } = await portHere()
  const one = await connect()
  line().refuses = () => 'no even parity here'
  await t.rejects(set({ parity: 'even', tcp_port: 5000, label: 'x' }), { code: 'line_refused' })
  t.match(port.settings, { parity: 'none', tcp_port: 4001, label: '' })
  t.strictSame([...tcp.ports.keys()], [4001])
  t.equal(one.isClosed, false)
})

t.test('a setting that cannot be saved is undone on the line', async (t) => {
  const { line, set, port } = await portHere()
  const full = async () => {
    throw new Fault('store_write_failed', 'the disk is full')
  }
  await t.rejects(set({ baud: 300 }, full), { code: 'store_write_failed' })
  t.strictSame(
    line().did.map((did) => did.split(' ')[1]),
    ['300', '9600'],
  )
  t.equal(port.settings.baud, 9600)
})

t.test('a TCP port that is taken is refused, and the old one stays open', async (t) => {
  const { connect, set, tcp, port } = await portHere()
  const one = await connect()
  tcp.taken.add(5000)
  await t.rejects(set({ tcp_port: 5000 }), { code: 'tcp_port_taken' })
  t.equal(port.settings.tcp_port, 4001)
  t.equal(one.isClosed, false)
  tcp.taken.clear()
  await set({ tcp_port: 5000 })
  await settled()
  t.strictSame([...tcp.ports.keys()], [5000])
  t.equal(one.isClosed, true, 'it is another service')
})

t.test('a TCP port that is taken at the start is tried again', async (t) => {
  const { clock, port, set, tcp } = await portHere({ enabled: false })
  t.equal(port.state, 'off')
  await set({ enabled: true })
  await port.stop()
  tcp.taken.add(4001)
  await port.start()
  await settled()
  t.match(port.life().fault, { code: 'tcp_port_taken' })
  tcp.taken.clear()
  await clock.run(500)
  await settled()
  t.equal(port.life().fault, null)
  t.strictSame([...tcp.ports.keys()], [4001])
})

t.test('a line that comes back while its only client is slow still waits for it', async (t) => {
  const { clock, connect, line } = await portHere({}, { slow_client_ms: 60_000 })
  const slow = await connect()
  slow.fallsBehind()
  const before = line()
  before.goes()
  await clock.run(1000)
  t.not(line(), before)
  t.equal(line().isPaused, true)
  slow.catchesUp()
  t.equal(line().isPaused, false)
})

t.test('the last counts of the driver are kept when the line is released', async (t) => {
  const { line, port, set } = await portHere()
  line().counts = { rx: 9, tx: 9, frame: 3, overrun: 0, parity: 0, brk: 1, buf_overrun: 2 }
  await set({ enabled: false })
  t.match(port.life().counters, { overruns: 2, framing: 3, parity: 0, breaks: 1 })
})

t.test('switched off, everything is closed', async (t) => {
  const { connect, set, tcp, line, port } = await portHere()
  const one = await connect()
  await set({ enabled: false })
  t.equal(one.isClosed, true)
  t.equal(tcp.ports.size, 0)
  t.strictSame(line().did, ['close'])
  t.equal(port.state, 'off')
})

const latin1 = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1')
const agreed = latin1(optionFrame('will', OPTION.comPort))
const baud = (value: number) => latin1(comPortFrame({ from: 'client', command: 'baud', value }))

t.test('settings changed by an RFC 2217 client last until the last such client has left', async (t) => {
  const { connect, line, port } = await portHere({ mode: 'rfc2217' })
  const [one, other] = [await connect(), await connect()]
  one.says(agreed + baud(300))
  other.says(agreed)
  await settled()
  await settled()
  t.match(port.life(), { line_now: { baud: 300 }, clients: [{ rfc2217: true }, { rfc2217: true }] })
  port.drop(1)
  await settled()
  t.match(port.life().line_now, { baud: 300 })
  port.drop(2)
  for (let turn = 0; turn < 5; turn++) await settled()
  t.equal(port.life().line_now, null)
  t.equal(line().settings.baud, 9600)
})

t.test('saved settings replace those of a client, and it is told so when it asks', async (t) => {
  const { connect, line, port, set } = await portHere({ mode: 'rfc2217' })
  const one = await connect()
  one.says(agreed + baud(300))
  await settled()
  await settled()
  await set({ baud: 57_600 })
  t.equal(line().settings.baud, 57_600)
  t.equal(port.life().line_now, null)
  one.got = ''
  one.says(baud(0))
  await settled()
  t.equal(one.got, latin1(comPortFrame({ from: 'server', command: 'baud', value: 57_600 })))
})

t.test('a suboption without an end ends the connection', async (t) => {
  const { connect, port } = await portHere({ mode: 'rfc2217' })
  const one = await connect()
  one.says(`\xff\xfa\x2c${'x'.repeat(600)}`)
  t.equal(one.isClosed, true)
  t.equal(port.life().counters.telnet_faults, 1)
})

t.test('requests of an RFC 2217 client that leaves are carried out in order, and its end is read last', async (t) => {
  const { clock, connect, line, port } = await portHere({ mode: 'rfc2217' }, { slow_client_ms: 100, left_ms: 1000 })
  const one = await connect()
  line().slowUpdates = []
  one.says(`${agreed}A${baud(1200)}B${baud(2400)}C`)
  for (let turn = 0; turn < 5; turn++) await settled()
  one.ends()
  for (const _change of ['baud 1200', 'baud 2400']) {
    clock.advance(250)
    await settled()
    t.strictSame([one.isClosed, one.flow], [false, 'stopped'], 'nothing more is read from it, not even its end')
    line().slowUpdates?.shift()?.()
    for (let turn = 0; turn < 5; turn++) await settled()
  }
  t.equal(one.flow, 'reading')
  t.strictSame(
    line().did.filter((did) => !did.startsWith('modem')),
    ['write A', 'update 1200 8 none 1 none none', 'write B', 'update 2400 8 none 1 none none', 'write C'],
  )
  clock.advance(200)
  t.equal(one.isClosed, true, 'a client that accepts nothing more is closed')
  t.match(port.life().counters, { bytes_to_line: 3, bytes_discarded: 0 })
})

t.test('a change that never ends does not keep a client that left, and what waited behind it is counted', async (t) => {
  const { clock, connect, line, port } = await portHere({ mode: 'rfc2217' }, { slow_client_ms: 100, left_ms: 1000 })
  const one = await connect()
  line().slowUpdates = []
  one.says(`${agreed}${baud(1200)}lost${baud(2400)}too`)
  for (let turn = 0; turn < 5; turn++) await settled()
  one.ends()
  clock.advance(999)
  await settled()
  t.equal(one.isClosed, false)
  clock.advance(200)
  t.equal(one.isClosed, true)
  t.equal(port.life().counters.bytes_discarded, 7)
})

t.test(
  'if one address holds every place, its longest silent client makes room for a newcomer, and the log says so once',
  async (t) => {
    const { clock, connect, port, refused } = await portHere({}, { max_clients: 3 })
    const own = [await connect(), await connect(), await connect()]
    for (const client of own) {
      clock.advance(10)
      client.says('x')
    }
    clock.advance(10)
    own[0]?.says('still here')
    const other = await connect('198.51.100.1')
    t.strictSame(
      [...own, other].map(({ isClosed, isRefused }) => isClosed || isRefused),
      [false, true, false, false],
    )
    t.match(port.life().counters, { clients: 3, clients_evicted: 1, clients_refused: 0 })
    t.equal((await connect('203.0.113.1')).isRefused, false)
    const last = await connect('203.0.113.99')
    t.equal(
      last.isRefused,
      true,
      'if the greediest address would be left with no more than the newcomer, nobody has to go',
    )
    t.match(port.life().counters, { clients: 3, clients_evicted: 2, clients_refused: 1 })
    t.strictSame(refused, ['203.0.113.99 too many'])
  },
)

t.test('addresses of one /64 count as one: they do not evict others, and others evict them', async (t) => {
  const { connect, port } = await portHere({}, { max_clients: 3 })
  const own = [await connect('2001:db8::1'), await connect('2001:db8::2'), await connect('2001:db8::3')]
  const next = await connect('2001:db8::4')
  t.equal(next.isRefused, true)
  const other = await connect('2001:db8:0:1::1')
  t.equal(other.isRefused, false)
  t.equal(own.filter(({ isClosed }) => isClosed).length, 1)
  t.match(port.life().counters, { clients: 3, clients_evicted: 1, clients_refused: 1 })
})
