/** Tests of what the page says of serial ports. */
import t from 'tap'
import type { SerialPort } from '../../web/api.ts'
import { counterRows, deviceText, lineText, portName, portState, serviceText, troubles } from '../../web/serial-page.ts'
import { fakeSerial } from '../fake-states.ts'

const state = fakeSerial()
const [lift, bms, projector] = state.ports as [SerialPort, SerialPort, SerialPort]

t.test('each port shows what it is and its state', async (t) => {
  t.same(portState(lift), { lit: 'ok', words: 'open' })
  t.same(portState(bms), { lit: 'warn', words: 'has errors' })
  t.equal(portState(projector).lit, 'gone')
  t.equal(portState({ ...lift, state: 'failed' }).lit, 'fault')
  t.equal(portState({ ...lift, state: 'opening' }).lit, 'busy')
  t.same(portState({ ...lift, enabled: false }), { lit: 'off', words: 'not shared' })
  t.equal(portName({ ...lift, label: '' }), 'Port 1')
  t.equal(serviceText(bms), '4002 RFC 2217')
  t.equal(lineText(bms), '19\u202f200 8E1')
  t.equal(lineText({ ...lift, stop_bits: 1.5, parity: 'mark' }), '9600 8M1.5')
  t.equal(deviceText(lift, state.adapter.devices), 'FTDI FT232R USB UART A50285BI')
  t.equal(deviceText(projector, state.adapter.devices), '/dev/ttyUSB2')
})

t.test('errors name the setting to look at; without errors nothing is said', async (t) => {
  t.match(troubles(bms)[0]?.sentence, /^14 framing errors\. The other end does not send at 19.200 8E1/)
  const now = { baud: 1200, data_bits: 7, parity: 'odd', stop_bits: 2, flow: 'none' } as const
  t.match(troubles({ ...bms, line_now: now })[0]?.sentence, /does not send at 1200 7O2/, 'the settings of a client')
  t.match(
    troubles({ ...bms, counters: { clients_refused: 1 } })[0]?.sentence,
    /^1 connection was refused\. Allowed are 10\.20\.4\.0\/24/,
  )
  t.same(troubles(lift), [])
  t.same(troubles({ ...lift, counters: { framing: null } }), [], 'a count that the hardware lacks is not an error')
})

t.test('every counter has a readable name, and n/a if the hardware lacks it', async (t) => {
  t.same(counterRows({ ...lift, counters: { bytes_from_line: 3_600_412, some_other: null } }), [
    ['Bytes from the line', '3\u202f600\u202f412'],
    ['Some other', 'n/a'],
  ])
})
