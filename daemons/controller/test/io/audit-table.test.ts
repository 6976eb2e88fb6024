/** Tests of io/audit-store.ts: rows that the table never refuses. */
import fc from 'fast-check'
import t from 'tap'
import { anyText } from '#kit/test/any-text.ts'
import { holds } from '#kit/test/holds.ts'
import { rowOfRecord } from '../../io/audit-store.ts'
import { recordOf } from './audit-here.ts'

t.test('cuts each text at its limit, and never inside a character', async (t) => {
  const long = { path: 'p'.repeat(600), method: 'M'.repeat(600), clientIp: 'z'.repeat(600), target: '😀'.repeat(600) }
  const texts = rowOfRecord(recordOf(long)).filter((value) => typeof value === 'string')
  t.same(
    texts.map(({ length }) => length),
    [8, 32, 512, 64, 3, 128],
  )
  t.equal(texts.at(-1), '😀'.repeat(64))
})

t.test('1 Audit record: never holds a query', async (t) => {
  t.notMatch(rowOfRecord(recordOf({ path: '/api/data/zone?token=secret' })).join(), 'secret')
})

t.test('holds for any record: limited, well-formed texts and whole numbers from 0', async (t) => {
  const text = anyText({ maxLength: 2000 })
  const figure = fc.oneof(fc.double(), fc.integer(), fc.maxSafeInteger())
  const texts = { path: text, method: text, clientIp: text, username: text, target: text }
  const figures = { at: figure, status: figure, elapsedMs: figure, userId: figure, runId: figure }
  holds(
    t,
    fc.property(fc.record({ ...texts, ...figures }), (own) =>
      rowOfRecord(recordOf(own)).every((value) =>
        typeof value === 'number'
          ? Number.isSafeInteger(value) && value >= 0
          : value === null || (value.length <= 512 && value.isWellFormed() && !/\p{Cc}/u.test(value)),
      ),
    ),
  )
})

t.test('marks characters that change the writing direction, or begin a line', async (t) => {
  const username = 'ada\u202etoor\u2066x\u200fy\u2028z'
  t.equal(rowOfRecord(recordOf({ username }))[8], 'ada\ufffdtoor\ufffdx\ufffdy\ufffdz')
  // The joiners that some scripts need in names are kept.
  t.equal(rowOfRecord(recordOf({ username: 'می\u200cخواهم' }))[8], 'می\u200cخواهم')
})
