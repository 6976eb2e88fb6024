/** The controller's memory budget, row by row; docs/controller.md has the table. */
import { definitionRows } from '#kit/pure/device/memory-rows.ts'
import {
  CLIENT_BYTES,
  houseRows,
  KERNEL_BYTES,
  KIB,
  type MemoryPlan,
  type MemoryRow,
  MIB,
  NODE_TASKS,
  serverRows,
  signInRows,
  TLS_BYTES,
  threadRow,
} from '#kit/pure/memory-plan.ts'
import { TOLD_BYTES } from '#kit/pure/update-told.ts'
import { AUDIT_HEAP_MIB, BACKUP_HEAP_MIB, WRITER_HEAP_MIB } from './keys.ts'
import { KEPT_PLANS } from './macros/plan.ts'

/** Bodies of commands and queries may be up to this size, inclusive. @source document 1, Limits */
export const BODY_BYTES = 262_144

/**
 * A row of the site with its index entry and its live state, without its texts and JSON. @source measured: 340 to 610
 * bytes
 */
const ROW_BYTES = 768

/** The views of a row, for elevated and other callers, without their JSON. @source measured: 300 bytes */
const VIEW_BYTES = 512

/** The objects that drive a device, besides its row. @source measured: 4.8 to 4.9 KiB */
const DEVICE_BYTES = 5 * KIB

/** A changed row, before and after. @source measured: 330 to 390 bytes, users 630 with their texts */
const CHANGE_BYTES = 640

/** Bytes per character of a value; V8's overhead is counted as characters in core/json.ts. */
const CHAR_BYTES = 4

/** Bytes per character of a text, if one of them is not Latin. */
const TEXT_BYTES = 2

/** An attribute in the index of its target, and in the sets of those to be written. @source measured: 90 bytes */
const FOUND_BYTES = 128

/** A change of an attribute in the queue of the history, without its value. @source measured: 160 to 190 bytes */
const CHANGE_OF_VALUE_BYTES = 256

/**
 * A schedule with its times of a day, or a trigger with its state and the times that it fired. @source measured: 7 KiB
 * for a cron of every minute
 */
const AUTOMATION_BYTES = 16 * KIB

/** What Node reads from a connection at once. */
const READ_BYTES = 64 * KIB

/** A topic of usual length with who hears it, here and in the client. @source measured */
const TOPIC_BYTES = KIB

/** A message that is kept, without its bytes: its entry, its buffer, what carried it. */
const MESSAGE_BYTES = KIB

/** A step that a run has taken, with the error message if it failed. @source measured */
const STEP_BYTES = 2 * KIB

/**
 * An audit record with its texts, each cut to its limit, and its waiting promise. @source measured: 3.7 KiB with the
 * longest texts
 */
const RECORD_BYTES = 4 * KIB

/** Values of a parsed message for each byte of its text. @source measured: 30 for lists of small objects */
const PARSED_BYTES = 40

/** An id in a set, which grows by doubling. @source measured: 48 to 58 */
const ID_BYTES = 64

/** What one announces: sixteen texts of 128 characters, its names and addresses. */
const DAEMON_BYTES = 8 * KIB

/** An id in a list, of a row and of one that is written. */
const FAVOURITE_BYTES = 64

/** A session, nonce or code, with its holder. */
const SESSION_BYTES = KIB

