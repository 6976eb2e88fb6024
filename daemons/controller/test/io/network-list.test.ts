import t from 'tap'
import { networksOf } from '../../io/people.ts'

t.test('reads addresses and networks of both families', (t) => {
  const prefixes = networksOf('local_networks', ['10.0.0.0/8', '10.20.4.7', ' fd00::/8 ', '::1']).map(
    ({ prefix }) => prefix,
  )
  t.strictSame(prefixes, [8, 32, 8, 128])
  t.strictSame(networksOf('local_networks', []), [])
  t.end()
})

for (const entry of [
  '',
  'localhost',
  '10.0.0.1/8',
  '10.0.0.0/33',
  'fe80::1%eth0',
  '10.0.0.0/8, 10.9.0.1',
  'x'.repeat(10_000),
])
  t.test(`refuses ${JSON.stringify(entry.slice(0, 30))} with the name of the setting`, (t) => {
    t.throws(() => networksOf('trusted_proxies', ['127.0.0.1', entry]), {
      code: 'bad_network',
      message: /^trusted_proxies has /,
    })
    t.end()
  })
