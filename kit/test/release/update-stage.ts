/** A machine with Plantroom 1.0.0, a publisher, and an update server of part B, for tests of updates. */
import { execFileSync } from 'node:child_process'
import { createHash, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Value } from 'typebox/value'
import { systemClock } from '../../clock.ts'
import type { UpdateParts } from '../../release/apply.ts'
import { makeDelta } from '../../release/delta-making.ts'
import { installedAt } from '../../release/installed.ts'
import { bundleHash } from '../../release/manifest.ts'
import { type ReleaseRecord, writeRelease } from '../../release/record.ts'
import { type SignedRoot, signRoot } from '../../release/root.ts'
import { publicKeyOf, textOfSigned } from '../../release/signed.ts'
import type { UpdateHooks } from '../../release/switch.ts'
import { type UpdateSettings, updateTable } from '../../release/update-settings.ts'
import type { Owner } from '../running-daemon.ts'
import { type ArchiveFile, archiveOf, manifestOf } from './archives.ts'
import { writeFiles } from './deltas.ts'
import { sealed } from './sealed.ts'

const DAY_MS = 86_400_000
const newKey = () => generateKeyPairSync('ed25519').privateKey

/** Who signs. */
export interface Publisher {
  root: SignedRoot
  releaseKey: KeyObject
}

export function publisher(): Publisher {
  const keys = [newKey(), newKey()]
  const releaseKey = newKey()
  const root = signRoot(
    {
      ...{ version: 1, root_keys: keys.map(publicKeyOf).sort(), threshold: 2, min_sequence: 1 },
      release_keys: [publicKeyOf(releaseKey)],
      ...{ issued_at: Date.now() - DAY_MS, expires: Date.now() + 365 * DAY_MS },
    },
    keys,
  )
  return { root, releaseKey }
}

/** A release as the server has it. */
export interface Published {
  version: string
  container: Buffer
  /** What `POST /check_update` answers. */
  offer: Record<string, unknown>
  bundle: string
  files: ArchiveFile[]
  /** Its delta from 1.0.0, if there is one. */
  delta?: Buffer
}

/** What a release says of itself when its program runs. */
const PROGRAM = '#!/bin/sh\ncat "$(dirname "$0")/../data/version.txt"\n'

export function filesOf(version: string, largeBytes = 150_000): ArchiveFile[] {
  return [
    { path: 'bin/run', bytes: Buffer.from(PROGRAM), mode: 0o755 },
    { path: 'data/version.txt', bytes: Buffer.from(version) },
    { path: 'data/deep/er/large.bin', bytes: randomBytes(largeBytes) },
  ]
}

/** Packs, encrypts and signs. @param change of the record, before it is signed */
export function publish(
  { releaseKey, root }: Publisher,
  version: string,
  given: { files?: ArchiveFile[]; archive?: Buffer; change?: Partial<ReleaseRecord>; isSigned?: boolean } = {},
): Published {
  const files = given.files ?? filesOf(version)
  const packed = archiveOf(files)
  const { bundle } = packed
  const key = randomBytes(32)
  const container = sealed(given.archive ?? packed.archive, key)
  const checksum = createHash('sha256').update(container).digest('hex')
  const record: ReleaseRecord = {
    ...{ version, sequence: 5, min_from: null, arch: null, size: container.length, sha256: checksum, bundle },
    ...{ security_fix: false, issued_at: Date.now() - 1000, expires: Date.now() + 30 * DAY_MS },
    ...given.change,
  }
  const signed = writeRelease('update', record, { keys: [releaseKey], roots: [root] })
  const offer = {
    ...{ update: true, version, checksum, encryption_key: key.toString('hex'), size: container.length },
    ...{ bundle_hash: bundle, filename: `update-${version}.tar.gz.enc` },
    release: given.isSigned === false ? null : Buffer.from(signed).toString('base64'),
  }
  return { version, container, offer, bundle, files }
}

