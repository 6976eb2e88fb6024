/** A stream of two channels for tests; each test changes what it is about. */
import type { OwnStream } from '../../../core/streams/announcing.ts'
import type { StreamDescription } from '../../../wire/streams/description.ts'

/** Before it gets its session. */
export const OWN_STREAM: OwnStream = {
  origin: '10.0.0.7',
  name: 'Foyer left',
  info: '',
  paths: [{ group: '239.69.1.7', port: 5004, ttl: 32, source: null }],
  payloadType: 97,
  encoding: 'L24',
  channels: 2,
  sampleRate: 48_000,
  packetMs: 1,
  refClock: { kind: 'ptp', grandmaster: '39-A7-94-FF-FE-07-CB-D0', domain: 0 },
  mediaOffset: 0,
}

/** The same, announced. */
export const STREAM: StreamDescription = { ...OWN_STREAM, sessionId: '3971234567', version: '3971234568' }
