import t from 'tap'
import { readRouteForm, routeOfSettings } from '../../core/route.ts'

const NOW = routeOfSettings({ mcast: '239.1.2.3', port: 5006 })

function faultsOf(given: Record<string, string>): Record<string, string> {
  try {
    readRouteForm(given, NOW)
    return {}
  } catch (fault) {
    const { fields } = (fault as { details: { fields: { field: string; message: string }[] } }).details
    return Object.fromEntries(fields.map(({ field, message }) => [field, message]))
  }
}

t.test('B.route every field is accepted; absent or empty ones are not taken from the last route', async (t) => {
  const whole = { mcast: '239.69.10.4', port: '5004', source: '10.20.4.12', link_ms: '7.5' }
  t.same(readRouteForm({ ...whole, mclk_offset: '4294967295', encoding: 'L16' }, NOW), {
    ...{ mcast: '239.69.10.4', port: 5004, source: '10.20.4.12', link_ms: 7.5 },
    ...{ mclk_offset: 4_294_967_295, encoding: 'L16' },
  })
  const bare = { mcast: '239.69.10.4', port: 5004, source: null, link_ms: null, mclk_offset: null, encoding: null }
  t.same(readRouteForm({ mcast: '239.69.10.4', port: '5004' }, NOW), bare)
  const empty = { source: '', link_ms: ' ', mclk_offset: '', encoding: '' }
  t.same(readRouteForm({ mcast: ' 239.69.10.4 ', port: '5004', ...empty }, NOW), bare)
})

t.test('B.route an empty mcast stops, whatever else is sent', async (t) => {
  const stopped = { mcast: '', port: 5006, source: null, link_ms: null, mclk_offset: null, encoding: null }
  t.same(readRouteForm({ mcast: '' }, NOW), stopped)
  t.same(readRouteForm({ mcast: '', port: '', source: '10.0.0.1' }, NOW), stopped)
})

t.test('B.route everything that is wrong or unknown is reported at once', async (t) => {
  const wrong = { port: '70000', source: '239.1.1.1', link_ms: '0', mclk_offset: '-1', encoding: 'AM824' }
  const faults = faultsOf({ mcast: '192.168.1.5', ...wrong, link: '5', link_mss: '5' })
  t.match(faults, {
    mcast: /not a multicast group/,
    port: /too high. Use 1 to 65535/,
    source: /is a multicast group. Give the sender's own address/,
    link_ms: /too low. Use 0.25 to 2000 ms/,
    mclk_offset: /too low/,
    encoding: /not one of L16, L24/,
    link: /^There is no such field\.$/,
    link_mss: /^There is no such field\. Do you mean link_ms\?$/,
  })
  t.match(faultsOf({}), { mcast: /missing/ })
  t.match(faultsOf({ mcast: '239.69.10.4' }), { port: /missing/ })
})

t.test('AES67 groups of 239/8, and those of other RTP senders, are accepted; control groups are not', async (t) => {
  for (const mcast of ['239.69.10.4', '239.255.0.1', '232.1.2.3', '224.2.130.7', '233.252.0.1', '234.1.2.3'])
    t.same(faultsOf({ mcast, port: '5004' }), {}, mcast)
  for (const mcast of ['224.0.0.1', '224.0.1.129', '239.255.255.255', '225.1.2.3', '240.0.0.1', '239.1', 'x'])
    t.match(faultsOf({ mcast, port: '5004' }), { mcast: /./ }, mcast)
})

t.test('B.rules.1 a source is any address that a sender can have, even on this machine', async (t) => {
  for (const source of ['10.20.4.12', '127.0.0.1', '169.254.3.4', '192.0.2.1'])
    t.same(faultsOf({ mcast: '239.69.10.4', port: '5004', source }), {}, source)
  for (const source of ['0.0.0.0', '255.255.255.255', '240.1.1.1', '10.20.4', 'lobby.local', '010.1.1.1'])
    t.match(faultsOf({ mcast: '239.69.10.4', port: '5004', source }), { source: /./ }, source)
})
