/** Tests of net/address.ts. */
import fc from 'fast-check'
import t from 'tap'
import { holds } from '#kit/test/holds.ts'
import { classOf, isWithin, networkOf, parseAddress, parseNetwork, plainAddress } from '../../net/address.ts'

t.test('reads addresses of both families, in brackets and with a zone', async (t) => {
  t.same(parseAddress('192.168.1.20'), new Uint8Array([192, 168, 1, 20]))
  t.same(parseAddress('[fe80::1%eth0]'), parseAddress('fe80::1'))
  t.same(Buffer.from(parseAddress('2001:db8::1:0') ?? []).toString('hex'), '20010db8000000000000000000010000')
  t.same(parseAddress('::'), new Uint8Array(16))
})

t.test('reads an IPv4-mapped address as the IPv4 it stands for', async (t) => {
  for (const text of ['::ffff:10.0.0.1', '::ffff:a00:1', '0:0:0:0:0:ffff:0a00:0001'])
    t.same(parseAddress(text), new Uint8Array([10, 0, 0, 1]), text)
})

t.test('accepts only addresses', async (t) => {
  for (const text of [
    '',
    '1.2.3',
    '1.2.3.256',
    '01.2.3.4',
    '0x7f.1',
    ':::',
    '1::2::3',
    'localhost',
    '10.0.0.0/8',
    ' ::1',
  ])
    t.equal(parseAddress(text), undefined, text)
})

t.test('classifies addresses with a special meaning', async (t) => {
  const rows = {
    loopback: ['127.0.0.1', '127.255.0.1', '::1', '::ffff:127.0.0.1', '64:ff9b::7f00:1'],
    'link-local': ['169.254.1.1', 'fe80::1', 'febf::1', '::ffff:169.254.1.1', '2002:a9fe:101::'],
    metadata: [
      ...['169.254.169.254', 'fd00:ec2::254', '::ffff:169.254.169.254', '64:ff9b::a9fe:a9fe', '::169.254.169.254'],
      ...['64:ff9b:1::a9fe:a9fe', '::ffff:0:a9fe:a9fe', '2001::5601:5601', '2001:db8::5efe:a9fe:a9fe'],
      ...['168.63.129.16', '192.0.0.192', '100.100.100.200', '::ffff:168.63.129.16', '64:ff9b::c000:c0'],
      ...['2002:a83f:8110::1', '::ffff:192.0.0.192', '2001:db8::200:5efe:a83f:8110', '169.254.170.23'],
      ...[
        'fd00:ec2::23',
        'fd20:ce::254',
        'fd00:c1::a9fe:a9fe',
        'fd00:42::42',
        'fd00:a9fe:a9fe::1',
        'fd00:100::100:200',
      ],
    ],
    multicast: ['224.0.0.1', '239.255.255.250', 'ff02::1'],
    unspecified: ['0.0.0.0', '0.1.2.3', '::'],
    reserved: ['240.0.0.1', '255.255.255.255'],
    ordinary: ['10.0.0.1', '192.168.1.1', '172.16.0.1', '8.8.8.8', 'fd12::1', '2001:db8::1', 'fec0::1'],
  }
  for (const [name, addresses] of Object.entries(rows))
    for (const text of addresses) t.equal(classOf(parseAddress(text) ?? new Uint8Array()), name, text)
})

t.test('reads networks, and says which addresses are in them', async (t) => {
  const ten = parseNetwork('10.128.0.0/9')
  t.ok(ten && isWithin(new Uint8Array([10, 200, 0, 1]), ten))
  t.notOk(ten && isWithin(new Uint8Array([10, 100, 0, 1]), ten))
  t.equal(parseNetwork('fd00::/8')?.prefix, 8)
  t.equal(parseNetwork('192.0.2.7')?.prefix, 32)
  t.equal(parseNetwork('0.0.0.0/0')?.prefix, 0)
  t.equal(parseNetwork('fe80::1%eth0'), undefined, 'of one interface')
  for (const bad of ['10.0.0.1/8', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/-1', '10.0.0.0/8/8', 'fd00::/129', 'x/8'])
    t.equal(parseNetwork(bad), undefined, bad)
})

t.test('counts IPv6 by its /64', async (t) => {
  t.equal(networkOf('2001:db8::1'), networkOf('2001:db8::ffff:1'))
  t.not(networkOf('2001:db8::1'), networkOf('2001:db8:0:1::1'))
  t.equal(networkOf('::ffff:192.0.2.1'), '192.0.2.1')
  t.equal(networkOf('unix'), 'unix')
})

t.test('never throws, and reads back every address', async (t) => {
  holds(
    t,
    fc.property(fc.string(), (text) => void [parseAddress(text), parseNetwork(text), networkOf(text)]),
  )
  holds(
    t,
    fc.property(fc.ipV4(), (text) => parseAddress(text)?.join('.') === text),
  )
  holds(
    t,
    fc.property(fc.ipV6(), (text) => {
      const address = parseAddress(text)
      return address?.length === 16 || address?.length === 4
    }),
  )
})

t.test('a peer on a socket for both families is shown by its IPv4 address', async (t) => {
  t.equal(plainAddress('::ffff:192.0.2.7'), '192.0.2.7')
  t.equal(plainAddress('::FFFF:192.0.2.7'), '192.0.2.7')
  t.equal(plainAddress(undefined), '')
  for (const same of ['192.0.2.7', '2001:db8::1', '::1', '', 'fe80::1%eth0']) t.equal(plainAddress(same), same)
})
