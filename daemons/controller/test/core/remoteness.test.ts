import t from 'tap'
import { createRemoteness } from '../../core/remoteness.ts'
import { addresses, networksOf } from '../../io/network-list.ts'

const judge = createRemoteness({
  addresses,
  trustedProxies: networksOf('trusted_proxies', ['10.9.0.0/24', '127.0.0.1', 'fd00:9::/64', '198.51.100.1']),
  localNetworks: networksOf('local_networks', ['192.0.2.0/24', '2001:db8:7::/48']),
  hops: 8,
})

const of = (peer: string, forwardedFor?: string | string[], isTunnel = false) =>
  judge(peer, { 'x-forwarded-for': forwardedFor }, isTunnel)

for (const [peer, isRemote, clientIp = peer] of [
  ['203.0.113.7', true],
  ['8.8.8.8', true],
  ['2001:DB8::1', true, '2001:db8::1'],
  ['::ffff:203.0.113.7', true, '203.0.113.7'],
  ['::ffff:cb00:7107', true, '203.0.113.7'],
  ['64:ff9b::203.0.113.7', true],
  ['10.0.0.7', false],
  ['::ffff:10.0.0.7', false, '10.0.0.7'],
  ['172.16.0.1', false],
  ['172.31.255.255', false],
  ['172.32.0.1', true],
  ['192.168.1.1', false],
  ['100.64.0.1', false],
  ['100.127.255.255', false],
  ['100.128.0.1', true],
  ['127.0.0.1', false],
  ['169.254.7.7', false],
  ['0.0.0.0', false],
  ['::1', false],
  ['fe80::1%eth0', false, 'fe80::1'],
  ['fd12::1', false],
  ['fc00::1', false],
  ['64:ff9b:1::a00:1', false],
  ['192.0.2.77', false],
  ['2001:db8:7:1::1', false],
  ['2001:db8:8::1', true],
] as [string, boolean, string?][])
  t.test(`1 Authentication 5: ${peer} is ${isRemote ? '' : 'not '}provably remote`, (t) => {
    t.strictSame(of(peer), { clientIp, isRemote })
    t.end()
  })

t.test('1 Authentication 5: where the peer cannot be told, nothing is denied', (t) => {
  for (const peer of ['', '@', '/run/x.sock', '1.2.3', '1.2.3.4.5', '203.0.113.7\u0000'])
    t.strictSame(of(peer, '203.0.113.7'), { clientIp: '', isRemote: false })
  t.end()
})

t.test('1 Authentication 5: what comes through the tunnel is remote, whatever its address', (t) => {
  t.strictSame(of('127.0.0.1', undefined, true), { clientIp: '127.0.0.1', isRemote: true })
  t.strictSame(of('', undefined, true), { clientIp: '', isRemote: true })
  t.end()
})

for (const [what, peer, chain, clientIp, isRemote] of [
  ['from a stranger is ignored', '203.0.113.7', '10.0.0.1', '203.0.113.7', true],
  ['from a neighbour that is no proxy is ignored', '10.0.0.7', '203.0.113.7', '10.0.0.7', false],
  ['from a trusted proxy is believed', '10.9.0.1', '203.0.113.7', '203.0.113.7', true],
  ['from a trusted proxy in IPv6 clothes is believed', '::ffff:10.9.0.1', '203.0.113.7', '203.0.113.7', true],
  ['from a trusted proxy of IPv6 is believed', 'fd00:9::1', '[2001:db8::5]:1234', '2001:db8::5', true],
  ['tells a client inside', '10.9.0.1', '10.0.0.7', '10.0.0.7', false],
  [
    'is read from the right: what the client wrote itself is not',
    '10.9.0.1',
    '10.0.0.1, 203.0.113.7',
    '203.0.113.7',
    true,
  ],
  ['passes trusted proxies', '10.9.0.1', '203.0.113.7, 10.9.0.2, 198.51.100.1', '203.0.113.7', true],
  ['of trusted proxies alone is their leftmost', '10.9.0.1', '10.9.0.3, 10.9.0.2', '10.9.0.3', false],
  ['of a lone public proxy is that proxy', '10.9.0.1', '198.51.100.1', '198.51.100.1', true],
  ['with rubbish at its right end tells nothing', '10.9.0.1', '203.0.113.7, unknown', '10.9.0.1', false],
  ['with rubbish behind a proxy stops there', '10.9.0.1', '203.0.113.7, ?, 10.9.0.2', '10.9.0.2', false],
  ['with a mapped address is the IPv4', '10.9.0.1', '::ffff:203.0.113.7', '203.0.113.7', true],
  ['that is empty tells nothing', '10.9.0.1', '', '10.9.0.1', false],
  ['on several lines is one chain', '10.9.0.1', ['10.0.0.1', '203.0.113.7', '10.9.0.2'], '203.0.113.7', true],
  ['of a client in the local networks is not remote', '10.9.0.1', '192.0.2.5', '192.0.2.5', false],
  [
    'of a thousand trusted hops ends at its bound',
    '10.9.0.1',
    `203.0.113.7${', 10.9.0.2'.repeat(1000)}`,
    '10.9.0.2',
    false,
  ],
] as [string, string, string | string[], string, boolean][])
  t.test(`1 Audit record: x-forwarded-for ${what}`, (t) => {
    t.strictSame(of(peer, chain), { clientIp, isRemote })
    t.end()
  })

t.test('without trusted proxies nobody is believed', (t) => {
  const lone = createRemoteness({ addresses, trustedProxies: [], localNetworks: [], hops: 8 })
  const origin = lone('127.0.0.1', { 'x-forwarded-for': '203.0.113.7' }, false)
  t.strictSame(origin, { clientIp: '127.0.0.1', isRemote: false })
  t.end()
})

t.test(
  'what was judged of a peer before changes nothing, however many there were and whatever marked them',
  async (t) => {
    for (let round = 0; round < 2; round++)
      for (let at = 0; at < 600; at++) {
        const [inside, outside] = [`10.1.${at >> 8}.${at & 255}`, `203.0.${at >> 8}.${at & 255}`]
        const isTunnel = (at + round) % 2 === 0
        t.same(of(inside, undefined, isTunnel), { clientIp: inside, isRemote: isTunnel })
        t.same(of(outside, undefined, isTunnel), { clientIp: outside, isRemote: true })
        if (at % 100 === 0) t.same(of('127.0.0.1', outside), { clientIp: outside, isRemote: true })
        if (at % 100 === 0) t.same(of('127.0.0.1'), { clientIp: '127.0.0.1', isRemote: false })
      }
  },
)