function siteRows(): MemoryRow[] {
  return [
    {
      ...{ what: 'the site: rows and their indexes', of: 'row', each: ROW_BYTES, isHeap: true },
      many: 'site.rows',
      shownBy: 'daemons/controller/test/core/site/book.test.ts',
    },
    {
      ...{ what: 'what drives devices', of: 'device', each: DEVICE_BYTES, many: 'site.devices', isHeap: true },
      shownBy: 'daemons/controller/test/core/site/book.test.ts',
    },
    {
      ...{ what: 'JSON columns of the site, and what callers see of them', isHeap: true },
      // Each kind of caller has its own copy of JSON that contains secrets.
      all: (setting) => 3 * setting('site.json_chars') * CHAR_BYTES,
      shownBy: 'daemons/controller/test/core/site/site-file-hostile.test.ts',
    },
    {
      ...{ what: 'texts of the site' },
      all: (setting) => 2 * setting('site.bytes'),
      shownBy: 'daemons/controller/test/core/site/site-file-hostile.test.ts',
    },
    {
      ...{ what: 'rows as callers see them, once somebody asked', of: 'row', each: VIEW_BYTES, isHeap: true },
      many: 'site.rows',
      shownBy: 'daemons/controller/test/core/data/views.test.ts',
    },
    {
      ...{ what: 'rows that stand ready as JSON', all: 'data.ready_bytes', isHeap: true },
      shownBy: 'daemons/controller/test/core/data/views.test.ts',
    },
    {
      ...{ what: 'changes of a whole site, while they are applied', of: 'row', each: CHANGE_BYTES, isHeap: true },
      many: 'site.rows',
      shownBy: 'daemons/controller/test/core/site/book.test.ts',
    },
    {
      ...{ what: 'what undoes the last Apply All', isHeap: true },
      all: (setting) => setting('store.undo_chars') * CHAR_BYTES,
      shownBy: 'daemons/controller/test/io/database.test.ts',
    },
    {
      ...{ what: 'runs of macros that have ended', isHeap: true },
      all: (setting) => setting('store.record_chars') * CHAR_BYTES,
      shownBy: 'daemons/controller/test/core/site/keeper.test.ts',
    },
    threadRow(
      'the thread that writes the site',
      WRITER_HEAP_MIB.old + WRITER_HEAP_MIB.young,
      'daemons/controller/test/io/database.test.ts',
    ),
  ]
}

function controlRows(): MemoryRow[] {
  return [
    {
      ...{ what: 'what devices and zones do', of: 'zone', isHeap: true },
      each: (setting) => setting('live.fields') * setting('live.field_chars') * CHAR_BYTES,
      all: (setting) => setting('live.total_chars') * CHAR_BYTES,
      shownBy: 'daemons/controller/test/core/live/live-book.test.ts',
    },
    {
      ...{ what: 'values of attributes, and those before', isHeap: true },
      all: (setting) => setting('live.total_chars') * TEXT_BYTES,
      shownBy: 'daemons/controller/test/core/live/live-values.test.ts',
    },
    {
      ...{ what: 'where attributes are, and which are to be written', of: 'row', each: FOUND_BYTES, isHeap: true },
      many: 'site.rows',
      shownBy: 'daemons/controller/test/core/live/live-values.test.ts',
    },
    {
      ...{ what: 'changes of attributes that wait for the disk', of: 'change', isHeap: true },
      each: CHANGE_OF_VALUE_BYTES,
      many: (setting) => 2 * setting('history.queue_rows'),
      shownBy: 'daemons/controller/test/core/live/history.test.ts',
    },
    {
      ...{ what: 'their values', isHeap: true },
      all: (setting) => 2 * setting('history.queue_chars') * TEXT_BYTES,
      shownBy: 'daemons/controller/test/core/live/history.test.ts',
    },
    {
      ...{
        what: 'runs of macros that live: plan, args, trace, and traces of those that they called',
        of: 'run',
        isHeap: true,
      },
      // Traces of the runs it called are held beside its own; each step has its place and its result.
      each: (setting) =>
        CHAR_BYTES *
          (setting('macros.plan_chars') + setting('macros.value_chars') + 2 * setting('macros.trace_chars')) +
        STEP_BYTES * (2 * setting('macros.steps') + 3 * setting('macros.calls')),
      many: 'macros.runs',
      shownBy: 'daemons/controller/test/core/macros/engine.test.ts',
    },
    {
      ...{ what: 'plans of macros that are kept', of: 'macro', many: KEPT_PLANS, isHeap: true },
      each: (setting) => setting('macros.plan_chars') * CHAR_BYTES,
      shownBy: 'daemons/controller/test/core/macros/macro-book.test.ts',
    },
    {
      ...{ what: 'zones that wait to be told to pages, and what these subscribed to', of: 'page', isHeap: true },
      each: (setting) => (setting('ui.waiting_zones') + setting('socket.ids')) * ID_BYTES,
      many: 'http.max_sockets',
      shownBy: 'daemons/controller/test/core/live/socket-feed.test.ts',
    },
  ]
}

