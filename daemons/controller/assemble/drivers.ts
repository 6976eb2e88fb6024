/** The drivers there are, and what of a site has no effect with them. */
import type { Log } from '#kit/log.ts'
import type { Driver } from '../core/driver.ts'
import type { Book } from '../core/row.ts'
import { type NotDriven, notDriven, type RowsOf } from '../core/site/not-driven.ts'
import { createSimDriver } from '../io/drivers/sim.ts'
import { createTcpDriver } from '../io/drivers/tcp.ts'

/** Rows that one line of the log names; the page and an import tell all. */
const MOST_LOGGED = 5

export function createDrivers(): Driver[] {
  return [createSimDriver(), createTcpDriver()]
}

/** Rows of a site that are kept without effect. */
export function notDrivenIn(rowsOf: RowsOf): NotDriven[] {
  return notDriven(rowsOf, createDrivers())
}

/** One line, where there are any. */
export function logNotDriven(book: Book, log: Log): void {
  const found = notDrivenIn((table) => book.rows(table))
  if (found.length === 0) return
  const rows = found.slice(0, MOST_LOGGED).map(({ row, why }) => `${row}: ${why}`)
  log.notice('not_driven', { count: found.length, first: rows.join('; ') })
}
