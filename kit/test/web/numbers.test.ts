/** Tests of numbers, ages and times as pages write them. */
import t from 'tap'
import { age, baudText, bytesText, count, fixed, listed, many, msText, sinceText, timeOf } from '#kit/web/numbers.ts'

const HOUR_MS = 3_600_000

t.test('writes numbers the same in every country', async (t) => {
  t.equal(count(3_600_412), '3\u202f600\u202f412')
  t.equal(count(0), '0')
  t.equal(fixed(-12, 1), '\u221212.0')
  t.equal(fixed(-0.04, 1), '0.0', 'nothing has no sign')
  t.equal(fixed(1234.5, 1), '1\u202f234.5')
})

t.test('a reply time under half a millisecond says so', async (t) => {
  t.equal(msText(0.2), '<1')
  t.equal(msText(0.6), '1')
  t.equal(msText(1412.2), '1\u202f412')
  t.equal(msText(null), '–')
})

t.test('says that a value is unknown instead of 0', async (t) => {
  for (const unknown of [null, undefined, Number.NaN]) t.equal(count(unknown), '–')
  t.equal(bytesText(null), '–')
})

t.test('writes rates as installers do, and bytes decimal', async (t) => {
  t.equal(baudText(9600), '9600')
  t.equal(baudText(115_200), '115\u202f200')
  t.equal(bytesText(999), '999\u202fB')
  t.equal(bytesText(118_000_000), '118\u202fMB')
  t.equal(bytesText(2_400_000_000), '2.4\u202fGB')
})

t.test('writes ages in two units in sentences and one in tables', async (t) => {
  t.equal(age(400), '0.4\u202fs')
  t.equal(age(12_000), '12\u202fs')
  t.equal(age(192_000), '3\u202fmin 12\u202fs')
  t.equal(age(192_000, 1), '3\u202fmin')
  t.equal(age((41 * 24 + 6) * HOUR_MS), '41\u202fd 6\u202fh')
  t.equal(age(180_000), '3\u202fmin', 'a unit of nothing is left out')
  t.equal(age(24 * HOUR_MS + 60_000), '1\u202fd', 'and so is a smaller one after it')
  t.equal(age(-5), '0.0\u202fs')
})

t.test('writes times in the zone of the site', async (t) => {
  const at = Date.UTC(2031, 2, 9, 13, 2, 31, 482)
  t.equal(timeOf(at, 'Europe/Berlin', 'ms'), '14:02:31.482')
  t.equal(timeOf(at, 'UTC', 'min'), '13:02')
  t.equal(sinceText(at, at + HOUR_MS, 'UTC'), '13:02')
  t.equal(sinceText(at, at + 30 * HOUR_MS, 'UTC'), '2031-03-09 13:02')
})

t.test('counts things in words', async (t) => {
  t.equal(many(1, 'line'), '1 line')
  t.equal(many(2, 'reply', 'replies'), '2 replies')
  t.equal(listed(['a']), 'a')
  t.equal(listed(['a', 'b']), 'a and b')
  t.equal(listed(['a', 'b', 'c']), 'a, b and c')
  t.equal(listed(['a', 'b', 'c', 'd']), 'a, b and 2 more')
})
