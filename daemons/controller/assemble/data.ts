/** Reading over the REST surface, put together: the registry as it is seen by queries, and tables that are not in memory. */

import { createBlocks } from '../core/data/blocks.ts'
import { createDataTurns } from '../core/data/data-turns.ts'
import type { DataWorld, History } from '../core/data/data-world.ts'
import { createAnswerRoom } from '../core/data/json-pieces.ts'
import { createReady } from '../core/data/ready.ts'
import { registryFace } from '../core/data/schema-face.ts'
import { createViews } from '../core/data/views.ts'
import { limitsOf } from '../core/limit.ts'
import type { LiveBook } from '../core/live.ts'
import type { Row } from '../core/row.ts'
import { tableOf } from '../core/schema/registry.ts'
import type { AuditFile } from '../io/audit-file.ts'
import type { SiteStore } from '../io/database.ts'
import type { House } from './house.ts'

export function openData({ context, audit, site }: House, live: LiveBook): DataWorld {
  const schema = registryFace()
  const ready = createReady(context.config.data.ready_bytes)
  return {
    book: site.book,
    live,
    schema,
    views: createViews(schema, ready),
    blocks: createBlocks(ready),
    history: historyOf(audit, site),
    limits: limitsOf(context.config.data),
    room: createAnswerRoom(context.config.data.making_bytes),
    turns: createDataTurns({
      nowMs: () => context.clock.monotonicMs(),
      onceAround: (run) => void setImmediate(run),
      limits: limitsOf(context.config.data),
    }),
  }
}

/** The audit comes in pieces; what the store keeps for itself is little, and read whole. */
function historyOf(audit: AuditFile, site: SiteStore): History {
  return {
    pieces: (table, isNewestFirst) =>
      tableOf(table)?.keeping === 'audit' ? audit.pieces(isNewestFirst) : inner(site, table, isNewestFirst),
  }
}

async function* inner(site: SiteStore, table: string, isNewestFirst: boolean): AsyncIterable<readonly Row[]> {
  const rows = site.innerRows(table)
  yield isNewestFirst ? rows.toReversed() : rows
}
