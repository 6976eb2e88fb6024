/** Tests of core/ptp/keys.ts. */
import t from 'tap'
import { dscpOf } from '../../../core/ptp/keys.ts'

t.test('AES67 7.2 marks PTP events 46 and the rest 34; Audinate 56 and 46', async (t) => {
  t.same(dscpOf({ dscp: 'standard', dscp_event: -1, dscp_general: -1 }), { event: 46, general: 34 })
  t.same(dscpOf({ dscp: 'audinate', dscp_event: -1, dscp_general: -1 }), { event: 56, general: 46 })
})

t.test('each mark can be set separately, also to 0', async (t) => {
  t.same(dscpOf({ dscp: 'standard', dscp_event: 0, dscp_general: -1 }), { event: 0, general: 34 })
  t.same(dscpOf({ dscp: 'audinate', dscp_event: -1, dscp_general: 8 }), { event: 56, general: 8 })
})
