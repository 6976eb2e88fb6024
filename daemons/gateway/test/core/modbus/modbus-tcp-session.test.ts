import t from 'tap'
import type { RelaySocket } from '#kit/line/line.ts'
import { bytesOfHex, hexOf } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Sent } from '../../../core/bus/protocol.ts'
import type { AskHow } from '../../../core/bus/transactions.ts'
import type { TcpPeer } from '../../../core/lines/tcp.ts'
import type { ModbusReply } from '../../../core/modbus/protocol.ts'
import { ModbusTcpSession, modbusTcpCounts } from '../../../core/modbus/tcp.ts'
import { mbapFrame } from '../../../wire/mbap.ts'
import { type ModbusRequest, sealed } from '../../../wire/modbus-request.ts'
import { modbusRtu } from './rtu.ts'

interface Asked {
  /** Unit, function, data, without checksum. */
  hex: string
  how: AskHow
  reply(hex: string): void
  /** What the bus returns after a broadcast. */
  nothing(): void
  fail(code: string): void
  /** What a mistake in the program would throw. */
  crash(): void
}

/** A session between a client and a bus that the test plays. */
function sessionHere(options: { pipeline?: number; places?: number; waitingBytes?: number } = {}) {
  const sent: string[] = []
  const relays: string[] = []
  const admitted: number[] = []
  let socketTakes = 0
  let socket: Parameters<RelaySocket['read']>[0] | undefined
  const flow: string[] = []
  const asked: Asked[] = []
  const events: unknown[] = []
  const withdrawn: object[] = []
  const counts = modbusTcpCounts()
  const peer: TcpPeer = {
    address: '192.0.2.7',
    waitingBytes: options.waitingBytes ?? 0,
    descriptor: 5,
    readBy: (reader) => void flow.push(reader ? 'read by the line' : 'read by itself'),
    send: (bytes) => void sent.push(hexOf(bytes)),
    pause: () => void flow.push('pause'),
    resume: () => void flow.push('resume'),
    end: (why, detail) => void flow.push(`${why}: ${detail}`),
  }
  const asker = {
    exchange: (one: Sent<ModbusRequest>, how: AskHow) =>
      new Promise<ModbusReply | null>((resolve, reject) => {
        asked.push({
          hex: hexOf(one.frame.subarray(0, -2)),
          how,
          reply: (hex) => resolve(modbusRtu.openReply(one, sealed(bytesOfHex(hex)))),
          nothing: () => resolve(null),
          fail: (code) => reject(new Fault(code, 'It failed.')),
          crash: () => reject(new TypeError('oops')),
        })
      }),
    withdraw: (owner: object) => void withdrawn.push(owner),
    relayTo: (socketFd: number): RelaySocket => ({
      expect({ begins, head, length, onSent }) {
        relays.push(`${socketFd}: ${hexOf(head)} | ${hexOf(begins)} of ${length}`)
        if (socketTakes > 0) onSent(socketTakes)
      },
      read(handlers) {
        socket = handlers
      },
      pause() {},
      resume() {},
      admit() {},
      leave: () => void relays.push('left'),
    }),
    admit: (unitId: number) => void admitted.push(unitId),
  }
  const session = new ModbusTcpSession({
    asker,
    peer,
    counts,
    pipeline: options.pipeline ?? 16,
    places: options.places ?? 16,
    publish: (event, payload) => void events.push([event, payload]),
  })
  const ask = (transactionId: number, hex: string) =>
    session.onBytes(mbapFrame({ transactionId, body: bytesOfHex(hex) }))
  /** The request at that place is out, and its reply is sure. @param taken how many bytes of it the socket takes */
  function expectReply(at: number, taken = 0): void {
    socketTakes = taken
    asked[at]?.how.onExpected?.({ begins: bytesOfHex('11 03 02'), length: 7 })
  }
  /** The line reads a question, of which it has sent so many bytes. */
  const askByLine = (transactionId: number, hex: string, sentBytes: number) =>
    socket?.onBytes(mbapFrame({ transactionId, body: bytesOfHex(hex) }), sentBytes)
  const end = () => socket?.onEnded()
  flow.length = 0
  return { admitted, ask, askByLine, asked, counts, end, events, expectReply, flow, relays, sent, session, withdrawn }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))
