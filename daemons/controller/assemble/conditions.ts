/** The conditions that the controller reports to its ledger, and the alarms about them. */
import { alarmPart, mailWay } from '#kit/records/alarms.ts'
import type { Conditions } from '#kit/records/ledger-entry.ts'
import type { Part } from '#kit/run/parts.ts'
import type { Postman } from '../core/access/accounts.ts'
import { DURESS } from '../core/audit.ts'
import type { LiveBook } from '../core/live/live-book.ts'
import type { Book, Row } from '../core/site/book.ts'
import type { House } from './house.ts'

/** Reports each device while it is offline. One whose state is unknown is not driven, and is not reported. */
export function reportDevices(conditions: Conditions, live: LiveBook, book: Pick<Book, 'row'>): void {
  /** By device, the place under which it was raised: the device may be renamed meanwhile. */
  const raised = new Map<number, string>()
  live.onChange((kind, id) => {
    if (kind !== 'device') return
    const { error, state } = live.device(id)
    const before = raised.get(id)
    if (state !== 'offline') {
      if (before !== undefined) conditions.clear(OFFLINE, before)
      raised.delete(id)
      return
    }
    const where = before ?? placeOf('device', id, book.row('device', id))
    raised.set(id, where)
    const sentence = `${where} is offline: ${error ?? 'it does not answer'}. It is tried again by itself.`
    conditions.raise({ what: OFFLINE, where, severity: 'fault', sentence })
  })
}

const OFFLINE = 'device_offline'

/** Reports a run of a macro that failed. The reason stays in its trace, as it may contain what a caller sent. */
export function reportRun(conditions: Conditions, book: Pick<Book, 'row'>, runId: number, result: string): void {
  if (result !== 'failed') return
  const id = book.row('macro_run', runId)?.macro_id
  const where = typeof id === 'number' ? placeOf('macro', id, book.row('macro', id)) : 'a macro'
  const sentence = `Run ${runId} of ${where} failed: its trace says at which step.`
  conditions.happened({ what: 'macro_failed', where, severity: 'warning', sentence })
}

/** Somebody may be acting under threat: reported at once, and never on a wall panel. */
export function reportDuress(conditions: Conditions, username: string, from: string): void {
  const sentence = `The duress PIN of ${username} was typed at ${from}. Somebody may be under threat there. That screen shows no alarm: follow your plan for duress, and do not call or message that place.`
  conditions.happened({ what: DURESS, where: `user ${username}`, severity: 'fault', sentence })
}

/** Reports a letter that could not be delivered. */
export function reportMail(conditions: Conditions, why: string): void {
  const sentence = `A letter was not taken: ${why}. Look at the table smtp of the settings.`
  conditions.happened({ what: 'mail_undelivered', where: 'mail', severity: 'warning', sentence })
}

/** Reports that the audit cannot be written. @param fault undefined: it can again */
export function reportAudit(conditions: Conditions, fault: unknown): void {
  const [what, where] = ['audit_unwritable', 'audit.db']
  if (fault === undefined) {
    conditions.clear(what, where)
    return
  }
  const why = fault instanceof Error ? fault.message : String(fault)
  const sentence = `The audit cannot be written: ${why}. No command is taken until it can; make room, or look at the disk.`
  conditions.raise({ what, where, severity: 'fault', sentence })
}

function placeOf(kind: string, id: number, row: Row | undefined): string {
  return typeof row?.name === 'string' && row.name !== '' ? `${kind} ${id} ${row.name}` : `${kind} ${id}`
}

/** The part `alarms`: by webhook, and by the mail server of the table `smtp`. */
export function alarmsOf(
  { context, records }: House,
  postman: Postman,
  says: () => { role: string; name: string },
): Part {
  const { alarms } = context.config
  const mail = mailWay(alarms, (letter) => postman.send({ ...letter, lifeMs: alarms.timeout_ms }), says)
  return alarmPart(context, records.ledger, { says, ways: [mail] })
}
