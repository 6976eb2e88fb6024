/** The fields of a port's settings: one table from which the form is drawn, filled and read. */
import { type Form, typedNumber, type Values } from '#kit/web/form.ts'
import type { Port, PortBody } from './api.ts'
import { blocksOf, blocksText, listOf } from './typed.ts'

// What the form of a port's settings is told of one field.

/** How a field is drawn, and how its value is read. */
export interface PortField {
  /** Dotted name as the API spells it: its faults come under the same name. */
  name: string
  label: string
  /** `numbers`: several, by commas. `blocks`: registers of a slave, one block a line. */
  kind: 'number' | 'text' | 'choice' | 'toggle' | 'numbers' | 'blocks'
  unit?: string
  hint?: string
  placeholder?: string
  /** Suggestions of a number, or the choices: value and label. */
  options?: readonly (readonly [value: string, label: string])[]
  /** Shown only when it matters. */
  when?: (values: Values) => boolean
  /** In the part that most never open. */
  rare?: boolean
}

// The settings of a Modbus RTU line, as the form draws them: those of a master, of a slave, of one who only listens.

function isMode(...modes: string[]): (values: Values) => boolean {
  return (values) => modes.includes(String(values['settings.mode'] || 'master'))
}

const isMaster = isMode('master')
const isSlave = isMode('slave')
const asksOrListens = isMode('master', 'listen')

/** A number of a master that most never change, unless `more` says whose else it is. */
function rare(name: string, label: string, more: Pick<PortField, 'unit' | 'hint' | 'when'> = {}): PortField {
  return { name: `settings.${name}`, label, kind: 'number', when: isMaster, rare: true, ...more }
}

/** The fields. */
const modbusFields: readonly PortField[] = [
  {
    name: 'settings.mode',
    label: 'This line is',
    kind: 'choice',
    options: [
      ['master', 'Master, asks units'],
      ['slave', 'Slave, is a unit'],
      ['listen', 'Listener'],
    ],
  },
  {
    name: 'settings.response_timeout_ms',
    label: 'Reply within',
    kind: 'number',
    unit: 'ms',
    hint: 'From the end of the question to the first byte.',
  },
  {
    name: 'settings.quarantine_ms',
    label: 'Late replies within',
    kind: 'number',
    unit: 'ms',
    hint: 'A silent unit is asked nothing more for so long. Empty: chosen from the reply time.',
    when: asksOrListens,
  },
  {
    name: 'settings.tcp_port',
    label: 'Modbus TCP port',
    kind: 'number',
    hint: '0 is off. Unit ids of Modbus TCP are those on the line.',
    when: isMaster,
  },
  {
    name: 'settings.slave_units',
    label: 'Unit ids',
    kind: 'numbers',
    placeholder: '1, 2',
    hint: 'It answers as each of them.',
    when: isSlave,
  },
  {
    name: 'settings.slave_blocks',
    label: 'Registers it serves',
    kind: 'blocks',
    placeholder: 'holding 0 100 = 0\ninput 0 20',
    hint: 'One block a line: holding, input, coils or discrete, first address, how many, = value at the start. Without one a master is refused until it is written.',
    when: isSlave,
  },
  rare('slave_values_max', 'Registers at most', { hint: 'All units together', when: isSlave }),
  rare('tcp_clients', 'Modbus TCP clients', { hint: 'At once' }),
  rare('tcp_pipeline', 'Requests of one client', { hint: 'Waiting at once' }),
  rare('late_limit_ms', 'Late replies are over after', {
    unit: 'ms',
    hint: 'A reply that never came is reckoned with so long',
  }),
  rare('copy_window_ms', 'Replies may come twice within', { unit: 'ms', hint: '0: nothing on the line repeats' }),
  rare('copy_answers', 'Replies kept to know a second one', { hint: 'At most, of all units' }),
  rare('copy_trust_after', 'Replies without a second one', { hint: 'Then none of a unit is doubted' }),
  rare('request_deadline_ms', 'Whole request within', { unit: 'ms' }),
  rare('queue', 'Requests waiting', { hint: 'More are refused' }),
  rare('queue_reserve', 'Kept for hands', { hint: 'Places in the queue that polls leave free' }),
  rare('operator_row', 'By hand in a row', { hint: 'Then a point that waits is read' }),
  rare('breaker_failures', 'Misses until silent', {
    hint: 'Then a unit is asked only now and then',
    when: asksOrListens,
  }),
  rare('breaker_retry_ms', 'Silent: asked again after', { unit: 'ms' }),
  rare('breaker_retry_max_ms', 'And at the latest after', { unit: 'ms' }),
  rare('background_wait_ms', 'Scan waits at most', { unit: 'ms' }),
  rare('scan_tries', 'Scan tries a unit', { unit: 'times', hint: 'On a line that has no place for it' }),
  rare('slow_unit_ms', 'Slow until well for', { unit: 'ms', when: asksOrListens }),
  rare('noisy_window', 'Noise judged by', {
    unit: 'exchanges',
    hint: 'The last ones with each unit',
    when: asksOrListens,
  }),
  rare('noisy_from_percent', 'Noisy from', {
    unit: '%',
    hint: 'Of these damaged, missing or twice',
    when: asksOrListens,
  }),
  rare('noisy_until_percent', 'Noisy until', { unit: '%', hint: '0: all of them came whole', when: asksOrListens }),
  rare('noisy_least', 'Noisy from at least', {
    unit: 'answers',
    hint: 'However few exchanges there were',
    when: asksOrListens,
  }),
  rare('forget_unit_ms', 'Never answered: forgotten after', {
    unit: 'ms',
    hint: 'Once nobody asks it any more',
    when: asksOrListens,
  }),
  rare('reread_ms', 'Read again after a write', { unit: 'ms', hint: 'At most once in so long; 0: not' }),
  rare('stale_after_ms', 'A value is old after', { unit: 'ms', hint: 'Empty: chosen from how often it is read' }),
  rare('merge_gap', 'Read along between points', { unit: 'registers' }),
  rare('merge_registers', 'Registers of one read', { hint: 'At most, for points' }),
  rare('gap_us', 'Gap before a request', { unit: 'µs', hint: '0 is 3.5 characters', when: undefined }),
  rare('byte_gap_ms', 'Pause inside a frame', { unit: 'ms', when: undefined }),
  rare('reply_limit_ms', 'Longest reply', { unit: 'ms' }),
  rare('send_limit_ms', 'Longest send', { unit: 'ms', when: isMode('master', 'slave') }),
  rare('turnaround_ms', 'Pause after a broadcast', { unit: 'ms' }),
  {
    name: 'settings.local_echo',
    label: 'Own bytes heard',
    kind: 'choice',
    options: [
      ['auto', 'Found out'],
      ['present', 'Always'],
      ['absent', 'Never'],
    ],
    when: isMode('master', 'slave'),
    rare: true,
  },
]

