/** Tests of core/streams/book.ts. */
import t from 'tap'
import { heardStreamOf } from '../../../core/streams/book.ts'
import type { StreamDescription } from '../../../wire/streams/description.ts'
import { STREAM } from '../../wire/streams/described-stream.ts'

const stream: StreamDescription<string> = {
  ...STREAM,
  paths: [
    { group: '232.1.1.7', port: 5004, ttl: 32, source: '10.0.0.8' },
    { group: '232.1.2.7', port: 5006, ttl: 32, source: '10.0.1.8' },
  ],
  mediaOffset: 7,
}
const hearsay = {
  id: 'x',
  from: '10.0.0.8',
  heard_by: ['sap' as const],
  first_heard_at: 1,
  last_heard_at: 2,
  sdp: 'v=0',
}

t.test('a stream is shown with its two paths, its clock and who sends it', async (t) => {
  t.match(heardStreamOf(stream, hearsay), {
    id: 'x',
    mcast: '232.1.1.7',
    port: 5004,
    source: '10.0.0.8',
    origin: '10.0.0.7',
    from: '10.0.0.8',
    source_specific: true,
    dup: { mcast: '232.1.2.7', port: 5006, source: '10.0.1.8' },
    refclk: { kind: 'ptp', grandmaster: '39-A7-94-FF-FE-07-CB-D0', domain: 0 },
    mclk_offset: 7,
    not_playable: null,
    heard_by: ['sap'],
  })
})

t.test(
  'without a named sender it is the origin of the description; a stream that cannot be played says why',
  async (t) => {
    const paths = [{ group: '239.1.1.7', port: 5004, ttl: 32, source: null }]
    const shown = heardStreamOf({ ...stream, paths, encoding: 'AM824' }, hearsay)
    t.match(shown, { source: '10.0.0.7', source_specific: false, dup: null, not_playable: /AM824/ })
  },
)
