/** Keys of recorder.toml for what is watched and taken out: playback, live pictures, single pictures. */
import { Type } from 'typebox'

export const playback = Type.Object(
  {
    most_s: Type.Integer({
      default: 3600,
      minimum: 10,
      maximum: 86_400,
      unit: 's',
      description: 'longest span of one playback.mp4',
    }),
    streams: Type.Integer({ default: 4, minimum: 1, maximum: 256, description: 'playbacks of one account at once' }),
    total_streams: Type.Integer({
      default: 16,
      minimum: 1,
      maximum: 1024,
      description: 'playbacks of all accounts at once',
    }),
    masked_streams: Type.Integer({
      default: 4,
      minimum: 1,
      maximum: 256,
      description: 'playbacks of cameras with privacy masks at once: these are re-encoded',
    }),
  },
  { additionalProperties: false, default: {}, description: 'taking footage out' },
)

export const live = Type.Object(
  {
    streams: Type.Integer({
      default: 48,
      minimum: 1,
      maximum: 1024,
      description: 'live streams of one account at once',
    }),
    total_streams: Type.Integer({
      default: 64,
      minimum: 1,
      maximum: 1024,
      description: 'live streams of all accounts at once',
    }),
    buffer_bytes: Type.Integer({
      default: 2_097_152,
      minimum: 65_536,
      maximum: 67_108_864,
      unit: 'bytes',
      description: 'unsent bytes of one live stream before pictures are left out; a key frame of more is never sent',
    }),
    lag_ms: Type.Integer({
      default: 2000,
      minimum: 200,
      maximum: 60_000,
      unit: 'ms',
      description: 'what waits for so long to be sent is too late: only key frames follow until nothing waits',
    }),
    slow_ms: Type.Integer({
      default: 10_000,
      minimum: 1000,
      maximum: 600_000,
      unit: 'ms',
      description: 'a live stream that does not catch up within this time is closed',
    }),
    sub_idle_ms: Type.Integer({
      default: 10_000,
      minimum: 0,
      maximum: 600_000,
      unit: 'ms',
      description: 'how long a sub stream is played on after the last who watched it has left',
    }),
    group_bytes: Type.Integer({
      default: 2_097_152,
      minimum: 65_536,
      maximum: 67_108_864,
      unit: 'bytes',
      description:
        'pictures held since the last key frame of each camera, for still.jpg and for who opens it live; beyond, still.jpg stands still and a new viewer waits for the next key frame; a picture of a sub stream of more is dropped',
    }),
  },
  { additionalProperties: false, default: {}, description: 'watching live' },
)

export const pictures = Type.Object(
  {
    queue: Type.Integer({
      default: 8,
      minimum: 1,
      maximum: 256,
      description: 'pictures that wait for the decoder; one more is answered 503',
    }),
    start_ms: Type.Integer({
      default: 30_000,
      minimum: 1000,
      maximum: 300_000,
      unit: 'ms',
      description:
        'how long the process that decodes may take to begin, with its libraries yet to be read from a slow disk',
    }),
    try_s: Type.Integer({
      default: 20,
      minimum: 0,
      maximum: 3600,
      unit: 's',
      description:
        'so long after its start the recorder tries whether pictures can be decoded, and says so if they cannot; the first picture then waits for no cold disk; 0: not before somebody asks for one',
    }),
    answer_ms: Type.Integer({
      default: 5000,
      minimum: 500,
      maximum: 60_000,
      unit: 'ms',
      description: 'how long one picture may take before the decoder is ended and begun again',
    }),
    stream_fps: Type.Number({
      default: 5,
      minimum: 0.1,
      maximum: 30,
      description: 'pictures a second of one stream.mjpg',
    }),
    total_stream_fps: Type.Number({
      default: 20,
      minimum: 0.1,
      maximum: 240,
      description:
        'pictures a second that are decoded for all stream.mjpg; one picture of a camera serves all who watch it at one width',
    }),
    stream_wait_s: Type.Integer({
      default: 10,
      minimum: 1,
      maximum: 3600,
      unit: 's',
      description: 'a stream.mjpg of which no picture can be made for so long is ended',
    }),
    idle_s: Type.Integer({
      default: 600,
      minimum: 1,
      maximum: 86_400,
      unit: 's',
      description: 'the decoder is ended while nobody asks for a picture for so long',
    }),
    pixels: Type.Integer({
      default: 8_847_360,
      minimum: 76_800,
      maximum: 67_108_864,
      description: 'pictures of more pixels are recorded and not decoded',
    }),
    kept_pixels: Type.Integer({
      default: 2_304_000,
      minimum: 0,
      maximum: 67_108_864,
      description:
        'after a picture of up to so many pixels its decoder is kept for the next one of the same parameter sets; 0: none is',
    }),
    memory_bytes: Type.Integer({
      default: 402_653_184,
      minimum: 268_435_456,
      maximum: 4_294_967_296,
      unit: 'bytes',
      description:
        'what the decoder may hold; of 4096 x 2160 a picture takes this much, a film with masks twice as much',
    }),
    processes: Type.Integer({
      default: 1,
      minimum: 1,
      maximum: 2,
      description:
        'processes that decode: with 2, films of cameras with masks have one of their own and pictures wait for none',
    }),
  },
  { additionalProperties: false, default: {}, description: 'decoding, for pictures' },
)
