/** Keys of recorder.toml about what cameras say. */
import { Type } from 'typebox'

export const talk = Type.Object(
  {
    messages: Type.Integer({ default: 50, minimum: 1, maximum: 500, description: 'saved messages at most' }),
    message_s: Type.Integer({
      ...{ default: 60, minimum: 1, maximum: 300, unit: 's' },
      description: 'longest saved message; 16 kB of the state folder for each second',
    }),
    upload_bytes: Type.Integer({
      ...{ default: 12_582_912, minimum: 65_536, maximum: 67_108_864, unit: 'bytes' },
      description: 'largest file of sound that is taken; one is read at a time',
    }),
    cameras: Type.Integer({
      ...{ default: 8, minimum: 1, maximum: 128 },
      description: 'cameras that speak, or are asked for their loudspeaker, at once',
    }),
    end_ms: Type.Integer({
      ...{ default: 500, minimum: 0, maximum: 10_000, unit: 'ms' },
      description: 'from the last sample to the end of the session: loudspeakers play from a buffer',
    }),
    heard_bytes: Type.Integer({
      ...{ default: 1_048_576, minimum: 65_536, maximum: 16_777_216, unit: 'bytes' },
      description: 'what a camera may send while it is spoken to; beyond, it is ended',
    }),
    speech_ms: Type.Integer({
      ...{ default: 20_000, minimum: 1000, maximum: 120_000, unit: 'ms' },
      description: 'time for espeak-ng to read a text aloud',
    }),
  },
  { additionalProperties: false, default: {}, description: 'what cameras say through their loudspeakers' },
)
