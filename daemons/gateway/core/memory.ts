/** The memory budget of the gateway, row by row; docs/gateway.md has the table. */
import { definitionRows } from '#kit/pure/device/memory-rows.ts'
import {
  clientBytes,
  houseRows,
  KERNEL_BYTES,
  KIB,
  lineBytes,
  type MemoryPlan,
  type MemoryRow,
  MIB,
  NODE_TASKS,
  type Setting,
  serverRows,
  signInRows,
  threadRow,
  tlsRow,
  userRow,
} from '#kit/pure/memory-plan.ts'
import { mqttRows } from '#kit/pure/mqtt-memory.ts'
import { LINE_OWED } from './bus/holds.ts'
import { COPY_ANSWERS } from './bus/settings.ts'
import { MOST_UNSENT } from './dnp3/settings.ts'
import { MOST_VALUES } from './equipment/equipment.ts'
import { HISTORY_HEAP_MIB, READER_BYTES, SERIES_BYTES, SERIES_SLOT_BYTES } from './history/memory.ts'
import { EVENT_BYTES, TEXT_OF_BYTE } from './lines/events.ts'
import { MSTP_HEAP_MIB, TRANSIT_BYTES } from './mstp/memory.ts'
import { WEBHOOK_HEAP_MIB } from './webhooks/records.ts'

/**
 * One Modbus TCP client: the bytes of one read, and as many unanswered requests as `tcp_pipeline` allows, with their
 * replies. @source measured: 64 KiB, and 1.8 KiB for each of 64
 */
const PIPELINE_BYTES = 64 * KIB + 64 * 2 * KIB

/**
 * One TCP client of an outstation: the bytes of one read, and what is held of frames and fragments of four masters.
 * @source measured: 90 KiB
 */
const OUTSTATION_CLIENT_BYTES = 64 * KIB + 16 * KIB + MOST_UNSENT

/**
 * One unit: counters, times, its last exchanges, latency, and what a scan learned of it; a line has at most 247.
 * @source measured: 3.2 KiB, and 1.2 KiB of three names, four candidates and a sentence
 */
const UNIT_BYTES = 5 * KIB
const UNITS = 247

/** A request that may still be answered, with its frame of 256 bytes. @source measured: 0.8 KiB */
const OWED_BYTES = KIB

/** One of our own slave units without its values. @source measured: 0.6 KiB */
const SLAVE_BYTES = KIB

/**
 * One line: the replies of the last second, and the last replies to requests, as many as `copy_answers` allows by
 * default.
 */
const COPIES_BYTES = 2 * COPY_ANSWERS * 600

/**
 * A point with its names, its last value, the fault if it has none, and the read that may be its own. @source measured:
 * 3.1 KiB
 */
const POINT_BYTES = 4 * KIB

/** A value of a device by definition, with its names, and a text of 256 characters. @source measured: 0.9 KiB */
const VALUE_BYTES = KIB

/** One webhook without its texts, with 64 names of events. @source measured: 10 KiB */
const WEBHOOK_BYTES = 12 * KIB

/** A key with the names of 64 ports of 512 characters each. @source measured: 70 KiB */
const KEY_BYTES = 80 * KIB

/** One TLS connection of a webhook, mostly OpenSSL's memory, and the event being sent. @source measured: 130 KiB */
const DELIVERY_BYTES = 144 * KIB

/**
 * A hunt that runs: its settings, what its ears hold, and what it has found. @source measured: 26 KiB, and as much as is
 * kept
 */
const HUNT_BYTES = 64 * KIB

/** A hunt that has ended: as many findings as are kept, with 64 units each. @source measured: 15 KiB, and the units */
const KEPT_HUNT_BYTES = 32 * KIB

/** What one capture holds in its connection if records have only a few bytes. @source measured: 1.3 MiB */
const CAPTURE_BYTES = 2 * MIB

