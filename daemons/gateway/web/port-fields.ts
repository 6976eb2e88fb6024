/** The fields of a port's settings, in one table from which the form is drawn, filled and read. */
import { type Form, typedNumber, type Values } from '#kit/web/form.ts'
import type { Port, PortBody, ProtocolName } from './api.ts'
import * as texts from './texts.ts'
import { blocksOf, blocksText, listOf, pairsOf, pairsText, textsOf } from './typed.ts'

// How the form of a port's settings describes one field.

/** How a field is drawn, and how its value is read. */
export interface PortField {
  /** The API's dotted name; faults of the field come under the same name. */
  name: string
  label: string
  /**
   * `numbers`, `texts`: several, separated by commas. `pairs`: `name=value`, separated by commas. `blocks`: registers of a
   * slave, one block per line.
   */
  kind: 'number' | 'text' | 'choice' | 'toggle' | 'numbers' | 'texts' | 'pairs' | 'blocks'
  unit?: string
  hint?: string
  placeholder?: string
  /** Suggestions for a number, or the choices: value and label. */
  options?: readonly (readonly [value: string, label: string])[]
  /** The field is shown only if this holds. */
  when?: (values: Values) => boolean
  /** Belongs to the part that most people never open. */
  rare?: boolean
}

// The settings of a Modbus RTU line, for a master, a slave, and a port that only listens.

/** Only a Modbus line has modes; on any other with units the gateway is the master. */
function isMode(...modes: string[]): (values: Values) => boolean {
  return (values) => modes.includes(String((values.protocol === 'modbus-rtu' && values['settings.mode']) || 'master'))
}

const isMaster = isMode('master')
const isSlave = isMode('slave')
const asksOrListens = isMode('master', 'listen')

/** A number that most people never change. It is for a master, unless `more` says otherwise. */
function rare(name: string, label: string, more: Pick<PortField, 'unit' | 'hint' | 'when'> = {}): PortField {
  return { name: `settings.${name}`, label, kind: 'number', when: isMaster, rare: true, ...more }
}

// The fields of the settings that every protocol with units has: the keys of core/bus/settings.ts.

const askingFields: readonly PortField[] = [
  {
    name: 'settings.response_timeout_ms',
    label: texts.replyWithin,
    kind: 'number',
    unit: 'ms',
    hint: texts.replyWithinHint,
  },
  {
    name: 'settings.quarantine_ms',
    label: texts.lateRepliesWithin,
    kind: 'number',
    unit: 'ms',
    hint: texts.lateRepliesHint,
    when: asksOrListens,
  },
]

const limitFields: readonly PortField[] = [
  rare('late_limit_ms', texts.lateRepliesAreOverAfter, {
    unit: 'ms',
    hint: texts.debtHint,
  }),
  rare('copy_window_ms', texts.repeatsWithin, { unit: 'ms', hint: texts.repeatsHint }),
  rare('copy_answers', texts.repliesKept, { hint: texts.atMostOfAllUnits }),
  rare('copy_trust_after', texts.repliesWithoutDuplicate, { hint: texts.repliesWithoutDuplicateHint }),
  rare('request_deadline_ms', texts.wholeRequestWithin, { unit: 'ms' }),
  rare('queue', texts.requestsWaiting, { hint: texts.moreAreRefused }),
  rare('queue_reserve', texts.reservedForHands, { hint: texts.reservedForHandsHint }),
  rare('operator_row', texts.byHandInRow, { hint: texts.byHandInRowHint }),
  rare('breaker_failures', texts.missesUntilSilent, {
    hint: texts.missesHint,
    when: asksOrListens,
  }),
  rare('breaker_retry_ms', texts.silentAskedAgainAfter, { unit: 'ms' }),
  rare('breaker_retry_max_ms', texts.silentAskedAtLatest, { unit: 'ms' }),
  rare('background_wait_ms', texts.scanWaitsAtMost, { unit: 'ms' }),
  rare('scan_tries', texts.scanTriesUnit, { unit: 'times', hint: texts.scanTriesHint }),
  rare('slow_unit_ms', texts.slowUntilWell, { unit: 'ms', when: asksOrListens }),
  rare('noisy_window', texts.noiseJudged, {
    unit: 'exchanges',
    hint: texts.noisyWindowHint,
    when: asksOrListens,
  }),
  rare('noisy_from_percent', texts.noisyFrom, {
    unit: '%',
    hint: texts.noisyFromHint,
    when: asksOrListens,
  }),
  rare('noisy_until_percent', texts.noisyUntil, { unit: '%', hint: texts.noisyUntilHint, when: asksOrListens }),
  rare('noisy_least', texts.noisyFromAtLeast, {
    unit: 'answers',
    hint: texts.noisyLeastHint,
    when: asksOrListens,
  }),
  rare('forget_unit_ms', texts.neverAnswered, {
    unit: 'ms',
    hint: texts.neverAnsweredHint,
    when: asksOrListens,
  }),
  rare('reread_ms', texts.readAgainAfterWrite, { unit: 'ms', hint: texts.rereadHint }),
  rare('stale_after_ms', texts.valueIsOldAfter, { unit: 'ms', hint: texts.staleHint }),
]

