/** Tests of the sentences over the numbers. */
import t from 'tap'
import type { Port } from '../../web/api.ts'
import type { Unit } from '../../web/bus.ts'
import { judgePort, judgePorts, shortVerdict, sortPorts } from '../../web/verdicts.ts'
import { framingOf, nameOf } from '../../web/words.ts'
import { plainLine } from '../core/fake-line.ts'

const when = { nowMs: Date.UTC(2031, 2, 9, 14, 0), zone: 'UTC' }

function port(over: Partial<Port> = {}): Port {
  const line = plainLine
  const plain: Port = {
    path: '/dev/ttyUSB0',
    byId: null,
    maker: null,
    product: null,
    serialNumber: null,
    found: true,
    configured: true,
    state: 'open',
    stateSince: when.nowMs - 60_000,
    fault: null,
    nextTryAt: null,
    enabled: true,
    protocol: 'modbus-rtu',
    line: { ...line },
    settings: {},
    counters: {},
    unsupported: [],
    webhooks: 0,
  }
  return { ...plain, ...over }
}

function unit(over: Partial<Unit> = {}): Unit {
  return {
    unit: 1,
    answers: 1,
    misses: 0,
    late: 0,
    exceptions: 0,
    isWell: true,
    middleMs: 20,
    history: [20],
    lateMs: null,
    ...over,
  }
}

t.test('says how many lines run and which one needs somebody', async (t) => {
  t.match(judgePorts([], when), { lit: 'off', sentence: 'No serial line was found on this machine.' })
  t.match(judgePorts([port()], when), { lit: 'ok', sentence: 'ttyUSB0 runs.' })
  const absent = port({ path: '/dev/ttyUSB1', state: 'absent', stateSince: Date.UTC(2031, 2, 9, 13, 40) })
  t.match(judgePorts([port(), absent], when), {
    lit: 'warn',
    sentence: '1 of 2 lines runs. ttyUSB1 is absent since 13:40.',
  })
  const failed = port({
    path: '/dev/ttyUSB2',
    state: 'failed',
    fault: { code: 'line_refused', message: 'TCSETS2: EINVAL.' },
  })
  t.match(judgePorts([port(), absent, failed], when), {
    lit: 'fault',
    why: /TCSETS2: EINVAL\. So does one more need a look\./,
  })
  t.same(shortVerdict([port(), absent]), { lit: 'warn', words: '1 of 2 lines' })
})

t.test('puts the bad lines on top', async (t) => {
  const states = ['closed', 'open', 'absent', 'failed'] as const
  const sorted = sortPorts(states.map((state) => port({ path: `/dev/${state}`, state })))
  t.same(
    sorted.map(({ state }) => state),
    ['failed', 'absent', 'open', 'closed'],
  )
})

t.test('names the unit and only the cause that was seen', async (t) => {
  const judge = (...units: Unit[]) => judgePort(port(), units, when)
  t.match(judge(), { lit: 'ok', sentence: /No unit was asked/ })
  t.match(judge(unit(), unit({ unit: 2 })), { lit: 'ok', sentence: 'Both units answer.' })
  const silent = unit({ unit: 17, isWell: false, misses: 3, answers: 0 })
  t.match(judge(unit(), silent), { lit: 'warn', sentence: 'Unit 17 does not answer. The other one is well.' })
  t.match(judge(silent), { lit: 'fault' }, 'nobody answers')
  const late = unit({ unit: 17, isWell: false, misses: 3, late: 3, lateMs: 412 })
  t.match(judge(unit(), late), { sentence: 'Unit 17 answers too late. The other one is well.', why: /412/ })
  t.match(judge(unit({ exceptions: 1 })), { lit: 'warn', sentence: 'Unit 1 refuses some questions with an exception.' })
})

t.test('says what the driver refused', async (t) => {
  const failed = port({ state: 'failed', fault: { code: 'line_busy', message: '/dev/ttyUSB0 is in use.' } })
  t.match(judgePort(failed, [], when), { lit: 'fault', sentence: '/dev/ttyUSB0 is in use.' })
})

t.test('calls lines by short names', async (t) => {
  t.equal(nameOf('/dev/ttyUSB0'), 'ttyUSB0')
  t.equal(nameOf('/dev/serial/by-id/usb-FTDI_FT232R_USB_UART_A50285BI-if00-port0'), 'FTDI FT232R USB UART A50285BI')
  t.equal(framingOf({ baud: 115_200, data_bits: 8, parity: 'even', stop_bits: 1 }), '115\u202f200 8E1')
})
