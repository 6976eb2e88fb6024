/** The origin of calls to the built controller: chains of proxies, the tunnel, and what a token is worth from there. */
import t from 'tap'
import { type RawCall, rawCall } from './raw-call.ts'
import { openRestSite } from './rest-site.ts'
import { PASSWORD } from './rest-site-rows.ts'

const sets = [
  ...['http.trusted_proxies=["127.0.0.1", "10.9.0.0/24", "fd00:9::/64"]', 'http.local_networks=["192.0.2.0/24"]'],
  'people.free_tries=1000',
]
const via = (chain: string | string[]): RawCall => ({ from: '', headers: { 'x-forwarded-for': chain } })

/**
 * Title, call, the recorded client, whether it is provably remote. @source document 1, Audit record; Authentication 5
 */
const origins: [title: string, call: RawCall, clientIp: string, isRemote: boolean][] = [
  ['no chain', { from: '' }, '127.0.0.1', false],
  ['an empty one', via(''), '127.0.0.1', false],
  ['commas', via(' , ,,'), '127.0.0.1', false],
  ['a client outside', via('203.0.113.9'), '203.0.113.9', true],
  ['a client inside', via('10.1.2.3'), '10.1.2.3', false],
  ['a header forged by a client outside', via('10.1.2.3, 203.0.113.9'), '203.0.113.9', true],
  ['a header forged by a client inside', via('203.0.113.9, 10.1.2.3'), '10.1.2.3', false],
  ['a chain of proxies', via('203.0.113.9, 10.9.0.5, 10.9.0.6'), '203.0.113.9', true],
  ['forged before a chain of proxies', via('10.1.2.3, 203.0.113.9,10.9.0.5'), '203.0.113.9', true],
  ['proxies alone', via('10.9.0.5, 10.9.0.6'), '10.9.0.5', false],
  ['several lines', via(['10.1.2.3', '203.0.113.9', '10.9.0.5']), '203.0.113.9', true],
  ['IPv4 in IPv6', via('::ffff:203.0.113.9'), '203.0.113.9', true],
  ['IPv4 in IPv6, in hexadecimal', via('::FFFF:cb00:7109'), '203.0.113.9', true],
  ['IPv4 in IPv6, inside', via('::ffff:10.1.2.3'), '10.1.2.3', false],
  ['a proxy in IPv6 clothes', via('203.0.113.9, ::ffff:10.9.0.5'), '203.0.113.9', true],
  ['IPv6', via('2001:DB8::5'), '2001:db8::5', true],
  ['IPv6 behind a proxy of IPv6', via('2001:db8::5, fd00:9::1'), '2001:db8::5', true],
  ['IPv6 with a port', via('"[2001:db8::5]:443"'), '2001:db8::5', true],
  ['a port', via('203.0.113.9:61234'), '203.0.113.9', true],
  ['private IPv6', via('fd12::7'), 'fd12::7', false],
  ['junk', via('unknown'), '127.0.0.1', false],
  ['junk at the right end', via('203.0.113.9, <script>'), '127.0.0.1', false],
  ['junk behind a proxy', via('203.0.113.9, x, 10.9.0.5'), '10.9.0.5', false],
  ['an address cut short', via('203.0.113'), '127.0.0.1', false],
  ['an address with zeros', via('0203.0.113.9'), '127.0.0.1', false],
  ['4000 characters', via('9'.repeat(4000)), '127.0.0.1', false],
  ["a carrier's NAT", via('100.64.3.4'), '100.64.3.4', false],
  ['a public network of the building', via('192.0.2.7'), '192.0.2.7', false],
  [
    'other headers',
    { from: '', headers: { forwarded: 'for=203.0.113.9', 'x-real-ip': '203.0.113.9' } },
    '127.0.0.1',
    false,
  ],
  ['a peer that is not a proxy', { localAddress: '127.0.0.2', from: '203.0.113.9' }, '127.0.0.2', false],
  ['the tunnel', { from: '', headers: { 'svc-cloud-tunnel': '' } }, '127.0.0.1', true],
  ['the tunnel, inside', { from: '10.1.2.3', headers: { 'svc-cloud-tunnel': '1' } }, '10.1.2.3', true],
  ['a false tunnel', { localAddress: '127.0.0.2', from: '', headers: { 'svc-cloud-tunnel': '1' } }, '127.0.0.2', false],
]

t.test('1 Audit record: the client IP', async (t) => {
  const site = await openRestSite(t, { sets })
  const ada = await site.tokenOf('ada')
  const body = JSON.stringify({ username: 'lena', password: PASSWORD })
  const newest = '/api/data/request_history?path=/api/token&_orderby=id=desc&_limit=1'

  for (const [title, call, clientIp, isRemote] of origins)
    await t.test(`1 Audit record: ${title} is ${clientIp}, ${isRemote ? '' : 'not '}provably remote`, async (t) => {
      const answer = await rawCall(site, 'POST', '/api/token', { ...call, body })
      const denied = { error: 'remote_denied', message: 'remote access not permitted' }
      if (isRemote) t.strictSame(answer.body, denied)
      else t.match(answer.body, { token: /^.{32}$/ })
      const reason = isRemote ? 'remote_denied' : null
      const [record] = (await site.get(newest, ada)).body
      t.match(record, { client_ip: clientIp, reason, granted: !isRemote, username: 'lena', request_type: 'rest_api' })
    })

  await t.test('1 Authentication 5 the check runs on every request, and drops the token for good', async (t) => {
    const [lena, mixed] = [await site.tokenOf('lena'), await site.tokenOf('mixed')]
    const from = '203.0.113.99'
    const me = (token: string, from?: string) =>
      rawCall(site, 'GET', '/api/me', { headers: { 'svc-api-token': token }, ...(from && { from }) })
    t.equal((await me(lena)).status, 200)
    t.match(await me(lena, from), { status: 401, body: { error: 'invalid_session' } })
    t.equal((await me(lena)).status, 401, 'it no longer works from inside either')
    t.equal((await me(mixed, from)).status, 200, 'one role with Allow Remote is enough')
    const handoff = { headers: { authorization: `Bearer ${await site.tokenOf('lena')}`, 'svc-cloud-tunnel': '1' } }
    const refused = await rawCall(site, 'POST', '/api/session_handoff', handoff)
    t.match(refused, { status: 401, body: { error: 'unauthorized' } })
  })
})
