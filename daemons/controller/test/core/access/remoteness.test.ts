import t from 'tap'
import { createRemoteness } from '../../../core/access/remoteness.ts'
import { addresses, networksOf } from '../../../io/people.ts'

const judge = createRemoteness({
  addresses,
  trustedProxies: networksOf('trusted_proxies', ['10.9.0.0/24', '127.0.0.1', 'fd00:9::/64', '198.51.100.1']),
  localNetworks: networksOf('local_networks', ['192.0.2.0/24', '2001:db8:7::/48']),
  hops: 8,
  tunnel: { header: 'svc-cloud-tunnel', peers: ['0.0.0.0/0', '::/0'] },
})

const MARK = { 'svc-cloud-tunnel': '1' }

const of = (peer: string, forwardedFor?: string | string[], isTunnel = false) =>
  judge(peer, { 'x-forwarded-for': forwardedFor, ...(isTunnel ? MARK : {}) })

for (const [peer, where, clientIp = peer] of [
  ['203.0.113.7', 'remote'],
  ['8.8.8.8', 'remote'],
  ['2001:DB8::1', 'remote', '2001:db8::1'],
  ['::ffff:203.0.113.7', 'remote', '203.0.113.7'],
  ['::ffff:cb00:7107', 'remote', '203.0.113.7'],
  ['64:ff9b::203.0.113.7', 'remote'],
  ['10.0.0.7', 'local'],
  ['::ffff:10.0.0.7', 'local', '10.0.0.7'],
  ['172.16.0.1', 'local'],
  ['172.31.255.255', 'local'],
  ['172.32.0.1', 'remote'],
  ['192.168.1.1', 'local'],
  ['100.64.0.1', 'neither'],
  ['100.127.255.255', 'neither'],
  ['::ffff:100.64.0.1', 'neither', '100.64.0.1'],
  ['100.128.0.1', 'remote'],
  // A trusted proxy that names no client.
  ['127.0.0.1', 'neither'],
  ['127.0.0.2', 'local'],
  ['169.254.7.7', 'local'],
  ['0.0.0.0', 'neither'],
  ['224.0.0.1', 'neither'],
  ['255.255.255.255', 'neither'],
  ['::', 'neither'],
  ['::1', 'local'],
  ['fe80::1%eth0', 'local', 'fe80::1'],
  ['fec0::1', 'neither'],
  ['fd12::1', 'local'],
  ['fc00::1', 'local'],
  ['64:ff9b:1::a00:1', 'neither'],
  ['192.0.2.77', 'local'],
  ['2001:db8:7:1::1', 'local'],
  ['2001:db8:8::1', 'remote'],
] as [string, 'remote' | 'local' | 'neither', string?][])
  t.test(`1 Authentication 5: ${peer} is provably ${where === 'neither' ? 'neither remote nor local' : where}`, (t) => {
    t.strictSame(of(peer), { clientIp, isRemote: where === 'remote', isLocal: where === 'local' })
    t.end()
  })

t.test('1 Authentication 5: if the peer is unknown, nothing is denied', (t) => {
  for (const peer of ['', '@', '/run/x.sock', '1.2.3', '1.2.3.4.5', '203.0.113.7\u0000'])
    t.strictSame(of(peer, '203.0.113.7'), { clientIp: '', isRemote: false, isLocal: false })
  t.end()
})

t.test('1 Authentication 5: a call through the tunnel is remote, whatever its address', (t) => {
  t.strictSame(of('127.0.0.1', undefined, true), { clientIp: '127.0.0.1', isRemote: true, isLocal: false })
  t.strictSame(of('10.0.0.7', undefined, true), { clientIp: '10.0.0.7', isRemote: true, isLocal: false })
  const nobody = { clientIp: '', isRemote: false, isLocal: false }
  t.strictSame(of('', undefined, true), nobody, 'a caller without an address does not come through the tunnel')
  t.end()
})