const framingFields: readonly PortField[] = [
  rare('byte_gap_ms', texts.pauseInsideFrame, { unit: 'ms', when: undefined }),
  rare('reply_limit_ms', texts.longestReply, { unit: 'ms' }),
  rare('send_limit_ms', texts.longestSend, { unit: 'ms', when: isMode('master', 'slave') }),
  rare('turnaround_ms', texts.pauseAfterBroadcast, { unit: 'ms' }),
  {
    name: 'settings.local_echo',
    label: texts.ownBytesHeard,
    kind: 'choice',
    options: [
      ['auto', texts.detected],
      ['present', texts.always],
      ['absent', texts.never],
    ],
    when: isMode('master', 'slave'),
    rare: true,
  },
]

/** The fields of a Modbus RTU line. */
const modbusFields: readonly PortField[] = [
  {
    name: 'settings.mode',
    label: texts.lineIs,
    kind: 'choice',
    options: [
      ['master', texts.masterAsksUnits],
      ['slave', texts.slaveIsUnit],
      ['listen', texts.listener],
    ],
  },
  ...askingFields,
  {
    name: 'settings.tcp_port',
    label: texts.modbusTcpPort,
    kind: 'number',
    hint: texts.modbusTcpPortHint,
    when: isMaster,
  },
  {
    name: 'settings.slave_units',
    label: texts.unitIds,
    kind: 'numbers',
    placeholder: '1, 2',
    hint: texts.answersAsEachOfThem,
    when: isSlave,
  },
  {
    name: 'settings.slave_blocks',
    label: texts.registersServes,
    kind: 'blocks',
    placeholder: texts.registersExample,
    hint: texts.registersHint,
    when: isSlave,
  },
  rare('slave_values_max', texts.registersAtMost, { hint: texts.allUnitsTogether, when: isSlave }),
  rare('tcp_clients', texts.modbusTcpClients, { hint: texts.atOnce }),
  rare('tcp_pipeline', texts.requestsOfOneClient, { hint: texts.waitingAtOnce }),
  ...limitFields,
  rare('merge_gap', texts.readAlongBetweenPoints, { unit: 'registers' }),
  rare('merge_registers', texts.registersOfOneRead, { hint: texts.atMostForPoints }),
  rare('gap_us', texts.gapBeforeRequest, { unit: 'µs', hint: texts.gapHint, when: undefined }),
  ...framingFields,
]

/** Keys that an M-Bus line does not have: nothing comes twice there, and no meter is written to. */
const NOT_OF_METERS = ['copy_window_ms', 'copy_answers', 'copy_trust_after', 'reread_ms']

