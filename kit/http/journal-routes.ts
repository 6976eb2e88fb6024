/** Routes of the journal: who changed or sent what, and who was turned away. */
import { Readable } from 'node:stream'
import { Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import type { Journal } from '#kit/journal.ts'
import { Reply, type Route, route } from './route.ts'

const part = Type.String({ minLength: 1, maxLength: 128 })
const query = Type.Object(
  {
    limit: Type.Integer({ default: 100, minimum: 1, maximum: 1000, description: 'entries at most' }),
    before: Type.Optional(
      Type.Integer({ minimum: 1, description: 'only entries with a smaller `seq`: that of the last one seen' }),
    ),
    who: Type.Optional({ ...part, description: 'part of the name of who did it, whatever its case' }),
    what: Type.Optional({ ...part, description: 'part of what was done, whatever its case' }),
  },
  { additionalProperties: false },
)
const entry = Type.Object({
  seq: Type.Integer({ description: 'grows by each entry' }),
  at: Type.Integer({ description: 'epoch milliseconds' }),
  who: Type.String({
    description: 'user, `key:` and the name of a key, `plantroom` for the command line, or `nobody`',
  }),
  from: Type.String({ description: 'address, or `console`' }),
  what: Type.String(),
  target: Type.Optional(Type.String()),
  detail: Type.Optional(Type.Unknown()),
  kind: Type.Optional(Type.Enum(['sign-in', 'sent', 'refusal'], { description: 'absent: a change' })),
})

export function journalRoutes({ journal, clock }: { journal: Journal; clock: Clock }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/journal',
      who: 'admin',
      summary: 'Who changed or sent what, and who was turned away, newest first',
      query,
      reply: Type.Array(entry),
      handle: (ask) => journal.list(ask.query),
    }),
    route({
      method: 'GET',
      path: '/api/journal/export',
      who: 'admin',
      ticket: true,
      summary: 'The whole journal as a file, one entry a line, oldest first',
      replyType: 'application/x-ndjson',
      handle() {
        const day = new Date(clock.epochMs()).toISOString().slice(0, 10)
        return new Reply(200, Readable.from(journal.lines(), { objectMode: false }), {
          'content-type': 'application/x-ndjson; charset=utf-8',
          'content-disposition': `attachment; filename="journal-${day}.ndjson"`,
        })
      },
    }),
  ]
}
