import t from 'tap'
import { createTunnelMark } from '../../../core/access/remoteness.ts'
import { addresses } from '../../../io/people.ts'

t.test('1 Authentication 5: the mark of the tunnel counts only on connections from the tunnel', async (t) => {
  const isTunnel = createTunnelMark(addresses, {
    header: 'svc-cloud-tunnel',
    peers: ['127.0.0.1', '10.8.0.0/24', '::1'],
  })
  const marked = { 'svc-cloud-tunnel': '1' }
  for (const peer of ['127.0.0.1', '::1', '10.8.0.7', '::ffff:10.8.0.7']) t.equal(isTunnel(peer, marked), true, peer)
  for (const peer of ['127.0.0.2', '10.8.1.7', '::2', '', 'nonsense']) t.equal(isTunnel(peer, marked), false, peer)
  t.equal(isTunnel('127.0.0.1', {}), false)
  t.equal(isTunnel('127.0.0.1', { 'svc-cloud-tunnel': '' }), true, 'a mark without a value counts')
  t.equal(isTunnel('127.0.0.1', { 'x-cloud-tunnel': '1' }), false)
})
