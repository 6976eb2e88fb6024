import fc from 'fast-check'
import t from 'tap'
import { compareVersions, isVersion } from '../../wire/firmware-image.ts'

const version = fc
  .tuple(fc.nat(999_999), fc.nat(999_999), fc.nat(999_999))
  .map((numbers) => ({ numbers, text: numbers.join('.') }))

t.test('a version is three numbers', async (t) => {
  for (const good of ['0.0.0', '2.0.13', '999999.0.1']) t.ok(isVersion(good), good)
  for (const bad of [
    '',
    '2',
    '2.0',
    '2.0.0.1',
    '02.0.0',
    '2.0.0-rc1',
    'v2.0.0',
    '2.0.1000000',
    '2.0.0\n',
    '2..0',
    '-1.0.0',
  ])
    t.notOk(isVersion(bad), JSON.stringify(bad))
})

t.test('versions are compared number by number, not as text', async (t) => {
  t.ok(compareVersions('2.0.9', '2.0.10') < 0)
  t.ok(compareVersions('10.0.0', '9.9.9') > 0)
  t.equal(compareVersions('2.0.13', '2.0.13'), 0)
})

t.test('the order of versions is that of their numbers', async () => {
  fc.assert(
    fc.property(version, version, (one, other) => {
      const expected = one.numbers
        .map((number, at) => Math.sign(number - (other.numbers[at] ?? 0)))
        .find((sign) => sign !== 0)
      return isVersion(one.text) && Math.sign(compareVersions(one.text, other.text)) === (expected ?? 0)
    }),
  )
})