function lineRows(): MemoryRow[] {
  const modbusClient = (setting: Setting) => clientBytes(setting, 'modbus_tcp') + PIPELINE_BYTES
  return [
    {
      ...{ what: 'bytes from and to a line: read, waiting, left behind', of: 'port' },
      each: (setting) => lineBytes(setting, 'raw_tcp'),
      many: 'ports.max',
      shownBy: 'kit/test/line/line-queue.test.ts',
    },
    {
      ...{ what: 'clients of raw TCP ports: bytes they have not taken, buffers of the kernel', of: 'client' },
      each: (setting) => clientBytes(setting, 'raw_tcp'),
      many: 'raw_tcp.clients',
      shownBy: 'kit/test/line/socket-writer.test.ts',
    },
    {
      ...{ what: 'clients of Modbus TCP ports, with requests, replies and buffers of the kernel', of: 'client' },
      each: modbusClient,
      many: 'modbus_tcp.clients',
      shownBy: 'daemons/gateway/test/io/line-tcp-server.test.ts',
    },
    {
      ...{ what: 'TCP clients of DNP3 outstations, with answers and buffers of the kernel', of: 'client' },
      each: (setting) => clientBytes(setting, 'dnp3_tcp') + OUTSTATION_CLIENT_BYTES,
      many: 'dnp3_tcp.clients',
      shownBy: 'daemons/gateway/test/core/dnp3/dnp3.test.ts',
    },
    {
      ...{ what: 'hunts for the settings of a line', of: 'hunt', each: HUNT_BYTES, many: 'hunt.max' },
      shownBy: 'daemons/gateway/test/core/hunt/hunts.test.ts',
    },
    {
      ...{ what: 'the last hunt of each line', of: 'line', each: KEPT_HUNT_BYTES, many: 'hunt.kept', isHeap: true },
      shownBy: 'daemons/gateway/test/core/hunt/hunts.test.ts',
    },
    {
      ...{ what: 'live captures', of: 'capture', many: 'capture.max' },
      each: (setting) => setting('capture.backlog_bytes') + CAPTURE_BYTES,
      shownBy: 'daemons/gateway/test/api/capture-route.test.ts',
    },
  ]
}

function knownRows(): MemoryRow[] {
  return [
    {
      ...{ what: 'events kept for pages', of: 'port', isHeap: true },
      each: (setting) => setting('ports.history') * EVENT_BYTES + setting('ports.history_bytes') * TEXT_OF_BYTE,
      all: 'ports.history_total_bytes',
      shownBy: 'daemons/gateway/test/core/lines/event-hub.test.ts',
    },
    {
      ...{ what: 'what is known of units', of: 'port', each: UNITS * UNIT_BYTES, many: 'ports.max', isHeap: true },
      shownBy: 'daemons/gateway/test/core/modbus/modbus-units.test.ts',
    },
    {
      ...{ what: 'requests that units have not answered', of: 'port', many: 'ports.max', isHeap: true },
      // A unit that owes nothing may be asked even if its line owes as many replies as it may.
      each: (LINE_OWED + UNITS) * OWED_BYTES,
      shownBy: 'daemons/gateway/test/core/modbus/modbus-owed.test.ts',
    },
    {
      ...{
        what: 'answers kept to recognise one that comes twice (`copy_answers` of a port)',
        of: 'port',
        each: COPIES_BYTES,
      },
      many: 'ports.max',
      isHeap: true,
      shownBy: 'daemons/gateway/test/core/modbus/modbus-copies.test.ts',
    },
    {
      ...{ what: 'points and their values', of: 'point', each: POINT_BYTES, many: 'points.total', isHeap: true },
      shownBy: 'daemons/gateway/test/core/points/point-book.test.ts',
    },
    ...definitionRows('equipment.definition_bytes', 'ports.max'),
    {
      ...{ what: 'values of devices by definition', of: 'port', each: MOST_VALUES * VALUE_BYTES, many: 'ports.max' },
      isHeap: true,
      shownBy: 'daemons/gateway/test/core/equipment/equipment.test.ts',
    },
    threadRow(
      'the thread of MS/TP',
      MSTP_HEAP_MIB.old + MSTP_HEAP_MIB.young,
      'daemons/gateway/test/io/mstp-lines.test.ts',
    ),
    {
      ...{ what: 'frames of MS/TP on their way from its thread', of: 'port', many: 'ports.max', isHeap: true },
      each: (setting) => setting('mstp.transit_frames') * TRANSIT_BYTES,
      shownBy: 'daemons/gateway/test/io/mstp-lines.test.ts',
    },
    {
      ...{ what: 'coils and registers in mode slave, points and events of outstations', of: 'value', each: 12 },
      isHeap: true,
      all: (setting) => 12 * setting('ports.slave_values') + setting('ports.max') * UNITS * SLAVE_BYTES,
      shownBy: 'daemons/gateway/test/core/modbus/register-map.test.ts',
    },
    userRow(),
    {
      ...{ what: 'API keys', of: 'key', each: KEY_BYTES, many: 'keys.max', isHeap: true },
      shownBy: 'daemons/gateway/test/core/people/api-keys.test.ts',
    },
  ]
}

