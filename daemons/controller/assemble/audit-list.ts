/** The audit as the page asks for it: by parts of names, newest first, within what one search may look at. */
import type { AuditLog, AuditReason } from '../core/audit.ts'
import type { Row } from '../core/row.ts'
import type { AuditFilter, AuditRow, UiAudit } from '../core/ui-ports.ts'
import type { AuditFile } from '../io/audit-file.ts'

/** @param lookRows rows that one search looks at; what is older is found by asking for what is before the last one */
export function auditBook(audit: AuditFile, lookRows: number): AuditLog & UiAudit {
  return {
    add: (record, isAwaited) => audit.add(record, isAwaited),
    async auditList(filter) {
      const rows: AuditRow[] = []
      let looked = 0
      await audit.scan((row) => {
        looked += 1
        if (isFound(row, filter)) rows.push(auditRowOf(row))
        return rows.length < filter.limit && looked < lookRows
      }, filter.before)
      return rows
    },
  }
}

function isFound(row: Row, { user, reason, path, granted, from, to }: AuditFilter): boolean {
  const at = Number(row.at)
  return (
    (user === undefined || holds(row.username, user)) &&
    (reason === undefined || row.reason === reason) &&
    (path === undefined || holds(row.path, path)) &&
    (granted === undefined || row.granted === granted) &&
    (from === undefined || at >= from) &&
    (to === undefined || at < to)
  )
}

function holds(text: unknown, part: string): boolean {
  return typeof text === 'string' && text.toLowerCase().includes(part.toLowerCase())
}

function auditRowOf(row: Row): AuditRow {
  const textOf = (value: unknown) => (typeof value === 'string' ? value : null)
  const numberOf = (value: unknown) => (typeof value === 'number' ? value : null)
  return {
    id: row.id,
    at: Number(row.at),
    requestType: row.request_type === 'ui' ? 'ui' : 'rest_api',
    method: String(row.method),
    path: String(row.path),
    status: Number(row.status),
    elapsedMs: Number(row.elapsed_ms),
    clientIp: String(row.client_ip),
    userId: numberOf(row.user_id),
    username: textOf(row.username),
    granted: row.granted === true,
    reason: textOf(row.reason) as AuditReason | null,
    target: textOf(row.target),
    runId: numberOf(row.run_id),
  }
}
