/** Tests of net/mdns/heard-service.ts. */
import type { Service } from 'bonjour-service'
import fc from 'fast-check'
import t from 'tap'
import { heardServiceOf } from '../../../net/mdns/heard-service.ts'

const service = {
  fqdn: 'Board-1._plantroom._tcp.local',
  host: 'Hall.local',
  port: 8080,
  referer: { address: '10.0.1.9', family: 'IPv4', port: 5353, size: 1 },
  addresses: ['10.0.1.9', 'fd00::9'],
  txt: { role: 'serial', name: 'Hall' },
}
const heard = (change: object) => heardServiceOf({ ...service, ...change } as unknown as Service)

t.test('says what was heard, names in lower case', async (t) => {
  const { text, ...rest } = heard({}) ?? {}
  t.same(rest, {
    id: 'board-1._plantroom._tcp.local',
    host: 'hall.local',
    port: 8080,
    addresses: ['10.0.1.9', 'fd00::9'],
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

t.test('what cannot be spoken to, or is half said, is nobody', async (t) => {
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

t.test('no address means this machine, a group or a service of the cloud', async (t) => {
  const addresses = [
    '127.0.0.1',
    '::1',
    '0.0.0.0',
    '224.0.0.251',
    '169.254.169.254',
    'ff02::fb',
    'x',
    '10.0.0.1',
    '10.0.0.1',
  ]
  t.same(heard({ addresses })?.addresses, ['10.0.0.1'])
  t.same(heard({ addresses: ['127.0.0.1'], referer: { address: '127.0.0.1' } })?.addresses, ['127.0.0.1'])
})

t.test('texts are few, short and plain, whatever was sent', async (t) => {
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
  fc.assert(
    fc.property(
      fc.record({ fqdn: fc.string(), host: fc.anything(), port: fc.anything(), txt: fc.object() }),
      (change) => {
        heard(change)
      },
    ),
  )
})
