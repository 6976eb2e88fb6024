/** The first account, put together: made once on the page, and asked for in the log until it is there. */
import { Fault } from '#kit/fault.ts'
import { firstAccount, isWithoutAccounts } from '../core/first-account.ts'
import type { UiSetUp } from '../core/ui-ports.ts'
import { hashPassword } from '../io/people-secrets.ts'
import type { House } from './house.ts'
import type { Brought } from './rules.ts'

export function openSetUp({ context, records, site }: House, { changed }: Pick<Brought, 'changed'>): UiSetUp {
  const { clock, log } = context
  const isNeeded = () => isWithoutAccounts(site.book)
  let isUnderWay = false
  return {
    isNeeded,
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
      changed.tell()
      records.journal.record({ who: username, from: 'page', what: 'administrator made', target: username })
      log.notice('first account made', { username })
    },
  }
}

/** What somebody who looks at the log does next. */
export function tellWithoutAccounts({ context, site }: House): void {
  if (!isWithoutAccounts(site.book)) return
  context.log.warning(
    'nobody can sign in yet: open the page and make the first account, or stop the controller and import a site file',
  )
}
