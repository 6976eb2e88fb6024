/** The memory budget of the recorder, row by row; docs/recorder.md has the table. */
import {
  houseRows,
  KERNEL_BYTES,
  KIB,
  type MemoryPlan,
  type MemoryRow,
  MIB,
  NODE_TASKS,
  type Setting,
  serverRows,
  signInRows,
  threadRow,
  tlsRow,
} from '#kit/pure/memory-plan.ts'
import { mqttRows } from '#kit/pure/mqtt-memory.ts'
import { MOST_RELAYS } from '../wire/onvif-outputs.ts'
import { BLOCK_BYTES } from '../wire/picture-blocks.ts'
import { DETECTOR_TASKS, sightRows } from './sight/memory.ts'

/** A packet of RTP is as long as its interleaved length allows. */
const PACKET_BYTES = 64 * KIB

/** What the parser of RTSP holds: a head, a body, a packet that is not whole, and what was just read. */
const READER_BYTES = 256 * KIB

const HAPPENED_THREAD = 'the thread that keeps what happened'
/** Beside the four that Node has anyway; scripts/bundle.ts sets them. */
const DISK_THREADS = 'threads that wait for disks'
/** Its Node, and the threads of two pipelines. @source measured: 17 */
const DECODER_TASKS = 24
/** What a process that decodes may answer: a JPEG of the largest picture, or half a minute of a film of 1920 x 1080. */
export const DECODED_BYTES = 16 * MIB

/** Of V8's heap: three times what scripts/bundle.ts allows for a half of it. */
const YOUNG_BYTES = 6 * MIB

/**
 * V8 begins to collect when what lies beside its heap has grown by so much, and goes on while more comes.
 * @source measured: pictures of 32 cameras
 */
const UNCOLLECTED_BYTES = 96 * MIB

/** What of footage that is played is taken from the disk at once. */
export const PIECE_BYTES = 256 * KIB
/** The head of a fragment has 16 bytes for a picture and 8 for a frame of sound, which count in a group with 768 and 384 more than they have. */
const HEAD_PART = 32

/** What it says and which zones there are, each asked for once at a time; one to set it, and one of the server of time. */
const CLOCK_PROGRAMS = 4
/** @source measured: 7 MiB resident, most of it shared */
const CLOCK_PROGRAM_BYTES = 8 * MIB

const TASKS: MemoryPlan['tasks'] = {
  'Node and V8': NODE_TASKS,
  'threads that hash passwords': 'http.password_workers',
  [DISK_THREADS]: 12,
  [HAPPENED_THREAD]: 1,
  'the processes that decode': (setting) => DECODER_TASKS * setting('pictures.processes'),
  'programs that ask the clock service': CLOCK_PROGRAMS,
  'the process that decodes for the detector': DECODER_TASKS,
  'the external detector': DETECTOR_TASKS,
  'the thread of events': 1,
  'the program that reads a text aloud': 1,
}

