/** A played vendor of licences: signs leases and notices, and answers as its licence server. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { wholeUpload } from '#kit/http/route.ts'
import { countSigners, type Signature, type SignedKind, signText } from '#kit/release/signed.ts'
import type { Owner } from '#kit/test/running-daemon.ts'
import type { Holder, Lease, LicenceNotice } from '../core/licence/lease.ts'

const DAY_MS = 86_400_000

/** @param folder gets the vendor's public key, as an installer puts it there */
export function vendorIn(folder: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const keyFile = join(folder, 'vendor.pem')
  writeFileSync(keyFile, publicKey.export({ format: 'pem', type: 'spki' }))
  let serial = 0

  function signed<Content extends object>(kind: SignedKind, content: Content, key: KeyObject = privateKey) {
    return { signatures: signText(kind, content, [key]), signed: content }
  }

  function lease({ installationId, keyId }: Holder, issuedAt: number, more: Partial<Lease> = {}) {
    const content: Lease = {
      ...{ installationId, keyId, features: ['mqtt'], limits: { cameras: 2 }, serial: ++serial },
      ...{ issuedAt, expiresAt: issuedAt + 30 * DAY_MS, updatesUntil: issuedAt + 365 * DAY_MS },
      ...more,
    }
    return signed('lease', content)
  }

  function notice({ installationId, keyId }: Holder, issuedAt: number, more: Partial<LicenceNotice> = {}) {
    const reason = 'The invoice is open.'
    const content: LicenceNotice = { installationId, keyId, state: 'suspended', reason, issuedAt, serial: ++serial }
    return signed('licence-notice', { ...content, ...more })
  }
  return { keyFile, lease, notice, signed }
}

export type Vendor = ReturnType<typeof vendorIn>

/** What an installation asks for, its signature proven. */
export interface AskedLicence extends Holder {
  act: string
  licenseKey?: string
  move?: boolean
  cameras: number
}

/** @param answer to one request; a status other than 200 with its body */
export async function startLicenceServer(t: Owner, answer: (asked: AskedLicence) => { status: number; body: unknown }) {
  const server = createServer(async (request, response) => {
    const bytes = await wholeUpload({ lengthBytes: undefined, stream: request })
    const { signatures, signed } = JSON.parse(String(bytes)) as {
      signatures: Signature[]
      signed: AskedLicence & { publicKey: string; action: string }
    }
    const isProven = countSigners('licence-request', { signed, signatures }, [signed.publicKey]) === 1
    const { body, status } = isProven
      ? answer({ ...signed, act: request.url?.split('/').at(-1) ?? '' })
      : { status: 401, body: { error: 'not signed' } }
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
