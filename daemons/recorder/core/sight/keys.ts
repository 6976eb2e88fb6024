/** Keys of recorder.toml for what the recorder sees: detectors, and the events that they find. */
import { Type } from 'typebox'

export const detector = Type.Object(
  {
    command: Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), {
      default: [],
      maxItems: 32,
      description:
        'program and arguments of an external detector, which speaks the protocol of this chapter; empty: there is none',
    }),
    start_ms: Type.Integer({
      default: 20_000,
      minimum: 500,
      maximum: 600_000,
      unit: 'ms',
      description: 'an external detector that is not ready after so long is given up',
    }),
    answer_ms: Type.Integer({
      default: 5000,
      minimum: 50,
      maximum: 60_000,
      unit: 'ms',
      description: 'a picture that takes an external detector longer is given up, and its process with it',
    }),
    stale_ms: Type.Integer({
      default: 3000,
      minimum: 200,
      maximum: 60_000,
      unit: 'ms',
      description: 'a picture that has waited longer for the detector is left out',
    }),
    waiting_bytes: Type.Integer({
      default: 33_554_432,
      minimum: 6_291_456,
      maximum: 1_073_741_824,
      unit: 'bytes',
      description: 'pictures of all cameras that wait for the detector; beyond, the oldest is left out',
    }),
    score: Type.Number({
      default: 0.4,
      minimum: 0.05,
      maximum: 0.99,
      description: 'what is seen with a lower score begins no track',
    }),
    agree: Type.Integer({
      default: 2,
      minimum: 1,
      maximum: 10,
      description: 'pictures that have to agree before something is believed to be seen',
    }),
    lost_ms: Type.Integer({
      default: 3000,
      minimum: 200,
      maximum: 60_000,
      unit: 'ms',
      description:
        'what was not seen for so long is gone, and its event ends; longer where a camera has few key frames',
    }),
    tracks: Type.Integer({
      default: 32,
      minimum: 1,
      maximum: 64,
      description: 'things of one camera that are followed at once',
    }),
    look_ms: Type.Integer({
      default: 100,
      minimum: 20,
      maximum: 5000,
      unit: 'ms',
      description: 'how often is looked whether a camera has a new picture',
    }),
    pixels: Type.Integer({
      default: 2_304_000,
      minimum: 76_800,
      maximum: 8_847_360,
      description: 'pictures of more pixels are not looked at; the small stream of a camera is taken where it has one',
    }),
    memory_bytes: Type.Integer({
      default: 201_326_592,
      minimum: 134_217_728,
      maximum: 4_294_967_296,
      unit: 'bytes',
      description: 'what the process that decodes for detectors may hold',
    }),
    process_bytes: Type.Integer({
      default: 536_870_912,
      minimum: 16_777_216,
      maximum: 17_179_869_184,
      unit: 'bytes',
      description: 'what an external detector may hold; counted in the memory of the recorder',
    }),
  },
  { additionalProperties: false, default: {}, description: 'what looks at pictures of cameras' },
)

export const events = Type.Object(
  {
    max: Type.Integer({
      default: 1_000_000,
      minimum: 1000,
      maximum: 10_000_000,
      description: 'events that are kept at most; beyond, the oldest go first. None is kept longer than its footage',
    }),
    tracks: Type.Integer({
      default: 2_000_000,
      minimum: 1000,
      maximum: 20_000_000,
      description: 'pieces of tracks that are kept at most, of ten seconds each; beyond, the oldest go first',
    }),
    write_ms: Type.Integer({
      default: 1000,
      minimum: 50,
      maximum: 60_000,
      unit: 'ms',
      description: 'how long what was seen may wait before it is written',
    }),
    queue: Type.Integer({
      default: 4096,
      minimum: 64,
      maximum: 65_536,
      description:
        'changes of events and pieces of tracks that may wait for the disk; further ones are lost and counted',
    }),
  },
  { additionalProperties: false, default: {}, description: 'events: what was seen, when and where' },
)

export const recognition = Type.Object(
  {
    looks: Type.Integer({
      default: 4,
      minimum: 1,
      maximum: 16,
      description: 'moments of one vehicle at which its plate is looked for, at most',
    }),
    waiting: Type.Integer({
      default: 64,
      minimum: 1,
      maximum: 1024,
      description: 'vehicles that wait to be looked at, half of them of one camera; further ones are not recognised',
    }),
    look_ms: Type.Integer({
      default: 500,
      minimum: 100,
      maximum: 60_000,
      unit: 'ms',
      description: 'least time between two looks, of all cameras',
    }),
    readings: Type.Integer({
      default: 100_000,
      minimum: 1000,
      maximum: 1_000_000,
      description: 'events of which is kept what was recognised; beyond, the oldest are events like others again',
    }),
    identities: Type.Integer({
      default: 500,
      minimum: 1,
      maximum: 5000,
      description: 'names in the book of identities, at most',
    }),
  },
  { additionalProperties: false, default: {}, description: 'who it was: plates of vehicles' },
)
