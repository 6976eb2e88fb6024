/** Several ports: forms, TCP ports that are taken, verdicts. */
import t from 'tap'
import { type SerialPort, SerialPorts } from '../../core/serial-ports.ts'
import { checkPortForm, firstPortSettings, readPortSettings, serialSettings } from '../../core/settings.ts'

const settings = serialSettings((text) => (text.includes('x') ? 'no address' : undefined))
const takenPorts = new Map([[80, "this board's own page"]])
const check = (given: Record<string, string>, port = 1) =>
  checkPortForm(given, firstPortSettings(port), { settings, takenPorts })

t.test('B.serial a form changes the fields it names, and leaves the rest', async (t) => {
  t.strictSame(check({ baud: '19200', stop_bits: '2', enabled: 'on', allow: '10.0.0.1  10.0.0.2' }), {
    ...firstPortSettings(1),
    baud: 19_200,
    stop_bits: 2,
    enabled: true,
    allow: '10.0.0.1, 10.0.0.2',
  })
})

t.test('B.serial each port has its own TCP port by default, and is off', async (t) => {
  t.strictSame(
    [1, 2, 3, 4].map((port) => firstPortSettings(port).tcp_port),
    [4001, 4002, 4003, 4004],
  )
  t.equal(firstPortSettings(4).enabled, false)
})

t.test('B.serial everything that is wrong is reported at once, by field', async (t) => {
  const wrong = {
    tcp_port: '80',
    baud: 'fast',
    parity: 'mark-ish',
    stop_bits: '1.5',
    allow: 'x',
    labell: 'y',
    __proto__x: '1',
  }
  try {
    check(wrong)
    t.fail('it was taken')
  } catch (fault) {
    const { code, details } = fault as { code: string; details: { fields: { field: string; message: string }[] } }
    t.equal(code, 'bad_fields')
    const fields = Object.fromEntries(details.fields.map(({ field, message }) => [field, message]))
    t.match(fields, {
      labell: 'There is no such setting. Do you mean label?',
      tcp_port: "80 is the TCP port of this board's own page. Choose another.",
      baud: /is not a number/,
      parity: /is not one of none, odd, even, mark, space/,
      allow: 'no address',
      stop_bits: /1\.5 stop bits exist with 5 data bits only/,
      __proto__x: /no such setting/,
    })
  }
})

t.test('5 data bits have 1 or 1.5 stop bits', async (t) => {
  t.match(check({ data_bits: '5', stop_bits: '1.5' }), { data_bits: 5, stop_bits: 1.5 })
  t.throws(() => check({ data_bits: '5', stop_bits: '2' }), { code: 'bad_fields' })
})

t.test('a file of another version is read setting by setting', async (t) => {
  const first = firstPortSettings(2)
  const file = { baud: 300, data_bits: 7, parity: 'none', stop_bits: 9, enabled: true, color: 'red', tcp_port: -1 }
  t.strictSame(readPortSettings(file, first, settings), { ...first, baud: 300, data_bits: 7, enabled: true })
  for (const odd of [null, 7, 'x', undefined]) t.strictSame(readPortSettings(odd, first, settings), first)
})

t.test('a port whose saved allow list can no longer be read is off, and not open to all', async (t) => {
  const first = firstPortSettings(1)
  const read = (allow: unknown) => readPortSettings({ enabled: true, allow, baud: 300 }, first, settings)
  t.strictSame(read('10.0.0.x'), { ...first, baud: 300 })
  t.strictSame(read('10.0.0.1'), { ...first, baud: 300, allow: '10.0.0.1', enabled: true })
})

function portsHere(...ports: Partial<SerialPort>[]): SerialPorts {
  const made = ports.map(
    (port, index) => ({ port: index + 1, clientCount: 0, fault: undefined, ...port }) as SerialPort,
  )
  return new SerialPorts({ ports: made, settings, httpPort: () => 80, loaded: {}, file: { save: async () => {} } })
}

const on = { ...firstPortSettings(1), enabled: true }

t.test('the verdict says what is open, what is not, and what nobody has switched on', async (t) => {
  t.match(portsHere().verdict(), { state: 'off', text: /^No serial device is named/ })
  t.match(portsHere({ settings: firstPortSettings(1) }).verdict(), {
    state: 'off',
    text: 'No serial port is switched on.',
  })
  t.match(portsHere({ settings: on, state: 'open', clientCount: 2 }).verdict(), {
    state: 'ok',
    text: 'One serial port is open, 2 clients are connected.',
  })
  const gone = { code: 'line_gone', message: 'it is gone.' } as SerialPort['fault']
  t.match(portsHere({ settings: on, state: 'absent', fault: gone }).verdict(), {
    state: 'warn',
    text: 'Port 1: it is gone.',
  })
  t.match(portsHere({ settings: on, state: 'failed', fault: gone }).verdict(), { state: 'fault' })
})

t.test('a port without a device says so, with the number of devices', async (t) => {
  t.throws(() => portsHere({ settings: on }).require(3), {
    code: 'unknown_port',
    message: /has one serial device, so there is no port 3/,
  })
  t.throws(() => portsHere().require(1), { message: /has no serial device/ })
})
