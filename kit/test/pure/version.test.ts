/** Tests of kit/pure/version.ts. */
import fc from 'fast-check'
import t from 'tap'
import { compareVersions, isVersion, nextPatch } from '../../pure/version.ts'

const number = fc.oneof(fc.nat(12), fc.nat(Number.MAX_SAFE_INTEGER))
const release = fc.tuple(number, number, number).map((numbers) => ({ numbers, text: numbers.join('.') }))

t.test('a version is three numbers, and perhaps a prerelease', async (t) => {
  const good = [
    '0.0.0',
    '2.0.13',
    '1.5.0-beta.2',
    '1.0.0-rc-1',
    '1.0.0-0.a',
    '9007199254740991.0.0',
    `1.0.0-${'x'.repeat(58)}`,
  ]
  for (const text of good) t.ok(isVersion(text), text)
  const bad = [
    '',
    '2',
    '2.0',
    '2.0.0.1',
    '02.0.0',
    '1.0.0-01',
    'v2.0.0',
    '=2.0.0',
    ' 2.0.0',
    '2.0.0\n',
    '2..0',
    '-1.0.0',
    '1.0.0-',
  ]
  bad.push(
    '1.0.0+7',
    '1.0.0-a+7',
    '1.0.0-a..b',
    '1.0.0-ü',
    '9007199254740992.0.0',
    `1.0.0-${'x'.repeat(59)}`,
    '1.0.0/../..',
    '1.0.0\0',
  )
  for (const text of bad) t.notOk(isVersion(text), JSON.stringify(text))
})

t.test('versions stand in the order that the standard gives as its example', async (t) => {
  // Semantic Versioning 2.0.0, 11.
  const order = ['1.0.0-alpha', '1.0.0-alpha.1', '1.0.0-alpha.beta', '1.0.0-beta', '1.0.0-beta.2', '1.0.0-beta.11']
  order.push('1.0.0-rc.1', '1.0.0', '2.0.0', '2.1.0', '2.1.1', '2.1.10', '10.0.0')
  for (const [at, one] of order.entries())
    for (const [place, other] of order.entries())
      t.equal(Math.sign(compareVersions(one, other)), Math.sign(at - place), `${one} and ${other}`)
})

t.test('the order of versions is that of their numbers', async () => {
  fc.assert(
    fc.property(release, release, (one, other) => {
      const signs = one.numbers.map((value, at) => Math.sign(value - (other.numbers[at] ?? 0)))
      return compareVersions(one.text, other.text) === (signs.find((sign) => sign !== 0) ?? 0)
    }),
  )
})

t.test('the next patch version follows the one before', async (t) => {
  t.equal(nextPatch('1.3.9'), '1.3.10')
  t.equal(nextPatch('1.4.0-beta.2'), '1.4.0')
  t.equal(nextPatch('0.0.0'), '0.0.1')
})

t.test('what is no version is named in the fault, shortened', async (t) => {
  t.throws(() => compareVersions('1.0.0', 'latest'), { code: 'bad_version', message: /"latest" is no version/ })
  t.throws(() => compareVersions('one', '1.0.0'), { code: 'bad_version' })
  t.throws(() => compareVersions('x'.repeat(9999), '1.0.0'), { code: 'bad_version', message: /^.{1,120}$/ })
})

t.test('any text either is a version and equals itself, or is refused with a fault', async () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[0-9a-z.+-]{0,20}$/)), (text) => {
      if (isVersion(text)) return compareVersions(text, text) === 0
      try {
        compareVersions(text, '1.0.0')
      } catch (error) {
        return (error as { code?: string }).code === 'bad_version'
      }
      return false
    }),
  )
})
