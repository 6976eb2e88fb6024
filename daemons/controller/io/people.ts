/** What the rules about people need from this machine: networks, random bytes, digests, passwords, mail. */
import { hash as digestOf, randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import { hashPassword as phcOf, verifyPassword } from '#kit/auth/password.ts'
import type { Clock } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { isWithin, type Network, parseAddress, parseNetwork } from '#kit/net/address.ts'
import { certificateSentence } from '#kit/net/target.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createLogGate, createSerialTurn } from '#kit/pure/pace.ts'
import { counted } from '#kit/pure/text.ts'
import type { Letter, PasswordCheck, Secrets } from '../core/access/accounts.ts'
import { createMailQueue, type MailQueue, type MailQueueLimits } from '../core/access/mail-queue.ts'
import type { Addresses } from '../core/access/remoteness.ts'
import { LONGEST_PASSWORD } from '../core/access/sign-in.ts'

// Networks of the settings `trusted_proxies` and `local_networks`.

/** Longest excerpt of an entry that a fault quotes, in characters. */
const LONGEST_QUOTED = 60

/** Address parsing. */
export const addresses: Addresses = { parseAddress, parseNetwork, isWithin }

/**
 * Parses addresses and CIDR blocks of both families. An empty list matches nobody.
 * @param key the setting, for the error message
 * @throws Fault `bad_network` that names the first invalid entry
 */
export function networksOf(key: string, entries: readonly string[]): Network[] {
  return entries.map((entry) => {
    const network = parseNetwork(entry.trim())
    if (network !== undefined) return network
    const shown = JSON.stringify(entry.slice(0, LONGEST_QUOTED))
    throw new Fault('bad_network', `${key} has ${shown}, expected such as 10.20.4.7, 10.20.4.0/24 or fd00::/64`)
  })
}

// Random bytes, digests and passwords.

/** A fast digest is enough: nobody can guess 190 random bits, unlike a password. */
export const machineSecrets: Secrets = {
  randomBytes: (count) => randomBytes(count),
  digest: (secret) => digestOf('sha256', secret, 'base64url'),
}

/** The columns `hash` and `salt` of an account. */
interface KeptPassword {
  /** argon2id as a PHC string, including the salt: all that is needed to compare. */
  hash: string
  /** The salt of that string again, since the table has a column for it. */
  salt: string
}

/** One at a time, so that an import of a thousand accounts leaves time for sign-ins. */
const inTurn = createSerialTurn()

/**
 * Hashes a password, for imports and administrators.
 * @param known hashes of the same account: if one of them matches the password, it is kept
 * @throws Fault `bad_password` for a password that nobody could sign in with
 */
export function hashPassword(text: string, known: readonly string[] = []): Promise<KeptPassword> {
  if (text === '' || text.length > LONGEST_PASSWORD)
    return Promise.reject(
      new Fault(
        'bad_password',
        `the password has ${counted(text.length, 'character')}, expected 1 to ${LONGEST_PASSWORD}`,
      ),
    )
  return inTurn(async () => {
    const hash = (await firstOf(text, known)) ?? (await phcOf(text))
    return { hash, salt: hash.split('$').at(-2) ?? '' }
  })
}

async function firstOf(text: string, known: readonly string[]): Promise<string | undefined> {
  // A damaged hash is replaced.
  for (const hash of known) if (await verifyPassword(text, hash).catch(() => false)) return hash
  return undefined
}

/** Compares passwords. The rate limiter decides how many at once. */
export function createPasswordCheck(log: Log): PasswordCheck {
  return {
    async verify(password, stored) {
      try {
        return await verifyPassword(password, stored)
      } catch (error) {
        if (!(error instanceof Fault) || error.code !== 'bad_password_hash') throw error
        log.error('bad_password_hash', { fault: error })
        // A damaged account is refused like any other, and takes as long.
        return await verifyPassword(password, undefined)
      }
    },
  }
}

// Mail over SMTP, with nodemailer.

/** The mail server, from table `smtp` of the settings; `password` is the content of its file. */
export interface SmtpSettings {
  host: string
  port: number
  /**
   * `offered`: STARTTLS if the server supports it, and TLS from the start on port 465. With a user name, TLS and a
   * valid certificate are required, unless the server is this machine. `required` and `from_start` insist on TLS;
   * `none` never uses it.
   */
  tls: 'offered' | 'required' | 'from_start' | 'none'
  /** `plantroom@example.org`, or `Plant room <plantroom@example.org>`. */
  from: string
  /** Empty for none. */
  username: string
  password: string
  /** Timeout for each answer of the server. */
  timeoutMs: number
  /** PEM certificates trusted instead of Node's own; with them, the server's certificate must be valid. */
  ca?: string[]
}

/** Longest answer of a server, in bytes. */
const LONGEST_ANSWER = 64 * 1024

/** Longest excerpt of an answer in the log, in characters. */
const LONGEST_SAID = 400

/** nodemailer's error codes for which a retry would be useless. */
const IN_VAIN = new Set(['EENVELOPE', 'EMESSAGE', 'ECONFIG', 'ENOAUTH', 'EFILEACCESS', 'EURLACCESS'])

/**
 * @returns a function that sends one letter, on a connection of its own: letters are rare
 * @throws Fault `mail_refused` if the server or the settings refuse it for good, `mail_failed` for the rest
 */
export function createSmtp(settings: SmtpSettings): (letter: Letter, signal: AbortSignal) => Promise<void> {
  let transport: Promise<Transport> | undefined
  return async (letter, signal) => {
    transport ??= openTransport(settings)
    try {
      await (await transport).sendMail({
        from: settings.from,
        to: { name: '', address: letter.to },
        subject: letter.subject,
        text: letter.text,
        headers: { 'Auto-Submitted': 'auto-generated' },
        disableFileAccess: true,
        disableUrlAccess: true,
        signal,
      })
    } catch (error) {
      throw faultOfSending(error)
    }
  }
}

type Transport = Awaited<ReturnType<typeof openTransport>>

/** nodemailer is a quarter of a megabyte, so it is loaded with the first letter. */
async function openTransport({ host, port, username, password, ca, timeoutMs, tls }: SmtpSettings) {
  const { createTransport } = await import('nodemailer')
  const mustHide = username !== '' && !isThisMachine(host)
  const isImplicit = tls === 'from_start' || (tls === 'offered' && port === 465)
  const isStrict = tls === 'required' || tls === 'from_start' || mustHide || ca !== undefined
  return createTransport({
    host,
    port,
    secure: isImplicit,
    requireTLS: !isImplicit && (tls === 'required' || (tls === 'offered' && mustHide)),
    ignoreTLS: tls === 'none',
    opportunisticTLS: tls === 'offered' && !isStrict,
    // Without a secret to protect, any encryption is better than none, whoever signed the certificate (RFC 7435).
    tls: { rejectUnauthorized: isStrict, ...(ca !== undefined && { ca }) },
    ...(username !== '' && { auth: { user: username, pass: password } }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    maxResponseSize: LONGEST_ANSWER,
    // Otherwise localhost is not found while the machine's network is down.
    allowInternalNetworkInterfaces: true,
  })
}

function isThisMachine(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

/** The server's answer is shortened and has its line ends removed, because it goes into the log. */
function faultOfSending(error: unknown): Fault {
  const { code, responseCode, response, message } = (error ?? {}) as Record<string, unknown>
  const isForGood = typeof responseCode === 'number' ? responseCode >= 500 : IN_VAIN.has(String(code))
  const said = String(response ?? certificateSentence(error, 'smtp.ca_file') ?? message)
    .replace(/\s+/g, ' ')
    .slice(0, LONGEST_SAID)
  const sentence = isForGood ? 'the mail server refused the letter' : 'the mail server did not take the letter'
  return new Fault(isForGood ? 'mail_refused' : 'mail_failed', `${sentence}: ${said}`)
}

// The mailer: a queue for the mail server, and a log of failed letters.

/** At most one log line per period says that mail does not go out. */
const LOG_PERIOD_MS = 60_000

interface MailerParts {
  clock: Clock
  log: Log
  /** Undefined if no mail server is set up: letters are then refused with `mail_not_set_up`. */
  smtp: SmtpSettings | undefined
  limits: MailQueueLimits
}

export function openMailer({ clock, log, smtp, limits }: MailerParts): MailQueue {
  const deliver = smtp === undefined ? notSetUp : createSmtp(smtp)
  const queue = createMailQueue({ clock, deliver, limits })
  const gate = createLogGate(clock, LOG_PERIOD_MS, (count, facts) => log.warning('mail_failed', { ...facts, count }))
  return {
    async send(letter) {
      try {
        await queue.send(letter)
      } catch (error) {
        gate.note({ fault: error, subject: letter.subject })
        throw error
      }
    },
    state: queue.state,
    close() {
      queue.close()
      gate.close()
    },
  }
}

async function notSetUp(): Promise<never> {
  throw new Fault('mail_not_set_up', 'no mail server is set up, expected smtp.host and smtp.from')
}
