/** The fields of a DNP3 outstation, which are loaded when they are needed. */
import type { PortField } from './port-fields.ts'
import * as texts from './texts.ts'

/** A number that most people never change. */
function rare(name: string, label: string, more: Pick<PortField, 'unit' | 'hint' | 'when'> = {}): PortField {
  return { name: `settings.${name}`, label, kind: 'number', rare: true, ...more }
}

const isUnsolicited: PortField['when'] = (values) => values['settings.unsolicited'] === true
const isOverTcp: PortField['when'] = (values) => Number(values['settings.tcp_port'] ?? 0) > 0

const KINDS = Object.entries(texts.pointKindNames)
/** Which class the gateway takes for a kind. */
const USUAL_CLASS: Readonly<Record<string, number>> = { binary: 1, double_bit: 1, analog: 2 }

/** The usual one comes first: it is what a new line gets. */
function classesOf(kind: string): [string, string][] {
  const usual = USUAL_CLASS[kind] ?? 3
  const all = [usual, ...[1, 2, 3].filter((one) => one !== usual)].map(String)
  return [...all.map((one): [string, string] => [one, one]), ['0', texts.noEvents]]
}

export const outstationFields: readonly PortField[] = [
  { name: 'settings.address', label: texts.outstationAddress, kind: 'number', hint: texts.ofThisGateway },
  { name: 'settings.master_address', label: texts.masterAddress, kind: 'number' },
  { name: 'settings.more_masters', label: texts.moreMasters, kind: 'numbers', hint: texts.moreMastersHint, rare: true },
  ...KINDS.map(([kind, label]) => ({ name: `settings.points.${kind}`, label, kind: 'number' }) as const),
  {
    name: 'settings.command_answer',
    label: texts.commandsAreAnswered,
    kind: 'choice',
    options: Object.entries(texts.commandAnswerNames),
    hint: texts.commandAnswerHint,
  },
  { name: 'settings.unsolicited', label: texts.tellUnasked, kind: 'toggle', hint: texts.tellUnaskedHint },
  { name: 'settings.tcp_port', label: texts.dnp3Tcp, kind: 'number', hint: texts.dnp3TcpHint },
  rare('tcp_masters', texts.dnp3TcpClients, { hint: texts.atOnce, when: isOverTcp }),
  ...KINDS.map(
    ([kind, label]) =>
      ({
        name: `settings.classes.${kind}`,
        label: texts.classOf(label),
        kind: 'choice',
        options: classesOf(kind),
        rare: true,
      }) as const,
  ),
  rare('events_per_class', texts.eventsPerClass, { hint: texts.eventsPerClassHint }),
  rare('confirm_timeout_ms', texts.confirmWithin, { unit: 'ms' }),
  rare('unsolicited_delay_ms', texts.gatherFor, { unit: 'ms', when: isUnsolicited }),
  rare('unsolicited_retries', texts.tellAgain, { when: isUnsolicited }),
  rare('unsolicited_pause_ms', texts.tellPause, { unit: 'ms', when: isUnsolicited }),
  rare('select_timeout_ms', texts.operateWithin, { unit: 'ms' }),
  {
    name: 'settings.restart_answer',
    label: texts.restartsAreAnswered,
    kind: 'choice',
    options: Object.entries(texts.restartAnswerNames),
    rare: true,
  },
  rare('restart_delay_ms', texts.restartAfter, {
    unit: 'ms',
    when: (values) => values['settings.restart_answer'] === 'delay',
  }),
  {
    name: 'settings.time_source',
    label: texts.timeOfEvents,
    kind: 'choice',
    options: [
      ['own', texts.ownClock],
      ['master', texts.clockOfMaster],
    ],
    rare: true,
  },
  rare('time_valid_ms', texts.timeIsGoodFor, {
    unit: 'ms',
    when: (values) => values['settings.time_source'] === 'master',
  }),
  rare('master_timeout_ms', texts.masterGoneAfter, { unit: 'ms', hint: texts.zeroIsNever }),
  rare('fragment_bytes', texts.longestFragment, { unit: 'bytes' }),
  rare('frame_timeout_ms', texts.frameWithin, { unit: 'ms' }),
  rare('unsent_bytes', texts.unsentAtMost, { unit: 'bytes' }),
  rare('send_limit_ms', texts.sendWithin, { unit: 'ms', hint: texts.sendWithinHint }),
]
