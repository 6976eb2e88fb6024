import fc from 'fast-check'
import t from 'tap'
import { holds } from '#kit/test/holds.ts'
import { decimalOf, isExact, numberOf, scaled, textOfDecimal } from '../../wire/point-value.ts'

const finite = fc.double({ noNaN: true, noDefaultInfinity: true })

t.test('a double becomes the shortest decimal that stands for it, and back', async (t) => {
  t.same(decimalOf(0.1), { digits: 1n, exponent: -1 })
  t.same(decimalOf(-1250), { digits: -125n, exponent: 1 })
  holds(
    t,
    fc.property(finite, (value) => numberOf(decimalOf(value)) === value),
  )
})

t.test('a scale of a power of ten moves the point and rounds nothing', async (t) => {
  const zero = decimalOf(0)
  t.equal(numberOf(scaled(2301n, decimalOf(0.1), zero)), 230.1)
  t.equal(textOfDecimal(scaled(18_446_744_073_709_551_615n, decimalOf(0.001), zero)), '18446744073709551.615')
  t.equal(textOfDecimal(scaled(-5n, decimalOf(0.01), decimalOf(0.5))), '0.45')
  t.equal(textOfDecimal(scaled(-5n, decimalOf(0.01), zero)), '-0.05')
  t.equal(textOfDecimal(scaled(7n, decimalOf(1000), zero)), '7000')
  t.equal(textOfDecimal(scaled(0n, decimalOf(0.001), zero)), '0')
  holds(
    t,
    fc.property(fc.bigInt(0n, 2n ** 64n - 1n), fc.integer({ min: 0, max: 9 }), (raw, decimals) => {
      const text = textOfDecimal(scaled(raw, decimalOf(10 ** -decimals), zero))
      const [whole = '', fraction = ''] = text.split('.')
      return BigInt(whole + fraction.padEnd(decimals, '0')) === raw
    }),
  )
})

t.test('a number that a double cannot hold digit by digit is not exact', async (t) => {
  const most = BigInt(Number.MAX_SAFE_INTEGER)
  t.ok(isExact({ digits: most, exponent: 0 }))
  t.notOk(isExact({ digits: most + 1n, exponent: 0 }))
  t.ok(isExact({ digits: most * 1000n, exponent: -3 }))
  t.notOk(isExact({ digits: 3_882_596_557_873_507n, exponent: 3 }))
})