export function memoryPlan(): MemoryPlan {
  return {
    idleBytes: 96 * MIB,
    garbage: 0.25,
    youngBytes: YOUNG_BYTES,
    rows: [
      ...serverRows(),
      tlsRow(),
      ...signInRows(),
      ...houseRows(),
      {
        // With as many ids as a list of cameras may hold.
        ...{ what: 'accounts', of: 'account', each: 8 * KIB, many: 'users.max', isHeap: true },
        shownBy: 'daemons/recorder/test/core/access/accounts.test.ts',
      },
      {
        ...{ what: 'sessions and tokens', of: 'one of them', each: KIB, isHeap: true },
        many: (setting) => setting('http.max_tokens') + setting('users.api_tokens'),
        shownBy: 'daemons/recorder/test/core/access/tokens.test.ts',
      },
      {
        ...{ what: 'what is read from cameras, with buffers of the kernel', of: 'camera', many: 'cameras.max' },
        each: READER_BYTES + KERNEL_BYTES,
        shownBy: 'daemons/recorder/test/wire/rtsp.test.ts',
      },
      {
        ...{ what: 'packets over UDP that the kernel holds', of: 'camera', many: 'cameras.max' },
        each: udpBytes,
        shownBy: 'daemons/recorder/test/io/rtp-sockets.test.ts',
      },
      {
        ...{ what: 'packets that wait for one that is missing', of: 'camera', many: 'cameras.max' },
        each: waitingBytes,
        shownBy: 'daemons/recorder/test/core/recording/reorder.test.ts',
      },
      {
        // Put together, in groups until the next key frame, and of cameras that are watched, with their sound.
        ...{ what: 'pictures of all cameras', all: 'cameras.held_bytes' },
        shownBy: 'daemons/recorder/test/core/recording/stream-memory.test.ts',
      },
      {
        // Pictures that others lay beside are gone: of the recorded stream, of what waits for the disk, of both that are watched.
        ...{ what: 'blocks of which few pictures are held', of: 'camera', many: 'cameras.max', each: 4 * BLOCK_BYTES },
        shownBy: 'daemons/recorder/test/core/recording/picture-memory.test.ts',
      },
      {
        ...{ what: 'blocks for the next pictures', all: 'cameras.spare_bytes' },
        shownBy: 'daemons/recorder/test/wire/picture-blocks.test.ts',
      },
      {
        // Its pictures are written as they lie.
        ...{ what: 'head and sound of a fragment' },
        all: (setting) => groupBytes(setting) / HEAD_PART + setting('cameras.sound_bytes'),
        shownBy: 'daemons/recorder/test/core/recording/groups.test.ts',
      },
      {
        ...{ what: 'pictures that V8 has yet to collect', all: UNCOLLECTED_BYTES },
        shownBy: 'daemons/recorder/test/core/recording/stream-memory.test.ts',
      },
      ...onvifRows(),
      ...reactingRows(),
      ptzRow(),
      timeServerRow(),
      ...talkRows(),
      {
        ...{
          what: 'sound that waits for its pictures',
          of: 'camera',
          many: 'cameras.max',
          each: 'cameras.sound_bytes',
        },
        shownBy: 'daemons/recorder/test/core/recording/held-sound.test.ts',
      },
      {
        // Two pieces of it, its head as it was and as it is sent.
        ...{ what: 'footage that is played', of: 'stream', many: 'playback.total_streams' },
        each: (setting) => 2 * PIECE_BYTES + (2 * groupBytes(setting)) / HEAD_PART,
        shownBy: 'daemons/recorder/test/io/footage-reader.test.ts',
      },
      ...[...liveRows(), ...pictureRows(), ...planRows(), ...updateRows(), ...mqttRows(), ...sightRows()],
      {
        ...{ what: 'footage that waits for the disk', all: 'storage.queue_total_bytes' },
        shownBy: 'daemons/recorder/test/io/footage-store.test.ts',
      },
    ],
    tasks: TASKS,
  }
}

/** Of pictures; of sound, and the reports of both, 64 KiB each. The kernel counts twice what it is asked for. */
function udpBytes(setting: Setting): number {
  return 2 * (setting('cameras.udp_buffer_bytes') + 3 * 64 * KIB)
}

/** Of pictures and of sound, with the one that was too much. */
function waitingBytes(setting: Setting): number {
  return 2 * (setting('cameras.reorder_bytes') + PACKET_BYTES)
}

/** Of one that asks for the time: its text, and its place in a table. */
const ASKER_BYTES = 256

/** Questions for the time, twice as the kernel counts; and who asks. */
function timeServerRow(): MemoryRow {
  return {
    ...{ what: 'questions for the time, and who asks' },
    all: (setting) => 2 * setting('time_server.buffer_bytes') + ASKER_BYTES * setting('time_server.addresses'),
    shownBy: 'daemons/recorder/test/core/clocks/time-server.test.ts',
  }
}

/** What is known of a camera that turns: what it says of itself, who moves it, and the small pictures that an aim compares. */
function ptzRow(): MemoryRow {
  return {
    ...{ what: 'cameras that turn', of: 'camera', many: 'cameras.max', each: 256 * KIB },
    shownBy: 'daemons/recorder/test/core/ptz/moves.test.ts',
  }
}

