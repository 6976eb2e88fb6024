/** RFC 2217 on a line with every signal, on one with none, and with a client that breaks the rules. */
import t from 'tap'
import { bytesOfHex } from '#kit/pure/bytes.ts'
import { heapBytesOf } from '#kit/test/heap.ts'
import { CONTROL, type ComPortMessage, comPortFrame, LINE_STATE, MODEM_STATE } from '../../wire/com-port.ts'
import { OPTION, optionFrame } from '../../wire/telnet.ts'
import { ask, sessionHere } from './session-here.ts'

const control = (code: number) => ask('control', code)

t.test('RFC 2217, 1 the server begins, and sends the modem state as soon as the client has agreed', async (t) => {
  const { heard, agree } = sessionHere()
  t.strictSame(heard(), ['will 0', 'will 1', 'will 3', 'do 0', 'do 3', 'do 44'])
  t.strictSame(await agree(), ['server modemState 0'])
})

t.test('RFC 2217, 3 data waits for the setting before it, and a setting for the data before it', async (t) => {
  const { say, agree, line, here, session } = sessionHere((one) => {
    one.slowUpdates = []
  })
  await agree()
  const answers = await say(bytesOfHex('41'), ask('baud', 1200), bytesOfHex('42'), ask('parity', 2), bytesOfHex('43'))
  t.strictSame(here.written, ['41'])
  t.strictSame(answers, [])
  t.equal(session.isPlain, false)
  t.equal(here.busy.at(-1), true)
  line.slowUpdates?.shift()?.()
  t.strictSame(await say(), ['server baud 1200'])
  t.strictSame(here.written, ['41', '42'])
  line.slowUpdates?.shift()?.()
  t.strictSame(await say(), ['server parity 2'])
  t.strictSame(here.written, ['41', '42', '43'])
  t.equal(session.isPlain, true)
  t.equal(here.busy.at(-1), false)
})

t.test('RFC 2217, 4 modem lines are reported when they change, with what has changed', async (t) => {
  const { say, agree, line, heard } = sessionHere()
  await agree()
  line.turns({ cts: true })
  await say()
  line.turns({ dsr: true, dcd: true })
  t.strictSame(
    await say(),
    [
      `server modemState ${MODEM_STATE.cts | MODEM_STATE.ctsChanged}`,
      `server modemState ${MODEM_STATE.cts | MODEM_STATE.dsr | MODEM_STATE.dcd | MODEM_STATE.dsrChanged | MODEM_STATE.dcdChanged}`,
    ].slice(1),
  )
  heard()
  line.turns({ cts: false })
  t.strictSame(await say(), [`server modemState ${MODEM_STATE.dsr | MODEM_STATE.dcd | MODEM_STATE.ctsChanged}`])
})

t.test('RFC 2217, 4 the ring is reported by its state, and its end as the trailing edge', async (t) => {
  const { say, agree, line } = sessionHere()
  await agree()
  line.turns({ ring: true })
  t.strictSame(await say(), [`server modemState ${MODEM_STATE.ri}`])
  line.turns({ ring: false })
  t.strictSame(await say(), [`server modemState ${MODEM_STATE.riTrailed}`])
})

t.test('RFC 2217, 4 a mask keeps modem lines from being reported, and is answered', async (t) => {
  const { say, agree, line } = sessionHere()
  await agree()
  t.strictSame(await say(ask('modemStateMask', MODEM_STATE.dsr | MODEM_STATE.dsrChanged)), ['server modemStateMask 34'])
  line.turns({ cts: true })
  t.strictSame(await say(), [])
  line.turns({ dsr: true })
  t.strictSame(await say(), [`server modemState ${MODEM_STATE.dsr | MODEM_STATE.dsrChanged}`])
  t.strictSame(await say(ask('modemStateMask', 0)), ['server modemStateMask 0'])
  line.turns({ dsr: false })
  t.strictSame(await say(), [])
})

t.test('python3-serial asks for the modem state, and gets the present one', async (t) => {
  const { say, agree, line } = sessionHere()
  await agree()
  await say(ask('modemStateMask', 0))
  line.turns({ cts: true, ring: true })
  t.strictSame(await say(ask('modemState', null)), [`server modemState ${MODEM_STATE.cts | MODEM_STATE.ri}`])
})

