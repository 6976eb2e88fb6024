/** A gateway's own authority, and a certificate of it, for tests. */
import { generateKeyPairSync } from 'node:crypto'
import { makeLeafCertificate, makeRootCertificate } from '#kit/net/certificate.ts'

const HOUR_MS = 3_600_000

const keys = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })

/** Made anew by each call. @param form how long the certificate holds from now on, and for whom */
export function authority({ untilMs = HOUR_MS, addresses = ['127.0.0.1'] } = {}) {
  const life = { validFromMs: Date.now() - 48 * HOUR_MS, validUntilMs: Date.now() + HOUR_MS }
  const [own, server] = [keys(), keys()]
  const subject = 'Test gateway CA'
  const root = makeRootCertificate({ ...life, subject, key: own.privateKey, permittedNames: ['local'] }, own.publicKey)
  const cert = makeLeafCertificate({
    ...{ ...life, validUntilMs: Date.now() + untilMs, subject: 'Test gateway', publicKey: server.publicKey },
    ...{ names: ['box.local'], addresses, issuer: { subject, key: own.privateKey, publicKey: own.publicKey } },
  })
  return { root, cert, key: server.privateKey.export({ format: 'pem', type: 'pkcs8' }) as string }
}
