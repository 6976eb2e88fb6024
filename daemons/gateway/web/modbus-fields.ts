/** The settings of a Modbus RTU line, as the form draws them: those of a master, of a slave, of one who only listens. */
import type { Values } from '#kit/web/form.ts'
import type { PortField } from './port-field.ts'

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
