/** The audit as the page asks for it: by parts of names, newest first, within what one search may look at. */
import type { AuditBook, AuditFacts, AuditOutcome, AuditReason } from '../core/audit.ts'
import type { Row } from '../core/row.ts'
import type { AuditRow, UiAudit } from '../core/ui-ports.ts'
import type { AuditFile } from '../io/audit-file.ts'

/** Within what one search looks at; what is older is found by asking for what is before the last one. */
export function auditBook(audit: AuditFile): AuditBook & UiAudit {
  return {
    add: (record, isAwaited) => audit.add(record, isAwaited),
    takes: () => audit.takes(),
    late: (record) => audit.late(record),
    async auditList({ user, path, from, to, before, ...exact }) {
      const { rows, next } = await audit.list({
        ...exact,
        ...(before === undefined ? {} : { beforeId: before }),
        ...(from === undefined ? {} : { fromAt: from }),
        ...(to === undefined ? {} : { untilAt: to }),
        fits: (row) =>
          (user === undefined || holds(row.username, user)) && (path === undefined || holds(row.path, path)),
      })
      return { rows: rows.map(auditRowOf), before: next }
    },
  }
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
    facts: factsOf(textOf(row.action), textOf(row.outcome), textOf(row.detail)),
  }
}

function factsOf(action: string | null, outcome: string | null, detail: string | null): AuditFacts | null {
  return action === null || outcome === null ? null : { action, outcome: outcome as AuditOutcome, detail }
}
