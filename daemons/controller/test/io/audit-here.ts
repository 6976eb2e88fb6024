/** An audit in a temporary folder, with suitable limits. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Clock, systemClock } from '#kit/clock.ts'
import { createLog } from '#kit/log.ts'
import type { AuditRecord } from '../../core/audit.ts'
import type { AuditConfig } from '../../core/keys.ts'
import { AuditFile } from '../../io/audit-file.ts'

/** As in config.ts. */
export const LIMITS: AuditConfig = {
  keep_days: 365,
  most_rows: 1_000_000,
  record_ms: 2000,
  batch_rows: 500,
  wait_ms: 100,
  queue_rows: 16_384,
  retry_ms: 1000,
  retry_max_ms: 60_000,
  trim_ms: 60_000,
  trim_rows: 500,
  scan_rows: 500,
  search_rows: 20_000,
}

export function recordOf(own: Partial<AuditRecord> = {}): AuditRecord {
  return {
    at: 1_900_000_000_000,
    requestType: 'rest_api',
    method: 'POST',
    path: '/api/control/command',
    status: 200,
    elapsedMs: 3,
    clientIp: '10.0.0.7',
    userId: 7,
    username: 'ada',
    granted: true,
    reason: null,
    target: 'zone 12',
    runId: null,
    ...own,
  }
}

/** What a test may replace. */
interface Own {
  folder: string
  clock?: Clock
  limits?: Partial<AuditConfig>
}

/** Opens an audit; the test may call `stop`, else its end does. `lines` is what it logged. */
export async function openAudit(
  t: { teardown(run: () => unknown): void },
  { folder, clock = systemClock, limits }: Own,
) {
  const lines: string[] = []
  const log = createLog({ level: 'debug', stream: { write: (line: string) => lines.push(line) } })
  const audit = new AuditFile({ folder, clock, log, limits: { ...LIMITS, ...limits } })
  await audit.start()
  let isStopped = false
  const stop = async () => {
    if (!isStopped) await audit.stop()
    isStopped = true
  }
  t.teardown(stop)
  return { audit, lines, stop }
}

/** Everything in the file, oldest first, read through a separate connection. */
export function rowsIn(folder: string): Record<string, unknown>[] {
  const db = new DatabaseSync(join(folder, 'audit.db'), { readOnly: true })
  try {
    return db.prepare('SELECT * FROM request_history ORDER BY id').all()
  } finally {
    db.close()
  }
}
