/** The settings of a line on which the gateway is a DNP3 outstation. */
import { type Static, Type } from 'typebox'
import type { PointKind } from '../../wire/dnp3/objects.ts'
import { commandAnswers } from './commands.ts'

/** Addresses from 65520 on have a meaning of their own. @source IEEE 1815-2012, 9.2.4.1.3 */
const LAST_ADDRESS = 65_519

const address = (initial: number, description: string) =>
  Type.Integer({ default: initial, minimum: 0, maximum: LAST_ADDRESS, description })

const size = (initial: number) => Type.Integer({ default: initial, minimum: 0, maximum: 4096 })
const eventClass = (initial: 1 | 2 | 3) => Type.Enum([0, 1, 2, 3], { default: initial })

/** The most bytes of `unsent_bytes`. */
export const MOST_UNSENT = 65_536
/** The most masters of one outstation. */
const MOST_MASTERS = 4
/** The most bytes of an octet string. @source IEEE 1815-2012, A.41 */
export const MOST_OCTETS = 255

const milliseconds = (initial: number, minimum: number, maximum: number, description: string) =>
  Type.Integer({ default: initial, minimum, maximum, description: `${description}, ms` })

export const dnp3Settings = Type.Object(
  {
    address: address(10, 'address of this outstation'),
    master_address: address(1, 'address of the master; frames of others are not answered'),
    more_masters: Type.Array(Type.Integer({ minimum: 0, maximum: LAST_ADDRESS }), {
      default: [],
      maxItems: MOST_MASTERS - 1,
      uniqueItems: true,
      description: 'addresses of further masters; each has events of its own',
    }),
    points: Type.Object(
      {
        binary: size(16),
        double_bit: size(0),
        analog: size(16),
        counter: size(8),
        frozen_counter: size(8),
        octet_string: size(0),
      },
      { additionalProperties: false, default: {}, description: 'how many points of each kind there are, from index 0' },
    ),
    classes: Type.Object(
      {
        binary: eventClass(1),
        double_bit: eventClass(1),
        analog: eventClass(2),
        counter: eventClass(3),
        frozen_counter: eventClass(3),
        octet_string: eventClass(3),
      },
      {
        additionalProperties: false,
        default: {},
        description: 'the class of the events of each kind, 1 to 3; 0: changes make no events',
      },
    ),
    events_per_class: Type.Integer({
      default: 200,
      minimum: 1,
      maximum: 5000,
      description: 'events of one class that a master has not confirmed; beyond, the oldest is dropped, and said',
    }),
    unsolicited: Type.Boolean({
      default: false,
      description: 'whether events are told unasked, in the classes that the master enables',
    }),
    unsolicited_delay_ms: milliseconds(500, 0, 60_000, 'how long changes are gathered before they are told unasked'),
    unsolicited_retries: Type.Integer({
      default: 3,
      minimum: 0,
      maximum: 100,
      description: 'how often events told unasked are sent again that the master does not confirm',
    }),
    unsolicited_pause_ms: milliseconds(30_000, 0, 3_600_000, 'how long after that it begins anew'),
    confirm_timeout_ms: milliseconds(5000, 100, 600_000, 'how long the master may take to confirm'),
    select_timeout_ms: milliseconds(10_000, 100, 600_000, 'how long after its select a command may be operated'),
    command_answer: Type.Enum([...commandAnswers], {
      default: 'not_supported',
      description:
        'what a command is answered with; choose success only where something listens to the event control and carries it out',
    }),
    restart_answer: Type.Enum(['no_function', 'already_executing', 'delay'], {
      default: 'no_function',
      description:
        'what a cold or warm restart is answered with, which is never carried out: a refusal, or with delay a time',
    }),
    restart_delay_ms: milliseconds(5000, 0, 65_535, 'restart_answer delay: when the master may ask again'),
    time_source: Type.Enum(['own', 'master'], {
      default: 'own',
      description: 'whose time events have: own, the clock of the gateway; master, the time that a master has set',
    }),
    time_valid_ms: milliseconds(
      3_600_000,
      60_000,
      86_400_000,
      'time_source master: how long after that the master is asked for the time again',
    ),
    master_timeout_ms: milliseconds(
      300_000,
      0,
      86_400_000,
      'how long a master may say nothing before it counts as gone; 0: for ever',
    ),
    fragment_bytes: Type.Integer({
      default: 2048,
      minimum: 512,
      maximum: 2048,
      description: 'the longest fragment that is sent or taken, bytes',
    }),
    frame_timeout_ms: milliseconds(1000, 10, 60_000, 'how long the rest of a frame may take to come'),
    unsent_bytes: Type.Integer({
      default: 8192,
      minimum: 2560,
      maximum: MOST_UNSENT,
      description: 'bytes that wait for the line, or for one TCP client; beyond, an answer is left out',
    }),
    send_limit_ms: milliseconds(
      2000,
      100,
      600_000,
      'how long the driver may take to take a frame beyond twice its time on the wire',
    ),
    tcp_port: Type.Integer({
      default: 0,
      minimum: 0,
      maximum: 65_535,
      description: 'DNP3 over TCP to the same points, without login; 0 is off, 20000 is usual',
    }),
    tcp_masters: Type.Integer({ default: 4, minimum: 1, maximum: 16, description: 'TCP connections at once' }),
  },
  { additionalProperties: false },
)

export type Dnp3Settings = Static<typeof dnp3Settings>

/** The addresses of all masters. */
export function mastersOf({ master_address: first, more_masters: more }: Dnp3Settings): number[] {
  return [first, ...more]
}

/** Settings that do not go together. */
export function dnp3SettingsFaults(settings: Dnp3Settings): { field: string; message: string }[] {
  const { address: own, master_address: first, more_masters: more } = settings
  const faults: { field: string; message: string }[] = []
  if (first === own) faults.push({ field: 'master_address', message: `is ${own}, the address of this outstation` })
  for (const [at, one] of more.entries()) {
    if (one !== own && one !== first) continue
    const whose = one === own ? 'the address of this outstation' : 'master_address'
    faults.push({ field: `more_masters[${at}]`, message: `is ${one}, ${whose}` })
  }
  return faults
}

/**
 * What the points and events of a port weigh, in values of 12 bytes.
 * @source measured: a point takes 110 bytes, an event 170; an octet string of 255 bytes 480
 */
const WEIGHT = { point: 12, event: 16, octets: 48 } as const

/** As how many values of `ports.slave_values` the port counts. */
export function dnp3Weight(settings: Dnp3Settings): number {
  const { events_per_class: events, points } = settings
  const weightOf = (kind: PointKind) => points[kind] * (kind === 'octet_string' ? WEIGHT.octets : WEIGHT.point)
  const kinds = Object.keys(points) as PointKind[]
  const ofEvent = WEIGHT.event + mastersOf(settings).length + (points.octet_string > 0 ? WEIGHT.octets : 0)
  return kinds.reduce((sum, kind) => sum + weightOf(kind), 3 * events * ofEvent)
}
