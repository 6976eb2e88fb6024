/** Keys of the table `data` in controller.toml. */
import { Type } from 'typebox'
import { count } from './limit.ts'

/** What one query may cost. */
export const dataKeys = Type.Object(
  {
    query_bytes: count('bytes', 16_384, [256, 65_536], 'the longest query string'),
    conditions: count('', 64, [1, 1024], 'conditions of one query'),
    depth: count('', 4, [1, 16], 'how deep _or may stand in _or'),
    list_items: count('', 1000, [1, 10_000], 'values of one condition'),
    pattern_chars: count('', 1000, [1, 16_384], 'characters of one pattern of _like or _contains'),
    ordered_rows: count(
      '',
      100_000,
      [10_000, 1_000_000],
      'rows of a history that are kept while they are put in order',
    ),
    work_at_once: count('', 100_000, [1000, 10_000_000], 'comparisons before others have their turn'),
    rows_written_at_once: count('', 1000, [10, 10_000], 'rows written out before others have their turn'),
  },
  { additionalProperties: false, default: {}, description: 'reading over GET /api/data' },
)
