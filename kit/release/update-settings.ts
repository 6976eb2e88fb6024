/** Settings of updates: where they come from, and the bounds of each step. */
import { type Static, Type } from 'typebox'
import { hours } from '../pure/setting-keys.ts'

const strict = { additionalProperties: false }

function milliseconds(byDefault: number, minimum: number, maximum: number, description: string) {
  return Type.Integer({ default: byDefault, minimum, maximum, unit: 'ms', description })
}

function bytes(byDefault: number, description: string) {
  return Type.Integer({ default: byDefault, minimum: 1_048_576, maximum: 1e12, unit: 'bytes', description })
}

function count(byDefault: number, maximum: number, description: string) {
  return Type.Integer({ default: byDefault, minimum: 1, maximum, description })
}

/** The table `update` of a settings file. */
export const updateTable = Type.Object(
  {
    update_url: Type.String({
      isBare: true,
      default: '',
      maxLength: 256,
      // An account in it would be told to all who may read what is told, and is never sent.
      pattern: '^(https?://[^\\s?#@/]+(/[^\\s?#]*)?)?$',
      description: 'address of the update server, such as https://updates.example.org:3131; empty: none',
    }),
    channel: Type.Enum(['stable', 'beta'], { default: 'stable', description: 'which releases are asked for' }),
    window: hours(
      'hours of this machine in which plantroom-update.timer applies updates, HH:MM-HH:MM, an hour at least; empty: those that the update server sends, else 03:00-05:00',
    ),
    answer_ms: milliseconds(30_000, 100, 600_000, 'how long an answer of the update server may take to begin'),
    stall_ms: milliseconds(
      60_000,
      100,
      600_000,
      'a download that gets no byte for so long is begun again where it ended',
    ),
    pull_tries: count(20, 1000, 'how often a download is begun or continued within one update'),
    retry_ms: milliseconds(5000, 1, 600_000, 'how long to wait before a download is continued'),
    retry_most_ms: milliseconds(120_000, 1, 3_600_000, 'how long to wait at most where the server asks for more'),
    archive_bytes: bytes(524_288_000, 'largest archive that is downloaded'),
    unpacked_bytes: bytes(1_073_741_824, 'what the files of one release may take on the disk'),
    ratio: count(50, 1000, 'how many times its size an archive may unpack to'),
    delta_file_bytes: bytes(
      16_777_216,
      'largest file that a delta may build on, which takes four times its size of memory; above it the archive is fetched',
    ),
    probation_ms: milliseconds(60_000, 0, 3_600_000, 'how long a new release is watched before it stays'),
    probe_ms: milliseconds(1000, 10, 60_000, 'how often its daemons are asked meanwhile'),
    unwell_ms: milliseconds(
      30_000,
      0,
      3_600_000,
      'how long one of them may be silent, such as while it starts, before the release is taken back',
    ),
    backups: count(3, 100, 'backups of so many updates are kept'),
    macro_wait_ms: milliseconds(
      600_000,
      0,
      86_400_000,
      'how long an update waits for macros that run; then it is put off, and nothing was changed',
    ),
    quiet_socket: Type.String({
      default: '/run/plantroom/controller/quiet.sock',
      maxLength: 100,
      description: 'where the controller tells that no macro runs; empty: nobody is asked',
    }),
    handed_file: Type.String({
      default: '/var/lib/plantroom/recorder/upload.release',
      pattern: '^/[!-~]{1,999}$',
      description:
        'where a recorder leaves a release file that somebody uploads; nobody but its user may write in that folder, and root alone above it',
    }),
    ask_gap_ms: milliseconds(5000, 0, 3_600_000, 'least time between two runs that a controller asks for'),
    ask_idle_ms: milliseconds(5000, 0, 3_600_000, 'how long the service waits for another request before it ends'),
    tries: count(3, 10, 'how often a new release is started before it is taken back, where each start was cut off'),
  },
  { ...strict, description: 'Where updates of Plantroom come from, and how they are applied.' },
)
export type UpdateSettings = Static<typeof updateTable>

/** The table `image` of the same file: of a board whose whole system is a firmware image. */
export const imageTable = Type.Object(
  {
    compatible: Type.String({
      default: '',
      pattern: '^[A-Za-z0-9._-]{0,64}$',
      description:
        'kind of board this is, as ota.compatible of its board.toml: this machine is updated by images for it; empty: by releases of Plantroom',
    }),
    socket: Type.String({
      default: '/run/plantroom/board/ota.sock',
      pattern: '^/[!-~]{1,99}$',
      description: 'where the board takes images, as its ota.socket',
    }),
    image_bytes: bytes(4_294_967_296, 'largest image that is downloaded'),
    answer_ms: milliseconds(
      5000,
      100,
      600_000,
      'how long the board may take to say what it runs, and to say what came of an image once it has begun to',
    ),
    install_ms: milliseconds(
      1_200_000,
      1000,
      7_200_000,
      'how long the board may neither take more of an image nor answer, such as while it installs',
    ),
    restart_ms: milliseconds(
      600_000,
      1000,
      7_200_000,
      'how long an update waits for the board to come back; after that the next start of the machine takes it up again',
    ),
  },
  { ...strict, description: 'Updates of a board by firmware images.' },
)
export type ImageSettings = Static<typeof imageTable>