/** What is asked of cameras over ONVIF, and written to them. */
function onvifRows(): MemoryRow[] {
  return [
    {
      // As bytes, as text, and as elements of many times that.
      ...{ what: 'answers of cameras over ONVIF', of: 'camera', many: 'discovery.adopt_at_once', isHeap: true },
      each: (setting) => 16 * setting('discovery.onvif_bytes'),
      shownBy: 'daemons/recorder/test/wire/xml.test.ts',
    },
    {
      ...{ what: 'cameras that were found', of: 'camera', many: 'discovery.found', each: 4 * KIB, isHeap: true },
      shownBy: 'daemons/recorder/test/core/cameras/discovery.test.ts',
    },
    {
      ...{ what: 'what was written to cameras', of: 'camera', many: 'cameras.max', isHeap: true },
      each: (setting) => 2 * KIB * setting('clocks.writes'),
      shownBy: 'daemons/recorder/test/core/clocks/writes.test.ts',
    },
    {
      ...{
        what: 'programs that ask the clock service',
        of: 'program',
        many: CLOCK_PROGRAMS,
        each: CLOCK_PROGRAM_BYTES,
      },
      shownBy: 'daemons/recorder/test/core/clocks/own-clock.test.ts',
    },
  ]
}

/** An event that waits for the disk, with its texts in UTF-16. */
const HAPPENED_BYTES = 2 * KIB
/** The heap of its thread. */
export const HAPPENED_HEAP = { old: 24, young: 4 }

/** Addresses of 2048 characters, and ids of all cameras. */
const RULE_BYTES = 64 * KIB
/** Its text, with ten sentences. */
const ALERT_BYTES = 8 * KIB

/** What cameras tell of themselves, what they switch, and what rules do. */
function reactingRows(): MemoryRow[] {
  return [
    {
      // As bytes and as text of all, with what was told last by pull points that are replaced; of one at a time as
      // elements of many times that.
      ...{ what: 'what cameras answer about their events' },
      all: (setting) => (3 * setting('cameras.max') + 16) * setting('camera_events.answer_bytes'),
      shownBy: 'daemons/recorder/test/wire/xml.test.ts',
    },
    {
      ...{ what: 'what happened and waits for the disk', of: 'event', each: HAPPENED_BYTES },
      ...{ many: 'camera_events.waiting', isHeap: true },
      shownBy: 'daemons/recorder/test/io/happened-store.test.ts',
    },
    {
      // With a timer, a state, and orders that wait.
      ...{ what: 'outputs of cameras', of: 'camera', many: 'cameras.max', isHeap: true },
      each: (setting) => MOST_RELAYS * KIB + 2 * KIB * setting('outputs.waiting'),
      shownBy: 'daemons/recorder/test/core/outputs/outputs.test.ts',
    },
    {
      // Ten actions with their longest texts, in UTF-16.
      ...{ what: 'rules', of: 'rule', many: 'rules.max', each: RULE_BYTES, isHeap: true },
      shownBy: 'daemons/recorder/test/core/rules/rules.test.ts',
    },
    {
      // What it tells, and what is told of it.
      ...{ what: 'actions of rules that wait', of: 'action', many: 'rules.total_waiting', each: 8 * KIB, isHeap: true },
      shownBy: 'daemons/recorder/test/core/rules/rules.test.ts',
    },
    {
      ...{ what: 'alerts that wait for the disk', of: 'alert', many: 'camera_events.waiting', each: ALERT_BYTES },
      ...{ isHeap: true, shownBy: 'daemons/recorder/test/io/happened-store.test.ts' },
    },
    threadRow(HAPPENED_THREAD, HAPPENED_HEAP.old + HAPPENED_HEAP.young, 'kit/test/store/sqlite-writer.test.ts'),
  ]
}

/** espeak-ng with one voice. @source measured: 13 MiB resident */
const SPEECH_PROGRAM_BYTES = 24 * MIB

