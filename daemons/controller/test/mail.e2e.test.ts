import { execFileSync } from 'node:child_process'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '#kit/clock.ts'
import { silentLog } from '#kit/log.ts'
import { trustedAuthorities } from '#kit/net/target.ts'
import { freePort } from '#kit/test/free-port.ts'
import { codeLetter } from '../core/access/second-factor.ts'
import { createSmtp, openMailer, type SmtpSettings } from '../io/people.ts'
import { noMailServer, startMailServer } from './mail-server.ts'

const letter = codeLetter('ada@example.org', 'ABC234', 300)
const never = new AbortController().signal
const of = (port: number, more: Partial<SmtpSettings> = {}): SmtpSettings => ({
  host: '127.0.0.1',
  port,
  from: 'Plant room <plantroom@example.org>',
  tls: 'offered',
  username: '',
  password: '',
  timeoutMs: 5000,
  ...more,
})
const limits = { letters: 4, atOnce: 2, attemptMs: 5000, again: { firstMs: 20, maxMs: 100 } }
const mailerOf = (smtp: SmtpSettings | undefined) => openMailer({ clock: systemClock, log: silentLog, smtp, limits })

/** A self-signed certificate. */
function ownCertificate(folder: string): { certificate: string; key: string } {
  const [certificate, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const kind = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const names = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
  execFileSync('openssl', [...kind, ...names, '-keyout', key, '-out', certificate], { stdio: 'ignore' })
  return { certificate, key }
}

t.test(
  'a code reaches a mail server, for its one recipient and with nothing else',
  { skip: noMailServer },
  async (t) => {
    const { port, finish } = await startMailServer(t)
    await createSmtp(of(port))(letter, never)
    const taken = await finish()
    t.match(taken, [{ sender: 'plantroom@example.org', to: ['ada@example.org'], tls: false, user: null }])
    const content = taken[0]?.content ?? ''
    t.match(content, /^From: Plant room <plantroom@example\.org>\r$/m)
    t.match(content, /^To: ada@example\.org\r$/m)
    t.match(content, /^Subject: Your sign-in code\r$/m)
    t.match(content, /^Auto-Submitted: auto-generated\r$/m)
    t.match(content, /\r\n\r\nYour sign-in code is ABC234\r\n/)
    t.match(content, /within 5 minutes/)
  },
)

t.test('text that would break out of a header or a command reaches nobody else', { skip: noMailServer }, async (t) => {
  const { port, finish } = await startMailServer(t)
  const send = createSmtp(of(port))
  for (const to of [
    'ada@example.org\r\nBcc: eve@example.org',
    'ada@example.org>\r\nRCPT TO:<eve@example.org',
    'ada@example.org, eve@example.org',
    'Eve <eve@example.org>, ada@example.org',
  ])
    await send({ ...letter, to, subject: 'code\r\nBcc: eve@example.org' }, never).catch(() => {})
  for (const { to, content } of await finish()) {
    t.equal(to?.length, 1)
    t.notSame(to, ['eve@example.org'])
    t.notMatch(content?.split('\r\n\r\n')[0], /^Bcc:/m)
  }
})

t.test(
  'a server that refuses for a while is tried again; one that refuses for good is not',
  { skip: noMailServer },
  async (t) => {
    const { port, finish } = await startMailServer(t, { replies: ['451 try later', '250 OK', '550 no such user'] })
    const mailer = mailerOf(of(port))
    t.teardown(() => mailer.close())
    await mailer.send(letter)
    await t.rejects(mailer.send(letter), { code: 'mail_refused', message: /550 no such user/ })
    const taken = await finish()
    t.strictSame(
      taken.map(({ refused, to }) => refused ?? to),
      ['451 try later', ['ada@example.org'], '550 no such user'],
    )
  },
)

t.test('TLS is used if it is offered, whoever signed the certificate', { skip: noMailServer }, async (t) => {
  const own = ownCertificate(t.testdir({}))
  const { port, finish } = await startMailServer(t, { tls: 'starttls', ...own })
  await createSmtp(of(port))(letter, never)
  await createSmtp(of(port, { tls: 'none' }))(letter, never)
  const required = of(port, { tls: 'required' })
  await t.rejects(createSmtp(required)(letter, never), {
    code: 'mail_failed',
    message: /certificate.* in smtp\.ca_file, and restart$/,
  })
  await createSmtp({ ...required, ca: trustedAuthorities('smtp.ca_file', own.certificate) })(letter, never)
  const taken = await finish()
  t.strictSame(
    taken.map(({ tls }) => tls),
    [true, false, true],
  )
})

t.test(
  'a password is sent only to this machine, or to a server with a valid certificate',
  { skip: noMailServer },
  async (t) => {
    const auth: [string, string] = ['door', 'open sesame']
    const user = { username: 'door', password: 'open sesame' }
    const plain = await startMailServer(t, { auth })
    await createSmtp(of(plain.port, user))(letter, never)
    await t.rejects(createSmtp(of(plain.port, { ...user, password: 'x' }))(letter, never), { code: 'mail_refused' })
    await t.rejects(createSmtp(of(plain.port, { ...user, tls: 'required' }))(letter, never), { code: 'mail_failed' })
    const taken = await plain.finish()
    t.strictSame(
      taken.map(({ user }) => user),
      ['door'],
    )
  },
)

t.test('a remote server that offers no TLS gets no password', { skip: noMailServer }, async (t) => {
  const { port, finish } = await startMailServer(t, { auth: ['door', 'open sesame'] })
  // An address of this machine that does not look like one.
  const elsewhere = { host: '0.0.0.0', username: 'door', password: 'open sesame' }
  await t.rejects(createSmtp(of(port, elsewhere))(letter, never), { message: /TLS/i })
  t.strictSame(await finish(), [])
})

t.test('a server that does not answer is abandoned in time', { skip: noMailServer }, async (t) => {
  const { port } = await startMailServer(t, { replies: ['silence'] })
  const mailer = openMailer({
    clock: systemClock,
    log: silentLog,
    smtp: of(port),
    limits: { ...limits, attemptMs: 100 },
  })
  const startMs = performance.now()
  await t.rejects(mailer.send({ ...letter, lifeMs: 110 }), { code: 'mail_failed' })
  // By default nodemailer waits half a minute for a greeting.
  t.ok(performance.now() - startMs < 20_000)
})

t.test('a missing server, and one with another protocol, are mail_failed', async (t) => {
  const mailer = mailerOf(of(await freePort()))
  await t.rejects(mailer.send({ ...letter, lifeMs: 10 }), { code: 'mail_failed' })
  const web = createServer((socket) => socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve))
  t.teardown(() => web.close())
  const { port } = web.address() as { port: number }
  await t.rejects(createSmtp(of(port))(letter, never), { code: /^mail_(failed|refused)$/ })
})

t.test('without a mail server letters are refused, with the setting to change', async (t) => {
  const said: unknown[] = []
  const log = { ...silentLog, warning: (event: string, facts?: object) => void said.push([event, facts]) }
  const mailer = openMailer({ clock: systemClock, log, smtp: undefined, limits })
  for (let i = 0; i < 3; i++)
    await t.rejects(mailer.send(letter), { code: 'mail_not_set_up', message: /smtp\.host and smtp\.from/ })
  t.match(said, [['mail_failed', { subject: 'Your sign-in code', count: 1 }]])
  mailer.close()
  t.notMatch(JSON.stringify(said), /ABC234|ada@/)
})
