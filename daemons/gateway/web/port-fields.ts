/** The fields of a port's settings: one table from which the form is drawn, filled and read. */
import { type Form, typedNumber, type Values } from '#kit/web/form.ts'
import type { Port, PortBody } from './api.ts'
import { modbusFields } from './modbus-fields.ts'
import type { PortField } from './port-field.ts'
import { blocksOf, blocksText, listOf } from './typed.ts'

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
