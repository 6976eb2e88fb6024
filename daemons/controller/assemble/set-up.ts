/** The first account, put together: made once on the page, and asked for in the log until it is there. */
import { join } from 'node:path'
import { Fault } from '#kit/fault.ts'
import { setUpMark } from '#kit/store/set-up-mark.ts'
import { firstAccount, isWithoutAccounts } from '../core/first-account.ts'
import type { UiSetUp } from '../core/ui-ports.ts'
import { AUDIT_FILE } from '../io/audit-file.ts'
import { namesAccounts } from '../io/audit-reader.ts'
import { hashPassword } from '../io/people-secrets.ts'
import type { House } from './house.ts'
import type { Brought } from './rules.ts'

export function openSetUp({ context, records, site }: House, { changed }: Pick<Brought, 'changed'>): UiSetUp {
  const { clock, log } = context
  const isNeeded = () => isFirstStart({ context, site })
  let isUnderWay = false
  return {
    isNeeded,
    isLost: () => isLost({ context, site }),
    async begin({ username, password, siteName, timeZone }) {
      // Hashing takes its time, and two may ask at once.
      if (isUnderWay || !isNeeded())
        throw new Fault('already_set_up', 'Somebody else has just made the first account. Sign in instead.')
      isUnderWay = true
      try {
        const kept = await hashPassword(password)
        const world = { book: site.book, nowMs: clock.epochMs(), nextId: site.nextId }
        await site.applyNow(firstAccount({ username, ...kept, siteName, timeZone }, world))
      } finally {
        isUnderWay = false
      }
      setUpMark(context.stateFolder).set()
      changed.tell()
      records.journal.record({ who: username, from: 'page', what: 'administrator made', target: username })
      log.notice('first account made', { username })
    },
  }
}

type Kept = Pick<House, 'context' | 'site'>

/** Whether nobody ever had an account here. */
function isFirstStart(house: Kept): boolean {
  return isWithoutAccounts(house.site.book) && !setUpMark(house.context.stateFolder).isSet()
}

/** Whether there were accounts and there are none. */
export function isLost({ context, site }: Kept): boolean {
  return isWithoutAccounts(site.book) && setUpMark(context.stateFolder).isSet()
}

/** Looked at before anybody can call. An audit that names somebody is of a house, whatever became of its database. */
export function markAccounts({ context: { stateFolder }, site }: Kept): void {
  if (!isWithoutAccounts(site.book) || namesAccounts(join(stateFolder, AUDIT_FILE))) setUpMark(stateFolder).set()
}

/** What somebody who looks at the log does next. */
export function tellWithoutAccounts({ context, site }: House): void {
  if (!isWithoutAccounts(site.book)) return
  if (isLost({ context, site }))
    context.log.error(
      'the accounts are gone: put a backup back with plantroom restore, or use plantroom password controller',
    )
  else
    context.log.warning(
      'nobody can sign in yet: open the page and make the first account, or stop the controller and import a site file',
    )
}
