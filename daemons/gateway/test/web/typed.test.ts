/** Tests of what people type: bytes, lists, headers, settings. */
import t from 'tap'
import { plainLine } from '#kit/test/line/fake-line.ts'
import { createForm } from '#kit/web/form.ts'
import { protocols, settingsOfProtocol } from '../../core/protocols.ts'
import { outstationFields } from '../../web/outstation-fields.ts'
import { portBody, portValues, protocolFields } from '../../web/port-fields.ts'
import { counterRates, loadsOf, withSample } from '../../web/state.ts'
import { blocksOf, blocksText, headersOf, headersText, hexOfText, listOf, namesOf } from '../../web/typed.ts'

const line = plainLine
const blank = { path: '/dev/ttyUSB0', protocol: null, line: null, settings: null, counters: null } as never

t.test('reads text as bytes, numbers in any of their spellings, and headers one a line', async (t) => {
  t.equal(hexOfText('P\r\n'), '50 0D 0A')
  t.equal(hexOfText('°'), 'C2 B0')
  t.same(listOf('1, 0x1F on off soon'), [1, 31, 1, 0, 'soon'])
  t.same(namesOf('frame, error frame'), ['frame', 'error'])
  const headers = { Authorization: 'Basic YTpi', 'X-Site': 'B2: north' }
  t.same(headersOf(headersText(headers)), headers)
  t.same(headersOf('alone'), { alone: '' })
})

t.test('sends what is shown, numbers as numbers, and leaves out what is empty', async (t) => {
  const form = createForm(portValues(blank))
  form.set('line.baud', 'quick')
  form.set('settings.response_timeout_ms', '500')
  const body = portBody(form, blank)
  t.equal(body.protocol, 'modbus-rtu')
  t.match(body.line, { baud: 'quick', data_bits: 8, parity: 'none', stop_bits: 1, rs485: null })
  t.equal(body.settings.response_timeout_ms, 500)
  t.notOk('quarantine_ms' in body.settings)
  t.notOk('silence_ms' in body.settings, 'settings of another protocol stay out')
})

t.test('fills the form from the settings, and returns the same settings', async (t) => {
  const rs485 = {
    enabled: true,
    delay_before_send_ms: 1,
    delay_after_send_ms: 2,
    rts_on_send: true,
    rx_during_tx: false,
  }
  const settings = { framing: 'delimiter', delimiter_hex: '0D 0A', tcp_port: 4001 }
  const port = { ...(blank as object), protocol: 'raw', line: { ...line, rs485 }, settings } as never
  const body = portBody(createForm(portValues(port)), port)
  t.same(body.line, { ...line, rs485 })
  t.match(body.settings, settings)
})

t.test('keeps settings it does not know, as long as the protocol stays', async (t) => {
  const port = { ...(blank as object), protocol: 'raw', line, settings: { framing: 'silence', later: [1] } } as never
  const form = createForm(portValues(port))
  t.same(portBody(form, port).settings.later, [1])
  form.set('protocol', 'modbus-rtu')
  t.notOk('later' in portBody(form, port).settings)
})

t.test('reads the registers of a slave, one block a line, and writes the same lines', async (t) => {
  const settings = {
    mode: 'slave',
    slave_units: [1, 2],
    slave_blocks: [
      { table: 'holding_registers', address: 0, quantity: 100, initial: 0 },
      { table: 'discrete_inputs', address: 16, quantity: 8, initial: null },
    ],
  }
  const port = { ...(blank as object), protocol: 'modbus-rtu', line, settings } as never
  t.match(portBody(createForm(portValues(port)), port).settings, settings)
  t.equal(blocksText(settings.slave_blocks), 'holding 0 100 = 0\ndiscrete 16 8')
  t.same(blocksOf('holding x\n\nfiles 1 2'), [
    { table: 'holding_registers', address: 'x', quantity: 1, initial: null },
    { table: 'files', address: 1, quantity: 2, initial: null },
  ])
})

t.test('computes rates from counters, and starts again when they go back', async (t) => {
  const port = (rxBytes: number) => ({ ...(blank as object), line, counters: { rxBytes, txBytes: 0 } }) as never
  let samples = withSample([], port(0), 0)
  samples = withSample(samples, port(960), 2000)
  t.same(counterRates(samples, ['rxBytes']), [480])
  t.same(loadsOf(samples, port(960)), [50])
  samples = withSample(samples, port(10), 4000)
  t.same(counterRates(samples, ['rxBytes']), [])
})

t.test('the form of a port has a field for every setting of its protocol', async (t) => {
  for (const protocol of protocols) {
    const fields = protocol === 'dnp3' ? outstationFields : protocolFields[protocol]
    const named = fields.map(({ name }) => name)
    const missing = Object.entries(settingsOfProtocol[protocol].properties)
      .flatMap(([key, { properties }]: [string, { properties?: object }]) =>
        properties && protocol === 'dnp3' ? Object.keys(properties).map((part) => `${key}.${part}`) : [key],
      )
      .filter((key) => !named.includes(`settings.${key}`))
    t.same(missing, [], protocol)
  }
})