const READ = '03 00 00 00 01'

t.test('a request goes to the bus with a checksum, its reply back with its transaction id', async (t) => {
  const { ask, asked, counts, sent } = sessionHere()
  ask(0x1234, `11 ${READ}`)
  t.match(asked, [{ hex: `11 ${READ}`, how: { priority: 'poll' } }])
  asked[0]?.reply('11 03 02 00 2A')
  await settled()
  t.strictSame(sent, ['12 34 00 00 00 05 11 03 02 00 2A'])
  t.match(counts, { tcpClients: 1, tcpRequests: 1, tcpWrites: 0, tcpGatewayExceptions: 0 })
})

t.test('a reply that the line relayed is not sent again, only what the socket did not take of it', async (t) => {
  for (const [taken, rest] of [
    [11, ''],
    [6, '11 03 02 00 2A'],
    [0, '12 34 00 00 00 05 11 03 02 00 2A'],
  ] as const) {
    const { ask, asked, expectReply, relays, sent, session } = sessionHere()
    ask(0x1234, `11 ${READ}`)
    expectReply(0, taken)
    t.strictSame(relays, ['5: 12 34 00 00 00 05 | 11 03 02 of 7'])
    asked[0]?.reply('11 03 02 00 2A')
    await settled()
    t.strictSame(sent, [rest])
    session.onClosed()
    t.equal(relays.at(-1), 'left')
  }
})

t.test(
  'nothing is relayed past a reply that must go first, nor to a client that has not taken the last one',
  async (t) => {
    const { ask, asked, expectReply, relays } = sessionHere()
    ask(1, `01 ${READ}`)
    ask(2, `11 ${READ}`)
    expectReply(1)
    t.strictSame(relays, [])
    asked[0]?.reply('01 03 02 00 01')
    await settled()
    expectReply(1)
    t.equal(relays.length, 1)
    const slow = sessionHere({ waitingBytes: 1 })
    slow.ask(1, `11 ${READ}`)
    slow.expectReply(0)
    t.strictSame(slow.relays, [])
  },
)

t.test(
  'a client with nothing unanswered may have its next read sent by the line, which is not sent again',
  async (t) => {
    const { admitted, ask, askByLine, asked } = sessionHere()
    ask(1, `11 ${READ}`)
    ask(2, `11 ${READ}`)
    asked[0]?.reply('11 03 02 00 01')
    await settled()
    t.same(admitted, [], 'the second one waits')
    asked[1]?.reply('11 03 02 00 01')
    await settled()
    t.same(admitted, [0x11])
    askByLine(3, `11 ${READ}`, 8)
    askByLine(4, `11 ${READ}`, 0)
    t.equal(asked[2]?.how.outBytes, 8)
    asked[2]?.reply('11 03 02 00 01')
    await settled()
    t.equal(asked[3]?.how.outBytes, undefined)
  },
)

t.test('a client whose end the line has seen is read by itself again', (t) => {
  const { end, flow } = sessionHere()
  end()
  t.same(flow, ['read by itself'])
  t.end()
})

t.test("a unit's own exception is passed on as it is", async (t) => {
  const { ask, asked, counts, sent } = sessionHere()
  ask(1, `11 ${READ}`)
  asked[0]?.reply('11 83 02')
  await settled()
  t.strictSame(sent, ['00 01 00 00 00 03 11 83 02'])
  t.equal(counts.tcpGatewayExceptions, 0)
})

t.test('writes have the priority of an operator, reads that of a poll', async (t) => {
  const { ask, asked, counts } = sessionHere()
  const bodies = [
    '01 03 00 00 00 01',
    '02 06 00 00 00 01',
    '03 05 00 00 FF 00',
    '04 17 00 00 00 01 00 00 00 01 02 00 07',
  ]
  for (const [at, hex] of bodies.entries()) ask(at, hex)
  t.strictSame(
    asked.map(({ how }) => how.priority),
    ['poll', 'operator', 'operator', 'operator'],
  )
  t.match(counts, { tcpRequests: 4, tcpWrites: 3 })
})

