/** Tests of io/sql.ts. */
import t from 'tap'
import { isDamaged, isDiskFull } from '../../io/sql.ts'

t.test('a damaged file is distinguished from other trouble, whatever extended code SQLite gives', async (t) => {
  // SQLITE_CORRUPT, SQLITE_CORRUPT_INDEX, SQLITE_NOTADB
  for (const code of [11, 779, 26]) t.equal(isDamaged(code), true, String(code))
  // none, SQLITE_BUSY, SQLITE_IOERR_WRITE, SQLITE_FULL
  for (const code of [undefined, 0, 5, 778, 13]) t.equal(isDamaged(code), false, String(code))
})

t.test('a full disk is distinguished from other trouble', async (t) => {
  t.equal(isDiskFull(13), true)
  for (const code of [undefined, 0, 10, 11, 778]) t.equal(isDiskFull(code), false, String(code))
})