/** The fields of an M-Bus line. */
const mbusFields: readonly PortField[] = [
  ...askingFields,
  { name: 'settings.retries', label: texts.retries, kind: 'number', unit: 'times', hint: texts.retriesHint },
  rare('max_telegrams', texts.telegramsOfReading, { hint: texts.telegramsHint }),
  rare('scan_selections', texts.selectionsOfScan),
  rare('gap_ms', texts.gapBeforeRequest, { unit: 'ms', hint: texts.meterGapHint }),
  ...limitFields.filter(({ name }) => !NOT_OF_METERS.includes(name.replace('settings.', ''))),
  ...framingFields,
]

function isRingNode(values: Values): boolean {
  return (values['settings.mode'] ?? 'node') !== 'listen'
}

/** The fields of an MS/TP line. */
const mstpFields: readonly PortField[] = [
  {
    name: 'settings.mode',
    label: texts.nodeOrListen,
    kind: 'choice',
    options: [
      ['node', texts.isNodeOfRing],
      ['listen', texts.ringListener],
    ],
  },
  { name: 'settings.mac', label: texts.macAddress, kind: 'number', hint: texts.macHint, when: isRingNode },
  {
    name: 'settings.max_master',
    label: texts.highestMaster,
    kind: 'number',
    hint: texts.highestMasterHint,
    when: isRingNode,
  },
  { name: 'settings.max_info_frames', label: texts.framesPerToken, kind: 'number', when: isRingNode },
  {
    name: 'settings.frames',
    label: texts.framesTold,
    kind: 'choice',
    options: [
      ['all', texts.allFrames],
      ['data', texts.dataFrames],
    ],
  },
  rare('reply_timeout_ms', texts.replyWithin, { unit: 'ms', when: isRingNode }),
  rare('usage_timeout_ms', texts.tokenUsedWithin, { unit: 'ms', hint: texts.tokenUsedHint, when: isRingNode }),
  rare('postponed_ms', texts.postponedWithin, { unit: 'ms', when: isRingNode }),
  rare('late_reply_ms', texts.lateAnswerWithin, { unit: 'ms', when: isRingNode }),
  rare('request_deadline_ms', texts.tokenWithin, { unit: 'ms', when: isRingNode }),
  rare('ip_port', texts.routerPort, { hint: texts.routerPortHint, when: isRingNode }),
  rare('ring_network', texts.ringNetwork, { when: isRingNode }),
  rare('ip_network', texts.ipNetwork, { when: isRingNode }),
  { ...rare('ip_listen', texts.routerListens, { when: isRingNode }), kind: 'text' },
  { ...rare('ip_broadcast', texts.broadcastAddress, { when: isRingNode }), kind: 'text' },
  rare('foreign_devices', texts.foreignDevices, { when: isRingNode }),
  rare('foreign_per_address', texts.foreignPerAddress, { when: isRingNode }),
  rare('ip_broadcasts_per_s', texts.broadcastsPerSecond, { when: isRingNode }),
  rare('node_gone_ms', texts.nodeGoneAfter, { unit: 'ms' }),
  rare('queue', texts.framesWaiting, { hint: texts.moreAreRefused, when: isRingNode }),
]

const bauds = ['300', '1200', '2400', '4800', '9600', '19200', '38400', '57600', '115200', '230400', '460800', '921600']
const same = (words: readonly string[]): (readonly [string, string])[] => words.map((word) => [word, word])

