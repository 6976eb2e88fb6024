/** Keys of the table `serial` of board.toml: devices and bounds of the serial server. */
import { type Static, Type } from 'typebox'
import { queueKeys } from '#kit/line/queue-keys.ts'
import { MOST_PORTS } from '../../../core/settings/setting.ts'

function milliseconds(byDefault: number, [minimum, maximum]: [number, number], description: string) {
  return Type.Integer({ default: byDefault, minimum, maximum, unit: 'ms', description })
}

function seconds(byDefault: number, [minimum, maximum]: [number, number], description: string) {
  return Type.Integer({ default: byDefault, minimum, maximum, unit: 's', description })
}

const clientKeys = {
  max_clients: Type.Integer({
    default: 64,
    minimum: 1,
    maximum: 256,
    description:
      'TCP clients of one port; where all are there, the address with most loses one to the next, else it is refused',
  }),
  max_clients_per_address: Type.Integer({
    default: 256,
    minimum: 1,
    maximum: 256,
    description: 'of them, from one address (IPv6: one /64)',
  }),
  backlog_bytes: Type.Integer({
    default: 262_144,
    minimum: 4096,
    maximum: 16_777_216,
    unit: 'bytes',
    description: 'bytes held for one client before it is too slow',
  }),
  ...queueKeys(),
  slow_client_ms: milliseconds(
    2000,
    [10, 600_000],
    'how long a line waits for its clients where all of them are too slow; where others are not, it does not wait',
  ),
  tell_ms: milliseconds(20, [1, 100], 'how long bytes that passed may wait before counters show them'),
  write_idle_ms: milliseconds(
    10_000,
    [0, 3_600_000],
    'with write=exclusive: how long the writer may be silent before another may write; 0: until it leaves',
  ),
  allow_entries: Type.Integer({
    default: 64,
    minimum: 1,
    maximum: 1024,
    description: 'addresses and networks that allow may list',
  }),
  suboption_bytes: Type.Integer({
    default: 512,
    minimum: 16,
    maximum: 65_536,
    unit: 'bytes',
    description: 'longest Telnet suboption; a client that sends a longer one is dropped',
  }),
}

/** A vanished peer is found after idle + interval x count: 59 s. */
const peerKeys = {
  keepalive_idle_s: seconds(35, [1, 3600], 'silence before a client is asked whether it is still there'),
  keepalive_interval_s: seconds(6, [1, 600], 'time between two such questions'),
  keepalive_count: Type.Integer({
    default: 4,
    minimum: 1,
    maximum: 100,
    description: 'questions without an answer after which a client is dropped',
  }),
  user_timeout_ms: milliseconds(
    59_000,
    [1000, 3_600_000],
    'how long sent bytes may go unacknowledged before a client is dropped',
  ),
}

const lineKeys = {
  drain_ms: milliseconds(
    2000,
    [10, 600_000],
    'how long a change of settings waits for what was written before; after that it is sent with the new ones',
  ),
  look_ms: milliseconds(
    100,
    [10, 10_000],
    'how often modem lines and errors are looked at where the driver tells of none',
  ),
  break_ms: milliseconds(250, [1, 10_000], 'length of the break that a Telnet BRK makes'),
  retry_first_ms: milliseconds(500, [50, 60_000], 'wait before an absent line or TCP port is tried again; doubles'),
  retry_max_ms: milliseconds(10_000, [100, 600_000], 'longest wait between tries'),
}

export const serialKeys = Type.Object(
  {
    devices: Type.Array(Type.String({ pattern: '^/dev/', maxLength: 256 }), {
      default: [],
      maxItems: MOST_PORTS,
      description: 'device paths of ports 1 to 4; those below /dev/serial/by-id stay the same',
    }),
    host: Type.String({ default: '::', maxLength: 64, description: 'address the TCP ports listen on; :: means all' }),
    ...clientKeys,
    ...peerKeys,
    ...lineKeys,
  },
  { additionalProperties: false, default: {}, description: 'the serial server' },
)

export type SerialConfig = Static<typeof serialKeys>
