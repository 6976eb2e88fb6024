/** Every key of recorder.toml: type, default, range, unit and meaning. */
import { type Static, Type } from 'typebox'
import { commonTables, journalTable } from '#kit/config/tables.ts'
import { mqttClientTable } from '#kit/net/mqtt/settings.ts'
import { alarmsTable } from '#kit/records/alarms.ts'
import { ledgerTable } from '#kit/records/ledger.ts'
import { license } from './core/licence/keys.ts'
import { live, pictures, playback } from './core/live/keys.ts'
import { memoryPlan } from './core/memory.ts'
import { plans } from './core/plans/keys.ts'
import { ptz } from './core/ptz/keys.ts'
import { cameraEvents, outputs, rules } from './core/rules/keys.ts'
import { detector, events, recognition } from './core/sight/keys.ts'
import { talk } from './core/talk/keys.ts'
import { updating } from './core/updating/keys.ts'

/** The recorder's default TCP port. */
export const DEFAULT_PORT = 3133

const cameras = Type.Object(
  {
    max: Type.Integer({ default: 32, minimum: 1, maximum: 128, description: 'cameras at once' }),
    answer_ms: Type.Integer({
      default: 10_000,
      minimum: 500,
      maximum: 120_000,
      unit: 'ms',
      description: 'how long a camera may take to be connected, and for each answer',
    }),
    silent_ms: Type.Integer({
      default: 10_000,
      minimum: 1000,
      maximum: 600_000,
      unit: 'ms',
      description: 'reconnect a camera that has sent nothing for this long',
    }),
    picture_ms: Type.Integer({
      default: 30_000,
      minimum: 1000,
      maximum: 600_000,
      unit: 'ms',
      description: 'reconnect a camera that has sent no recordable picture for this long',
    }),
    retry_first_ms: Type.Integer({
      default: 500,
      minimum: 50,
      maximum: 60_000,
      unit: 'ms',
      description: 'wait before a lost camera is tried again; doubles with each try',
    }),
    retry_max_ms: Type.Integer({
      default: 30_000,
      minimum: 100,
      maximum: 600_000,
      unit: 'ms',
      description: 'longest wait between tries, and the wait after a wrong password',
    }),
    bytes_per_s: Type.Integer({
      default: 8_388_608,
      minimum: 65_536,
      maximum: 134_217_728,
      unit: 'bytes',
      description: 'what is read from one camera in a second, 512 more for each packet; more waits for the next second',
    }),
    picture_bytes: Type.Integer({
      default: 4_194_304,
      minimum: 65_536,
      maximum: 16_777_216,
      unit: 'bytes',
      description: 'a single picture of more is dropped',
    }),
    group_bytes: Type.Integer({
      default: 8_388_608,
      minimum: 262_144,
      maximum: 67_108_864,
      unit: 'bytes',
      description: 'pictures of one camera that are held until the next key frame; more are written in parts',
    }),
    sound_bytes: Type.Integer({
      default: 524_288,
      minimum: 65_536,
      maximum: 16_777_216,
      unit: 'bytes',
      description: 'sound of one camera that is held until the next key frame; beyond, the oldest is lost',
    }),
    reorder_packets: Type.Integer({
      default: 64,
      minimum: 0,
      maximum: 1024,
      description: 'packets that may wait for one that is missing before it counts as lost',
    }),
    reorder_bytes: Type.Integer({
      default: 262_144,
      minimum: 65_536,
      maximum: 16_777_216,
      unit: 'bytes',
      description: 'bytes of packets that may wait for one that is missing before it counts as lost',
    }),
    spare_bytes: Type.Integer({
      default: 16_777_216,
      minimum: 0,
      maximum: 1_073_741_824,
      unit: 'bytes',
      description:
        'memory that written pictures leave free and that is kept for the next ones; more than this is given back to the system',
    }),
    held_bytes: Type.Integer({
      default: 201_326_592,
      minimum: 33_554_432,
      maximum: 8_589_934_592,
      unit: 'bytes',
      description:
        'pictures of all cameras together that are held: put together, until the next key frame, and for who opens one live; beyond, the camera that holds most gives some up: its group is written in parts, or a new viewer waits for a key frame',
    }),
    reorder_ms: Type.Integer({
      default: 300,
      minimum: 0,
      maximum: 10_000,
      unit: 'ms',
      description: 'how long packets may wait for one that is missing before it counts as lost',
    }),
    udp_first_port: Type.Integer({
      default: 61_000,
      minimum: 1024,
      maximum: 65_000,
      description: 'first port on which cameras that send over UDP are heard; a firewall has to let them in',
    }),
    udp_ports: Type.Integer({
      default: 512,
      minimum: 2,
      maximum: 8192,
      description: 'how many such ports: a camera takes two, and two more for its sound',
    }),
    udp_buffer_bytes: Type.Integer({
      default: 524_288,
      minimum: 65_536,
      maximum: 16_777_216,
      unit: 'bytes',
      description:
        'what the kernel holds of a camera that sends over UDP while the recorder is busy; it may allow less',
    }),
    slew_ppm: Type.Integer({
      default: 500,
      minimum: 10,
      maximum: 10_000,
      description: 'how wrong the clock of a camera may run and still be followed, in parts per million',
    }),
    tolerance_ms: Type.Integer({
      default: 2000,
      minimum: 100,
      maximum: 60_000,
      unit: 'ms',
      description: 'how far stamps of a camera may be from their arrival before it counts as a hole',
    }),
  },
  { additionalProperties: false, default: {}, description: 'cameras, and how a lost one comes back' },
)

