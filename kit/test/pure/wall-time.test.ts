/** Tests of kit/pure/wall-time.ts. */
import t from 'tap'
import { instantOf } from '#kit/pure/wall-time.ts'

const iso = (text: string, zone: string) => new Date(instantOf(text, zone)).toISOString()

t.test('a wall time is that of the zone, in summer and in winter', async (t) => {
  t.equal(iso('2026-07-01T14:00', 'Europe/Amsterdam'), '2026-07-01T12:00:00.000Z')
  t.equal(iso('2026-01-01T14:00:30', 'Europe/Amsterdam'), '2026-01-01T13:00:30.000Z')
  t.equal(iso('2026-01-01T00:30', 'Pacific/Kiritimati'), '2025-12-31T10:30:00.000Z')
  t.equal(iso('2026-07-01T12:00', 'America/St_Johns'), '2026-07-01T14:30:00.000Z')
})

t.test('of a repeated hour the first one counts, and a skipped hour is moved one hour later', async (t) => {
  t.equal(iso('2026-10-25T02:30', 'Europe/Amsterdam'), '2026-10-25T00:30:00.000Z')
  t.equal(iso('2026-10-25T03:00', 'Europe/Amsterdam'), '2026-10-25T02:00:00.000Z')
  t.equal(iso('2026-03-29T02:30', 'Europe/Amsterdam'), '2026-03-29T01:30:00.000Z')
})

t.test('a text that is not a time gives none', async (t) => {
  for (const text of ['', '2026-07-01', '2026-13-01T00:00', 'yesterday', '2026-07-01T14:00Z'])
    t.ok(Number.isNaN(instantOf(text, 'UTC')), text)
})
