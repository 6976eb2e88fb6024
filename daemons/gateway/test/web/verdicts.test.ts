/** Tests of the sentences above the figures. */
import t from 'tap'
import { framingOf, judgePorts, shortPath, shortVerdict, sortPorts, stateOf } from '../../web/words.ts'
import { port, when } from './port-fixture.ts'

t.test('says how many lines run and which one needs attention', async (t) => {
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
    why: /TCSETS2: EINVAL\. One more line needs a look\./,
  })
  t.same(shortVerdict([port(), absent]), { lit: 'warn', words: '1 of 2 lines' })
})

t.test('a line that runs needs attention when units on it are silent or noisy', async (t) => {
  const ailing = port({ path: '/dev/ttyUSB1', units: { total: 8, well: 6, slow: 0, noisy: 0, silent: 2 } })
  t.match(judgePorts([port(), ailing], when), {
    lit: 'warn',
    sentence: 'Both lines run. ttyUSB1: 2 units are silent.',
  })
  t.same(
    sortPorts([port(), ailing]).map(({ path }) => path),
    ['/dev/ttyUSB1', '/dev/ttyUSB0'],
  )
  t.same(stateOf(ailing, when.nowMs, when.zone), { lit: 'warn', word: 'open, 2 silent' })
  t.same(shortVerdict([port(), ailing]), { lit: 'warn', words: '1 needs a look' })
  const noisy = port({ path: '/dev/ttyUSB2', units: { total: 8, well: 7, slow: 0, noisy: 1, silent: 0 } })
  t.match(judgePorts([port(), noisy], when), { lit: 'warn', sentence: 'Both lines run. ttyUSB2: 1 unit is noisy.' })
  t.same(stateOf(noisy, when.nowMs, when.zone), { lit: 'warn', word: 'open, 1 noisy' })
  t.same(
    sortPorts([port(), noisy, ailing]).map(({ path }) => path),
    ['/dev/ttyUSB1', '/dev/ttyUSB2', '/dev/ttyUSB0'],
    'silent units come first',
  )
})

t.test('names an open line with a fault beside it, such as a ring with nobody else in it', async (t) => {
  const fault = { code: 'mstp_alone', message: 'Nobody else has been heard on this line.' }
  const alone = port({ path: '/dev/ttyUSB1', fault })
  t.same(stateOf(alone, when.nowMs, when.zone), { lit: 'warn', word: 'open, nobody else there' })
  t.match(judgePorts([port(), alone], when), {
    lit: 'warn',
    sentence: 'Both lines run. ttyUSB1 needs a look.',
    why: fault.message,
  })
  const other = port({ fault: { code: 'tcp_port_taken', message: 'Port 502 is taken.' } })
  t.same(stateOf(other, when.nowMs, when.zone), { lit: 'warn', word: 'open, with a fault' })
})

t.test('puts bad lines on top', async (t) => {
  const states = ['closed', 'open', 'absent', 'failed'] as const
  const sorted = sortPorts(states.map((state) => port({ path: `/dev/${state}`, state })))
  t.same(
    sorted.map(({ state }) => state),
    ['failed', 'absent', 'open', 'closed'],
  )
})

t.test('calls lines by short names', async (t) => {
  t.equal(shortPath('/dev/ttyUSB0'), 'ttyUSB0')
  t.equal(shortPath('/dev/serial/by-id/usb-FTDI_FT232R_USB_UART_A50285BI-if00-port0'), 'FTDI FT232R USB UART A50285BI')
  t.equal(framingOf({ baud: 115_200, data_bits: 8, parity: 'even', stop_bits: 1 }), '115\u202f200 8E1')
})
