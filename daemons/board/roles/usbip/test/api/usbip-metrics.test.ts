/** What Prometheus gets about a host that comes and goes. */
import t from 'tap'
import { createMetrics } from '#kit/http/metrics.ts'
import { measureUsbip } from '../../api/usbip-routes.ts'
import { fakeLink, startShared } from '../core/sharing-rig.ts'

t.test('bytes of a host that is being detached are still counted', async (t) => {
  const rig = await startShared(t)
  const metrics = createMetrics({ process: false })
  measureUsbip(metrics, rig.sharing)
  const bytes = async () => (await metrics.text()).match(/usbip_bytes_total\{.*/g)
  const wanted = ['usbip_bytes_total{direction="in"} 7', 'usbip_bytes_total{direction="out"} 9']
  await rig.port.desk?.take('1-1', fakeLink('10.0.0.5', { receivedBytes: 7, ackedBytes: 9 }))
  t.same(await bytes(), wanted)
  const gone = rig.sharing.detach()
  t.equal(rig.stateOf('1-1'), 'freeing')
  t.same(await bytes(), wanted)
  await Promise.all([gone, rig.settle(300)])
  t.equal(rig.stateOf('1-1'), 'exported')
  t.same(await bytes(), wanted)
})
