/** The table `audio` of board.toml: where sound comes from, where it goes, and how it travels. */
import { Type } from 'typebox'
import { decoderKeys } from './decoder-keys.ts'
import { encoderKeys } from './encoder-keys.ts'

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
