/** The settings that all request/reply protocols share; each protocol adds them to its own. */
import { type Static, type TSchema, Type } from 'typebox'

/** The default of `copy_answers`. */
export const COPY_ANSWERS = 1024

/** How units are asked and judged, and how long their replies are waited for. */
export const askingKeys = {
  response_timeout_ms: Type.Integer({
    default: 300,
    minimum: 10,
    maximum: 60_000,
    description:
      'how long a unit may take to begin its answer, from the end of the request, ms; slave: an answer that cannot go out within it is dropped; listen: no longer than the master on the line waits',
  }),
  quarantine_ms: Type.Optional(
    Type.Integer({
      minimum: 100,
      maximum: 600_000,
      description:
        'how long a unit that did not answer is sent no more requests, so that a late answer is not taken for another, ms; listen: how long after its time an answer is told from that to another request; left out: the larger of 1000 and three response timeouts',
    }),
  ),
  late_limit_ms: Type.Integer({
    default: 60_000,
    minimum: 1000,
    maximum: 600_000,
    description:
      'how long after a request without an answer its answer is still reckoned with, unless the unit has answered something asked later, ms; twice the longest lateness seen of the unit where that is more',
  }),
  copy_window_ms: Type.Integer({
    default: 1000,
    minimum: 0,
    maximum: 10_000,
    description:
      'how long after an answer the same one may come again, from a repeater or a unit that sends everything twice, ms; 0: nothing on the line does so',
  }),
  copy_answers: Type.Integer({
    default: COPY_ANSWERS,
    minimum: 16,
    maximum: 65_536,
    description:
      'answers of the line that are kept for that time, and last answers to requests; of more the oldest go, with 0.6 kB each at most',
  }),
  copy_trust_after: Type.Integer({
    default: 50,
    minimum: 1,
    maximum: 100_000,
    description: 'answers of a unit without a copy after which none of it is doubted, until a copy is seen',
  }),
  queue: Type.Integer({
    default: 64,
    minimum: 1,
    maximum: 1024,
    description: 'requests waiting before the next is refused',
  }),
  queue_reserve: Type.Integer({
    default: 8,
    minimum: 0,
    maximum: 256,
    description:
      'places of the queue that polls leave free to operators, and background work to polls and to operators each; as many polls find a place even where operators fill the queue',
  }),
  operator_row: Type.Integer({
    default: 4,
    minimum: 1,
    maximum: 1000,
    description:
      'requests of operators in a row that go before a poll that waits; then it has a turn, so that somebody who writes without pause does not keep polls away',
  }),
  request_deadline_ms: Type.Integer({
    default: 10_000,
    minimum: 100,
    maximum: 600_000,
    description:
      'how long a request may take in all, waiting and asking, ms; it may wait for two response timeouts in any case',
  }),
  breaker_failures: Type.Integer({
    default: 3,
    minimum: 1,
    maximum: 1000,
    description:
      'requests in a row without an answer after which a unit is silent: polls and background work for it are refused at once until it is tried again',
  }),
  breaker_retry_ms: Type.Integer({
    default: 10_000,
    minimum: 100,
    maximum: 3_600_000,
    description: 'after which time a silent unit is tried again; doubles with each try, ms',
  }),
  breaker_retry_max_ms: Type.Integer({
    default: 60_000,
    minimum: 100,
    maximum: 3_600_000,
    description: 'longest time between tries of a silent unit, ms',
  }),
  background_wait_ms: Type.Integer({
    default: 5000,
    minimum: 100,
    maximum: 600_000,
    description:
      'how long background work, and what asks a unit that did not answer, waits for a gap between polls before it goes all the same, ms',
  }),
  scan_tries: Type.Integer({
    default: 5,
    minimum: 1,
    maximum: 100,
    description:
      'how often a scan asks for one unit on a line that has no place for it, background_wait_ms apart, before it fails',
  }),
  noisy_window: Type.Integer({
    default: 100,
    minimum: 10,
    maximum: 1000,
    description: 'exchanges with a unit by which it is judged noisy, the last ones',
  }),
  noisy_from_percent: Type.Integer({
    default: 10,
    minimum: 1,
    maximum: 100,
    description: 'of these, how many in a hundred without a valid answer, or answered twice, make a unit noisy',
  }),
  noisy_until_percent: Type.Integer({
    default: 0,
    minimum: 0,
    maximum: 99,
    description:
      'how many in a hundred a unit that is noisy may have at most to be well again; 0: none within noisy_window exchanges',
  }),
  noisy_least: Type.Integer({
    default: 5,
    minimum: 1,
    maximum: 1000,
    description: 'how many of them make a unit noisy at least, however few exchanges there were',
  }),
  slow_unit_ms: Type.Integer({
    default: 300_000,
    minimum: 1000,
    maximum: 86_400_000,
    description: 'how long a unit counts as slow after an answer that came too late, ms',
  }),
  forget_unit_ms: Type.Integer({
    default: 600_000,
    minimum: 10_000,
    maximum: 604_800_000,
    description:
      'how long a unit that never answered, and that no point names, stays in the list after it was last asked, ms',
  }),
} satisfies Record<string, TSchema>

/** How frames are sent and received. */
export const framingKeys = {
  byte_gap_ms: Type.Integer({
    default: 100,
    minimum: 5,
    maximum: 10_000,
    description:
      'longest pause inside an answer, and the silence after which one behind noise is taken, ms; generous, as USB adapters hand bytes on in pieces',
  }),
  reply_limit_ms: Type.Integer({
    default: 2000,
    minimum: 100,
    maximum: 60_000,
    description: 'how long an answer that has begun may take beyond the response timeout and its time on the wire, ms',
  }),
  send_limit_ms: Type.Integer({
    default: 1000,
    minimum: 100,
    maximum: 60_000,
    description: 'how long the driver may take to send a request beyond twice its time on the wire, ms',
  }),
  turnaround_ms: Type.Integer({
    default: 100,
    minimum: 0,
    maximum: 10_000,
    description: 'pause after a broadcast, in which units carry it out, ms',
  }),
} satisfies Record<string, TSchema>

/** How points are read. */
export const pollingKeys = {
  reread_ms: Type.Integer({
    default: 250,
    minimum: 0,
    maximum: 60_000,
    description:
      'points that a write touched are read again at once, but not sooner than this after they last were for that reason, ms; 0: never',
  }),
  stale_after_ms: Type.Optional(
    Type.Integer({
      minimum: 100,
      maximum: 604_800_000,
      description: 'age at which the value of a point is stale, ms; left out: three of its poll intervals',
    }),
  ),
} satisfies Record<string, TSchema>

/** Whether the adapter receives the bytes that it sends. */
export const echoKeys = {
  local_echo: Type.Enum(['auto', 'present', 'absent'], {
    default: 'auto',
    description: 'whether the adapter gives our own bytes back; auto: learned from the first transactions',
  }),
} satisfies Record<string, TSchema>

const busSettings = Type.Object({ ...askingKeys, ...framingKeys, ...pollingKeys, ...echoKeys })

/** `mode` exists only in protocols that can also listen to another master. */
export type BusSettings = Static<typeof busSettings> & { readonly mode?: string }

/** How long a unit is on hold after a request that it did not answer. @see docs/decisions/late-replies.md */
export function quarantineMs(settings: Pick<BusSettings, 'quarantine_ms' | 'response_timeout_ms'>): number {
  return settings.quarantine_ms ?? Math.max(1000, 3 * settings.response_timeout_ms)
}
