/** The settings of a Modbus RTU line, as the form draws them: those of a master, of a slave, of one who only listens. */
import type { Values } from '#kit/web/form.ts'
import type { PortField } from './port-field.ts'

function isMode(...modes: string[]): (values: Values) => boolean {
  return (values) => modes.includes(String(values['settings.mode'] || 'master'))
}

const isMaster = isMode('master')
const isSlave = isMode('slave')
const asksOrListens = isMode('master', 'listen')

/** A number of a master that most never change. */
function rareMs(name: string, label: string, hint?: string): PortField {
  return { name: `settings.${name}`, label, kind: 'number', unit: 'ms', hint, when: isMaster, rare: true }
}

function rareNumber(name: string, label: string, unit: string, hint: string): PortField {
  return { name: `settings.${name}`, label, kind: 'number', unit, hint, when: asksOrListens, rare: true }
}

/** The fields. */
export const modbusFields: readonly PortField[] = [
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
  {
    name: 'settings.slave_values_max',
    label: 'Registers at most',
    kind: 'number',
    hint: 'All units together',
    when: isSlave,
    rare: true,
  },
  {
    name: 'settings.tcp_clients',
    label: 'Modbus TCP clients',
    kind: 'number',
    hint: 'At once',
    when: isMaster,
    rare: true,
  },
  {
    name: 'settings.tcp_pipeline',
    label: 'Requests of one client',
    kind: 'number',
    hint: 'Waiting at once',
    when: isMaster,
    rare: true,
  },
  rareMs('late_limit_ms', 'Late replies are over after', 'A reply that never came is reckoned with so long'),
  rareMs('copy_window_ms', 'Replies may come twice within', '0: nothing on the line repeats'),
  {
    name: 'settings.copy_answers',
    label: 'Replies kept to know a second one',
    kind: 'number',
    hint: 'At most, of all units',
    when: isMaster,
    rare: true,
  },
  {
    name: 'settings.copy_trust_after',
    label: 'Replies without a second one',
    kind: 'number',
    hint: 'Then none of a unit is doubted',
    when: isMaster,
    rare: true,
  },
  rareMs('request_deadline_ms', 'Whole request within'),
  {
    name: 'settings.queue',
    label: 'Requests waiting',
    kind: 'number',
    hint: 'More are refused',
    when: isMaster,
    rare: true,
  },
  {
    name: 'settings.queue_reserve',
    label: 'Kept for hands',
    kind: 'number',
    hint: 'Places in the queue that polls leave free',
    when: isMaster,
    rare: true,
  },
  {
    name: 'settings.operator_row',
    label: 'By hand in a row',
    kind: 'number',
    hint: 'Then a point that waits is read',
    when: isMaster,
    rare: true,
  },
  {
    name: 'settings.breaker_failures',
    label: 'Misses until silent',
    kind: 'number',
    hint: 'Then a unit is asked only now and then',
    when: asksOrListens,
    rare: true,
  },
  rareMs('breaker_retry_ms', 'Silent: asked again after'),
  rareMs('breaker_retry_max_ms', 'And at the latest after'),
  rareMs('background_wait_ms', 'Scan waits at most'),
  {
    name: 'settings.scan_tries',
    label: 'Scan tries a unit',
    kind: 'number',
    unit: 'times',
    hint: 'On a line that has no place for it',
    when: isMaster,
    rare: true,
  },
  { ...rareMs('slow_unit_ms', 'Slow until well for'), when: asksOrListens },
  rareNumber('noisy_window', 'Noise judged by', 'exchanges', 'The last ones with each unit'),
  rareNumber('noisy_from_percent', 'Noisy from', '%', 'Of these damaged, missing or twice'),
  rareNumber('noisy_until_percent', 'Noisy until', '%', '0: all of them came whole'),
  rareNumber('noisy_least', 'Noisy from at least', 'answers', 'However few exchanges there were'),
  {
    ...rareMs('forget_unit_ms', 'Never answered: forgotten after', 'Once nobody asks it any more'),
    when: asksOrListens,
  },
  rareMs('reread_ms', 'Read again after a write', 'At most once in so long; 0: not'),
  rareMs('stale_after_ms', 'A value is old after', 'Empty: chosen from how often it is read'),
  {
    name: 'settings.merge_gap',
    label: 'Read along between points',
    kind: 'number',
    unit: 'registers',
    when: isMaster,
    rare: true,
  },
  {
    name: 'settings.merge_registers',
    label: 'Registers of one read',
    kind: 'number',
    hint: 'At most, for points',
    when: isMaster,
    rare: true,
  },
  {
    name: 'settings.gap_us',
    label: 'Gap before a request',
    kind: 'number',
    unit: 'µs',
    hint: '0 is 3.5 characters',
    rare: true,
  },
  {
    name: 'settings.byte_gap_ms',
    label: 'Pause inside a frame',
    kind: 'number',
    unit: 'ms',
    rare: true,
  },
  rareMs('reply_limit_ms', 'Longest reply'),
  {
    name: 'settings.send_limit_ms',
    label: 'Longest send',
    kind: 'number',
    unit: 'ms',
    when: isMode('master', 'slave'),
    rare: true,
  },
  rareMs('turnaround_ms', 'Pause after a broadcast'),
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