/** Line settings, the same for every protocol. */
export const lineFields: readonly PortField[] = [
  { name: 'line.baud', label: texts.rate, kind: 'number', unit: 'baud', options: same(bauds) },
  { name: 'line.data_bits', label: texts.dataBits, kind: 'choice', options: same(['5', '6', '7', '8']) },
  {
    name: 'line.parity',
    label: texts.parity,
    kind: 'choice',
    options: [
      ['none', texts.none],
      ['even', texts.even],
      ['odd', texts.odd],
      ['mark', texts.mark],
      ['space', 'Space'],
    ],
  },
  { name: 'line.stop_bits', label: texts.stopBits, kind: 'choice', options: same(['1', '1.5', '2']) },
  {
    name: 'line.flow',
    label: texts.flowControl,
    kind: 'choice',
    options: [
      ['none', texts.none],
      ['rtscts', 'RTS/CTS'],
      ['xonxoff', 'XON/XOFF'],
    ],
  },
  {
    name: 'line.low_latency',
    label: texts.lowLatency,
    kind: 'toggle',
    hint: texts.lowLatencyHint,
  },
  {
    name: 'line.rs485',
    label: texts.rs485DirectionByDriver,
    kind: 'toggle',
    hint: texts.rs485Hint,
  },
  { name: 'line.rs485.delay_before_send_ms', label: texts.beforeSending, kind: 'number', unit: 'ms', when: hasRs485 },
  { name: 'line.rs485.delay_after_send_ms', label: texts.afterSending, kind: 'number', unit: 'ms', when: hasRs485 },
  { name: 'line.rs485.rts_on_send', label: texts.rtsHighWhileSending, kind: 'toggle', when: hasRs485 },
  { name: 'line.rs485.rx_during_tx', label: texts.hearOwnBytes, kind: 'toggle', when: hasRs485 },
]

function hasRs485(values: Values): boolean {
  return values['line.rs485'] === true
}

function framedBy(...ways: string[]): (values: Values) => boolean {
  return (values) => ways.includes(String(values['settings.framing']))
}

/**
 * The settings of each protocol. A number left empty gets the gateway's default, which no hint names: it appears after
 * saving.
 */
export const protocolFields: Record<ProtocolName, readonly PortField[]> = {
  raw: [
    {
      name: 'settings.framing',
      label: texts.frameEnds,
      kind: 'choice',
      options: [
        ['silence', texts.silence],
        ['delimiter', texts.byDelimiter],
        ['length', texts.fixedLength],
        ['length_field', texts.lengthField],
      ],
    },
    { name: 'settings.silence_ms', label: texts.silence, kind: 'number', unit: 'ms', when: framedBy('silence') },
    {
      name: 'settings.delimiter_hex',
      label: texts.delimiter,
      kind: 'text',
      hint: texts.delimiterHint,
      when: framedBy('delimiter'),
    },
    { name: 'settings.frame_bytes', label: texts.length, kind: 'number', unit: 'bytes', when: framedBy('length') },
    {
      name: 'settings.length_offset',
      label: texts.bytesBeforeField,
      kind: 'number',
      unit: 'bytes',
      when: framedBy('length_field'),
    },
    {
      name: 'settings.length_size',
      label: texts.sizeOfField,
      kind: 'choice',
      options: same(['1', '2', '4']),
      when: framedBy('length_field'),
    },
    {
      name: 'settings.length_endian',
      label: texts.byteOrder,
      kind: 'choice',
      options: [
        ['big', texts.highByteFirst],
        ['little', texts.lowByteFirst],
      ],
      when: framedBy('length_field'),
    },
    {
      name: 'settings.length_adjust',
      label: texts.addedToField,
      kind: 'number',
      unit: 'bytes',
      when: framedBy('length_field'),
    },
    {
      name: 'settings.tcp_port',
      label: texts.tcpPort,
      kind: 'number',
      hint: texts.tcpPortHint,
    },
    { name: 'settings.tcp_clients', label: texts.tcpClients, kind: 'number', hint: texts.atOnce, rare: true },
    {
      name: 'settings.send_limit_ms',
      label: texts.sendWithin,
      kind: 'number',
      unit: 'ms',
      rare: true,
      hint: texts.sendWithinHint,
    },
    { name: 'settings.max_frame_bytes', label: texts.longestFrame, kind: 'number', unit: 'bytes', rare: true },
    { name: 'settings.queue', label: texts.sendsWaiting, kind: 'number', hint: texts.moreAreRefused, rare: true },
  ],
  'modbus-rtu': modbusFields,
  mbus: mbusFields,
  'bacnet-mstp': mstpFields,
  // They come with their part of the page.
  dnp3: [],
  equipment: [
    {
      name: 'settings.definition',
      label: texts.definition,
      kind: 'text',
      placeholder: 'samsung-mdc',
      hint: texts.definitionHint,
    },
    { name: 'settings.config', label: texts.deviceSettings, kind: 'pairs', placeholder: 'id=1', hint: texts.pairsHint },
    { name: 'settings.zones', label: texts.zonesPolled, kind: 'texts', placeholder: '1, 2', hint: texts.zonesHint },
    {
      name: 'settings.poll_ms',
      label: texts.pollEvery,
      kind: 'number',
      unit: 'ms',
      hint: texts.askEveryHint,
      rare: true,
    },
    {
      name: 'settings.hold_ms',
      label: texts.lateRepliesWithin,
      kind: 'number',
      unit: 'ms',
      hint: texts.holdHint,
      rare: true,
    },
    { name: 'settings.queue', label: texts.commandsWaiting, kind: 'number', hint: texts.moreAreRefused, rare: true },
    {
      name: 'settings.send_limit_ms',
      label: texts.sendWithin,
      kind: 'number',
      unit: 'ms',
      hint: texts.sendWithinHint,
      rare: true,
    },
  ],
}