/** What drivers hold of devices. */
function deviceRows(): MemoryRow[] {
  return [
    {
      ...{ what: 'commands on their way', isHeap: true },
      all: (setting) => setting('drivers.command_chars') * CHAR_BYTES,
      shownBy: 'daemons/controller/test/core/drivers/command-queue.test.ts',
    },
    ...definitionRows('drivers.definition_bytes', 'drivers.heard_devices'),
    {
      ...{ what: 'devices that are being opened, with buffers of the kernel', of: 'device' },
      each: (setting) => CLIENT_BYTES + KERNEL_BYTES + setting('drivers.answer_chars'),
      many: 'drivers.opening',
      shownBy: 'daemons/controller/test/core/slots.test.ts',
    },
    {
      ...{ what: 'devices that are heard: connections, with buffers of the kernel', of: 'device' },
      each: CLIENT_BYTES + KERNEL_BYTES,
      many: 'drivers.heard_devices',
      shownBy: 'daemons/controller/test/io/transports/heard-connection.test.ts',
    },
    {
      ...{ what: 'TLS of gateways that are heard', of: 'device', each: TLS_BYTES, many: 'drivers.heard_devices' },
      shownBy: 'daemons/controller/test/io/transports/secure.test.ts',
    },
    {
      ...{ what: 'messages of devices over WebSocket that are not whole', of: 'device', many: 'drivers.heard_devices' },
      // Each of its two fragments holds what was read with it.
      each: (setting) => setting('drivers.message_bytes') + 2 * READ_BYTES,
      shownBy: 'daemons/controller/test/io/transports/websocket.test.ts',
    },
    {
      ...{ what: 'topics of MQTT brokers that are heard', of: 'topic', each: TOPIC_BYTES, isHeap: true },
      many: 'drivers.mqtt_topics_in_all',
      shownBy: 'daemons/controller/test/io/transports/mqtt.test.ts',
    },
    {
      ...{ what: 'what devices say and is not whole, what waits to be sent to them', of: 'device' },
      each: (setting) =>
        READ_BYTES +
        Math.max(setting('drivers.frame_bytes'), setting('drivers.mqtt_bytes')) +
        setting('drivers.unsent_bytes'),
      all: 'drivers.kept_bytes',
      shownBy: 'daemons/controller/test/io/transports/heard-connection.test.ts',
    },
    {
      ...{
        what: 'pictures of cameras for the pages',
        of: 'picture',
        many: 'drivers.stills',
        each: 'drivers.http_bytes',
      },
      shownBy: 'daemons/controller/test/core/drivers/stills.test.ts',
    },
    {
      ...{ what: 'traffic of devices that somebody watches', of: 'device', many: 'traffic.devices', isHeap: true },
      each: (setting) => setting('traffic.messages') * (setting('traffic.message_bytes') + MESSAGE_BYTES),
      shownBy: 'daemons/controller/test/core/drivers/traffic.test.ts',
    },
    {
      ...{
        what: 'boards, gateways and recorders found on the network',
        of: 'one of them',
        each: DAEMON_BYTES,
        many: 'found.max',
      },
      isHeap: true,
      shownBy: 'daemons/controller/test/core/drivers/found.test.ts',
    },
  ]
}

/** What starts macros by itself. */
function automationRows(): MemoryRow[] {
  return [
    {
      ...{ what: 'schedules that are run, and triggers that are watched', of: 'one of them', isHeap: true },
      each: AUTOMATION_BYTES,
      many: (setting) => setting('schedules.most') + setting('triggers.most'),
      shownBy: 'daemons/controller/test/core/schedules/automation-memory.test.ts',
    },
    {
      ...{ what: 'runs of schedules and triggers that wait, with what happened', of: 'run', isHeap: true },
      each: (setting) => CHAR_BYTES * Math.max(setting('triggers.hook_bytes'), setting('live.field_chars')),
      many: 'macros.house_waiting',
      shownBy: 'daemons/controller/test/core/schedules/automation-memory.test.ts',
    },
    {
      ...{ what: 'bodies of webhooks, and networks whose calls are counted' },
      all: (setting) =>
        setting('http.max_connections') * setting('triggers.hook_bytes') + setting('triggers.hook_networks') * 512,
      shownBy: 'daemons/controller/test/api/hook-routes.test.ts',
    },
  ]
}