/** What cameras say, as samples and as bytes of G.711; and a message that is being added, one at a time. */
function talkRows(): MemoryRow[] {
  return [
    {
      ...{ what: 'messages that cameras say', of: 'camera', many: 'talk.cameras' },
      each: (setting) => 24_000 * setting('talk.message_s') + READER_BYTES + 2 * KERNEL_BYTES,
      shownBy: 'daemons/recorder/test/core/talk/talk.test.ts',
    },
    {
      // In pieces as it came, whole, and as samples; or a text that is read aloud, which is shorter.
      ...{ what: 'a message that is added' },
      all: (setting) =>
        2 * Math.max(setting('talk.upload_bytes'), 44_100 * (setting('talk.message_s') + 2)) +
        16_000 * setting('talk.message_s') +
        SPEECH_PROGRAM_BYTES,
      shownBy: 'daemons/recorder/test/core/talk/messages.test.ts',
    },
    {
      ...{ what: 'saved messages', of: 'message', many: 'talk.messages', each: 8 * KIB, isHeap: true },
      shownBy: 'daemons/recorder/test/core/talk/messages.test.ts',
    },
  ]
}

/** The longest that is written as one fragment, or decoded. */
const groupBytes = (setting: Setting): number =>
  setting('cameras.group_bytes') + setting('cameras.picture_bytes') + setting('cameras.sound_bytes')

function pictureRows(): MemoryRow[] {
  return [
    {
      // What still.jpg shows: groups of footage are read one after the other.
      ...{
        what: 'pictures that wait for the decoder',
        of: 'picture',
        many: 'pictures.queue',
        each: 'live.group_bytes',
      },
      shownBy: 'daemons/recorder/test/io/picture-decoder.test.ts',
    },
    {
      // A group that waits as it was read; or what was made of it, and the fragment of that.
      ...{ what: 'films of cameras with masks', of: 'film', many: 'playback.masked_streams' },
      each: (setting) => Math.max(groupBytes(setting), 2 * DECODED_BYTES),
      shownBy: 'daemons/recorder/test/api/extraction.test.ts',
    },
    {
      // A group as it was read and as it is handed over, and the answer as it comes.
      ...{ what: 'what goes to a process that decodes, and comes back', of: 'process', many: 'pictures.processes' },
      each: (setting) => 2 * groupBytes(setting) + 2 * DECODED_BYTES,
      shownBy: 'daemons/recorder/test/io/picture-decoder.test.ts',
    },
    {
      ...{
        what: 'the processes that decode',
        of: 'process',
        each: 'pictures.memory_bytes',
        many: 'pictures.processes',
      },
      shownBy: 'daemons/recorder/test/io/picture-decoder.test.ts',
    },
  ]
}

function planRows(): MemoryRow[] {
  return [
    {
      // As it comes, whole, and without what is no picture.
      ...{ what: 'the image of a plan, while it is sent', all: (setting) => 3 * setting('plans.image_bytes') },
      shownBy: 'daemons/recorder/test/api/plan-routes.test.ts',
    },
    {
      // With as many points as one may have.
      ...{ what: 'where cameras are on plans', of: 'camera', many: 'cameras.max', each: 16 * KIB, isHeap: true },
      shownBy: 'daemons/recorder/test/core/plans/site-plans.test.ts',
    },
  ]
}

/** A release file on its way to the disk, which takes one at a time. */
function updateRows(): MemoryRow[] {
  return [
    {
      ...{ what: 'a release file, while it is sent', all: 2 * MIB },
      shownBy: 'daemons/recorder/test/core/updating/uploads.test.ts',
    },
  ]
}

/** What is held of cameras that are watched. */
function liveRows(): MemoryRow[] {
  return [
    {
      // What is read, and waits for what is missing; its pictures and sound count with those of all cameras.
      ...{ what: 'sub streams that are watched', of: 'camera', many: 'cameras.max' },
      each: (setting) => READER_BYTES + KERNEL_BYTES + udpBytes(setting) + waitingBytes(setting),
      shownBy: 'daemons/recorder/test/core/live/sub-stream.test.ts',
    },
    {
      ...{ what: 'live pictures that are not sent yet', of: 'live stream', many: 'live.total_streams' },
      each: 'live.buffer_bytes',
      shownBy: 'daemons/recorder/test/live.e2e.test.ts',
    },
  ]
}
