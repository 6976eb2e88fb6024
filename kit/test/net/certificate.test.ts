/** The two kinds of certificates, read back by Node and judged by OpenSSL. */
import { execFile } from 'node:child_process'
import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { makeLeafCertificate, makeRootCertificate } from '#kit/net/certificate.ts'

const DAY_MS = 86_400_000
const now = Date.now()
const pair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
const [rootKeys, leafKeys] = [pair(), pair()]

function root(more: { subject?: string; permittedNames?: string[]; validUntilMs?: number } = {}): string {
  const life = { validFromMs: now - DAY_MS, validUntilMs: now + 3650 * DAY_MS }
  const request = { subject: 'Test CA', key: rootKeys.privateKey, permittedNames: ['local', 'box'], ...life, ...more }
  return makeRootCertificate(request, rootKeys.publicKey)
}

function leaf(names: string[], addresses: string[], more: { validFromMs?: number; subject?: string } = {}): string {
  const issuer = { subject: 'Test CA', key: rootKeys.privateKey, publicKey: rootKeys.publicKey }
  const life = { validFromMs: now - DAY_MS, validUntilMs: now + 396 * DAY_MS }
  return makeLeafCertificate({
    subject: 'box',
    publicKey: leafKeys.publicKey,
    names,
    addresses,
    issuer,
    ...life,
    ...more,
  })
}

/** What `openssl verify` says of a server's certificate: OK, or its complaint. */
async function verdict(t: Test, rootText: string, leafText: string): Promise<string> {
  const folder = t.testdir({})
  const [ca, own] = [join(folder, 'root.pem'), join(folder, 'leaf.pem')]
  writeFileSync(ca, rootText)
  writeFileSync(own, leafText)
  const args = ['verify', '-x509_strict', '-purpose', 'sslserver', '-CAfile', ca, own]
  const { stdout, stderr } = await promisify(execFile)('openssl', args).catch((error) => error)
  return /error \d+ .*?: (.+)/.exec(`${stdout}${stderr}`)?.[1] ?? /: (OK)/.exec(stdout)?.[1] ?? `${stdout}${stderr}`
}

t.test('OpenSSL verifies a server by its root, by the strict rules', async (t) => {
  t.equal(await verdict(t, root(), leaf(['box', 'box.local'], ['10.0.0.7', 'fd00::7'])), 'OK')
})

t.test('Node reads both back: names, addresses, times, who may sign', async (t) => {
  const [ca, own] = [new X509Certificate(root()), new X509Certificate(leaf(['box', 'box.local'], ['10.0.0.7', '::1']))]
  t.equal(own.checkIssued(ca), true)
  t.equal(own.verify(ca.publicKey), true)
  t.equal(ca.verify(ca.publicKey), true)
  t.same([ca.ca, own.ca], [true, false])
  t.equal(own.subjectAltName, 'DNS:box, DNS:box.local, IP Address:10.0.0.7, IP Address:0:0:0:0:0:0:0:1')
  t.same(own.keyUsage, ['1.3.6.1.5.5.7.3.1'], 'for servers alone')
  t.equal(own.validFromDate.getTime(), Math.floor((now - DAY_MS) / 1000) * 1000)
  t.match(ca.subject, 'O=Plantroom\nCN=Test CA')
  t.equal(own.issuer, ca.subject)
  t.equal(own.publicKey.equals(leafKeys.publicKey), true)
})

t.test('a root signs for its own names and those below them, and for no other', async (t) => {
  t.equal(await verdict(t, root(), leaf(['deep.box', 'x.local'], ['192.0.2.1'])), 'OK')
  t.match(await verdict(t, root(), leaf(['box', 'example.com'], [])), /permitted subtree violation/)
})

t.test('a certificate that has ended, or was signed by another root, is refused', async (t) => {
  t.match(await verdict(t, root({ validUntilMs: now - 1000 }), leaf(['box'], [])), /expired/)
  const stranger = pair()
  const life = { validFromMs: now - DAY_MS, validUntilMs: now + DAY_MS }
  const request = { subject: 'Test CA', key: stranger.privateKey, permittedNames: ['box'], ...life }
  t.match(await verdict(t, makeRootCertificate(request, stranger.publicKey), leaf(['box'], [])), /unable to get local/)
})

t.test('times from 2050 on are written in the longer form', async (t) => {
  const far = new X509Certificate(root({ validUntilMs: Date.UTC(2061, 4, 6, 7, 8, 9) }))
  t.equal(far.validToDate.toISOString(), '2061-05-06T07:08:09.000Z')
  const near = new X509Certificate(root({ validUntilMs: Date.UTC(2049, 11, 31, 23, 59, 59) }))
  t.equal(near.validToDate.toISOString(), '2049-12-31T23:59:59.000Z')
})

t.test('no two certificates have one number, and each number is positive', async (t) => {
  const numbers = Array.from({ length: 50 }, () => new X509Certificate(leaf(['box'], [])).serialNumber)
  t.equal(new Set(numbers).size, 50)
  for (const number of numbers) t.match(number, /^[4-7][0-9A-F]{31}$/)
})

t.test('whatever names and addresses there are, Node reads back the same', async (t) => {
  const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?$/)
  const name = fc.array(label, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('.'))
  const names = fc.array(name, { minLength: 1, maxLength: 100 })
  const subject = fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' })
  fc.assert(
    fc.property(names, fc.array(fc.ipV4(), { maxLength: 100 }), subject, (named, addresses, called) => {
      const made = new X509Certificate(leaf(named, addresses, { subject: called }))
      const told = [...named.map((each) => `DNS:${each}`), ...addresses.map((each) => `IP Address:${each}`)]
      return made.subjectAltName === told.join(', ') && made.verify(rootKeys.publicKey)
    }),
    { numRuns: 60 },
  )
  t.pass('60 certificates')
})

t.test('what is no address is refused', async (t) => {
  t.throws(() => leaf(['box'], ['10.0.0.256']), TypeError)
})
