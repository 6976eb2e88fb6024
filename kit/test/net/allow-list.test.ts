/** Who may connect, as an installer types it. */
import fc from 'fast-check'
import t from 'tap'
import { parseAllowList } from '#kit/net/address.ts'
import { Fault } from '#kit/pure/fault.ts'
import { holds } from '#kit/test/holds.ts'

const allows = (list: string, address: string) => parseAllowList(list, 64).allows(address)

t.test('an empty list allows everybody', (t) => {
  for (const list of ['', ' ', ' , ']) t.ok(allows(list, '192.0.2.1'), JSON.stringify(list))
  t.end()
})

t.test('allows addresses and networks of both families, and nobody else', (t) => {
  const list = '10.20.4.7, 10.30.0.0/16 fd00::7,fd01::/64'
  for (const address of ['10.20.4.7', '10.30.255.1', 'fd00::7', 'fd01::1234', '::ffff:10.20.4.7', 'fd01::1%eth0'])
    t.ok(allows(list, address), address)
  for (const address of ['10.20.4.8', '10.31.0.1', 'fd00::8', 'fd01:0:0:1::1', '::1', '', 'host', '10.20.4.7.1'])
    t.notOk(allows(list, address), address)
  t.end()
})

t.test('a network of no bits contains every address of its family', (t) => {
  t.ok(allows('0.0.0.0/0', '203.0.113.9'))
  t.notOk(allows('0.0.0.0/0', '2001:db8::1'))
  t.ok(allows('::/0', '2001:db8::1'))
  t.end()
})

t.test('names the entry that is neither, and what is wrong with it', (t) => {
  const refusals: [string, RegExp][] = [
    ['10.0.0.1, kiosk', /^"kiosk" is neither an address nor a network/],
    ['10.20.4.7/24', /^"10\.20\.4\.7\/24" has bits behind its prefix/],
    ['10.0.0.0/33', /neither/],
    ['10.0.0.0/', /neither/],
    ['10.0.0.0/8/8', /neither/],
    ['fe80::1%eth0', /neither/],
    ['010.0.0.1', /neither/],
    [`${'9'.repeat(500)}`, /^"9{60}" is neither/],
  ]
  for (const [list, message] of refusals) t.throws(() => parseAllowList(list, 64), { code: 'bad_allow', message }, list)
  t.throws(() => parseAllowList('10.0.0.1 10.0.0.2 10.0.0.3', 2), { code: 'bad_allow', message: /3 .*at most 2/ })
  t.end()
})

t.test('any input is a list or refused with a Fault', (t) => {
  holds(
    t,
    fc.property(fc.string(), fc.string(), (list, address) => {
      try {
        parseAllowList(list, 8).allows(address)
      } catch (error) {
        if (!(error instanceof Fault)) throw error
      }
    }),
  )
  t.end()
})
