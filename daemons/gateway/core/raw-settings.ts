/** Settings of the raw protocol. */
import { type Static, Type } from 'typebox'

/** Keys of `settings` for `raw`. Those of another way of framing are kept and rest. */
export const rawSettings = Type.Object(
  {
    framing: Type.Enum(['silence', 'delimiter', 'length', 'length_field'], {
      default: 'silence',
      description: 'what ends a frame: silence, a delimiter, a fixed length, or a length field in the frame',
    }),
    silence_ms: Type.Integer({
      default: 20,
      minimum: 1,
      maximum: 10_000,
      description: 'silence: quiet that ends a frame, ms',
    }),
    delimiter_hex: Type.String({
      default: '0A',
      pattern: '^[0-9A-Fa-f]{2}( [0-9A-Fa-f]{2}){0,15}$',
      description: 'delimiter: the bytes that end a frame, 1 to 16 pairs of hex digits separated by spaces',
    }),
    frame_bytes: Type.Integer({ default: 8, minimum: 1, maximum: 8192, description: 'length: bytes of every frame' }),
    length_offset: Type.Integer({
      default: 0,
      minimum: 0,
      maximum: 255,
      description: 'length_field: bytes before the field',
    }),
    length_size: Type.Enum([1, 2, 4], { default: 1, description: 'length_field: bytes of the field' }),
    length_endian: Type.Enum(['big', 'little'], {
      default: 'big',
      description: 'length_field: which byte of the field is first',
    }),
    length_adjust: Type.Integer({
      default: 0,
      minimum: -256,
      maximum: 8192,
      description: 'length_field: added to the field to give the length of the whole frame',
    }),
    max_frame_bytes: Type.Integer({
      default: 8192,
      minimum: 1,
      maximum: 8192,
      description: 'a longer frame is handed on in pieces, each marked as cut',
    }),
    queue: Type.Integer({
      default: 64,
      minimum: 1,
      maximum: 1024,
      description: 'sends waiting before the next is refused',
    }),
    send_limit_ms: Type.Integer({
      default: 2000,
      minimum: 100,
      maximum: 600_000,
      description: 'how long the driver may take to take a send beyond twice its time on the wire, ms',
    }),
    tcp_port: Type.Integer({ default: 0, minimum: 0, maximum: 65_535, description: 'raw TCP to the line; 0 is off' }),
    tcp_clients: Type.Integer({ default: 4, minimum: 1, maximum: 64, description: 'TCP clients at once' }),
  },
  { additionalProperties: false },
)

export type RawSettings = Static<typeof rawSettings>
