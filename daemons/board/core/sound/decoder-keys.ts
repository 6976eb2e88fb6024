/** Keys of the table `audio` that a decoder alone has. */
import { Type } from 'typebox'

export const decoderKeys = {
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