/** The form's values: the present settings, or the initial ones for a new line. */
export function portValues(port: Port): Values {
  const values: Values = {
    protocol: port.protocol ?? 'modbus-rtu',
    'line.baud': '9600',
    'line.data_bits': '8',
    'line.parity': 'none',
  }
  Object.assign(values, { 'line.stop_bits': '1', 'line.flow': 'none', 'line.low_latency': false, 'line.rs485': false })
  for (const field of [...lineFields, ...Object.values(protocolFields).flat()]) values[field.name] ??= firstOf(field)
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
    if (key === 'settings.config') values[key] = pairsText(value as object)
    else if (Array.isArray(value)) values[key] = typeof value[0] === 'object' ? blocksText(value) : value.join(', ')
    else if (typeof value === 'object' && value !== null) fill(values, key, value)
    else if (typeof value === 'boolean') values[key] = value
    else if (value !== null && value !== undefined) values[key] = String(value)
  }
}

/** Fields that are chosen from a list, but are numbers in the API. */
const NUMBER_CHOICES = /^(line\.(data|stop)_bits|settings\.(length_size|classes\..*))$/

/**
 * The body to save: the fields shown for this protocol. Empty numbers are left out, so that the gateway's defaults
 * apply. Settings that the form does not know stay as they are.
 */
export function portBody(form: Form, port: Port): PortBody {
  const values = form.values.value
  const protocol = values.protocol as ProtocolName
  const fields = protocolFields[protocol]
  const known = new Set(fields.map(({ name }) => name.split('.')[1]))
  const others = Object.entries(port.protocol === protocol ? (port.settings ?? {}) : {}).filter(
    ([name]) => !known.has(name),
  )
  const body: PortBody = { protocol, line: {}, settings: Object.fromEntries(others) }
  for (const field of [...lineFields, ...fields]) {
    if (field.name.startsWith('line.rs485') || (values[field.name] ?? '') === '') continue
    const [group, name, part] = field.name.split('.') as ['line' | 'settings', string, string?]
    const value = readField(field, values)
    body[group][name] = part === undefined ? value : { ...(body[group][name] as object), [part]: value }
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
  // Another protocol has a choice of this name, and what it was does not exist here.
  if (field.kind === 'choice' && !field.options?.some(([option]) => option === value)) return firstOf(field)
  if (field.kind === 'numbers') return listOf(String(value))
  if (field.kind === 'texts') return textsOf(String(value))
  if (field.kind === 'pairs') return pairsOf(String(value))
  if (field.kind === 'blocks') return blocksOf(String(value))
  return field.kind === 'number' || NUMBER_CHOICES.test(field.name) ? typedNumber(value) : value
}
