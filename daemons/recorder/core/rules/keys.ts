/** Keys of recorder.toml for what cameras tell, what they switch, and what rules do. */
import { Type } from 'typebox'
import { bytes, count, milliseconds } from '#kit/pure/setting-keys.ts'

export const cameraEvents = Type.Object(
  {
    hold_ms: milliseconds(20_000, 1000, 60_000, 'how long a camera may hold its answer back until something happens'),
    least_ms: milliseconds(250, 50, 60_000, 'from one question to the next at least: some cameras answer at once'),
    life_ms: milliseconds(
      120_000,
      10_000,
      3_600_000,
      'how long a camera keeps what it has to say unless it is renewed',
    ),
    answer_bytes: bytes(262_144, 16_384, 4_194_304, 'longest answer of a camera about its events, and its outputs'),
    per_minute: count(120, 1, 10_000, 'events of one camera in a minute; further ones are left out'),
    kept: count(100_000, 100, 10_000_000, 'events of all cameras that are kept; the oldest go first'),
    waiting: count(2000, 100, 100_000, 'events that wait for the disk; further ones are lost and counted'),
  },
  { additionalProperties: false, default: {}, description: 'what cameras tell of themselves over ONVIF' },
)

export const outputs = Type.Object(
  {
    waiting: count(16, 1, 1000, 'orders for outputs of one camera that wait; further ones are refused'),
    retry_first_ms: milliseconds(1000, 100, 60_000, 'wait before one that should be off is tried again; doubles'),
    retry_max_ms: milliseconds(30_000, 1000, 600_000, 'longest such wait'),
  },
  { additionalProperties: false, default: {}, description: 'what cameras switch: relays, lights, sirens' },
)

export const rules = Type.Object(
  {
    max: count(100, 1, 1000, 'rules at once'),
    alerts_kept: count(10_000, 100, 1_000_000, 'what rules did: entries kept, the oldest go first'),
    per_minute: count(
      60,
      1,
      10_000,
      'how often a rule runs in a minute, for each camera; beyond, it rests until the minute is over',
    ),
    waiting: count(32, 1, 1000, 'actions that wait for one target; further ones are left out'),
    total_waiting: count(512, 10, 10_000, 'actions that wait for all targets'),
    webhook_timeout_ms: milliseconds(5000, 100, 60_000, 'time that a webhook has for its answer, in each of two tries'),
  },
  { additionalProperties: false, default: {}, description: 'what is done when something happens' },
)