const discovery = Type.Object(
  {
    interface: Type.String({
      default: '',
      maxLength: 64,
      description: 'name or address of the only interface on which cameras are looked for; empty: all',
    }),
    wait_ms: Type.Integer({
      default: 4000,
      minimum: 200,
      maximum: 60_000,
      unit: 'ms',
      description: 'how long a scan waits for answers of cameras',
    }),
    answers: Type.Integer({
      default: 1024,
      minimum: 16,
      maximum: 16_384,
      description: 'answers that one scan reads in all; further ones are left out',
    }),
    answers_per_address: Type.Integer({
      default: 12,
      minimum: 3,
      maximum: 256,
      description: 'answers of one address that one scan reads; each camera is asked three times',
    }),
    found: Type.Integer({ default: 256, minimum: 1, maximum: 1024, description: 'cameras in the list of those found' }),
    found_per_address: Type.Integer({
      default: 4,
      minimum: 1,
      maximum: 64,
      description: 'cameras of one address in that list',
    }),
    adopt_at_once: Type.Integer({ default: 4, minimum: 1, maximum: 32, description: 'cameras that are added at once' }),
    stream_tries: Type.Integer({
      default: 4,
      minimum: 1,
      maximum: 16,
      description: 'streams of a camera that are tried, the best first, until one plays',
    }),
    onvif_bytes: Type.Integer({
      default: 262_144,
      minimum: 16_384,
      maximum: 4_194_304,
      unit: 'bytes',
      description: 'longest answer of a camera over ONVIF; beyond, it is cut off',
    }),
  },
  { additionalProperties: false, default: {}, description: 'looking for cameras, and adding what was found' },
)

const clocks = Type.Object(
  {
    right_s: Type.Integer({
      default: 2,
      minimum: 1,
      maximum: 60,
      unit: 's',
      description: 'a clock of a camera that is off by no more is right',
    }),
    check_s: Type.Integer({
      default: 3600,
      minimum: 60,
      maximum: 86_400,
      unit: 's',
      description: 'how often the clock of each camera is looked at',
    }),
    fetch_ms: Type.Integer({
      default: 10_000,
      minimum: 0,
      maximum: 60_000,
      unit: 'ms',
      description: 'how long a camera may take to fetch the time from its server once it was told to',
    }),
    service_ms: Type.Integer({
      default: 10_000,
      minimum: 500,
      maximum: 60_000,
      unit: 'ms',
      description: "how long the system's clock service may take for each answer",
    }),
    writes: Type.Integer({
      default: 100,
      minimum: 1,
      maximum: 1000,
      description: 'what was written to one camera: entries kept, the oldest go first',
    }),
  },
  {
    additionalProperties: false,
    default: {},
    description: 'clocks of this machine and of cameras, and what is written to cameras',
  },
)

const timeServer = Type.Object(
  {
    enabled: Type.Boolean({
      default: true,
      description:
        'whether cameras can take their time from this machine (NTP): those of its own networks, while its clock is synchronized',
    }),
    port: Type.Integer({
      default: 123,
      minimum: 1,
      maximum: 65_535,
      description: 'UDP port; cameras ask on 123, so that another one needs a rule that leads them to it',
    }),
    local_stratum: Type.Integer({
      default: 0,
      minimum: 0,
      maximum: 15,
      description:
        'stratum with which the time is given while the clock is not synchronized, for a site without any server of time; 0: nothing is answered then',
    }),
    look_ms: Type.Integer({
      default: 60_000,
      minimum: 1000,
      maximum: 3_600_000,
      unit: 'ms',
      description: 'how often is looked whether the clock is synchronized, and the port free',
    }),
    per_address: Type.Integer({
      default: 60,
      minimum: 1,
      maximum: 100_000,
      description: 'questions of one address that are answered in a minute; further ones are left out and counted',
    }),
    per_minute: Type.Integer({
      default: 12_000,
      minimum: 1,
      maximum: 1_000_000,
      description: 'questions of all that are answered in a minute',
    }),
    addresses: Type.Integer({
      default: 1024,
      minimum: 1,
      maximum: 65_536,
      description: 'addresses that are counted in a minute; those of further ones are left out',
    }),
    buffer_bytes: Type.Integer({
      default: 65_536,
      minimum: 4096,
      maximum: 16_777_216,
      unit: 'bytes',
      description: 'questions that the kernel holds while the recorder is busy',
    }),
    answer_ms: Type.Integer({
      default: 500,
      minimum: 50,
      maximum: 10_000,
      unit: 'ms',
      description: 'where another program has the port: how long it may take to show that it gives the time',
    }),
  },
  { additionalProperties: false, default: {}, description: 'the time that cameras ask this machine for (NTP)' },
)

