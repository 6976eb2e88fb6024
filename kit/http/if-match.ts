/** Two who edit the same thing: an answer names its revision, and a change may say which one it was made from. */
import type { IncomingHttpHeaders } from 'node:http'
import { Fault } from '#kit/fault.ts'
import { Reply } from './route.ts'

/**
 * Asked in the moment of a change, with the revision of what is there; undefined where nothing is.
 * @throws Fault `changed_meanwhile`
 */
export type Expected = (revision: string | undefined) => void

/**
 * What the caller's `If-Match` allows; without one, everything. `*` is whatever is there. Quotes may be missing: shells
 * take them away.
 * @source RFC 9110, 13.1.1; weak ones never match
 */
export function ifMatch({ headers }: { headers: IncomingHttpHeaders }): Expected {
  const given = headers['if-match']
  if (given === undefined) return () => {}
  const tags = given.split(',').map((tag) => tag.trim())
  return (revision) => {
    if (revision !== undefined && tags.some((tag) => tag === '*' || tag === revision || tag === `"${revision}"`)) return
    throw new Fault('changed_meanwhile', changedSentence(revision), { details: { revision: revision ?? null } })
  }
}

function changedSentence(revision: string | undefined): string {
  if (revision === undefined) return 'Nothing is there any more: it was removed meanwhile. Nothing was changed.'
  return 'It was changed meanwhile, so nothing of yours was saved. Read it again, then send your change with its new ETag.'
}

/** An answer under the revision that the next change of it may be made from. */
export function withRevision(body: unknown, revision: string | null, status = 200): Reply {
  return new Reply(status, body, revision === null ? {} : { etag: `"${revision}"` })
}
