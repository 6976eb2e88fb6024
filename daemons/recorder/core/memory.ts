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
  tlsRow,
} from '#kit/pure/memory-plan.ts'
import { MOST_SOUND_PACKET_BYTES } from '../wire/sound.ts'

/** A packet of RTP is as long as its interleaved length allows. */
const PACKET_BYTES = 64 * KIB

/** What the parser of RTSP holds: a head, a body, a packet that is not whole, and what was just read. */
const READER_BYTES = 256 * KIB

/** Beside the four that Node has anyway; scripts/bundle.ts sets them. */
const DISK_THREADS = 'threads that wait for disks'
/** Its Node, and the threads of two pipelines. @source measured: 17 */
const DECODER_TASKS = 24
/** One for pictures, one for films of cameras with masks. */
const DECODERS = 2

/** What it says and which zones there are, each asked for once at a time; and one to set it. */
const CLOCK_PROGRAMS = 3
/** @source measured: 7 MiB resident, most of it shared */
const CLOCK_PROGRAM_BYTES = 8 * MIB

const TASKS: MemoryPlan['tasks'] = {
  'Node and V8': NODE_TASKS,
  'threads that hash passwords': 'http.password_workers',
  [DISK_THREADS]: 12,
  'the processes that decode': DECODERS * DECODER_TASKS,
  'programs that ask the clock service': CLOCK_PROGRAMS,
}

export function memoryPlan(): MemoryPlan {
  return {
    idleBytes: 96 * MIB,
    garbage: 0.25,
    youngBytes: 48 * MIB,
    rows: [
      ...serverRows(),
      tlsRow(),
      ...signInRows({
        workers: 'http.password_workers',
        queue: 'http.password_queue',
        table: 'http.login_table',
        homes: 'http.login_homes',
      }),
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
        // Of pictures and of sound.
        each: (setting) => setting('cameras.reorder_packets') * (PACKET_BYTES + MOST_SOUND_PACKET_BYTES),
        shownBy: 'daemons/recorder/test/core/recording/reorder.test.ts',
      },
      {
        // What is put together, and the picture that is made of it.
        ...{ what: 'pictures that are put together', of: 'camera', many: 'cameras.max' },
        each: (setting) => 2 * setting('cameras.picture_bytes'),
        shownBy: 'daemons/recorder/test/wire/pictures.test.ts',
      },
      {
        // The pictures, and the fragment that is made of them.
        ...{ what: 'groups of pictures until the next key frame', of: 'camera', many: 'cameras.max' },
        each: (setting) => 2 * (setting('cameras.group_bytes') + setting('cameras.picture_bytes')),
        shownBy: 'daemons/recorder/test/core/recording/groups.test.ts',
      },
      ...onvifRows(),
      {
        // The sound, and its part of the fragment.
        ...{ what: 'sound that waits for its pictures', of: 'camera', many: 'cameras.max' },
        each: (setting) => 2 * setting('cameras.sound_bytes'),
        shownBy: 'daemons/recorder/test/core/recording/held-sound.test.ts',
      },
      {
        // The fragment as it lies on the disk, and as it is sent.
        ...{ what: 'footage that is played', of: 'stream', many: 'playback.total_streams' },
        each: (setting) =>
          2 * (setting('cameras.group_bytes') + setting('cameras.picture_bytes') + setting('cameras.sound_bytes')),
        shownBy: 'daemons/recorder/test/access.e2e.test.ts',
      },
      ...liveRows(),
      ...pictureRows(),
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

function pictureRows(): MemoryRow[] {
  return [
    {
      // A group as it was read, and as it goes to the decoder.
      ...{ what: 'pictures that wait for the decoder', of: 'picture', many: 'pictures.queue' },
      each: (setting) => 2 * (setting('cameras.group_bytes') + setting('cameras.picture_bytes')),
      shownBy: 'daemons/recorder/test/io/picture-decoder.test.ts',
    },
    {
      ...{ what: 'the processes that decode', of: 'process', each: 'pictures.memory_bytes', many: DECODERS },
      shownBy: 'daemons/recorder/test/io/picture-decoder.test.ts',
    },
  ]
}

/** What is held of cameras that are watched. */
function liveRows(): MemoryRow[] {
  return [
    {
      // The pictures, and their fragments while somebody watches.
      ...{ what: 'the group of pictures that is shown to who opens a camera', of: 'camera', many: 'cameras.max' },
      each: (setting) => 2 * setting('live.group_bytes'),
      shownBy: 'daemons/recorder/test/core/live/channel.test.ts',
    },
    {
      // As of a recorded one: what is read, waits, is put together, and the group of pictures.
      ...{ what: 'sub streams that are watched', of: 'camera', many: 'cameras.max' },
      each: (setting) =>
        READER_BYTES +
        KERNEL_BYTES +
        udpBytes(setting) +
        setting('cameras.reorder_packets') * (PACKET_BYTES + MOST_SOUND_PACKET_BYTES) +
        8 * setting('live.group_bytes'),
      shownBy: 'daemons/recorder/test/core/live/sub-stream.test.ts',
    },
    {
      ...{ what: 'live pictures that are not sent yet', of: 'live stream', many: 'live.total_streams' },
      each: 'live.buffer_bytes',
      shownBy: 'daemons/recorder/test/live.e2e.test.ts',
    },
  ]
}