const bauds = ['1200', '2400', '4800', '9600', '19200', '38400', '57600', '115200', '230400', '460800', '921600']
const same = (words: readonly string[]): (readonly [string, string])[] => words.map((word) => [word, word])

/** Line settings, the same for every protocol. */
export const lineFields: readonly PortField[] = [
  { name: 'line.baud', label: 'Rate', kind: 'number', unit: 'baud', options: same(bauds) },
  { name: 'line.data_bits', label: 'Data bits', kind: 'choice', options: same(['5', '6', '7', '8']) },
  {
    name: 'line.parity',
    label: 'Parity',
    kind: 'choice',
    options: [
      ['none', 'None'],
      ['even', 'Even'],
      ['odd', 'Odd'],
      ['mark', 'Mark'],
      ['space', 'Space'],
    ],
  },
  { name: 'line.stop_bits', label: 'Stop bits', kind: 'choice', options: same(['1', '1.5', '2']) },
  {
    name: 'line.flow',
    label: 'Flow control',
    kind: 'choice',
    options: [
      ['none', 'None'],
      ['rtscts', 'RTS/CTS'],
      ['xonxoff', 'XON/XOFF'],
    ],
  },
  {
    name: 'line.low_latency',
    label: 'Low latency',
    kind: 'toggle',
    hint: 'The driver hands bytes on at once. Most USB adapters wait 16 ms without it.',
  },
  {
    name: 'line.rs485',
    label: 'RS-485 direction by the driver',
    kind: 'toggle',
    hint: 'Adapters that switch direction by themselves do not need it.',
  },
  { name: 'line.rs485.delay_before_send_ms', label: 'Before sending', kind: 'number', unit: 'ms', when: hasRs485 },
  { name: 'line.rs485.delay_after_send_ms', label: 'After sending', kind: 'number', unit: 'ms', when: hasRs485 },
  { name: 'line.rs485.rts_on_send', label: 'RTS high while sending', kind: 'toggle', when: hasRs485 },
  { name: 'line.rs485.rx_during_tx', label: 'Hear own bytes', kind: 'toggle', when: hasRs485 },
]

function hasRs485(values: Values): boolean {
  return values['line.rs485'] === true
}

function framedBy(...ways: string[]): (values: Values) => boolean {
  return (values) => ways.includes(String(values['settings.framing']))
}

