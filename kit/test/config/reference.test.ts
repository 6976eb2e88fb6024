/** The reference table of settings. */
import { t } from 'tap'
import { Type } from 'typebox'
import { referenceOf } from '#kit/config/load.ts'
import { commonTables } from '#kit/config/tables.ts'

t.test('has one row for each key with range, unit, default and meaning', async (t) => {
  const schema = Type.Object({
    line: Type.Object({
      gap_ms: Type.Number({ default: 2, minimum: 0, maximum: 9, unit: 'ms', description: 'a | b' }),
      on: Type.Boolean({ default: false, description: 'on' }),
    }),
  })
  t.equal(
    referenceOf(schema),
    [
      '| key | allowed | default | meaning |',
      '|---|---|---|---|',
      '| `line.gap_ms` | a number from 0 to 9 (ms) | `2` | a \\| b |',
      '| `line.on` | true or false | `false` | on |',
      '',
    ].join('\n'),
  )
})

t.test('finds a default, a range and a meaning for every common key', async (t) => {
  for (const row of referenceOf(Type.Object(commonTables(3132)))
    .trim()
    .split('\n')
    .slice(2)) {
    t.match(row, /^\| `(http|mdns|log|connections)\.[a-z_]+` \| [^|]+ \| `[^`|]+` \| [a-zA-Z][^|]+ \|$/)
    t.notMatch(row, /a value|undefined/)
  }
})
