/** Tests of pure/text.ts. */
import fc from 'fast-check'
import t from 'tap'
import { csvCell, plainText, shortCopy } from '../../pure/text.ts'
import { anyText } from '../any-text.ts'
import { heapBytesOf } from '../heap.ts'
import { holds } from '../holds.ts'

t.test('keeps words of any language as they are', async (t) => {
  for (const text of ['Hall 2', 'Küche', '音声', 'Зал', '🔊 left']) t.equal(plainText(text, 64), text)
})

t.test('removes characters that are invisible, change the direction or break lines', async (t) => {
  t.equal(plainText('a\u0000b\u001b[31mc\r\n\td', 64), 'a b [31mc d')
  t.equal(plainText('pay\u202elave\u2066l\u200b\ufeff', 64), 'paylavel')
  t.equal(plainText('a\u2028b\u2029c\ud800d', 64), 'a b cd')
})

t.test('cuts at the limit, never through a character, and accepts any text', async (t) => {
  t.equal(plainText('🔊🔊🔊', 2), '🔊🔊')
  t.equal(plainText('x'.repeat(1e6), 64).length, 64)
  holds(
    t,
    fc.property(anyText({ maxLength: 200 }), (text) => {
      const plain = plainText(text, 40)
      return plain.isWellFormed() && [...plain].length <= 40 && !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(plain)
    }),
  )
})

t.test('a short copy is the first characters, and holds nothing of the rest', async (t) => {
  t.equal(shortCopy('', 3), '')
  t.equal(shortCopy('abc', 3), 'abc')
  t.equal(shortCopy('abcd', 3), 'abc')
  for (const sign of ['x', 'ж'])
    for (const most of [5, 13, 128]) {
      const long = (at: number) => Buffer.from(`${at} ${sign.repeat(20_000)}`).toString()
      t.equal(shortCopy(long(7), most), long(7).slice(0, most))
      const copies = () => Array.from({ length: 100 }, (_, at) => shortCopy(long(at), most))
      const bytes = (await heapBytesOf(copies)) / 100
      t.ok(bytes < 1000 + 2 * most, `${most} of ${sign}: ${bytes} bytes`)
    }
})

t.test('no text becomes a formula, however a spreadsheet divides the line into cells', async (t) => {
  const formula = /(?:^|[;,\t\r\n"])[=+@\uff1d-]/
  const starts = ['', 'a;', 'a,', 'a\t', 'a\n', 'a\r\n', 'a;"', '"', 'a;;', "a;'x';"]
  for (const start of starts)
    for (const sign of ['=', '+', '-', '@', '\uff1d'])
      t.notMatch(csvCell(`${start}${sign}cmd|' /C calc'!A0`), formula, JSON.stringify(start + sign))
  t.equal(csvCell('\tx'), "'\tx")
  for (const plain of ['supply', '21.5 °C', 'a-b', 'x = y', 'Haus 2; oben']) t.equal(csvCell(plain), plain)
  t.equal(csvCell('a, b'), '"a, b"')
  t.equal(csvCell(-5), '-5', 'a number is one')
})