/** Settings of each protocol. A number left empty takes the gateway's default, which stands in the hint of none: it is shown once saved. */
export const protocolFields: Readonly<Record<'raw' | 'modbus-rtu', readonly PortField[]>> = {
  raw: [
    {
      name: 'settings.framing',
      label: 'A frame ends with',
      kind: 'choice',
      options: [
        ['silence', 'Silence'],
        ['delimiter', 'A delimiter'],
        ['length', 'A fixed length'],
        ['length_field', 'A length field'],
      ],
    },
    { name: 'settings.silence_ms', label: 'Silence', kind: 'number', unit: 'ms', when: framedBy('silence') },
    {
      name: 'settings.delimiter_hex',
      label: 'Delimiter',
      kind: 'text',
      hint: 'Hex pairs: 0D 0A',
      when: framedBy('delimiter'),
    },
    { name: 'settings.frame_bytes', label: 'Length', kind: 'number', unit: 'bytes', when: framedBy('length') },
    {
      name: 'settings.length_offset',
      label: 'Bytes before the field',
      kind: 'number',
      unit: 'bytes',
      when: framedBy('length_field'),
    },
    {
      name: 'settings.length_size',
      label: 'Size of the field',
      kind: 'choice',
      options: same(['1', '2', '4']),
      when: framedBy('length_field'),
    },
    {
      name: 'settings.length_endian',
      label: 'Byte order',
      kind: 'choice',
      options: [
        ['big', 'High byte first'],
        ['little', 'Low byte first'],
      ],
      when: framedBy('length_field'),
    },
    {
      name: 'settings.length_adjust',
      label: 'Added to the field',
      kind: 'number',
      unit: 'bytes',
      when: framedBy('length_field'),
    },
    {
      name: 'settings.tcp_port',
      label: 'TCP port',
      kind: 'number',
      hint: '0 is off. What comes in goes to the line as it is.',
    },
    { name: 'settings.tcp_clients', label: 'TCP clients', kind: 'number', hint: 'At once', rare: true },
    {
      name: 'settings.send_limit_ms',
      label: 'Send within',
      kind: 'number',
      unit: 'ms',
      rare: true,
      hint: 'A line that takes nothing for so long is given up; what waited is thrown away.',
    },
    { name: 'settings.max_frame_bytes', label: 'Longest frame', kind: 'number', unit: 'bytes', rare: true },
    { name: 'settings.queue', label: 'Sends waiting', kind: 'number', hint: 'More are refused', rare: true },
  ],
  'modbus-rtu': modbusFields,
}

/** A protocol one may choose. */
export type ProtocolName = keyof typeof protocolFields

/** The form's values from what is set up, or where a new line begins. */
export function valuesOf(port: Port): Values {
  const values: Values = {
    protocol: port.protocol ?? 'modbus-rtu',
    'line.baud': '9600',
    'line.data_bits': '8',
    'line.parity': 'none',
  }
  Object.assign(values, { 'line.stop_bits': '1', 'line.flow': 'none', 'line.low_latency': false, 'line.rs485': false })
  for (const field of [...lineFields, ...protocolFields.raw, ...protocolFields['modbus-rtu']])
    values[field.name] ??= firstOf(field)
  fill(values, 'line', port.line ?? {})
  fill(values, 'settings', port.settings ?? {})
  values['line.rs485'] = port.line?.rs485?.enabled ?? false
  if (!port.line?.rs485) values['line.rs485.rts_on_send'] = true
  return values
}

function firstOf(field: PortField): string | boolean {
  if (field.kind === 'toggle') return false
  return field.kind === 'choice' ? (field.options?.[0]?.[0] ?? '') : ''
}

function fill(values: Values, prefix: string, facts: object): void {
  for (const [name, value] of Object.entries(facts)) {
    const key = `${prefix}.${name}`
    if (Array.isArray(value)) values[key] = typeof value[0] === 'object' ? blocksText(value) : value.join(', ')
    else if (typeof value === 'object' && value !== null) fill(values, key, value)
    else if (typeof value === 'boolean') values[key] = value
    else if (value !== null && value !== undefined) values[key] = String(value)
  }
}

/** Numbers that are chosen from a list and still numbers to the API. */
const NUMBER_CHOICES = ['line.data_bits', 'line.stop_bits', 'settings.length_size']

/**
 * The body of the save: what is shown for this protocol, empty numbers left out so that the gateway's defaults hold.
 * Settings the form does not know stay as they are.
 */
export function bodyOf(form: Form, port: Port): PortBody {
  const values = form.values.value
  const protocol = values.protocol as ProtocolName
  const fields = protocolFields[protocol]
  const known = new Set(fields.map(({ name }) => name.split('.')[1]))
  const others = Object.entries(port.protocol === protocol ? (port.settings ?? {}) : {}).filter(
    ([name]) => !known.has(name),
  )
  const body: PortBody = { protocol, line: {}, settings: Object.fromEntries(others) }
  for (const field of [...lineFields, ...fields]) {
    if (field.name.startsWith('line.rs485') || values[field.name] === '') continue
    const [group, name] = field.name.split('.') as ['line' | 'settings', string]
    body[group][name] = readField(field, values)
  }
  body.line.rs485 = hasRs485(values) ? { enabled: true, ...rs485Of(values) } : null
  return body
}

function rs485Of(values: Values): Record<string, unknown> {
  const fields = lineFields.filter((field) => field.name.startsWith('line.rs485.') && values[field.name] !== '')
  return Object.fromEntries(fields.map((field) => [field.name.split('.')[2], readField(field, values)]))
}

function readField(field: PortField, values: Values): unknown {
  const value = values[field.name]
  if (field.kind === 'numbers') return listOf(String(value))
  if (field.kind === 'blocks') return blocksOf(String(value))
  return field.kind === 'number' || NUMBER_CHOICES.includes(field.name) ? typedNumber(value) : value
}
