/** Reading over the REST surface, put together: the registry as it is seen by queries, and tables that are not in memory. */

import { createBlocks } from '../core/data/blocks.ts'
import type { DataWorld, History } from '../core/data/data-world.ts'
import type { SchemaFace, TableFace } from '../core/data/schema-face.ts'
import { createViews } from '../core/data/views.ts'
import { limitsOf } from '../core/limit.ts'
import type { LiveBook } from '../core/live.ts'
import type { Json, Row } from '../core/row.ts'
import type { Table } from '../core/schema/column.ts'
import { isJsonSecret, isReadable, isSecretColumn, tableOf, tables } from '../core/schema/registry.ts'
import { isSensitiveName, withoutSecrets } from '../core/sensitive-name.ts'
import type { AuditFile } from '../io/audit-file.ts'
import type { SiteStore } from '../io/database.ts'
import type { House } from './house.ts'

export function openData({ context, audit, site }: House, live: LiveBook): DataWorld {
  const schema = schemaFace()
  return {
    book: site.book,
    live,
    schema,
    views: createViews(schema),
    blocks: createBlocks(),
    history: historyOf(audit, site),
    limits: limitsOf(context.config.data),
    breathe: () => new Promise((resolve) => setImmediate(resolve)),
  }
}

function schemaFace(): SchemaFace {
  const faces = new Map(tables().map((table) => [table.name, faceOf(table)]))
  return {
    table: (name) => faces.get(name),
    // A name that no table has is judged by itself.
    isSecretName: (column) => isSecretColumn('', column),
    isSensitiveName,
    withoutSecrets: (json: Json) => withoutSecrets(json),
  }
}

function faceOf({ name, keeping, columns }: Table): TableFace {
  const faces = columns.map((column) => ({
    name: column.name,
    type: column.type,
    isSecret: isSecretColumn(name, column.name),
    isJsonSecret: isJsonSecret(name, column.name),
  }))
  return {
    name,
    columns: new Map(faces.map((face) => [face.name, face])),
    isReadable: isReadable(name),
    isHistory: keeping === 'audit' || keeping === 'inner',
  }
}

/** Rows that are shown together. */
const ROWS_AT_ONCE = 256

/**
 * The audit reads from the newest on; the other way round its ids are gathered first, which is bounded by what it keeps.
 * What the store keeps for itself is little: it is read whole.
 */
function historyOf(audit: AuditFile, site: SiteStore): History {
  return {
    async scan(table, isNewestFirst, visit) {
      const isAudit = tableOf(table)?.keeping === 'audit'
      if (isAudit && isNewestFirst) return await scanDown(audit, visit)
      const all = isAudit ? await wholeAudit(audit) : [...site.innerRows(table)]
      if (isNewestFirst) all.reverse()
      for (let at = 0; at < all.length; at += ROWS_AT_ONCE) if (!visit(all.slice(at, at + ROWS_AT_ONCE))) return
    },
  }
}

/** The oldest first. */
async function wholeAudit(audit: AuditFile): Promise<Row[]> {
  const all: Row[] = []
  await audit.scan((row) => all.push(row) > 0)
  return all.reverse()
}

async function scanDown(audit: AuditFile, visit: (rows: readonly Row[]) => boolean): Promise<void> {
  let waiting: Row[] = []
  let wantsMore = true
  await audit.scan((row) => {
    waiting.push(row)
    if (waiting.length < ROWS_AT_ONCE) return true
    wantsMore = visit(waiting)
    waiting = []
    return wantsMore
  })
  if (wantsMore && waiting.length > 0) visit(waiting)
}
