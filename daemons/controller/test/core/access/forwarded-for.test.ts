import fc from 'fast-check'
import t from 'tap'
import { hopsOf } from '../../../core/access/remoteness.ts'

/** Any UTF-16 units, including lone surrogates and NUL. */
const anyText = fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units))

for (const [what, header, hops] of [
  ['nothing', undefined, []],
  ['an empty text', '', []],
  ['one address', '203.0.113.7', ['203.0.113.7']],
  ['a chain', '203.0.113.7, 10.0.0.1,10.0.0.2', ['10.0.0.2', '10.0.0.1', '203.0.113.7']],
  [
    'several lines, in the order they came',
    ['203.0.113.7', '10.0.0.1, 10.0.0.2'],
    ['10.0.0.2', '10.0.0.1', '203.0.113.7'],
  ],
  ['empty entries, which are left out', ', 203.0.113.7,, \t,', ['203.0.113.7']],
  ['a port', '203.0.113.7:61234', ['203.0.113.7']],
  ['IPv6', '2001:DB8::1', ['2001:DB8::1']],
  ['brackets', '[2001:db8::1]', ['2001:db8::1']],
  ['brackets and a port', '[2001:db8::1]:443', ['2001:db8::1']],
  ['quotes, brackets and a port', '"[2001:db8::1]:443"', ['2001:db8::1']],
  ['a zone', '[fe80::1%25eth0]:443, fe80::2%eth1', ['fe80::2', 'fe80::1']],
  ['what is not an address', 'unknown, _hidden, for=1', ['for=1', '_hidden', 'unknown']],
  ['an entry of 100 KB', `203.0.113.7, ${'9'.repeat(100_000)}`, ['', '203.0.113.7']],
] as [string, string | string[] | undefined, string[]][])
  t.test(`1 Audit record: reads ${what} from the right`, (t) => {
    t.strictSame(hopsOf(header, 32), hops)
    t.end()
  })

t.test('looks at no more entries than asked', (t) => {
  t.strictSame(hopsOf('a, b, c, d', 2), ['d', 'c'])
  t.strictSame(hopsOf(`${','.repeat(100_000)}`, 32), [])
  t.end()
})

t.test('whatever the left part holds, the right part is read the same', (t) => {
  fc.assert(
    fc.property(anyText, (junk) => {
      return hopsOf(`${junk},203.0.113.7, 10.0.0.1`, 2).join() === '10.0.0.1,203.0.113.7'
    }),
    { numRuns: 200 },
  )
  t.end()
})