function historyRows(): MemoryRow[] {
  const slots = (setting: Setting) => Math.ceil(setting('history.write_s') / setting('history.slot_s')) + 1
  const shownBy = 'daemons/gateway/test/core/history/history.test.ts'
  return [
    {
      ...{
        what: 'points and units whose history is recorded',
        of: 'series',
        many: 'history.series',
        isHeap: true,
        shownBy,
      },
      // A series that went keeps its number as long as its history.
      each: (setting) => 2 * SERIES_BYTES + slots(setting) * SERIES_SLOT_BYTES,
    },
    { ...{ what: 'history that waits for the disk', all: 'history.queue_bytes' }, shownBy },
    {
      ...{ what: 'questions and exports of the history', of: 'reader', each: READER_BYTES, isHeap: true, shownBy },
      many: (setting) => 2 * setting('history.readers'),
    },
    threadRow('the thread of the history', HISTORY_HEAP_MIB.old + HISTORY_HEAP_MIB.young, shownBy),
  ]
}

function webhookRows(): MemoryRow[] {
  const { old, young } = WEBHOOK_HEAP_MIB
  const record = (setting: Setting) =>
    setting('webhooks.url_length') +
    setting('webhooks.header_bytes') +
    setting('webhooks.secret_length') +
    WEBHOOK_BYTES
  return [
    threadRow('the thread of webhooks', old + young, 'daemons/gateway/test/io/webhook-courier.test.ts'),
    {
      ...{
        what: 'events that wait for targets',
        of: 'target',
        each: 'webhooks.queue_bytes',
        all: 'webhooks.held_bytes',
      },
      shownBy: 'daemons/gateway/test/core/webhooks/webhook-waiting.test.ts',
    },
    {
      // Held here and in the message to the thread, each time as UTF-16 if it contains letters that are not Latin.
      ...{ what: 'events on their way to the thread of webhooks', isHeap: true },
      all: (setting) => 8 * setting('webhooks.transit_bytes'),
      shownBy: 'daemons/gateway/test/core/webhooks/webhook-publisher.test.ts',
    },
    {
      ...{ what: 'deliveries, with buffers of the kernel', of: 'target', each: DELIVERY_BYTES + KERNEL_BYTES },
      many: 'webhooks.total',
      shownBy: 'daemons/gateway/test/io/webhook-sender.test.ts',
    },
    {
      ...{ what: 'settings of webhooks', of: 'webhook', each: record, many: 'webhooks.total', isHeap: true },
      shownBy: 'daemons/gateway/test/core/webhooks/webhook-list.test.ts',
    },
  ]
}

export function memoryPlan(): MemoryPlan {
  return {
    idleBytes: 96 * MIB,
    garbage: 0.25,
    youngBytes: 48 * MIB,
    rows: [
      ...serverRows(),
      tlsRow(),
      ...signInRows(),
      ...houseRows(),
      ...lineRows(),
      ...knownRows(),
      ...historyRows(),
      ...webhookRows(),
      ...mqttRows(),
    ],
    tasks: {
      'Node and V8': NODE_TASKS,
      'threads that hash passwords': 'http.password_workers',
      'the thread of webhooks': 1,
      'the thread of MS/TP': 1,
      'the thread of the history': 1,
      'waits of lines': 'ports.max',
    },
  }
}
