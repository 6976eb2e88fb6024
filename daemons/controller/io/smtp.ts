/** Letters over SMTP, by nodemailer. */
import { isIP } from 'node:net'
import { Fault } from '#kit/fault.ts'
import { certificateSentence } from '#kit/net/certificates.ts'
import type { Letter } from '../core/people-ports.ts'

/** The mail server, as table `smtp` of the settings says; `password` is what its file holds. */
export interface SmtpSettings {
  host: string
  port: number
  /**
   * `offered`: STARTTLS where the server has it, and TLS from the start on port 465; with a user it has to be, and the
   * certificate right, unless the server is this machine. `required` and `from_start` insist on it; `none` never asks.
   */
  tls: 'offered' | 'required' | 'from_start' | 'none'
  /** `plantroom@example.org`, or `Plant room <plantroom@example.org>`. */
  from: string
  /** Empty for nobody. */
  username: string
  password: string
  /** What the server has for each answer. */
  timeoutMs: number
  /** Authorities in PEM that are trusted instead of Node's own; with them the certificate has to be right. */
  ca?: string[]
}

/** Of one answer of a server, in bytes. */
const LONGEST_ANSWER = 64 * 1024

/** Of what a server said, in characters, as the log has it. */
const LONGEST_SAID = 400

/** What nodemailer says where another try would end the same. */
const IN_VAIN = new Set(['EENVELOPE', 'EMESSAGE', 'ECONFIG', 'ENOAUTH', 'EFILEACCESS', 'EURLACCESS'])

/**
 * @returns hands one letter to the server, on a connection of its own: letters are rare
 * @throws Fault `mail_refused` for what the server or the settings refuse for good, `mail_failed` for the rest
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

/** nodemailer is a quarter of a megabyte: loaded with the first letter. */
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
    // Without a secret to hide, any encryption is better than none, whoever signed the certificate (RFC 7435).
    tls: { rejectUnauthorized: isStrict, ...(ca !== undefined && { ca }) },
    ...(username !== '' && { auth: { user: username, pass: password } }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    maxResponseSize: LONGEST_ANSWER,
    // Else localhost is not found on a machine whose network is not up.
    allowInternalNetworkInterfaces: true,
  })
}

function isThisMachine(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

/** What the server said is shortened, and has no line ends: it goes into the log. */
function faultOfSending(error: unknown): Fault {
  const { code, responseCode, response, message } = (error ?? {}) as Record<string, unknown>
  const isForGood = typeof responseCode === 'number' ? responseCode >= 500 : IN_VAIN.has(String(code))
  const said = String(response ?? certificateSentence(error, 'smtp.ca_file') ?? message)
    .replace(/\s+/g, ' ')
    .slice(0, LONGEST_SAID)
  const sentence = isForGood ? 'the mail server refused the letter' : 'the mail server did not take the letter'
  return new Fault(isForGood ? 'mail_refused' : 'mail_failed', `${sentence}: ${said}`)
}
