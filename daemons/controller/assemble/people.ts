/** Who signs in, put together: passwords, mail, sessions, and where a call comes from. */
import { readFileSync } from 'node:fs'
import { openHomes } from '#kit/auth/homes.ts'
import { createSignInLimiter } from '#kit/auth/sign-in-limiter.ts'
import { Fault, faultOf } from '#kit/fault.ts'
import { trustedAuthorities } from '#kit/net/certificates.ts'
import { limitsOf } from '../core/limit.ts'
import { createPeople, type People } from '../core/people.ts'
import { createRemoteness, type OriginOf } from '../core/remoteness.ts'
import { settingOf } from '../core/settings.ts'
import { openMailer } from '../io/mailer.ts'
import { addresses, networksOf } from '../io/network-list.ts'
import { createPasswordCheck, machineSecrets } from '../io/people-secrets.ts'
import type { SmtpSettings } from '../io/smtp.ts'
import type { House } from './house.ts'

export async function openPeople({ context, records, site }: House): Promise<{ people: People; originOf: OriginOf }> {
  const { clock, config, log, parts, stateFolder: folder } = context
  const { first_ms: firstMs, max_ms: maxMs, ...letters } = config.letters
  const limits = { ...limitsOf(letters), again: { firstMs, maxMs } }
  const postman = openMailer({ clock, log, smtp: smtpOf(config.smtp), limits })
  parts.add({ name: 'mail', start: () => {}, stop: () => postman.close() })
  const { passwordWorkers: workers, passwordQueue: queue, ...own } = limitsOf(config.people)
  const { triesTable: table, lateAnswers: places, homes: mostHomes, ...bounds } = own
  const limiter = createSignInLimiter({
    clock,
    homes: await openHomes({ folder, clock, log, most: mostHomes }),
    bounds: { ...bounds, workers, queue, table, places },
  })
  const people = createPeople({
    ...{ book: site.book, keeper: site.keeper, clock, postman, limiter },
    secrets: machineSecrets,
    passwords: createPasswordCheck(log),
    settings: () => settingOf(site.book),
    undelivered: ({ userId, username, clientIp: from }, error) =>
      records.journal.record({
        ...{ who: 'plantroom', from, what: 'a code could not be mailed', target: `user ${userId} ${username}` },
        ...{ detail: { code: faultOf(error, 'mail_failed', 'no mail').code }, kind: 'sign-in' },
      }),
    waitingOf: site.waitingOf,
    limits: bounds,
  })
  const originOf = createRemoteness({
    addresses,
    trustedProxies: networksOf('http.trusted_proxies', config.http.trusted_proxies),
    localNetworks: networksOf('http.local_networks', config.http.local_networks),
    hops: config.http.forwarded_hops,
  })
  return { people, originOf }
}

/** @throws Fault `mail_sender_missing`, `mail_password_unreadable`, `ca_file_unreadable` at the start, rather than with the first letter */
function smtpOf(table: House['context']['config']['smtp']): SmtpSettings | undefined {
  const { host, port, tls, from, username, timeout_ms: timeoutMs, password_file: file, ca_file: caFile } = table
  if (host === '') return undefined
  if (from === '')
    throw new Fault(
      'mail_sender_missing',
      'smtp.host is set and smtp.from is not: say who mail comes from, such as house@example.org',
    )
  const password = file === '' ? '' : passwordOf(file)
  const ca = caFile === '' ? undefined : trustedAuthorities('smtp.ca_file', caFile)
  return { host, port, tls, from, username, password, timeoutMs, ...(ca && { ca }) }
}

function passwordOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new Fault('mail_password_unreadable', `smtp.password_file ${file} cannot be read (${code})`, { cause })
  }
}