t.test('RFC 2217, 4 line states are reported if they were asked for, each error once', async (t) => {
  const { say, agree, line, clock, heard } = sessionHere()
  await agree()
  await clock.run(1000)
  t.strictSame(heard(), [], 'nobody asked')
  const mask = LINE_STATE.framing | LINE_STATE.parity | LINE_STATE.overrun | LINE_STATE.break
  t.strictSame(await say(ask('lineStateMask', mask)), [`server lineStateMask ${mask}`])
  line.counts = { rx: 9, tx: 0, frame: 1, overrun: 0, parity: 2, brk: 0, buf_overrun: 0 }
  await clock.run(100)
  t.strictSame(heard(), [`server lineState ${LINE_STATE.framing | LINE_STATE.parity}`])
  await clock.run(500)
  t.strictSame(heard(), [])
  line.counts = { rx: 9, tx: 0, frame: 1, overrun: 1, parity: 2, brk: 1, buf_overrun: 0 }
  await clock.run(100)
  t.strictSame(heard(), [`server lineState ${LINE_STATE.overrun | LINE_STATE.break}`])
  await say(ask('lineStateMask', 0))
  await clock.run(200)
  t.equal(clock.pending(), 0, 'nobody watches any more')
})

t.test('RFC 2217, 4 data ready and the empty transmitter are reported as they change', async (t) => {
  const { say, agree, line, clock, heard, here } = sessionHere()
  await agree()
  const mask = LINE_STATE.dataReady | LINE_STATE.holdingEmpty | LINE_STATE.shiftEmpty
  await say(ask('lineStateMask', mask))
  await clock.run(100)
  t.strictSame(heard(), [`server lineState ${LINE_STATE.holdingEmpty | LINE_STATE.shiftEmpty}`])
  line.transmitterState = { waitingBytes: 3, isEmpty: false }
  here.received = 10
  await clock.run(100)
  t.strictSame(heard(), [`server lineState ${LINE_STATE.dataReady}`])
  t.strictSame(await say(ask('lineState', null)), ['server lineState 0', 'server lineState 0'])
})

t.test('RFC 2217, 5 suspend holds data to the client, resume releases it', async (t) => {
  const { say, agree, here } = sessionHere()
  await agree()
  await say(ask('suspend', null), ask('suspend', null))
  t.strictSame(here.held, [true])
  await say(ask('resume', null))
  t.strictSame(here.held, [true, false])
})

t.test('RFC 2217, 5 a client is told to suspend and to resume', async (t) => {
  const { session, agree, heard } = sessionHere()
  session.setFlow(true)
  heard()
  await agree()
  session.setFlow(true)
  session.setFlow(false)
  t.strictSame(heard(), ['server suspend null', 'server resume null'])
})

t.test('RFC 2217, 3 purges of each queue', async (t) => {
  const { say, agree, line, here } = sessionHere()
  await agree()
  const waitingDropped: boolean[] = []
  for (const value of [1, 2, 3]) {
    const { dropped } = here
    t.strictSame(await say(ask('purge', value)), [`server purge ${value}`])
    waitingDropped.push(here.dropped > dropped)
  }
  t.strictSame(line.did, ['flush received', 'flush toSend', 'flush both'])
  t.strictSame(
    waitingDropped,
    [true, false, true],
    'received data that waits for the client belongs to the first queue',
  )
  t.strictSame(await say(ask('purge', 4)), [], 'an unknown one is not carried out, and not acknowledged')
})

t.test('RFC 2217, 2 a signature is sent on request, and that of the client is accepted', async (t) => {
  const { say, agree } = sessionHere()
  await agree()
  const signature = (text: string): ComPortMessage => ({
    from: 'client',
    command: 'signature',
    text: Buffer.from(text),
  })
  t.strictSame(await say(comPortFrame(signature(''))), ['server signature Plantroom'])
  t.strictSame(await say(comPortFrame(signature('pyserial'))), [])
})

t.test('a client without the right to write changes nothing, and gets the present values', async (t) => {
  const { say, agree, line, here } = sessionHere()
  await agree()
  here.mayWrite = false
  t.strictSame(await say(ask('baud', 300), control(CONTROL.dtrOff), control(CONTROL.breakOn), ask('purge', 1)), [
    'server baud 9600',
    `server control ${CONTROL.dtrOn}`,
    `server control ${CONTROL.breakOff}`,
    'server purge 1',
  ])
  t.strictSame(line.did, [])
})

