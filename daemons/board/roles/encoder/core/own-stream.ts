/** The stream of a board, as far as the board knows it: its description but for the session, which announcing it adds. */
import type { PathAddresses } from '../../../core/sound/sound.ts'
import type { OwnStream } from '../../../core/streams/announcing.ts'
import { type OwnRefClock, SAMPLE_RATE, type StreamEncoding } from '../../../wire/streams/description.ts'

/** What of a stream stays while the board runs. */
export interface StreamFacts {
  name: string
  /** One, or two that carry the same. */
  paths: readonly { group: string; port: number; ttl: number }[]
  payloadType: number
  encoding: StreamEncoding
  channels: number
  packetMs: number
}

/** @param addresses of the paths; one that never had any is none of the stream */
export function ownStream(facts: StreamFacts, addresses: PathAddresses, refClock: OwnRefClock): OwnStream {
  const { paths, ...rest } = facts
  const known = paths
    .map((path, at) => ({ ...path, source: addresses[at] ?? null }))
    .filter(({ source }) => source !== null)
  const isDoubled = known.length > 1
  return {
    ...rest,
    info: '',
    origin: known[0]?.source ?? '',
    // Receivers tell the two ways of a doubled stream apart by who sends.
    paths: isDoubled ? known : known.map((path) => ({ ...path, source: null })),
    sampleRate: SAMPLE_RATE,
    refClock,
    // Timestamps count from the epoch of the clock. RFC 7273 5.3
    mediaOffset: 0,
  }
}