t.test('replies keep the order of the requests, whichever unit answers first', async (t) => {
  const { ask, asked, sent } = sessionHere()
  ask(1, `01 ${READ}`)
  ask(2, `02 ${READ}`)
  ask(3, `03 ${READ}`)
  t.equal(asked.length, 3, 'units are asked side by side')
  asked[2]?.reply('03 03 02 00 03')
  asked[1]?.fail('modbus_timeout')
  await settled()
  t.strictSame(sent, [])
  asked[0]?.reply('01 03 02 00 01')
  await settled()
  t.strictSame(sent, [
    '00 01 00 00 00 05 01 03 02 00 01',
    '00 02 00 00 00 03 02 83 0B',
    '00 03 00 00 00 05 03 03 02 00 03',
  ])
})

t.test('a write does not overtake an earlier read of the same unit', async (t) => {
  const { ask, asked, sent } = sessionHere()
  ask(1, `01 ${READ}`)
  ask(2, '01 06 00 00 00 09')
  ask(3, `01 ${READ}`)
  t.equal(asked.length, 1)
  asked[0]?.reply('01 03 02 00 01')
  await settled()
  t.strictSame(
    asked.map(({ hex }) => hex),
    [`01 ${READ}`, '01 06 00 00 00 09'],
  )
  asked[1]?.reply('01 06 00 00 00 09')
  await settled()
  asked[2]?.reply('01 03 02 00 09')
  await settled()
  t.strictSame(sent, [
    '00 01 00 00 00 05 01 03 02 00 01',
    '00 02 00 00 00 06 01 06 00 00 00 09',
    '00 03 00 00 00 05 01 03 02 00 09',
  ])
})

t.test('the same transaction id twice is answered twice', async (t) => {
  const { ask, asked, sent } = sessionHere()
  ask(7, `01 ${READ}`)
  ask(7, `02 ${READ}`)
  asked[0]?.reply('01 03 02 00 01')
  asked[1]?.reply('02 03 02 00 02')
  await settled()
  t.strictSame(sent, ['00 07 00 00 00 05 01 03 02 00 01', '00 07 00 00 00 05 02 03 02 00 02'])
})

t.test('a request that makes no sense is refused and never reaches the bus', async (t) => {
  const { ask, asked, counts, sent } = sessionHere()
  ask(1, '01 63 00')
  ask(2, '01 03 00 00 00 7E')
  ask(3, '01 03 FF FF 00 02')
  ask(4, `FF ${READ}`)
  ask(5, `00 ${READ}`)
  t.strictSame(sent, [
    '00 01 00 00 00 03 01 E3 01',
    '00 02 00 00 00 03 01 83 03',
    '00 03 00 00 00 03 01 83 02',
    '00 04 00 00 00 03 FF 83 0A',
    '00 05 00 00 00 03 00 83 0A',
  ])
  t.equal(asked.length, 0)
  t.match(counts, { tcpRequests: 5, tcpGatewayExceptions: 5 })
})

t.test('a fault of the line is reported with the exception of the standard', async (t) => {
  const cases = {
    modbus_timeout: '0B',
    modbus_bad_reply: '0B',
    modbus_unit_silent: '0B',
    queue_full: '06',
    modbus_expired: '06',
    line_closed: '0A',
    line_gone: '0A',
    line_write_failed: '0A',
    modbus_line_busy: '0A',
    modbus_send_timeout: '0A',
    modbus_codec: '04',
  }
  for (const [code, exception] of Object.entries(cases)) {
    const { ask, asked, sent } = sessionHere()
    ask(1, `01 ${READ}`)
    asked[0]?.fail(code)
    await settled()
    t.strictSame(sent, [`00 01 00 00 00 03 01 83 ${exception}`], code)
  }
})

t.test('a broadcast that was sent is answered with nothing, one that was not is refused', async (t) => {
  const { ask, asked, sent } = sessionHere()
  ask(1, '00 06 00 00 00 01')
  ask(2, `01 ${READ}`)
  asked[1]?.reply('01 03 02 00 01')
  await settled()
  t.strictSame(sent, [], 'the broadcast comes first')
  asked[0]?.nothing()
  await settled()
  t.strictSame(sent, ['00 02 00 00 00 05 01 03 02 00 01'])
  ask(3, '00 06 00 00 00 01')
  asked[2]?.fail('line_closed')
  await settled()
  t.equal(sent[1], '00 03 00 00 00 03 00 86 0A')
})