t.test('RFC 854 BRK is a break of its length, AYT is answered, NOP is nothing', async (t) => {
  const { say, agree, line, clock } = sessionHere()
  await agree()
  t.strictSame(await say(bytesOfHex('FF F1')), [])
  t.strictSame(line.did, [])
  await say(bytesOfHex('FF F3'))
  t.strictSame(line.did, ['break true'])
  await clock.run(250)
  t.strictSame(line.did, ['break true', 'break false'])
  t.strictSame(await say(bytesOfHex('FF F6')), ['data \r\n[Yes]\r\n'])
})

t.test('RFC 854 the NUL after a CR is dropped for a client that refused BINARY, and for no other', async (t) => {
  const { say, here, session } = sessionHere()
  await say(bytesOfHex('41 0D 00'))
  t.strictSame(here.written, ['41 0D 00'], 'nothing was negotiated yet')
  await say(optionFrame('wont', OPTION.binary), optionFrame('dont', OPTION.binary), bytesOfHex('42 0D'))
  await say(bytesOfHex('00 43'))
  t.strictSame(here.written, ['41 0D 00', '42 0D', '43'])
  t.equal(session.isNvt, true)
  t.equal(session.isPlain, false)
})

t.test('an invalid message is counted, and one that only servers send is not answered', async (t) => {
  const { say, agree, here } = sessionHere()
  await agree()
  t.strictSame(await say(bytesOfHex('FF FA 2C 01 00 FF F0'), bytesOfHex('FF FA 2C 63 00 FF F0')), [])
  t.strictSame(here.troubles, ['com_port_short', 'com_port_unknown'])
  t.strictSame(await say(comPortFrame({ from: 'server', command: 'baud', value: 300 })), [])
  t.strictSame(await say(bytesOfHex('FF FA 2C 01 00 FF FD 03')), [])
  t.strictSame(here.troubles, ['com_port_short', 'com_port_unknown', 'telnet_broken'])
  t.strictSame(await say(bytesOfHex('FF FA 18 01 FF F0')), [], 'a suboption of another option')
})

t.test('nothing is sent to a client that has left', async (t) => {
  const { session, agree, heard, line, say } = sessionHere((one) => {
    one.slowUpdates = []
  })
  await agree()
  session.feed(Buffer.concat([ask('baud', 300), bytesOfHex('41')]))
  session.end()
  line.slowUpdates?.shift()?.()
  t.strictSame(await say(), [])
  t.strictSame(heard(), [])
})

t.test('RFC 2217, 3 data that a client sends after a setting takes only as much memory as it has bytes', async (t) => {
  // Each FF FF is a byte of data, each FF F1 a command.
  const pairs = Buffer.alloc(65_536, bytesOfHex('FF FF FF F1'))
  const bytes = await heapBytesOf(async () => {
    const one = sessionHere((line) => {
      line.slowUpdates = []
    })
    await one.agree()
    one.session.feed(Buffer.concat([ask('baud', 300), pairs]))
    t.equal(one.here.busy.at(-1), true)
    return one
  })
  t.ok(bytes < 2 * pairs.length, `${bytes} bytes`)
})

t.test(
  'RFC 2217, 3 messages after a setting are carried out after it, up to the first that cannot be understood',
  async (t) => {
    const { agree, here, line, say, session } = sessionHere((one) => {
      one.slowUpdates = []
    })
    await agree()
    const endless = Buffer.concat([bytesOfHex('41 FF FA 2C'), Buffer.alloc(65), bytesOfHex('42')])
    await say(ask('baud', 300), endless)
    await say(bytesOfHex('43'))
    t.strictSame([here.written, here.troubles], [[], []])
    line.slowUpdates?.shift()?.()
    await say()
    t.strictSame([here.written, here.troubles], [['41'], ['telnet_suboption_too_long']])
    t.equal(session.end(), 0, 'nothing of it waits')
  },
)

t.test('what a client sent for the line and was not carried out is reported when it leaves', async (t) => {
  const { agree, session, say } = sessionHere((one) => {
    one.slowUpdates = []
  })
  await agree()
  await say(ask('baud', 300), bytesOfHex('41 42 FF FF FF F1 43'))
  await say(bytesOfHex('44'))
  t.equal(session.end(), 5)
})
