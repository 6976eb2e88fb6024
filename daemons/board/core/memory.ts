/** Memory plan of the board, for the role that takes most, row by row; docs/board.md has the table. */
import {
  CLIENT_BYTES,
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
} from '#kit/pure/memory-plan.ts'
import { MOST_PORTS } from './settings/setting.ts'
import { MOST_UNDER_WAY } from './streams/finding.ts'

/** A found board with its claim, present or absent. @source measured: 1.3 KiB */
const PEER_BYTES = 4 * KIB

/**
 * A poll of another board: its connection and the longest answer. @source measured: 29 KB of a head with the shortest
 * lines possible
 */
const ASKED_BYTES = 32 * KIB + CLIENT_BYTES + KERNEL_BYTES

/**
 * A stream with its description, and each way in which it is heard. @source measured: 21 KiB of 8192 non-Latin letters
 */
const STREAM_BYTES = 24 * KIB

/** SAP groups of each interface; see daemons/board/io/sap.ts. */
const SAP_BYTES = 8 * 512 * KIB

/**
 * Sound being played or sent: GStreamer's buffers of both paths, an hour of measurements, levels. @source measured: 8
 * MB
 */
const SOUND_BYTES = 24 * MIB

/** An RTSP client: its request, and answers it has not taken. @source measured: 64 KiB, then it is closed */
const RTSP_BYTES = 96 * KIB

/** A device asked over RTSP: its answer of 36 KiB, as received and again when it grows. */
const RTSP_ANSWER_BYTES = 128 * KIB

/** ptp4l, or pmc which queries it, beside their allocated memory. @source measured: 3 MB */
const PTP_PROGRAM_BYTES = 4 * MIB

/** A host that asks for USB devices. */
const USB_HOST_BYTES = CLIENT_BYTES + KERNEL_BYTES + 64 * KIB

/** An image on its way from a connection to the disk. */
const UPLOAD_BYTES = 4 * MIB

function serialRows(): MemoryRow[] {
  const clients = (setting: Setting) => MOST_PORTS * setting('serial.max_clients')
  return [
    {
      ...{ what: 'bytes to a line: waiting, left behind', of: 'port', many: MOST_PORTS },
      each: (setting) => lineBytes(setting, 'serial'),
      shownBy: 'kit/test/line/line-queue.test.ts',
    },
    {
      ...{
        what: 'clients of serial ports: bytes they have not taken, buffers of the kernel',
        of: 'client',
        many: clients,
      },
      each: (setting) => clientBytes(setting, 'serial'),
      shownBy: 'kit/test/line/socket-writer.test.ts',
    },
  ]
}

function networkRows(): MemoryRow[] {
  return [
    {
      ...{ what: 'other boards', of: 'board', each: PEER_BYTES, isHeap: true },
      many: (setting) => setting('peers.max') + setting('peers.absent_max'),
      shownBy: 'daemons/board/test/core/peers/peer-table.test.ts',
    },
    {
      ...{ what: 'boards that are being asked, with buffers of the kernel', of: 'board', each: ASKED_BYTES },
      many: (setting) => 2 * setting('peers.polls'),
      shownBy: 'daemons/board/test/io/peer-asker.test.ts',
    },
    {
      ...{ what: 'USB/IP hosts that are asking', of: 'host', each: USB_HOST_BYTES, many: 'usbip.connections' },
      shownBy: 'daemons/board/roles/usbip/test/io/op-server.test.ts',
    },
    {
      ...{ what: 'an image on its way to the disk', all: UPLOAD_BYTES },
      shownBy: 'daemons/board/test/ota-large.e2e.test.ts',
    },
  ]
}

function soundRows(): MemoryRow[] {
  return [
    {
      ...{ what: 'streams that were heard', of: 'stream', each: STREAM_BYTES, isHeap: true },
      many: (setting) => setting('streams.most') + setting('streams.sessions'),
      shownBy: 'daemons/board/test/core/streams/stream-book.test.ts',
    },
    {
      ...{ what: 'buffers of the kernel for announcements', all: SAP_BYTES },
      shownBy: 'daemons/board/test/io/sap.test.ts',
    },
    {
      ...{ what: 'clients of RTSP', of: 'client', many: 'streams.rtsp_clients' },
      each: CLIENT_BYTES + KERNEL_BYTES + RTSP_BYTES,
      shownBy: 'daemons/board/test/io/rtsp-server.test.ts',
    },
    {
      ...{ what: 'devices that are asked for descriptions', of: 'device', many: MOST_UNDER_WAY },
      each: CLIENT_BYTES + KERNEL_BYTES + RTSP_ANSWER_BYTES,
      shownBy: 'daemons/board/test/io/rtsp-server.test.ts',
    },
    {
      ...{ what: 'sound: buffers, levels, an hour of measurements', all: SOUND_BYTES },
      shownBy: 'daemons/board/test/core/sound/history.test.ts',
    },
    {
      ...{ what: 'packets of sound in the kernel', of: 'path', each: 'audio.receive_buffer_bytes' },
      // For two paths; the kernel counts its overhead too, which doubles it.
      many: 2 * 2,
      shownBy: 'daemons/board/roles/decoder/test/decoder-sound.test.ts',
    },
    {
      ...{ what: 'ptp4l and pmc', of: 'program', many: 2 },
      each: (setting) => setting('ptp.memory_mb') * MIB + PTP_PROGRAM_BYTES,
      shownBy: 'daemons/board/test/io/ptp-program.test.ts',
    },
  ]
}

export function memoryPlan(): MemoryPlan {
  return {
    idleBytes: 112 * MIB,
    garbage: 0.25,
    youngBytes: 48 * MIB,
    rows: [...serverRows(), ...signInRows(), ...houseRows(), ...networkRows(), ...serialRows(), ...soundRows()],
    tasks: {
      'Node and V8': NODE_TASKS,
      'threads that hash passwords': 'http.password_workers',
      'threads of sound: receivers, pipelines, cards': 24,
      'waits of lines': MOST_PORTS,
      'ptp4l and its guards': 4,
      'ota.command, with what it starts': 16,
    },
  }
}
