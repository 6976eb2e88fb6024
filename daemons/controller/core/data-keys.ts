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
    turn_ms: count('ms', 10, [1, 1000], 'how long queries work before others have their turn'),
    queries: count('', 64, [1, 4096], 'queries of one account that are worked on; further ones are answered 503'),
    side_by_side: count('', 4, [1, 64], 'queries of one account that take turns; the others wait for one to end'),
    ready_bytes: count(
      'bytes',
      67_108_864,
      [1_048_576, 1_073_741_824],
      'rows that were asked for and stand ready as JSON for the next who asks',
    ),
    making_bytes: count(
      'bytes',
      67_108_864,
      [1_048_576, 1_073_741_824],
      'answers of all accounts while they are made, and rows that are kept for them; beyond, the longest of the account with most is answered 503',
    ),
  },
  { additionalProperties: false, default: {}, description: 'reading over GET /api/data' },
)
