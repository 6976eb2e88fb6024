/** A building with a fake driver behind the command surface, which records what reaches it. */
import type { ApiFunction, Session } from '../../../core/access/accounts.ts'
import type { Outcome } from '../../../core/audit.ts'
import { createCommand, createDispatcher } from '../../../core/control/command.ts'
import type { Ack, DriverCommand } from '../../../core/drivers/driver.ts'
import { bodyText } from '../../../core/json.ts'
import type { Row } from '../../../core/site/book.ts'
import { bookOf } from '../site/book-of.ts'

/**
 * Zones 1 and 2 are on device 10, zone 3 on device 11, zone 4 on the elevated device 12, the elevated zone 5 and zone 6
 * on device 13, zone 7 on none. UI 1 shows zone 1 and group 100 with its subgroup 101, which has zone 3; UI 2 has no
 * scope.
 */
export const BUILDING = {
  device: [
    { id: 10, name: 'Dimmer', elevated: false, enabled: true },
    { id: 11, name: 'Blinds', elevated: false, enabled: true },
    { id: 12, name: 'Vault', elevated: true, enabled: true },
    { id: 13, name: 'Gate', elevated: false, enabled: true },
    { id: 14, name: 'Twin', elevated: false, enabled: true },
    { id: 15, name: 'Twin', elevated: false, enabled: true },
  ],
  zone: [
    { id: 1, name: 'Hall', device_id: 10, type: 'light', min: 0, max: 100 },
    { id: 2, name: 'Attic', device_id: 10, type: 'light' },
    { id: 3, name: 'Window', device_id: 11, zone_group_id: 101, type: 'blind' },
    { id: 4, name: 'Vault door', device_id: 12, type: 'door' },
    { id: 5, name: 'Gate motor', device_id: 13, elevated: true, type: 'door' },
    { id: 6, name: 'Gate lamp', device_id: 13, type: 'light' },
    { id: 7, name: 'Paper', device_id: null, type: 'light' },
    { id: 8, name: 'Double', device_id: 14, type: 'light' },
    { id: 9, name: 'Double', device_id: 15, type: 'light' },
  ],
  zone_group: [
    { id: 100, name: 'House', parent_id: null },
    { id: 101, name: 'Upstairs', parent_id: 100 },
  ],
  ui: [
    { id: 1, name: 'Panel', enabled: true },
    { id: 2, name: 'All', enabled: true },
  ],
  ui_zone: [{ id: 1, ui_id: 1, zone_id: 1 }],
  ui_zone_group_ui: [{ id: 1, ui_id: 1, zone_group_id: 100 }],
}

export interface SessionForm {
  isElevated?: boolean
  may?: readonly ApiFunction[]
  /** Ids of UIs; 2 is the one without a scope. */
  uis?: readonly number[]
}

/** Records what reached the driver, one text each: `10 zone 1 level {"level":40}`. */
export function stage(
  tables: Record<string, readonly Record<string, unknown>[]> = {},
  ack: () => Promise<Ack> = async () => ({}),
) {
  const book = bookOf({ ...BUILDING, ...tables })
  const reached: string[] = []
  const macros: unknown[] = []
  const host = {
    execute(deviceId: number, { zone, verb, args }: DriverCommand): Promise<Ack> {
      reached.push(`${deviceId} ${zone ? `zone ${zone.id}` : 'whole'} ${verb} ${JSON.stringify(args)}`)
      return ack()
    },
  }
  const dispatcher = createDispatcher({
    book,
    host: { verbsOf: () => undefined, check() {}, ...host },
    limits: { overrides: 8 },
  })
  const command = createCommand({
    dispatcher,
    async runMacro(_session, ref, args, origin): Promise<Outcome> {
      macros.push({ ref, args, origin })
      return { status: 200, body: { json: { success: true } }, reason: null, target: 'macro 1' }
    },
  })
  function session({ isElevated = false, may = ['command', 'macro', 'query'], uis = [2] }: SessionForm = {}): Session {
    const rows = uis.map((id) => book.row('ui', id)).filter((row): row is Row => row !== undefined)
    const who = { userId: 1, username: 'ann', roles: [], isElevated, uis: rows }
    return {
      ...who,
      surface: 'api',
      mustChangePassword: false,
      may: (what) => (may as readonly string[]).includes(what),
    }
  }
  return { book, reached, macros, dispatcher, command, session }
}

/** The answer in the form that tests compare. */
export function answerOf({ status, body, reason, target }: Outcome) {
  const json = 'json' in body ? (body.json as Record<string, unknown>) : JSON.parse(bodyText(body))
  return { status, error: json.error, success: json.success, reason, target, json }
}
