/** The `webhooks` table of gateway.toml: every bound of webhooks, with default, range, unit and meaning. */
import { type Static, Type } from 'typebox'

/** Keys of the `webhooks` table. */
export const webhookKeys = Type.Object(
  {
    ...queueKeys(),
    ...listKeys(),
    ...connectionKeys(),
  },
  { additionalProperties: false, default: {}, description: 'events sent out to webhook targets, and the bounds of it' },
)

/** A checked `webhooks` table. */
export type WebhookLimits = Static<typeof webhookKeys>

/** Of the thread of webhooks. Bodies lie outside of it; on it are the queues' entries, connections and compiled code. */
export const WEBHOOK_HEAP_MIB = { old: 96, young: 8 }

function queueKeys() {
  return {
    queue: count(256, 1, 65_536, 'events held per target before the oldest is dropped'),
    queue_bytes: bytes(1_048_576, 65_536, 268_435_456, 'bodies held per target before the oldest is dropped'),
    held_bytes: bytes(
      33_554_432,
      65_536,
      1_073_741_824,
      'bodies held for all targets together, one that waits for many once; beyond, the target with most loses its oldest',
    ),
    // The interface document promises 5 seconds: an installer may shorten it, not stretch it.
    timeout_ms: milliseconds(5000, 50, 5000, 'time one attempt has, from the connection to the end of the answer'),
    pause_after: count(3, 1, 1000, 'events in a row that fail before a target is paused'),
    pause_first_ms: milliseconds(
      1000,
      10,
      600_000,
      'first pause of a failing target; doubles with each further failure',
    ),
    pause_max_ms: milliseconds(60_000, 10, 3_600_000, 'longest pause of a failing target'),
    transit_bytes: bytes(
      1_048_576,
      65_536,
      16_777_216,
      'bodies of all targets on their way to the thread that sends them; more events are dropped',
    ),
    drain_ms: milliseconds(2000, 0, 30_000, 'time held events have to go out when the gateway stops'),
    log_every_ms: milliseconds(10_000, 100, 3_600_000, 'time between two log lines on the failures of one target'),
  }
}

function listKeys() {
  return {
    per_port: count(16, 1, 256, 'webhooks of one port'),
    total: count(128, 1, 4096, 'webhooks of all ports; each may have one delivery under way'),
    url_length: count(2048, 64, 2048, 'characters of a target address'),
    events: count(64, 1, 1024, 'names in the events list of one webhook'),
    headers: count(32, 0, 128, 'headers configured on one webhook'),
    header_bytes: bytes(4096, 256, 16_384, 'names and values of the headers of one webhook together'),
    secret_length: count(512, 16, 4096, 'characters of a secret'),
  }
}

function connectionKeys() {
  return {
    idle_ms: milliseconds(4000, 0, 60_000, 'time an idle connection to a target is kept for the next event'),
    response_bytes: bytes(65_536, 0, 1_048_576, 'bytes of an answer that are read and thrown away before it is cut'),
    ca_file: Type.String({
      default: '',
      maxLength: 4096,
      description:
        'PEM file of certificate authorities trusted for https targets besides the usual ones; empty for none',
    }),
  }
}

function count(byDefault: number, minimum: number, maximum: number, description: string) {
  return Type.Integer({ default: byDefault, minimum, maximum, description })
}

function bytes(byDefault: number, minimum: number, maximum: number, description: string) {
  return Type.Integer({ default: byDefault, minimum, maximum, unit: 'bytes', description })
}

function milliseconds(byDefault: number, minimum: number, maximum: number, description: string) {
  return Type.Integer({ default: byDefault, minimum, maximum, unit: 'ms', description })
}