/** The release with a delta from the one that a machine has. @param change of what is offered */
export async function withDelta(work: string, root: string, published: Published, change: object = {}) {
  const before = join(root, readlinkSync(join(root, 'current')))
  const [next, plain] = [join(work, `next-${published.version}`), join(work, `delta-${published.version}`)]
  writeFiles(next, published.files)
  await makeDelta({ before, next }, plain)
  const delta = sealed(readFileSync(plain), Buffer.from(String(published.offer.encryption_key), 'hex'))
  const checksum = createHash('sha256').update(delta).digest('hex')
  const offer = { ...published.offer, delta: { from: '1.0.0', filename: 'x', size: delta.length, checksum, ...change } }
  return { ...published, delta, offer }
}

/** Puts a release where the installer would. @returns its folder */
export function installRelease(root: string, version: string, files = filesOf(version)): string {
  const bundle = bundleHash(manifestOf(files))
  const folder = `${version}-${bundle.slice(0, 8)}`
  writeFiles(join(root, 'releases', folder), files)
  writeFileSync(join(root, 'releases', folder, '.complete'), `${JSON.stringify({ version, bundle })}\n`)
  rmSync(join(root, 'current'), { force: true })
  symlinkSync(`releases/${folder}`, join(root, 'current'))
  return folder
}

/** What runs when `current` is started; every file of it is what its manifest says. */
export async function startedVersion(root: string): Promise<string> {
  const installed = installedAt(root)
  const { mark } = await installed.current()
  if (!(await installed.isWhole(mark))) throw new Error(`${mark.version} is not whole`)
  const said = execFileSync(join(root, 'current/bin/run'), { encoding: 'utf8' })
  if (said !== mark.version) throw new Error(`${mark.version} says that it is ${said}`)
  return said
}

// The update server.

/** How a request is answered otherwise. */
interface Odd {
  status?: number
  headers?: Record<string, string>
  body?: string
  /** Bytes after which the connection is cut. */
  cutAfter?: number
  /** Bytes after which nothing more comes. */
  hangAfter?: number
}

export interface StageServer {
  url: string
  /** What is offered; undefined for nothing. */
  offered: Published | undefined
  /** Of any version; undefined for none. */
  installer: Buffer | undefined
  /** Bodies of checks, and of pulls the first byte that was asked for. */
  checks: Record<string, unknown>[]
  pulls: number[]
  /** What was pulled: a version, or the one that a delta is from. */
  pulled: string[]
  /** Answers a request in another way. @param count of the requests of its path, from 1 */
  odd(path: string, count: number): Odd | undefined
}