const storage = Type.Object(
  {
    folder: Type.String({
      default: '',
      maxLength: 1024,
      description:
        'folder that keeps the footage, made if it is missing; empty: one beside the state folder, its name with -footage',
    }),
    folders: Type.Array(Type.String({ minLength: 1, maxLength: 1024, pattern: '^/' }), {
      default: [],
      maxItems: 16,
      description:
        'further folders, each on a mounted disk of its own: one on the disk of the state is not begun, since its disk is not mounted then',
    }),
    look_ms: Type.Integer({
      default: 1500,
      minimum: 200,
      maximum: 60_000,
      unit: 'ms',
      description: 'how often each disk is looked at: whether it is there, the right one, can be written, and has room',
    }),
    prove_s: Type.Integer({
      default: 600,
      minimum: 1,
      maximum: 86_400,
      unit: 's',
      description:
        'how often a disk that nothing is recorded on is written, to see that it can be; at other looks it is read, since writes wear it',
    }),
    stuck_ms: Type.Integer({
      default: 2000,
      minimum: 200,
      maximum: 60_000,
      unit: 'ms',
      description: 'a disk that does nothing for so long takes no new files while others do',
    }),
    file_s: Type.Integer({
      default: 60,
      minimum: 5,
      maximum: 3600,
      unit: 's',
      description: 'a file is ended at the first key frame after so long',
    }),
    files_per_minute: Type.Integer({
      default: 30,
      minimum: 13,
      maximum: 600,
      description: 'files of one camera that may begin in a minute; beyond, what it sends is lost and counted',
    }),
    flush_s: Type.Integer({
      default: 5,
      minimum: 1,
      maximum: 300,
      unit: 's',
      description: 'how long at most footage that was written may not be safe from a power cut',
    }),
    queue_bytes: Type.Integer({
      default: 33_554_432,
      minimum: 1_048_576,
      maximum: 268_435_456,
      unit: 'bytes',
      description: 'footage of one camera that may wait for the disk; beyond, it is lost and counted',
    }),
    queue_total_bytes: Type.Integer({
      default: 100_663_296,
      minimum: 1_048_576,
      maximum: 2_147_483_648,
      unit: 'bytes',
      description: 'footage of all cameras that may wait for the disk',
    }),
    keep_days: Type.Integer({
      default: 30,
      minimum: 1,
      maximum: 3650,
      unit: 'days',
      description: 'older footage is removed',
    }),
    keep_bytes: Type.Integer({
      default: 1_000_000_000_000,
      minimum: 1_000_000,
      maximum: 1_000_000_000_000_000,
      unit: 'bytes',
      description: 'what all footage may take; beyond, the oldest is removed',
    }),
    free_bytes: Type.Integer({
      default: 2_000_000_000,
      minimum: 0,
      maximum: 1_000_000_000_000,
      unit: 'bytes',
      description: 'what stays free on each disk; below, its oldest footage is removed',
    }),
    preserved: Type.Integer({
      default: 1000,
      minimum: 0,
      maximum: 10_000,
      description: 'stretches of footage that are preserved at once',
    }),
    preserved_of_account: Type.Integer({
      default: 100,
      minimum: 0,
      maximum: 10_000,
      description: 'those of one account that is no administrator',
    }),
    trim_s: Type.Integer({
      default: 10,
      minimum: 1,
      maximum: 3600,
      unit: 's',
      description: 'how often is looked whether footage has to be removed',
    }),
  },
  { additionalProperties: false, default: {}, description: 'where footage lies, and for how long' },
)

const users = Type.Object(
  {
    max: Type.Integer({ default: 64, minimum: 1, maximum: 1024, description: 'accounts at once' }),
    api_tokens: Type.Integer({
      default: 128,
      minimum: 0,
      maximum: 4096,
      description: 'tokens of other systems at once',
    }),
  },
  { additionalProperties: false, default: {}, description: 'people and systems that sign in' },
)

export const config = Type.Object(
  {
    // A wall has a socket for each tile, and clients of these sockets send nothing.
    ...commonTables(DEFAULT_PORT, {
      ...{ most: 96, mostPerAddress: 64, messageBytes: 1024 },
      // The feed is short, and live pictures have a bound of their own.
      ...{ bufferBytes: 262_144, connections: 256 },
    }),
    cameras,
    discovery,
    camera_events: cameraEvents,
    outputs,
    rules,
    clocks,
    time_server: timeServer,
    storage,
    playback,
    live,
    pictures,
    plans,
    ptz,
    detector,
    events,
    recognition,
    talk,
    users,
    license,
    updating,
    // A camera has its state and three entities: 128 of them find room.
    mqtt: mqttClientTable(1024),
    journal: journalTable(),
    ledger: ledgerTable(),
    alarms: alarmsTable({}),
  },
  { additionalProperties: false },
)

export type RecorderConfig = Static<typeof config>

/** The most memory that the daemon may need with these settings. */
export const memory = memoryPlan
