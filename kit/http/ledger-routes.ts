/** Routes of the ledger: what was wrong, where, since when; acknowledging; the export; and its gauges. */
import { Readable } from 'node:stream'
import { Type } from 'typebox'
import type { Clock } from '../clock.ts'
import { csvCell } from '../pure/text.ts'
import type { Ledger, LedgerQuery } from '../records/ledger.ts'
import { type LedgerEntry, severities } from '../records/ledger-entry.ts'
import type { Recorder } from '../records/records.ts'
import type { Metrics } from './metrics.ts'
import { type Caller, Reply, type Route, route } from './route.ts'

const part = Type.String({ minLength: 1, maxLength: 256 })

/** The query of a list. */
export const ledgerQuery = Type.Object(
  {
    limit: Type.Integer({ default: 100, minimum: 1, maximum: 500, description: 'entries at most' }),
    before: Type.Optional(
      Type.Integer({ minimum: 1, description: 'only entries with a smaller `id`: that of the last one seen' }),
    ),
    open: Type.Optional(Type.Boolean({ description: 'only those that last, or only those that are over' })),
    since: Type.Optional(
      Type.Integer({ minimum: 0, description: 'epoch ms: only entries that lasted then or came later' }),
    ),
    where: Type.Optional({ ...part, description: 'part of the place, whatever its case' }),
    what: Type.Optional({ ...part, description: 'code of the condition' }),
    severity: Type.Optional(Type.Enum([...severities])),
  },
  { additionalProperties: false },
)

const instant = (description: string) => Type.Integer({ description: `epoch milliseconds: ${description}` })

/** One entry. */
export const ledgerEntry = Type.Object({
  id: Type.Integer({ description: 'grows by each entry' }),
  what: Type.String({ description: 'code of the condition' }),
  where: Type.String({ description: 'line, unit, device or file' }),
  about: Type.Optional(Type.String({ description: 'id of the device, where it has one beside its name' })),
  severity: Type.Enum([...severities]),
  sentence: Type.String(),
  since: instant('when it came first'),
  until: Type.Union([Type.Integer(), Type.Null()], { description: 'epoch milliseconds; null while it lasts' }),
  durationMs: Type.Integer({ description: 'from the first time to the end, or to now' }),
  count: Type.Integer({ description: 'how often it came within this entry' }),
  lastAt: instant('when it came last'),
  ended: Type.Union([Type.Enum(['cleared', 'momentary', 'restart']), Type.Null()], {
    description: 'why it is over; `restart`: it was not seen again after the daemon was restarted',
  }),
  acknowledgedBy: Type.Union([Type.String(), Type.Null()]),
  acknowledgedAt: Type.Union([Type.Integer(), Type.Null()]),
})

/** A list, newest first, with what is open in all. */
export const ledgerAnswer = Type.Object({
  entries: Type.Array(ledgerEntry),
  open: Type.Object({ fault: Type.Integer(), warning: Type.Integer(), notice: Type.Integer() }),
  keptSince: instant('since when everything that happened is in here'),
})

/** Which entry somebody has seen. */
export const acknowledgeBody = Type.Object(
  { id: Type.Integer({ minimum: 1, description: 'of the entry' }) },
  { additionalProperties: false },
)

/** Which entries a caller may see; all by default. */
type Shows = (caller: Caller | undefined, entry: LedgerEntry) => boolean

/** The body of a list. */
export function ledgerList(ledger: Ledger, query: LedgerQuery, isShown?: (entry: LedgerEntry) => boolean) {
  return { entries: ledger.list(query, isShown), open: ledger.openCounts(isShown), keptSince: ledger.keptSince() }
}

interface LedgerRouteParts {
  ledger: Ledger
  clock: Clock
  recorder: Recorder
  shows?: Shows
}

/** For daemons whose routes know `user` and `admin`. */
export function ledgerRoutes({ clock, ledger, recorder, shows = () => true }: LedgerRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/ledger',
      who: 'user',
      summary: 'What was wrong, where, since when and how often, newest first',
      query: ledgerQuery,
      reply: ledgerAnswer,
      handle: ({ caller, query }) => ledgerList(ledger, query, (entry) => shows(caller, entry)),
    }),
    route({
      method: 'GET',
      path: '/api/ledger/export',
      who: 'user',
      ticket: true,
      summary: 'The whole ledger as a table, CSV, newest first',
      replyType: 'text/csv',
      handle: ({ caller }) => ledgerExport(ledger, clock, (entry) => shows(caller, entry)),
    }),
    route({
      method: 'POST',
      path: '/api/ledger/acknowledge',
      who: 'admin',
      summary: 'Somebody has seen it and sees to it; the first name stays',
      body: acknowledgeBody,
      reply: ledgerEntry,
      async handle(ask) {
        const entry = ledger.acknowledge(ask.body.id, ask.caller?.name ?? 'nobody')
        const detail = { id: entry.id, where: entry.where }
        await recorder.changed(ask, 'entry acknowledged', entry.what, detail)
        return entry
      },
    }),
  ]
}

/** The answer of an export. */
export function ledgerExport(ledger: Ledger, clock: Clock, isShown?: (entry: LedgerEntry) => boolean): Reply {
  const day = new Date(clock.epochMs()).toISOString().slice(0, 10)
  const entries = ledger.list({ limit: Number.POSITIVE_INFINITY }, isShown)
  return new Reply(200, Readable.from(csvOf(entries), { objectMode: false }), {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="ledger-${day}.csv"`,
  })
}

const COLUMNS = [
  ...(['id', 'severity', 'what', 'where', 'since', 'until', 'durationMs', 'count', 'lastAt', 'ended'] as const),
  ...(['acknowledgedBy', 'acknowledgedAt', 'sentence'] as const),
] as const
const INSTANTS: ReadonlySet<string> = new Set(['since', 'until', 'lastAt', 'acknowledgedAt'])

/** @source RFC 4180 */
function* csvOf(entries: readonly LedgerEntry[]): Generator<string> {
  yield `${COLUMNS.join(',')}\r\n`
  for (const entry of entries) yield `${COLUMNS.map((column) => cellOf(column, entry[column])).join(',')}\r\n`
}

function cellOf(column: string, value: string | number | null): string {
  return csvCell(typeof value === 'number' && INSTANTS.has(column) ? new Date(value).toISOString() : value)
}

/** @param metrics gets gauges of open entries by severity, and a counter of those that found no room */
export function measureLedger(metrics: Metrics, ledger: Ledger): void {
  metrics.gauge({ name: 'ledger_open', help: 'Conditions that last, by severity', labels: ['severity'] }, () =>
    Object.entries(ledger.openCounts()).map(([severity, value]) => ({ labels: { severity }, value })),
  )
  metrics.counts({ name: 'ledger_left_out_total', help: 'Conditions that found no room in the ledger' }, () => [
    { labels: {}, value: ledger.leftOut() },
  ])
}
