/** Every key of gateway.toml: type, default, range, unit and meaning. */
import { type Static, Type } from 'typebox'
import { commonTables, journalTable } from '#kit/config/tables.ts'
import { mqttTable } from '#kit/net/mqtt/settings.ts'
import { clientPlaceKeys, queueKeys, serialLineGlobs } from '#kit/pure/line.ts'
import { alarmsTable } from '#kit/records/alarms.ts'
import { ledgerTable } from '#kit/records/ledger.ts'
import { dnp3TcpKeys } from './core/dnp3/dnp3.ts'
import { historyKeys } from './core/history/history.ts'
import { huntKeys } from './core/hunt/plan.ts'
import { captureKeys } from './core/lines/capture.ts'
import { memoryPlan } from './core/memory.ts'
import { modbusKeys } from './core/modbus/settings.ts'
import { modbusTcpKeys } from './core/modbus/tcp.ts'
import { mqttKeys } from './core/mqtt/publisher.ts'
import { MOST_POINTS } from './core/points/definition.ts'
import { webhookKeys } from './core/webhooks/records.ts'

/** The gateway's default TCP port. */
export const DEFAULT_PORT = 3132

const ports = Type.Object(
  {
    allow: Type.Array(Type.String({ pattern: '^/dev/', maxLength: 256 }), {
      default: [...serialLineGlobs],
      maxItems: 64,
      description: 'device paths that may be a port; * stands for anything but a slash',
    }),
    max: Type.Integer({ default: 64, minimum: 1, maximum: 256, description: 'ports configured at once' }),
    history: Type.Integer({
      default: 500,
      minimum: 1,
      maximum: 10_000,
      description: 'events kept per port for the page',
    }),
    history_bytes: Type.Integer({
      default: 1_048_576,
      minimum: 65_536,
      maximum: 67_108_864,
      unit: 'bytes',
      description: 'bytes of raw frames kept per port for the page',
    }),
    history_total_bytes: Type.Integer({
      default: 67_108_864,
      minimum: 1_048_576,
      maximum: 1_073_741_824,
      unit: 'bytes',
      description:
        'what the events kept of all ports take, 2048 bytes each and three for each byte of its frame, 63 where the frame holds coils; beyond, the port with most loses its oldest',
    }),
    slave_values: Type.Integer({
      default: 1_048_576,
      minimum: 1,
      maximum: 67_108_864,
      description:
        'coils and registers that all ports in mode slave serve together, 12 bytes each; a point of a DNP3 outstation counts as 12 of them or 48, an event that it may hold as 17 or more',
    }),
    retry_first_ms: Type.Integer({
      default: 500,
      minimum: 50,
      maximum: 60_000,
      unit: 'ms',
      description: 'wait before an absent line is tried again; doubles with each try',
    }),
    retry_max_ms: Type.Integer({
      default: 10_000,
      minimum: 100,
      maximum: 600_000,
      unit: 'ms',
      description: 'longest wait between tries',
    }),
  },
  { additionalProperties: false, default: {}, description: 'which lines may be used, and how a lost one comes back' },
)

const rawTcp = Type.Object(
  {
    host: Type.String({ default: '0.0.0.0', maxLength: 253, description: 'address the raw TCP ports listen on' }),
    backlog_bytes: Type.Integer({
      default: 262_144,
      minimum: 4096,
      maximum: 16_777_216,
      unit: 'bytes',
      description: 'bytes held for one client before its line is read no further',
    }),
    ...queueKeys(),
    ...clientPlaceKeys(),
    slow_client_ms: Type.Integer({
      default: 2000,
      minimum: 10,
      maximum: 600_000,
      unit: 'ms',
      description: 'how long one client may hold up a line before it is cut off',
    }),
    tell_ms: Type.Integer({
      default: 20,
      minimum: 1,
      maximum: 100,
      unit: 'ms',
      description: 'how long bytes that passed between line and clients may wait before frames and counters show them',
    }),
    stream_ms: Type.Integer({
      default: 4,
      minimum: 0,
      maximum: 20,
      unit: 'ms',
      description:
        'how often a raw line is read that sends on and on, which costs much less than at every few bytes; answers, and what comes after a pause, are read at once. Where silence ends frames, at most an eighth of it. 0: always at once',
    }),
  },
  { additionalProperties: false, default: {}, description: 'TCP ports of raw lines' },
)

const points = Type.Object(
  {
    max: Type.Integer({ default: 500, minimum: 1, maximum: MOST_POINTS, description: 'points of one port' }),
    total: Type.Integer({
      default: 4000,
      minimum: 1,
      maximum: 50_000,
      description: 'points of all ports; each holds about 1 kB',
    }),
  },
  { additionalProperties: false, default: {}, description: 'how many values of devices are read' },
)

const mstp = Type.Object(
  {
    transit_frames: Type.Integer({
      default: 1024,
      minimum: 64,
      maximum: 65_536,
      description:
        'frames of one MS/TP line that may be on their way from its thread, long ones count as several; further ones are counted and not told',
    }),
    realtime_priority: Type.Integer({
      default: 20,
      minimum: 0,
      maximum: 80,
      description:
        'real-time priority of the thread that passes the token, where the system allows it (LimitRTPRIO); 0: none',
    }),
  },
  { additionalProperties: false, default: {}, description: 'lines that speak BACnet MS/TP' },
)

const equipment = Type.Object(
  {
    definition_bytes: Type.Integer({
      default: 1_048_576,
      minimum: 65_536,
      maximum: 16_777_216,
      unit: 'bytes',
      description: 'files of all device definitions in use; beyond, the next is refused',
    }),
  },
  { additionalProperties: false, default: {}, description: 'devices that are spoken to by definition' },
)

const feed = Type.Object(
  {
    summary_ms: Type.Integer({
      default: 1000,
      minimum: 50,
      maximum: 60_000,
      unit: 'ms',
      description: 'how often a WebSocket client that is behind is told how much it missed',
    }),
    bad_messages: Type.Integer({
      default: 32,
      minimum: 1,
      maximum: 10_000,
      description: 'messages that are not understood after which a WebSocket client is let go',
    }),
  },
  { additionalProperties: false, default: {}, description: 'live events over /ws' },
)

const users = Type.Object(
  { max: Type.Integer({ default: 64, minimum: 1, maximum: 1024, description: 'users at once' }) },
  { additionalProperties: false, default: {}, description: 'people who sign in' },
)

const keys = Type.Object(
  {
    max: Type.Integer({ default: 64, minimum: 1, maximum: 1024, description: 'API keys at once, expired ones too' }),
    save_ms: Type.Integer({
      default: 60_000,
      minimum: 1000,
      maximum: 86_400_000,
      unit: 'ms',
      description: 'how often at most the last use of keys is written to the disk',
    }),
  },
  { additionalProperties: false, default: {}, description: 'keys of programs' },
)

export const config = Type.Object(
  {
    ...commonTables(DEFAULT_PORT),
    ports,
    raw_tcp: rawTcp,
    modbus: modbusKeys,
    modbus_tcp: modbusTcpKeys,
    dnp3_tcp: dnp3TcpKeys,
    mstp,
    equipment,
    points,
    webhooks: webhookKeys,
    mqtt: mqttTable(mqttKeys),
    feed,
    capture: captureKeys,
    hunt: huntKeys,
    history: historyKeys,
    users,
    keys,
    journal: journalTable(),
    ledger: ledgerTable(),
    alarms: alarmsTable({}),
  },
  { additionalProperties: false },
)

export type GatewayConfig = Static<typeof config>

/** The most memory that the daemon may need with these settings. */
export const memory = memoryPlan
