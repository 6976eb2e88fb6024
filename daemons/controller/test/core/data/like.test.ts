import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import t from 'tap'
import { holds } from '#kit/test/holds.ts'
import { containsTest, likeTest } from '../../../core/data/matching.ts'

t.test('1 Modifiers _like finds what LIKE of SQLite finds', async (t) => {
  const database = new DatabaseSync(':memory:')
  const like = database.prepare('SELECT ? LIKE ? AS found')
  const letters = fc.constantFrom('a', 'B', 'b', 'K', '\u212a', 'é', 'É', '%', '_', '😀', '\n', '[', '\\', '.', '*')
  const text = fc.array(letters, { maxLength: 12 }).map((all) => all.join(''))
  holds(
    t,
    fc.property(text, text, (text, pattern) => likeTest(pattern)(text) === (like.get(text, pattern)?.found === 1)),
    { numRuns: 3000 },
  )
  database.close()
})

t.test('1 Modifiers _like holds for patterns longer than a word of bits', async (t) => {
  const long = 'abcdefghij'.repeat(20)
  t.ok(likeTest(long)(long))
  t.ok(likeTest(`${long.slice(0, 150)}%`)(long))
  t.ok(likeTest(`%${long.slice(30)}`)(long))
  t.ok(likeTest('_'.repeat(200))(long))
  t.notOk(likeTest('_'.repeat(199))(long))
  t.notOk(likeTest('_'.repeat(201))(long))
  t.notOk(likeTest(`${long}x`)(long))
  for (const length of [31, 32, 33, 63, 64, 65]) t.ok(likeTest(`%${long.slice(0, length)}%j`)(long), `${length}`)
})

t.test('1 Modifiers _contains finds a literal text, ignoring the case of A to Z', async (t) => {
  const text = fc.array(fc.constantFrom('a', 'A', '%', '_', 'é', '😀'), { maxLength: 8 }).map((all) => all.join(''))
  const folded = (text: string) => text.replaceAll('A', 'a')
  holds(
    t,
    fc.property(text, text, (text, literal) => containsTest(literal)(text) === folded(text).includes(folded(literal))),
    { numRuns: 2000 },
  )
})

t.test('1 Modifiers _like takes time that grows with the text, whatever the pattern', async (t) => {
  const text = 'a'.repeat(20_000)
  const before = process.cpuUsage()
  t.notOk(likeTest(`${'%a_'.repeat(300)}b`)(text))
  t.notOk(containsTest(`${'a'.repeat(999)}b`)(text))
  t.ok(process.cpuUsage(before).user < 500_000)
})
