/** Every key of board.toml: type, default, range, unit and meaning. */
import { type Static, Type } from 'typebox'
import { commonTablesWith, httpTable, journalTable, loginKeys } from '#kit/config/tables.ts'
import { milliseconds } from '#kit/pure/setting-keys.ts'
import { alarmsTable } from '#kit/records/alarms.ts'
import { ledgerTable } from '#kit/records/ledger.ts'
import { otaKeys } from './core/machine/firmware.ts'
import { memoryPlan } from './core/memory.ts'
import { peerKeys } from './core/peers/keys.ts'
import { ptpKeys } from './core/ptp/keys.ts'
import { httpKeys } from './core/sign-in.ts'
import { audioKeys } from './core/sound/keys.ts'
import { streamKeys } from './core/streams/announcing.ts'
import { serialKeys } from './roles/serial/core/settings.ts'
import { usbipTable } from './roles/usbip/core/settings.ts'
import { roleNames } from './wire/names.ts'

/** The default port of the board. */
export const DEFAULT_PORT = 80

/** From the tenth wrong password on, answers are delayed, by two seconds at most. */
const LOGIN = { freeTries: 10, waitMaxMs: [2000, 1, 2000] } as const

const board = Type.Object(
  {
    role: Type.Enum([...roleNames], { default: 'serial', description: 'what the board is at its first start' }),
  },
  { additionalProperties: false, default: {}, description: 'the board before anybody has set it up' },
)

const networkKeys = {
  confirm_ms: milliseconds(
    120_000,
    5000,
    3_600_000,
    'time in which somebody has to reach a new address before it is taken back',
  ),
  take_back_ms: milliseconds(
    10_000,
    100,
    600_000,
    'wait before an address that could not be taken back is tried again, and between looks whether DHCP gave one',
  ),
  take_back_tries: Type.Integer({
    default: 30,
    minimum: 1,
    maximum: 1000,
    description: 'tries to take an address back before the next start',
  }),
}

const restartKeys = {
  restart_after_ms: milliseconds(250, 0, 10_000, 'time between the answer that says so and the restart'),
  restart_s: Type.Integer({
    default: 40,
    minimum: 1,
    maximum: 600,
    unit: 's',
    description: 'how long this machine takes to boot, for the page that waits',
  }),
}

const factKeys = {
  facts_ms: milliseconds(5000, 250, 600_000, 'how often the temperature is looked up'),
  time_sync_ms: milliseconds(
    60_000,
    1000,
    3_600_000,
    'how often it is looked up whether the clock follows a time server',
  ),
  lamp: Type.String({
    default: '',
    maxLength: 64,
    description: 'name below /sys/class/leds of the lamp that identifies the board; empty takes one that suits',
  }),
  identify_ms: milliseconds(60_000, 1000, 3_600_000, 'how long a board that is looked for blinks'),
}

const machine = Type.Object(
  {
    owned: Type.Boolean({
      default: false,
      description:
        "the machine is the board's own: it gives it its name and address, restarts the whole machine at every save of its settings, installs images",
    }),
    helper: Type.String({
      default: '/run/plantroom/helper.sock',
      minLength: 1,
      maxLength: 100,
      description: 'socket of the program that does what needs root',
    }),
    helper_ms: Type.Integer({
      default: 45_000,
      minimum: 100,
      maximum: 600_000,
      unit: 'ms',
      description: 'time that program has for one request',
    }),
    interface: Type.String({
      default: '',
      maxLength: 15,
      description: 'network interface whose address the settings set; empty means the one with the default route',
    }),
    ...networkKeys,
    ...restartKeys,
    ...factKeys,
  },
  { additionalProperties: false, default: {}, description: 'the machine that the board runs on' },
)

const feed = Type.Object(
  {
    least_ms: milliseconds(250, 100, 10_000, 'between two messages to a page at least, however much changes'),
    most_ms: milliseconds(1000, 100, 60_000, 'between two messages to a page at most, though nothing changes'),
    meters_ms: milliseconds(50, 20, 1000, 'between two messages with levels of sound at least'),
  },
  { additionalProperties: false, default: {}, description: 'what pages that are open are told' },
)

/** The settings of a board. */
export const config = Type.Object(
  {
    board,
    machine,
    ota: otaKeys,
    feed,
    serial: serialKeys,
    usbip: usbipTable,
    audio: audioKeys,
    ptp: ptpKeys,
    streams: streamKeys,
    peers: peerKeys,
    journal: journalTable(),
    ledger: ledgerTable(),
    alarms: alarmsTable({}),
    ...commonTablesWith(httpTable(DEFAULT_PORT, { ...loginKeys(LOGIN), ...httpKeys })),
  },
  { additionalProperties: false },
)

export type BoardConfig = Static<typeof config>

/** The memory plan, which depends on these settings. */
export const memory = memoryPlan