function callRows(): MemoryRow[] {
  return [
    {
      ...{ what: 'queries: rows that are kept, answers while they are made', isHeap: true },
      all: 'data.making_bytes',
      shownBy: 'daemons/controller/test/core/data/json-pieces.test.ts',
    },
    {
      ...{ what: 'records of the audit that wait for the disk', of: 'record', each: RECORD_BYTES, isHeap: true },
      many: (setting) => setting('audit.queue_rows') + setting('audit.batch_rows'),
      shownBy: 'daemons/controller/test/io/audit-file.test.ts',
    },
    {
      // As a file, as it is read, as it is shown, and the text by which a change is seen.
      ...{ what: 'what the updater tells', all: () => 4 * TOLD_BYTES, isHeap: true },
      shownBy: 'daemons/controller/test/io/update-desk.test.ts',
    },
    threadRow(
      'the thread that makes and checks backups, with what it unpacks and writes',
      BACKUP_HEAP_MIB.old + BACKUP_HEAP_MIB.young,
      'daemons/controller/test/backup.e2e.test.ts',
    ),
    threadRow(
      'the thread that writes the audit',
      AUDIT_HEAP_MIB.old + AUDIT_HEAP_MIB.young,
      'daemons/controller/test/io/audit-file.test.ts',
    ),
    {
      ...{ what: 'sessions, nonces, tickets of pages', of: 'one of them', each: SESSION_BYTES, isHeap: true },
      many: (setting) => 2 * setting('people.sessions') + setting('people.nonces') + setting('ui.max_tickets'),
      shownBy: 'daemons/controller/test/core/access/token-store.test.ts',
    },
    {
      ...{ what: 'favourites of people', of: 'favourite', each: FAVOURITE_BYTES, isHeap: true },
      many: 'people.favourites_in_all',
      shownBy: 'daemons/controller/test/core/live/favourites.test.ts',
    },
    {
      // Its pieces, the whole, and what of it is kept: one is taken at a time.
      ...{ what: 'the picture of a floor plan, while it is sent', all: (setting) => 3 * setting('ui.plan_bytes') },
      shownBy: 'daemons/controller/test/api/ui-plan-routes.test.ts',
    },
    {
      ...{ what: 'requests over WebSockets under way', isHeap: true },
      all: (setting) => setting('socket.request_bytes') * PARSED_BYTES,
      shownBy: 'daemons/controller/test/api/socket.test.ts',
    },
    {
      ...{ what: 'letters on their way', of: 'letter', each: 32 * KIB, many: 'letters.letters', isHeap: true },
      shownBy: 'daemons/controller/test/core/access/mail-queue.test.ts',
    },
  ]
}

export function memoryPlan(): MemoryPlan {
  return {
    idleBytes: 112 * MIB,
    // assemble.ts makes V8 collect garbage when the heap has grown by this share.
    garbage: 0.25,
    youngBytes: 12 * MIB,
    rows: [
      ...serverRows({ bytes: BODY_BYTES, isHeap: false }),
      ...signInRows({
        workers: 'people.password_workers',
        queue: 'people.password_queue',
        table: 'people.tries_table',
        homes: 'people.homes',
      }),
      ...houseRows(),
      ...siteRows(),
      ...controlRows(),
      ...deviceRows(),
      ...automationRows(),
      ...callRows(),
    ],
    tasks: {
      'Node and V8': NODE_TASKS,
      'threads that hash passwords': 'people.password_workers',
      'threads that write the site and the audit': 2,
      'the thread that makes and checks backups': 1,
    },
  }
}
