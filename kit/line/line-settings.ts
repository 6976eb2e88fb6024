/** Settings of a serial line as PUT takes them and ports.json keeps them, with their defaults. */
import { Type } from 'typebox'

const rs485 = Type.Object(
  {
    enabled: Type.Boolean({ default: true }),
    delay_before_send_ms: Type.Integer({ default: 0, minimum: 0, maximum: 1000, description: 'ms' }),
    delay_after_send_ms: Type.Integer({ default: 0, minimum: 0, maximum: 1000, description: 'ms' }),
    rts_on_send: Type.Boolean({ default: true, description: 'RTS is high while sending' }),
    rx_during_tx: Type.Boolean({ default: false, description: 'hear what is being sent' }),
  },
  { additionalProperties: false, description: 'direction control by the driver (TIOCSRS485)' },
)

/** 9600 8N1 without flow control where nothing is said. */
export const lineSettings = Type.Object(
  {
    baud: Type.Integer({
      default: 9600,
      minimum: 1,
      maximum: 20_000_000,
      description: 'bits per second, any the driver takes',
    }),
    data_bits: Type.Enum([5, 6, 7, 8], { default: 8 }),
    parity: Type.Enum(['none', 'odd', 'even', 'mark', 'space'], { default: 'none' }),
    stop_bits: Type.Enum([1, 1.5, 2], { default: 1 }),
    flow: Type.Enum(['none', 'rtscts', 'xonxoff'], { default: 'none' }),
    rs485: Type.Union([rs485, Type.Null()], { default: null }),
    low_latency: Type.Boolean({ default: false, description: 'ASYNC_LOW_LATENCY: the driver hands bytes on at once' }),
  },
  { additionalProperties: false, default: {} },
)