t.test('a client at its limit of unanswered requests is read no further', async (t) => {
  const { ask, asked, flow, sent, session } = sessionHere({ pipeline: 2 })
  for (const id of [1, 2, 3, 4]) ask(id, `0${id} ${READ}`)
  t.equal(asked.length, 2)
  t.equal(session.waiting, 2)
  t.strictSame(flow, ['pause'])
  asked[0]?.reply('01 03 02 00 01')
  await settled()
  t.equal(asked.length, 3, 'the third, which was read already, has its turn')
  t.strictSame(flow, ['pause'])
  for (const at of [1, 2]) asked[at]?.fail('modbus_timeout')
  await settled()
  asked[3]?.reply('04 03 02 00 04')
  await settled()
  t.strictSame(flow, ['pause', 'resume'])
  t.equal(sent.length, 4)
})

t.test(
  'a stream that goes wrong is answered up to that point, then closed with a report of what was seen',
  async (t) => {
    const { ask, asked, flow, sent, session } = sessionHere()
    ask(1, `01 ${READ}`)
    session.onBytes(bytesOfHex('00 02 00 05'))
    t.strictSame(flow, ['pause'])
    session.onBytes(mbapFrame({ transactionId: 3, body: bytesOfHex(`01 ${READ}`) }))
    asked[0]?.reply('01 03 02 00 01')
    await settled()
    t.strictSame(sent, ['00 01 00 00 00 05 01 03 02 00 01'])
    t.match(flow, ['pause', /^malformed: the protocol id is 5/])
    t.equal(asked.length, 1)
  },
)

t.test(
  'a client that leaves withdraws its waiting requests; the one under way ends and its reply goes to nobody',
  async (t) => {
    const { ask, asked, counts, sent, session, withdrawn } = sessionHere()
    ask(1, `01 ${READ}`)
    ask(2, '01 06 00 00 00 01')
    ask(3, `02 ${READ}`)
    session.onClosed()
    t.strictSame(withdrawn, [session])
    t.equal(asked[0]?.how.owner, session)
    asked[1]?.fail('modbus_withdrawn')
    asked[0]?.reply('01 03 02 00 01')
    await settled()
    t.equal(asked.length, 2, 'the write was never sent')
    t.strictSame(sent, [])
    t.match(counts, { tcpClients: 0, tcpRequests: 3, tcpWithdrawn: 2, tcpGatewayExceptions: 0 })
  },
)

t.test('an unforeseen failure is published as an event, and answered to the client with exception 4', async (t) => {
  const { ask, asked, events, sent } = sessionHere()
  ask(1, `01 ${READ}`)
  asked[0]?.crash()
  await settled()
  t.strictSame(sent, ['00 01 00 00 00 03 01 83 04'])
  t.match(events, [['error', { code: 'modbus_tcp_failed' }]])
})

t.test('a client has a limited number of requests at the bus, whatever units it asks', async (t) => {
  const { ask, asked, counts, sent, session } = sessionHere({ places: 2 })
  for (let unit = 1; unit <= 4; unit++) ask(unit, `0${unit} ${READ}`)
  ask(5, `01 ${READ}`)
  t.strictSame(
    asked.map(({ hex }) => hex.slice(0, 2)),
    ['01', '02'],
  )
  asked[1]?.reply('02 03 02 00 02')
  await settled()
  asked[0]?.reply('01 03 02 00 01')
  await settled()
  t.strictSame(
    asked.map(({ hex }) => hex.slice(0, 2)),
    ['01', '02', '03', '04'],
    'units that waited come before the next request of one already served',
  )
  t.equal(sent.length, 2)
  session.onClosed()
  t.equal(counts.tcpWithdrawn, 1)
  asked[2]?.reply('03 03 02 00 03')
  await settled()
  t.equal(asked.length, 4, 'waiting requests of a client that left are not sent')
})
