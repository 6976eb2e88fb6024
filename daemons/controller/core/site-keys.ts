/** Keys of the tables `store` and `site` in controller.toml. */
import { Type } from 'typebox'
import { count } from './limit.ts'

/** How a site is kept. */
export const storeKeys = Type.Object(
  {
    commit_ms: count('ms', 20, [1, 200], 'changes are gathered for so long before they are written together'),
    busy_ms: count('ms', 5000, [100, 60_000], 'how long another process may hold the database'),
    records: count('', 1000, [10, 100_000], 'runs of macros kept in memory'),
    record_chars: count(
      '',
      16_777_216,
      [1_048_576, 1_073_741_824],
      'characters of those with their traces, 16 for each value beside its text; beyond, the oldest that have ended are on the disk alone',
    ),
    kept_records: count('', 10_000, [10, 1_000_000], 'runs of macros kept on the disk; the oldest go first'),
    faults: count('', 100, [1, 10_000], 'faults that are told when waiting changes do not fit any more'),
  },
  { additionalProperties: false, default: {}, description: 'the database of the site' },
)

/** How much of a site file is taken in. */
export const siteKeys = Type.Object(
  {
    bytes: count('bytes', 67_108_864, [1024, 1_073_741_824], 'the largest site file'),
    rows: count('', 250_000, [10, 5_000_000], 'rows of all tables of a site file, and of a site, together'),
    devices: count('', 65_536, [10, 5_000_000], 'devices of a site'),
    json_chars: count(
      '',
      16_777_216,
      [1024, 1_073_741_824],
      'characters of all JSON columns of a site, 16 for each value and each name beside its text',
    ),
    depth: count('', 32, [4, 256], 'levels of a JSON column'),
    text_chars: count('', 262_144, [1024, 16_777_216], 'characters of a text, and of a JSON column'),
    faults: count('', 200, [1, 10_000], 'faults of a site file that are told; more are counted'),
  },
  { additionalProperties: false, default: {}, description: 'what a site file may hold' },
)

/** Of the thread that writes the site. Changes of a whole site come as one message. */
export const WRITER_HEAP_MIB = { old: 384, young: 16 }
