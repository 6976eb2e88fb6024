/** The table `peers` of board.toml: how other boards are found and watched. */
import { type Static, Type } from 'typebox'

export const peerKeys = Type.Object(
  {
    query_ms: Type.Integer({
      default: 10_000,
      minimum: 1000,
      maximum: 600_000,
      unit: 'ms',
      description: 'how often the network is asked which boards there are',
    }),
    poll_ms: Type.Integer({
      default: 3000,
      minimum: 100,
      maximum: 60_000,
      unit: 'ms',
      description: 'how often each board found is asked whether it is there; longer with more than sixty of them',
    }),
    answer_ms: Type.Integer({
      default: 2000,
      minimum: 50,
      maximum: 30_000,
      unit: 'ms',
      description: 'time a board has to answer that',
    }),
    polls: Type.Integer({
      default: 8,
      minimum: 1,
      maximum: 64,
      description: 'boards asked at the same time; as many again that have just been heard of',
    }),
    doubt_ms: Type.Integer({
      default: 4000,
      minimum: 100,
      maximum: 60_000,
      unit: 'ms',
      description:
        'how long a board may not answer before it is told to be absent, or unreachable where it is announced',
    }),
    lost_ms: Type.Integer({
      default: 10_000,
      minimum: 1000,
      maximum: 600_000,
      unit: 'ms',
      description: 'how long after it was announced last an unreachable board is told to be absent',
    }),
    unreachable_ms: Type.Integer({
      default: 600_000,
      minimum: 1000,
      maximum: 86_400_000,
      unit: 'ms',
      description: 'how long a board that is announced and does not answer is unreachable, before it is absent',
    }),
    absent_poll_ms: Type.Integer({
      default: 30_000,
      minimum: 1000,
      maximum: 3_600_000,
      unit: 'ms',
      description: 'how often an absent board is asked whether it is back; one that is announced is asked at once',
    }),
    save_ms: Type.Integer({
      default: 600_000,
      minimum: 1000,
      maximum: 86_400_000,
      unit: 'ms',
      description:
        'how often it is saved when each board was last heard; which boards there are is saved when that changes',
    }),
    max: Type.Integer({
      default: 256,
      minimum: 1,
      maximum: 1024,
      description: 'boards known at once, absent ones apart',
    }),
    absent_max: Type.Integer({
      default: 128,
      minimum: 0,
      maximum: 1024,
      description:
        'absent boards that are remembered until somebody dismisses them; of whoever has most, the one that is absent longest goes first',
    }),
    per_sender: Type.Integer({
      default: 16,
      minimum: 1,
      maximum: 256,
      description: 'boards known of one machine, and absent ones; those behind a repeater are half of all at most',
    }),
  },
  { additionalProperties: false, default: {}, description: 'the other boards of the network' },
)

/** The checked table. */
export type PeerLimits = Static<typeof peerKeys>
