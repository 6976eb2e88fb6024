/** Keys of the table `audit` in controller.toml. */
import { type Static, Type } from 'typebox'
import { count } from './limit.ts'

/** How much of who asked what is kept, and how it reaches the disk. */
export const auditKeys = Type.Object(
  {
    keep_days: count('days', 365, [1, 3650], 'days for which calls are kept'),
    most_rows: count(
      '',
      1_000_000,
      [1000, 50_000_000],
      'calls kept at most, each about 150 bytes; the oldest go first, refused ones and those of nobody before others',
    ),
    record_ms: count(
      'ms',
      2000,
      [100, 60_000],
      'how long the answer to a sign-in or a command waits for its record to be on the disk; it is 500 then',
    ),
    wait_ms: count('ms', 100, [1, 150], 'how long a record that no answer waits for may wait for others'),
    batch_rows: count('', 500, [1, 10_000], 'records written together at most'),
    queue_rows: count(
      '',
      16_384,
      [64, 1_000_000],
      'records that wait for the disk; further ones are lost and counted, and no command is taken',
    ),
    retry_ms: count('ms', 1000, [10, 60_000], 'wait before a disk that took nothing is tried again; doubles each time'),
    retry_max_ms: count('ms', 30_000, [10, 600_000], 'longest wait between tries'),
    trim_ms: count('ms', 60_000, [1000, 86_400_000], 'how often old calls are removed'),
    trim_rows: count('', 500, [10, 100_000], 'calls removed at once, with a pause before the next'),
    scan_rows: count('', 500, [10, 10_000], 'calls read at once, while nothing else is done'),
    search_rows: count('', 20_000, [100, 1_000_000], 'calls that one search of the page looks at'),
  },
  { additionalProperties: false, default: {}, description: 'the record of who asked what (request_history)' },
)

/** A checked `audit` table. */
export type AuditConfig = Static<typeof auditKeys>

/** Of the thread that writes the audit. Young objects are a batch and its copy; the rest of the thread is SQLite's own memory. */
export const AUDIT_HEAP_MIB = { old: 64, young: 8 }
