/** Tests of api/sound-routes.ts. */
import t from 'tap'
import { createMetrics } from '#kit/http/metrics.ts'
import { measurePtp } from '../../api/sound-routes.ts'
import { fakePtp } from '../core/ptp/fake-ptp.ts'

t.test('reports state, offset, delay and jumps; leaves out unknown values', async (t) => {
  const ptp = fakePtp()
  const metrics = createMetrics({ process: false })
  measurePtp(metrics, ptp)
  const off = await metrics.text()
  t.match(off, /ptp_state\{state="off"\} 1/)
  t.match(off, /ptp_steps_total 0/)
  t.notMatch(off, /ptp_offset_seconds \d/)
  ptp.become({
    state: 'locked',
    offset_ns: -1500,
    path_delay_ns: 25_000,
    rate_ppm: 12.5,
    last_sync_age_ms: 125,
    steps: 2,
  })
  const locked = await metrics.text()
  t.match(locked, /ptp_state\{state="locked"\} 1/)
  t.match(locked, /ptp_offset_seconds -0\.0000015/)
  t.match(locked, /ptp_path_delay_seconds 0\.000025/)
  t.match(locked, /ptp_rate_ppm 12\.5/)
  t.match(locked, /ptp_sync_age_seconds 0\.125/)
  t.match(locked, /ptp_steps_total 2/)
})