for (const [what, peer, chain, clientIp, isRemote] of [
  ['from a stranger is ignored', '203.0.113.7', '10.0.0.1', '203.0.113.7', true],
  ['from a neighbour that is not a proxy is ignored', '10.0.0.7', '203.0.113.7', '10.0.0.7', false],
  ['from a trusted proxy is believed', '10.9.0.1', '203.0.113.7', '203.0.113.7', true],
  ['from a trusted proxy in IPv6 clothes is believed', '::ffff:10.9.0.1', '203.0.113.7', '203.0.113.7', true],
  ['from a trusted proxy of IPv6 is believed', 'fd00:9::1', '[2001:db8::5]:1234', '2001:db8::5', true],
  ['names a client inside', '10.9.0.1', '10.0.0.7', '10.0.0.7', false],
  [
    'is read from the right: what the client wrote itself is not',
    '10.9.0.1',
    '10.0.0.1, 203.0.113.7',
    '203.0.113.7',
    true,
  ],
  ['passes trusted proxies', '10.9.0.1', '203.0.113.7, 10.9.0.2, 198.51.100.1', '203.0.113.7', true],
  ['of only trusted proxies is their leftmost', '10.9.0.1', '10.9.0.3, 10.9.0.2', '10.9.0.3', false],
  ['of a lone public proxy is that proxy', '10.9.0.1', '198.51.100.1', '198.51.100.1', true],
  ['with rubbish at its right end names nobody', '10.9.0.1', '203.0.113.7, unknown', '10.9.0.1', false],
  ['with rubbish behind a proxy stops there', '10.9.0.1', '203.0.113.7, ?, 10.9.0.2', '10.9.0.2', false],
  ['with a mapped address is the IPv4', '10.9.0.1', '::ffff:203.0.113.7', '203.0.113.7', true],
  ['that is empty names nobody', '10.9.0.1', '', '10.9.0.1', false],
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
    const { isLocal, ...origin } = of(peer, chain)
    t.strictSame(origin, { clientIp, isRemote })
    t.ok(!(isLocal && isRemote))
    t.end()
  })

for (const [what, peer, headers, isLocal] of [
  ['a chain that ends inside', '10.9.0.1', { 'x-forwarded-for': '10.0.0.7' }, true],
  ['a chain that ends in local_networks', '10.9.0.1', { 'x-forwarded-for': '192.0.2.5' }, true],
  ['a chain that ends outside', '10.9.0.1', { 'x-forwarded-for': '10.0.0.7, 203.0.113.7' }, false],
  ['a chain that ends behind a carrier', '10.9.0.1', { 'x-forwarded-for': '100.64.0.9' }, false],
  ['a proxy that names nobody', '10.9.0.1', {}, false],
  ['a proxy that names rubbish', '10.9.0.1', { 'x-forwarded-for': 'unknown' }, false],
  ['a proxy that names only proxies', '10.9.0.1', { 'x-forwarded-for': '10.9.0.3, 10.9.0.2' }, false],
  ['more hops than are looked at', '10.9.0.1', { 'x-forwarded-for': `203.0.113.7${', 10.9.0.2'.repeat(1000)}` }, false],
  ['a neighbour that speaks for somebody', '10.0.0.7', { 'x-forwarded-for': '10.0.0.8' }, false],
  ['a neighbour that speaks for somebody in another way', '10.0.0.7', { forwarded: 'for=10.0.0.8' }, false],
  ...[
    'via',
    'x-real-ip',
    'cf-connecting-ip',
    'true-client-ip',
    'x-client-ip',
    'x-forwarded-host',
    'x-original-url',
  ].map((name) => [`a proxy that sends only ${name}`, '10.0.0.7', { [name]: '203.0.113.9' }, false] as const),
  ['a trusted proxy that sends more than its chain', '10.9.0.1', { 'x-forwarded-for': '10.0.0.7', via: '1.1 x' }, true],
  ['a program of this machine that speaks for somebody', '::1', { 'x-forwarded-for': '' }, false],
] as [string, string, Record<string, string>, boolean][])
  t.test(`Skip 2FA on Local Network: ${what} is ${isLocal ? '' : 'not '}provably local`, (t) => {
    t.equal(judge(peer, headers).isLocal, isLocal)
    t.equal(judge(peer, { ...headers, ...MARK }).isLocal, false, 'and never through the tunnel')
    t.end()
  })

t.test('without trusted proxies no header is believed', (t) => {
  const lone = createRemoteness({
    addresses,
    trustedProxies: [],
    localNetworks: [],
    hops: 8,
    tunnel: { header: 'x', peers: [] },
  })
  const origin = lone('127.0.0.1', { 'x-forwarded-for': '203.0.113.7' })
  t.strictSame(origin, { clientIp: '127.0.0.1', isRemote: false, isLocal: false })
  t.end()
})

t.test('earlier judgements of a peer change nothing, however many there were, through the tunnel or not', async (t) => {
  for (let round = 0; round < 2; round++)
    for (let at = 0; at < 600; at++) {
      const [inside, outside] = [`10.1.${at >> 8}.${at & 255}`, `203.0.${at >> 8}.${at & 255}`]
      const isTunnel = (at + round) % 2 === 0
      t.same(of(inside, undefined, isTunnel), { clientIp: inside, isRemote: isTunnel, isLocal: !isTunnel })
      t.same(of(outside, undefined, isTunnel), { clientIp: outside, isRemote: true, isLocal: false })
      if (at % 100 === 0) t.same(of('127.0.0.1', outside), { clientIp: outside, isRemote: true, isLocal: false })
      if (at % 100 === 0) t.same(of('127.0.0.1'), { clientIp: '127.0.0.1', isRemote: false, isLocal: false })
    }
})
