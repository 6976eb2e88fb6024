/** The table `audio` of board.toml: the source and sink of sound, and how it is sent and received. */
import { Type } from 'typebox'
import { groupFault } from '../../wire/addresses.ts'

const encoderKeys = {
  second_group: Type.String({
    default: '',
    maxLength: 15,
    description: 'a second multicast group to which an encoder sends the same packets (ST 2022-7); empty: none',
  }),
  dscp: Type.Integer({
    default: 34,
    minimum: 0,
    maximum: 63,
    description: 'DSCP of the packets of sound, which switches go by: AES67 has 34 (AF41), Audinate 46',
  }),
  ttl: Type.Integer({
    default: 32,
    minimum: 1,
    maximum: 255,
    description: 'routers that packets of sound may cross, and one more',
  }),
  payload_type: Type.Integer({
    default: 97,
    minimum: 96,
    maximum: 127,
    description: 'RTP payload type of the stream',
  }),
  late_ms: Type.Integer({
    default: 250,
    minimum: 1,
    maximum: 1000,
    unit: 'ms',
    description:
      'by how much packets may leave late and be caught up with, before their count begins anew at the time it is',
  }),
  meter_ms: Type.Integer({
    default: 50,
    minimum: 10,
    maximum: 1000,
    unit: 'ms',
    description: 'how often an encoder measures how loud its source is',
  }),
  silence_db: Type.Integer({
    default: -70,
    minimum: -140,
    maximum: 0,
    unit: 'dB',
    description: 'peak below which a source is silent',
  }),
  silence_s: Type.Integer({
    default: 60,
    minimum: 1,
    maximum: 86_400,
    unit: 's',
    description: 'silence of a source after which an encoder warns of it',
  }),
  tone_s: Type.Integer({
    default: 600,
    minimum: 1,
    maximum: 86_400,
    unit: 's',
    description: 'how long a tone that was asked for goes out in place of the source',
  }),
  tone_db: Type.Integer({
    default: -20,
    minimum: -60,
    maximum: 0,
    unit: 'dB',
    description: 'peak of the tone of 997 Hz, below full scale',
  }),
}

/** @returns why the second group is invalid; undefined if it is valid, or empty */
export function secondGroupFault(second: string, first: string): string | undefined {
  if (second === '') return undefined
  return second === first ? `${second} is the group of the stream itself. Take another one.` : groupFault(second)
}

// Keys of the table `audio` that only a decoder uses.

const decoderKeys = {
  save_ms: milliseconds(2000, [100, 60_000], 'how long after its last change the volume is saved'),
  save_most_ms: milliseconds(10_000, [100, 600_000], 'how long it goes unsaved at most, while it is being changed'),
  look_ms: milliseconds(250, [50, 1000], 'how often a decoder looks at how its packets arrive'),
  sender_gone_ms: milliseconds(
    2000,
    [100, 60_000],
    'silence after which a sender is taken to have gone, and another one of the same group may be played',
  ),
  other_clock_ms: milliseconds(
    20_000,
    [0, 600_000],
    'how long a stream that plays goes on while its sender and the board name different grandmasters',
  ),
  reopen_ms: milliseconds(
    10_000,
    [500, 600_000],
    'silence of a stream after which its group is joined anew, since switches forget who listens',
  ),
  stall_ms: milliseconds(
    5000,
    [1000, 60_000],
    'how long an output may stand still without a word before it is opened anew',
  ),
  conceal_packets: Type.Integer({
    default: 3,
    minimum: 0,
    maximum: 16,
    description: 'packets that are missing in a row and made up for by a repeat that fades',
  }),
  early_ms: milliseconds(
    500,
    [10, 5000],
    'how much earlier than the link offset asks for a packet may come, and still find room',
  ),
  receive_buffer_bytes: Type.Integer({
    default: 524_288,
    minimum: 65_536,
    maximum: 16_777_216,
    unit: 'bytes',
    description: 'room for packets in the kernel, until they are read',
  }),
  record_mb: Type.Integer({
    default: 2000,
    minimum: 1,
    maximum: 4000,
    unit: 'MB',
    description: 'length at which the recording of an audio.sink "file:PATH" begins anew',
  }),
}

function milliseconds(value: number, [minimum, maximum]: readonly [number, number], description: string) {
  return Type.Integer({ default: value, minimum, maximum, unit: 'ms', description })
}

// Keys of both roles, and the table.

const cardKeys = {
  card_fill_ms: Type.Integer({
    default: 5,
    minimum: 2,
    maximum: 500,
    unit: 'ms',
    description: 'sound kept in the buffer of a sound card: what late threads and late cards live on, and its latency',
  }),
  card_buffer_ms: Type.Integer({
    default: 40,
    minimum: 4,
    maximum: 2000,
    unit: 'ms',
    description: 'room in the buffer of a sound card; at least a third more than the fill is used',
  }),
  card_most_ppm: Type.Integer({
    default: 1000,
    minimum: 0,
    maximum: 5000,
    description: 'by how much sound is resampled at most for a card whose clock is not that of the board; 0 never does',
  }),
  card_look_ms: Type.Integer({
    default: 1000,
    minimum: 100,
    maximum: 10_000,
    unit: 'ms',
    description: 'how often the fill of a card is looked at',
  }),
  card_retry_ms: Type.Integer({
    default: 500,
    minimum: 100,
    maximum: 60_000,
    unit: 'ms',
    description: 'wait before a card that is gone is tried again; doubled at each try',
  }),
  card_retry_most_ms: Type.Integer({
    default: 5000,
    minimum: 100,
    maximum: 600_000,
    unit: 'ms',
    description: 'longest wait before a card that is gone is tried again',
  }),
}

export const audioKeys = Type.Object(
  {
    source: Type.String({
      default: '',
      maxLength: 1024,
      description: 'what an encoder sends: "tone", "file:PATH" or an ALSA name; empty takes the first sound card',
    }),
    sink: Type.String({
      default: '',
      maxLength: 1024,
      description: 'where a decoder plays: "null", "file:PATH" or an ALSA name; empty takes the first sound card',
    }),
    interface: Type.String({
      default: '',
      maxLength: 15,
      description: 'network interface of the streams; empty means the one with the default route',
    }),
    second_interface: Type.String({
      default: '',
      maxLength: 15,
      description: 'network interface of the second path of a stream that has two; empty means the same as the first',
    }),
    realtime_priority: Type.Integer({
      default: 50,
      minimum: 0,
      maximum: 99,
      description: 'SCHED_FIFO priority of the threads that move sound, where the system allows it; 0 asks for none',
    }),
    ...cardKeys,
    ...decoderKeys,
    ...encoderKeys,
  },
  { additionalProperties: false, default: {}, description: 'sound in the roles encoder and decoder' },
)