export async function stageServer(t: Owner): Promise<StageServer> {
  const stage: StageServer = {
    url: '',
    offered: undefined,
    installer: undefined,
    checks: [],
    pulls: [],
    pulled: [],
    odd: () => undefined,
  }
  const server = createServer((request, response) => void answer(stage, request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  stage.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return stage
}

async function answer(stage: StageServer, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url ?? ''
  if (request.method === 'GET') {
    answerInstaller(stage, request, response)
    return
  }
  const body = JSON.parse(await text(request)) as Record<string, unknown>
  const isCheck = path === '/check_update'
  const range = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0)
  if (isCheck) stage.checks.push(body)
  else {
    stage.pulls.push(range)
    stage.pulled.push(body.from === undefined ? `${body.version}` : `delta from ${body.from}`)
  }
  const odd = stage.odd(path, isCheck ? stage.checks.length : stage.pulls.length)
  if (odd?.status !== undefined) {
    response.writeHead(odd.status, odd.headers).end(odd.body ?? JSON.stringify({ error: 'x', message: 'no.' }))
    return
  }
  const { offered } = stage
  if (isCheck) {
    response.end(odd?.body ?? JSON.stringify(offered?.offer ?? { update: false, version: body.version }))
    return
  }
  const all = (body.from === undefined ? offered?.container : offered?.delta) ?? Buffer.alloc(0)
  const etag = `"${createHash('sha256').update(all).digest('hex')}"`
  const isPart = request.headers.range !== undefined && request.headers['if-range'] === etag
  if (isPart && range >= all.length) {
    response.writeHead(416, { 'content-range': `bytes */${all.length}` }).end()
    return
  }
  const bytes = isPart ? all.subarray(range) : all
  response.writeHead(isPart ? 206 : 200, {
    ...{ etag, 'content-length': bytes.length, 'accept-ranges': 'bytes' },
    ...(isPart && { 'content-range': `bytes ${range}-${all.length - 1}/${all.length}` }),
    ...odd?.headers,
  })
  if (odd?.hangAfter !== undefined) response.write(bytes.subarray(0, odd.hangAfter))
  else if (odd?.cutAfter === undefined) response.end(bytes)
  else response.write(bytes.subarray(0, odd.cutAfter), () => response.destroy())
}

/** In pieces of at most 1000 bytes: whoever wants more asks again. */
function answerInstaller({ installer }: StageServer, { headers, url = '' }: IncomingMessage, response: ServerResponse) {
  const [, from, to = Number.POSITIVE_INFINITY] = /^bytes=(\d+)-(\d+)?$/.exec(headers.range ?? '') ?? []
  if (installer === undefined || !url.startsWith('/installers/')) {
    response.writeHead(404).end(JSON.stringify({ error: 'unknown_release', message: 'There is no installer yet.' }))
    return
  }
  const bytes = installer.subarray(Number(from ?? 0), Math.min(Number(to) + 1, Number(from ?? 0) + 1000))
  const range = `bytes ${from ?? 0}-${Number(from ?? 0) + bytes.length - 1}/${installer.length}`
  response.writeHead(from === undefined ? 200 : 206, {
    ...{ etag: '"one"', 'content-length': from === undefined ? installer.length : bytes.length },
    ...(from !== undefined && { 'content-range': range }),
  })
  if (from === undefined) response.write(bytes, () => response.destroy())
  else response.end(bytes)
}

// The machine.

/** A machine, and what its hooks were called for. */
export interface StagedMachine {
  root: string
  state: string
  said: string[]
  calls: string[]
  parts(change?: { settings?: Partial<UpdateSettings>; hooks?: Partial<UpdateHooks> }): UpdateParts
}

/** @param folder empty; @param trusted whose releases are taken; undefined: no root is pinned */
export function stageMachine(folder: string, url: string, trusted: Publisher | undefined): StagedMachine {
  const [root, state] = [join(folder, 'root'), join(folder, 'state')]
  mkdirSync(join(root, 'releases'), { recursive: true })
  installRelease(root, '1.0.0')
  if (trusted) {
    mkdirSync(join(state, 'trust'), { recursive: true })
    writeFileSync(join(state, 'trust/root.json'), textOfSigned(trusted.root))
  }
  return machineAt(folder, url)
}

/** The machine that is there. */
export function machineAt(folder: string, url: string): StagedMachine {
  const [root, state] = [join(folder, 'root'), join(folder, 'state')]
  const said: string[] = []
  const calls: string[] = []
  const running = () => readlinkSync(join(root, 'current')).replace(/^releases\/(.*)-[^-]*$/, '$1')
  const hooks: UpdateHooks = {
    activeDaemons: async () => ['gateway'],
    async backup() {
      calls.push('backup')
      return '/backups/one'
    },
    hold: async () => ({ release: () => {} }),
    async restart() {
      calls.push(`restart ${running()}`)
    },
    health: async () => ({ state: 'well', why: '', upMs: null }),
    async restore(backup) {
      calls.push(`restore ${backup}`)
    },
  }
  return {
    ...{ root, state, said, calls },
    parts: (change = {}) => ({
      ...{ root, state, arch: 'amd64', clock: systemClock, nowAt: () => Date.now() },
      say: (sentence) => void said.push(sentence),
      settings: {
        ...Value.Create(updateTable),
        ...{
          update_url: url,
          retry_ms: 1,
          retry_most_ms: 5,
          probation_ms: 0,
          probe_ms: 10,
          unwell_ms: 0,
          ...change.settings,
        },
      },
      hooks: { ...hooks, ...change.hooks },
    }),
  }
}

/** The state's files as they are on the disk. */
export function readState(state: string, name: string): unknown {
  return JSON.parse(readFileSync(join(state, name), 'utf8'))
}
