/** Tests of net/mdns/library.ts. */
import type { Service } from 'bonjour-service'
import fc from 'fast-check'
import t from 'tap'
import { heardServiceOf } from '../../../net/mdns/library.ts'
import { chooseLinks } from '../../../net/mdns/sockets.ts'
import { fakeNetwork } from './fake-network.ts'

const machine = { eth0: ['10.0.1.2'], eth1: ['10.0.2.2'] }
const links = chooseLinks(fakeNetwork().worldOf(machine).interfaces(), '')

const service = {
  fqdn: 'Board-1._plantroom._tcp.local',
  host: 'Hall.local',
  port: 8080,
  referer: { address: '10.0.1.9', family: 'IPv4', port: 5353, size: 1 },
  addresses: ['10.0.1.9', 'fd00::9'],
  txt: { role: 'serial', name: 'Hall' },
}
const heard = (change: object) => heardServiceOf({ ...service, ...change } as unknown as Service, links)

t.test('returns what was heard, with names in lower case except the one as written', async (t) => {
  const { text, ...rest } = heard({}) ?? {}
  t.same(rest, {
    id: 'board-1._plantroom._tcp.local',
    name: 'Board-1',
    host: 'hall.local',
    port: 8080,
    reach: ['10.0.1.9'],
    from: '10.0.1.9',
  })
  t.same(
    [...(text ?? [])],
    [
      ['role', 'serial'],
      ['name', 'Hall'],
    ],
  )
})

t.test('a service that cannot be reached, or is incomplete, is dropped', async (t) => {
  for (const change of [
    { port: 0 },
    { port: 65_536 },
    { port: undefined },
    { txt: undefined },
    { referer: undefined },
    { fqdn: 'x'.repeat(256) },
  ])
    t.equal(heard(change), undefined, JSON.stringify(change))
})

t.test('a host is one label below .local, or none', async (t) => {
  for (const host of [
    'intranet.example',
    'a.b.local',
    '.local',
    'x y.local',
    `${'x'.repeat(64)}.local`,
    '10.0.0.1',
    undefined,
  ])
    t.equal(heard({ host })?.host, '', String(host))
})

const reach = (addresses: string[], address = '10.0.1.9') => heard({ addresses, referer: { address } })?.reach

t.test('is reached at the source of its message, if it lists that address as its own', async (t) => {
  t.same(reach(['192.168.7.7', '10.0.1.9']), ['10.0.1.9'])
  t.same(reach([]), ['10.0.1.9'])
})

t.test('behind a repeater it is reached at the addresses it lists, IPv4 first, four at most', async (t) => {
  t.same(reach(['fd00::5', '10.20.0.5', '10.20.0.5']), ['10.20.0.5', 'fd00::5'])
  t.equal(reach(Array.from({ length: 99 }, (_, at) => `10.20.0.${at + 1}`))?.length, 4)
})

t.test('nobody can direct us to this machine, to a group, to a cloud or to another link', async (t) => {
  const never = [
    '127.0.0.1',
    '::1',
    '0.0.0.0',
    '224.0.0.251',
    '169.254.169.254',
    'ff02::fb',
    'fe80::1',
    'x',
    '10.0.2.9',
  ]
  for (const address of never) t.same(reach([address]), ['10.0.1.9'], address)
  t.same(reach([...never, '10.0.1.10', '10.20.0.5']), ['10.0.1.10', '10.20.0.5'])
  t.same(reach(['127.0.0.2'], '127.0.0.1'), ['127.0.0.2'], 'except on the link inside this machine')
})

t.test('texts are limited in number and length, and plain, whatever was sent', async (t) => {
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`k${at}`, 'v']))
  t.equal(heard({ txt: many })?.text.size, 16)
  t.equal(heard({ txt: { name: 'x'.repeat(1e5) } })?.text.get('name')?.length, 128)
  t.same(
    [...(heard({ txt: { NAME: 'a', __proto__x: 'b', 'a b': 'c', n: 1, name: 'a\nb' } })?.text ?? [])],
    [
      ['__proto__x', 'b'],
      ['name', 'a b'],
    ],
  )
  t.equal(heard({ host: { toString: null } })?.host, '')
  fc.assert(
    fc.property(
      fc.record({ fqdn: fc.string(), host: fc.anything(), port: fc.anything(), txt: fc.object() }),
      (change) => {
        heard(change)
      },
    ),
  )
})
