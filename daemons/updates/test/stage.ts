/** An update server under test: its publisher, its administrator, its installations, and archives to publish. */
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type ReleaseKind, type ReleaseRecord, writeRelease } from '#kit/release/record.ts'
import { type Root, signRoot } from '#kit/release/root.ts'
import { publicKeyOf } from '#kit/release/signed.ts'
import { sealed } from '#kit/test/release/sealed.ts'
import {
  type Answer,
  ask,
  type Owner,
  type RunningDaemon,
  type StartOptions,
  startDaemon,
} from '#kit/test/running-daemon.ts'

export const UPDATE_KEY = 'key-of-the-publisher'
export const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
export const newId = () => randomBytes(16).toString('hex')

export interface Archive {
  plain: Buffer
  key: string
  bytes: Buffer
}

/** @param of whose key it has; default one of its own */
export function archiveOf(sizeBytes: number, of?: Pick<Archive, 'key'>): Archive {
  const plain = randomBytes(sizeBytes)
  const key = of ? Buffer.from(of.key, 'hex') : randomBytes(32)
  return { plain, key: key.toString('hex'), bytes: sealed(plain, key, { salt: randomBytes(32) }) }
}

export interface Stage extends RunningDaemon {
  /** As the administrator, signed in at the first call. */
  admin(method: string, path: string, body?: unknown): Promise<Answer>
  publish(version: string, archive: Archive, headers?: Record<string, string>): Promise<Answer>
  publishDelta(version: string, from: string, archive: Archive, headers?: Record<string, string>): Promise<Answer>
  /** @param compatible undefined: nobody says what it is for */
  publishImage(
    version: string,
    compatible: string | undefined,
    archive: Archive,
    headers?: Record<string, string>,
  ): Promise<Answer>
  publishInstaller(version: string, bytes: Uint8Array<ArrayBuffer>, headers?: Record<string, string>): Promise<Answer>
  /** As an installation. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>
  /** A registered and enabled installation. */
  enabled(version?: string): Promise<string>
  /** Names of all that is stored of releases, unfinished uploads too. */
  stored(): string[]
  cookie(): Promise<{ cookie: string; 'x-csrf-token': string }>
}

/** Starts an update server; ended with the test. @param options `password` if it is not the one that was printed */
export async function openStage(t: Owner, options: StartOptions & { password?: string } = {}): Promise<Stage> {
  const sets = [`update_key=${UPDATE_KEY}`, 'mdns.enabled=false', 'storage.free_bytes=0', ...(options.sets ?? [])]
  const daemon = await startDaemon(t, 'updates', { ...options, sets })
  t.teardown(() => rmSync(`${daemon.stateFolder}-files`, { recursive: true, force: true }))
  const { url } = daemon
  let session: { cookie: string; 'x-csrf-token': string } | undefined

  async function cookie() {
    if (session) return session
    const password = options.password ?? /^admin password: (\S+)$/m.exec(daemon.output())?.[1]
    const answer = await post('/admin/api/login', { password })
    const [whole = ''] = answer.headers.getSetCookie().filter((one) => !one.includes('Domain'))
    session = { cookie: whole.split(';')[0] ?? '', 'x-csrf-token': answer.body.csrf }
    return session
  }

  function post(path: string, body: unknown, headers: Record<string, string> = {}) {
    const all = { 'content-type': 'application/json', ...headers }
    return ask(url + path, { method: 'POST', headers: all, body: JSON.stringify(body) })
  }

  function push(kind: string, version: string, bytes: Uint8Array, headers: Record<string, string>) {
    const own = { 'x-svc-update-key': UPDATE_KEY, 'x-svc-version': version, 'content-type': 'application/octet-stream' }
    return ask(`${url}/push_${kind}`, { method: 'POST', headers: { ...own, ...headers }, body: new Uint8Array(bytes) })
  }

  async function admin(method: string, path: string, body?: unknown) {
    const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    return ask(url + path, { method, headers: { ...(await cookie()), ...type }, ...sent })
  }

  return {
    ...daemon,
    ...{ admin, cookie, post },
    publish: (version, { bytes, key }, headers = {}) =>
      push('update', version, bytes, { 'x-svc-encryption-key': key, ...headers }),
    publishDelta: (version, from, { bytes }, headers = {}) =>
      push('delta', version, bytes, { 'x-svc-from': from, ...headers }),
    publishImage: (version, compatible, { bytes, key }, headers = {}) =>
      push('image', version, bytes, {
        ...{ 'x-svc-encryption-key': key, ...headers },
        ...(compatible !== undefined && { 'x-svc-compatible': compatible }),
      }),
    publishInstaller: (version, bytes, headers = {}) => push('installer', version, bytes, headers),
    async enabled(version = '1.0.0') {
      const id = newId()
      await post('/check_update', { installation_id: id, version })
      await admin('PATCH', `/admin/api/installations/${id}`, { enabled: true })
      return id
    },
    stored() {
      const folder = join(`${daemon.stateFolder}-files`, 'releases')
      return [...readdirSync(folder), ...readdirSync(join(folder, 'incoming'))].filter((name) => name !== 'incoming')
    },
  }
}

/** A publisher's keys, a root that names them, and a record to sign. */
export function signing() {
  const [root, key] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')]
  const issued = { issued_at: 1_700_000_000_000, expires: 2_000_000_000_000 }
  const facts: Root = {
    ...{
      version: 1,
      root_keys: [publicKeyOf(root.publicKey)],
      threshold: 1,
      release_keys: [publicKeyOf(key.publicKey)],
    },
    ...{ min_sequence: 1, ...issued },
  }
  const roots = [signRoot(facts, [root.privateKey])]
  const record = {
    ...{ sequence: 1, min_from: null, arch: null, bundle: 'ab'.repeat(32), security_fix: false, ...issued },
  }
  return {
    record,
    sign: (kind: ReleaseKind, signed: ReleaseRecord) => writeRelease(kind, signed, { keys: [key.privateKey], roots }),
  }
}
