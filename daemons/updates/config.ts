/** Every key of updates.toml: type, default, range, unit and meaning. */
import { type Static, Type } from 'typebox'
import { commonTables, journalTable } from '#kit/config/tables.ts'
import { bytes, count, hours, milliseconds } from '#kit/pure/setting-keys.ts'
import { alarmsTable } from '#kit/records/alarms.ts'
import { ledgerTable } from '#kit/records/ledger.ts'
import { blobsTable, storeTable } from './core/keys.ts'
import { memoryPlan } from './core/memory.ts'

/** The update server's default TCP port. */
export const DEFAULT_PORT = 3131

// The pages use no sockets.
const { http, ...common } = commonTables(DEFAULT_PORT, { most: 16, mostPerAddress: 8, messageBytes: 1024 })

function updateKeySentence(value: unknown): string | undefined {
  const isKey = /^(?:[!-+\--~]{6,256})?$/.test(String(value))
  return isKey ? undefined : 'expected 6 to 256 letters, digits and signs, without blanks and commas'
}

const admin = Type.Object(
  {
    password_file: Type.String({
      default: '',
      maxLength: 4096,
      description:
        'file whose first line is the password of the administrator, read at the first start alone; empty: one is made and printed',
    }),
  },
  { additionalProperties: false, default: {}, description: 'the administrator' },
)

const publishing = Type.Object(
  {
    update_key: Type.String({
      default: '',
      maxLength: 256,
      check: updateKeySentence,
      secret: true,
      isBare: true,
      description:
        'what a publisher shows, 6 signs or more without blanks and commas; empty: the one that was made in the panel. May be written without its table',
    }),
    public_url: Type.String({
      default: '',
      maxLength: 512,
      pattern: '^(?:https?://[A-Za-z0-9.:\\[\\]-]+(?:/[A-Za-z0-9._~/-]*)?)?$',
      description: 'address that the install script downloads from; empty: the one that it was asked under',
    }),
  },
  { additionalProperties: false, default: {}, description: 'who publishes, and where releases are fetched from' },
)

const registration = Type.Object(
  {
    max: count(20_000, 1, 200_000, 'installations that were enabled once, those disabled since included'),
    pending_max: count(
      1000,
      1,
      100_000,
      'installations that wait to be enabled; where all places are taken, the network with most loses its oldest',
    ),
    per_address_per_hour: count(
      20,
      1,
      100_000,
      'new installations of one address (IPv6: one /64) that are registered in an hour',
    ),
    addresses: count(4096, 16, 1_048_576, 'addresses that are counted so'),
    pending_days: Type.Integer({
      default: 30,
      minimum: 1,
      maximum: 3650,
      unit: 'days',
      description: 'one that nobody enabled and that did not ask for so long is forgotten',
    }),
    write_ms: milliseconds(30_000, 100, 3_600_000, 'how often is written when each was seen'),
    busy_ms: milliseconds(5000, 0, 60_000, 'how long another process may hold the database'),
  },
  { additionalProperties: false, default: {}, description: 'installations, and how many may wait to be enabled' },
)

const releases = Type.Object(
  {
    max: count(500, 1, 10_000, 'releases at once, those deleted that are remembered included'),
    deltas: count(4, 0, 16, 'deltas of one update, each from another version'),
    halt_percent: count(
      0,
      0,
      100,
      'a release is halted once so many of the installations that reported tell a failure; 0: none is',
    ),
    halt_reports: count(10, 1, 100_000, 'reports before a release is halted'),
    window: hours('hours in which installations are to apply updates, HH:MM-HH:MM in their time; empty: theirs to say'),
  },
  { additionalProperties: false, default: {}, description: 'releases, and how they are rolled out' },
)

const downloads = Type.Object(
  {
    total: count(64, 1, 1024, 'updates and artifacts that are sent at once; further ones are answered 429'),
    per_address: count(16, 1, 1024, 'those of one address (IPv6: one /64)'),
    per_installation: count(2, 1, 64, 'those of one installation'),
    installers: count(16, 1, 1024, 'installers that are sent at once, which anybody may ask for'),
    installers_per_address: count(4, 1, 1024, 'those of one address (IPv6: one /64)'),
    retry_ms: milliseconds(30_000, 1000, 3_600_000, 'when one that was answered 429 may try again'),
    offload: Type.Enum(['', 'x-accel-redirect'], {
      default: '',
      description:
        'x-accel-redirect: nginx in front sends the bytes of updates and installers, where it says that it does; empty: they come from this daemon',
    }),
  },
  { additionalProperties: false, default: {}, description: 'files that are sent' },
)

const uploads = Type.Object(
  {
    max_bytes: bytes(524_288_000, 1024, 1_099_511_627_776, 'largest update or installer'),
    at_once: count(4, 1, 64, 'updates and installers that are taken in at once; further ones are answered 429'),
    idle_ms: milliseconds(60_000, 100, 3_600_000, 'an upload of which nothing came for so long is ended'),
    pace_ms: milliseconds(60_000, 100, 3_600_000, 'within this time pace_bytes of an upload have to come'),
    pace_bytes: bytes(65_536, 1, 1_073_741_824, 'what has to come of an upload within pace_ms'),
    whole_ms: milliseconds(86_400_000, 1000, 2_000_000_000, 'longest time of an upload, however steadily it comes'),
    retry_ms: milliseconds(30_000, 1000, 3_600_000, 'when one that was answered 429 may try again'),
  },
  { additionalProperties: false, default: {}, description: 'files that are published' },
)

const artifacts = Type.Object(
  {
    max: count(1000, 1, 10_000, 'artifacts at once, of all types'),
    file_bytes: bytes(10_485_760, 1024, 67_108_864, 'largest artifact'),
    values: count(500_000, 1000, 10_000_000, 'commas and brackets in one artifact, which bound the memory it takes'),
    at_once: count(2, 1, 16, 'artifacts that are uploaded at once; further ones are answered 429'),
  },
  { additionalProperties: false, default: {}, description: 'files of JSON that installations take over' },
)

const storage = Type.Object(
  {
    folder: Type.String({
      default: '',
      maxLength: 1024,
      description:
        'folder that keeps the published files, made if it is missing; empty: one beside the state folder, its name with -files',
    }),
    orphan_days: Type.Integer({
      default: 30,
      minimum: 0,
      maximum: 3650,
      unit: 'days',
      description:
        'a file that no release and no artifact names is removed at a start when it is older, not sooner: a backup of the state may name it',
    }),
    free_bytes: bytes(268_435_456, 0, 1_000_000_000_000, 'what stays free on its disk; below, nothing is taken in'),
  },
  { additionalProperties: false, default: {}, description: 'where published files lie' },
)

export const config = Type.Object(
  {
    http: Type.Object(
      {
        ...http.properties,
        // Of a building behind a mobile link nothing may be taken for a while.
        stalled_ms: milliseconds(
          60_000,
          100,
          600_000,
          'time after which a client that takes nothing of its answer is ended',
        ),
      },
      { additionalProperties: false, default: {}, description: 'the HTTP interface and its bounds' },
    ),
    ...common,
    admin,
    publishing,
    registration,
    releases,
    downloads,
    uploads,
    artifacts,
    storage,
    store: storeTable,
    blobs: blobsTable,
    journal: journalTable(),
    ledger: ledgerTable(),
    alarms: alarmsTable({}),
  },
  { additionalProperties: false },
)

export type UpdatesConfig = Static<typeof config>

/** The most memory that the daemon may need with these settings. */
export const memory = memoryPlan
