import t from 'tap'
import { CODE_LETTERS, isSameText, PLAIN_LETTERS, randomText } from '../../../core/access/sessions.ts'

t.test('1 Authentication 6: a code has A to Z and 2 to 9 without 0, O, 1, I and L', (t) => {
  const asked = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ23456789'].filter((letter) => !'0O1IL'.includes(letter))
  t.strictSame([...CODE_LETTERS].sort(), asked.sort())
  t.equal(new Set(PLAIN_LETTERS).size, 62)
  t.end()
})

t.test('every letter comes from as many bytes as any other', (t) => {
  for (const alphabet of [CODE_LETTERS, PLAIN_LETTERS, 'abc']) {
    const fair = Math.floor(256 / alphabet.length)
    const everyByte = () => Uint8Array.from({ length: 256 }, (_, byte) => byte)
    const counts = Map.groupBy(randomText(alphabet, fair * alphabet.length, everyByte), (letter) => letter)
    t.equal(counts.size, alphabet.length)
    for (const [letter, all] of counts) t.equal(all.length, fair, letter)
  }
  t.end()
})

t.test('has the length asked for, whatever the random bytes', (t) => {
  for (const byte of [0, 100, 247]) t.equal(randomText(CODE_LETTERS, 6, (n) => new Uint8Array(n).fill(byte)).length, 6)
  t.end()
})

t.test('two texts are the same or they are not', (t) => {
  t.ok(isSameText('ABC234', 'ABC234'))
  t.notOk(isSameText('ABC234', 'ABC235'))
  t.notOk(isSameText('ABC234', 'ABC23'))
  t.notOk(isSameText('\u0141', 'A'))
  t.end()
})
