/** A daemon's own root CA and the certificate it signs for this machine: made, kept, renewed. */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  X509Certificate,
} from 'node:crypto'
import { hostname } from 'node:os'
import { domainToASCII } from 'node:url'
import { Type } from 'typebox'
import type { Clock, Timer } from '../clock.ts'
import { parseListen } from '../config/tables.ts'
import { createReader } from '../http/check.ts'
import type { Log } from '../log.ts'
import type { Part } from '../run/parts.ts'
import { createStore, type Store } from '../store/store.ts'
import { parseAddress, reachableAddresses } from './address.ts'
import { makeLeafCertificate, makeRootCertificate } from './certificate.ts'

/** What a server shows: both PEM. */
export interface ServerIdentity {
  readonly key: string
  readonly certificate: string
}

/** What may be said of both to anybody. */
export interface AuthorityView {
  rootName: string
  /** SHA-256 over the root's DER, as browsers and OpenSSL write it: pairs of hex digits with colons. */
  rootFingerprint: string
  rootEndsAt: number
  /** Undefined until `renew` was called: a server without TLS needs none. */
  leaf: { names: string[]; addresses: string[]; startsAt: number; endsAt: number } | undefined
  /** Names of the machine for which the root may not sign: they came up after it was made. */
  outside: string[]
}

export interface OwnAuthority {
  /** PEM. */
  rootCertificate(): string
  view(): AuthorityView
  /** The newest identity; another object once it was renewed. @throws TypeError before the first `renew` */
  identity(): ServerIdentity
  /**
   * Makes a new certificate for the server where the present one ends soon, does not hold yet, or lacks a name or an
   * address of the machine. What cannot be saved is not used.
   * @throws Fault `store_write_failed`
   */
  renew(): Promise<void>
  /**
   * Renews now, and whenever it is due. What fails is logged and tried at the next time.
   * @throws Fault `store_write_failed` where there is no certificate yet
   */
  keepRenewed(periodMs: number): Promise<Timer>
}

/** How this machine is called and reached now. */
interface MachineNames {
  names: readonly string[]
  addresses: readonly string[]
}

/**
 * The machine's own name, bare and as others ask for it over mDNS, its addresses, and what the settings name.
 * @param http `listen` and `hosts` of that table
 */
export function machineNames(http: { listen: string; hosts: readonly string[] }): MachineNames {
  const { host } = parseListen(http.listen)
  const [label = ''] = hostname().split('.')
  const listensAt = host === '0.0.0.0' || host === '::' ? [] : [host]
  const names = [hostname(), label, `${label}.local`, ...http.hosts, ...listensAt]
  return { names, addresses: [...reachableAddresses().map(({ address }) => address), ...listensAt] }
}

interface AuthorityOptions {
  /** The state folder: `tls.json` holds both with their keys. */
  folder: string
  clock: Clock
  log: Log
  /** Such as `Plantroom gateway`; the names of both certificates begin with it. */
  product: string
  machine(): MachineNames
}

const DAY_MS = 86_400_000

/** Before this there was no such software: a clock that reads less was never set, as on a board without one of its own. */
const EARLIEST_MS = Date.UTC(2026, 0, 1)

/** Browsers take no certificate of a server that lives longer than 398 days. @source Apple HT211025, CA/B Forum BR 6.3.2 */
const LEAF_MS = 397 * DAY_MS

/** Clocks of clients may be behind. */
const BACKDATED_MS = DAY_MS

const RENEWED_BEFORE_MS = 60 * DAY_MS

/** Ten years. */
const ROOT_MS = 3652 * DAY_MS

/** Longer than a server's certificate lives, so that none outlives its root. */
const ROOT_RENEWED_BEFORE_MS = 2 * LEAF_MS

/** Names and addresses in one certificate, each: what a machine with a hundred virtual networks has. */
const MOST_NAMES = 100

/** Endings that mean a local network, beside the machine's own names. @source RFC 6761, 6762, 8375; ICANN's reservation of `internal` */
const LOCAL_NAMES = ['localhost', 'local', 'internal', 'home.arpa', 'lan']

const pem = Type.String({ minLength: 1, maxLength: 65_536 })
const authorityFile = Type.Object(
  {
    version: Type.Literal(1),
    root: Type.Object(
      { name: Type.String(), key: pem, certificate: pem, permittedNames: Type.Array(Type.String()) },
      { additionalProperties: false },
    ),
    leaf: Type.Union([Type.Object({ key: pem, certificate: pem }, { additionalProperties: false }), Type.Null()]),
  },
  { additionalProperties: false },
)
const readFile = createReader(authorityFile)

interface AuthorityRecord {
  version: 1
  root: ServerIdentity & { name: string; permittedNames: string[] }
  leaf: ServerIdentity | null
}

/** The root with its keys, as it is used. */
interface Root {
  name: string
  key: KeyObject
  publicKey: KeyObject
  certificate: X509Certificate
}

/**
 * Loads the root, or makes it at the first start.
 * @throws Fault `store_damaged`, `store_write_failed`
 */
export async function openOwnAuthority(options: AuthorityOptions): Promise<OwnAuthority> {
  const { clock, log, machine } = options
  const store = authorityStore(options)
  let kept = await store.load()
  if (store.state === 'initial') await store.save(kept)
  let leaf = kept.leaf && new X509Certificate(kept.leaf.certificate)
  let root = rootOf(kept)
  let running: Promise<void> | undefined
  let toldOutside = ''

  async function renewNow(): Promise<void> {
    const nowMs = plausible(clock.epochMs())
    const wanted = wantedNames(machine(), kept.root.permittedNames)
    tellOutside(wanted.outside)
    const isRootEnding = root.certificate.validToDate.getTime() - nowMs < ROOT_RENEWED_BEFORE_MS
    const why = isRootEnding ? 'the root ends soon' : leaf ? whyAnother(leaf, wanted, nowMs) : 'there is none yet'
    if (why === undefined) return
    const next = isRootEnding ? withLongerRoot(kept, root, nowMs) : kept
    const made = { ...next, leaf: makeLeaf({ nowMs, root: rootOf(next), wanted, product: options.product }) }
    await store.save(made)
    kept = made
    root = rootOf(made)
    leaf = new X509Certificate(made.leaf.certificate)
    const until = leaf.validToDate.toISOString().slice(0, 10)
    log.notice('certificate made', { why, names: [...wanted.names, ...wanted.addresses].join(' '), until })
  }

  function tellOutside(outside: readonly string[]): void {
    const names = outside.join(' ')
    if (names !== '' && names !== toldOutside) log.warning('names without a certificate', { names, remedy: NEW_ROOT })
    toldOutside = names
  }

  function renew(): Promise<void> {
    running ??= renewNow().finally(() => {
      running = undefined
    })
    return running
  }

  return {
    rootCertificate: () => kept.root.certificate,
    view: () => viewOf(root, leaf, wantedNames(machine(), kept.root.permittedNames).outside),
    identity() {
      if (!kept.leaf) throw new TypeError('no certificate was made yet')
      return kept.leaf
    },
    renew,
    async keepRenewed(periodMs) {
      const tell = (fault: unknown) => log.error('certificate not renewed', { fault })
      await renew().catch((fault) => {
        if (!kept.leaf) throw fault
        tell(fault)
      })
      // Whoever downloads the root over a connection that nothing vouches for yet can compare it.
      log.notice('root certificate', { fingerprint: root.certificate.fingerprint256 })
      return clock.every(periodMs, () => void renew().catch(tell))
    },
  }
}

/** An authority that is opened when it is first needed: a daemon without TLS has no use for keys, which take 1 MB. */
export interface LateAuthority {
  /** @throws Fault as `openOwnAuthority`; the next call tries again */
  open(): Promise<OwnAuthority>
  /** Undefined until it was opened. */
  opened(): OwnAuthority | undefined
  /** @throws TypeError until it was opened */
  identity(): ServerIdentity
}

export function lateAuthority(options: AuthorityOptions): LateAuthority {
  let opened: OwnAuthority | undefined
  let opening: Promise<OwnAuthority> | undefined

  async function openNow(): Promise<OwnAuthority> {
    try {
      opened = await openOwnAuthority(options)
      return opened
    } finally {
      opening = undefined
    }
  }

  return {
    async open() {
      if (opened) return opened
      opening ??= openNow()
      return await opening
    },
    opened: () => opened,
    identity() {
      if (!opened) throw new TypeError('the authority was not opened yet')
      return opened.identity()
    },
  }
}

/** Comes before the server, which needs the certificate; without TLS nothing is renewed. */
export function certificatePart(authority: LateAuthority, http: { tls: boolean; tls_check_ms: number }): Part {
  let renewing: Timer | undefined
  return {
    name: 'certificate',
    async start() {
      if (http.tls) renewing = await (await authority.open()).keepRenewed(http.tls_check_ms)
    },
    stop: () => renewing?.cancel(),
  }
}

const NEW_ROOT =
  'they came up after the root CA was made, which may not sign for them: stop the daemon, move tls.json of its state folder away, start it, and have the new root CA trusted'

function authorityStore({ folder, log, clock, machine, product }: AuthorityOptions): Store<AuthorityRecord> {
  return createStore<AuthorityRecord>({
    ...{ folder, name: 'tls', log, clock },
    check(value) {
      const record = readFile(value) as AuthorityRecord
      // Both are read here, so that a file with other text in it counts as damaged.
      rootOf(record)
      if (record.leaf) createPrivateKey(record.leaf.key)
      if (record.leaf) new X509Certificate(record.leaf.certificate)
      return record
    },
    initial: () => firstRoot(product, machine(), plausible(clock.epochMs())),
  })
}

function rootOf({ root }: AuthorityRecord): Root {
  const key = createPrivateKey(root.key)
  return { name: root.name, key, publicKey: createPublicKey(key), certificate: new X509Certificate(root.certificate) }
}

/** A clock that was never set does not date certificates: those who look at them have one that was. */
function plausible(epochMs: number): number {
  return Math.max(epochMs, EARLIEST_MS)
}

function firstRoot(product: string, machine: MachineNames, nowMs: number): AuthorityRecord {
  const { privateKey, publicKey } = newKey()
  const own = dnsNames(machine.names)
  const permittedNames = [...new Set([...LOCAL_NAMES, ...own])]
  // Two boxes of one name have two roots, which browsers tell apart by their names.
  const subject = commonName(`${product} ${own[0] ?? ''}`, ` CA ${randomBytes(4).toString('hex')}`)
  const request = { subject, key: privateKey, permittedNames, ...rootLife(nowMs) }
  const certificate = makeRootCertificate(request, publicKey)
  return { version: 1, root: { name: subject, key: pemOf(privateKey), certificate, permittedNames }, leaf: null }
}

/** The same root with a later end: who trusts the one before goes on trusting what it signs. */
function withLongerRoot(kept: AuthorityRecord, { name, key, publicKey }: Root, nowMs: number): AuthorityRecord {
  const { permittedNames } = kept.root
  const request = { subject: name, key, permittedNames, ...rootLife(nowMs) }
  return { ...kept, root: { ...kept.root, certificate: makeRootCertificate(request, publicKey) } }
}

/** It begins where no clock is right before, so that a clock set back later finds it valid. */
function rootLife(nowMs: number) {
  return { validFromMs: EARLIEST_MS, validUntilMs: nowMs + ROOT_MS }
}

function makeLeaf(by: { nowMs: number; root: Root; wanted: WantedNames; product: string }): ServerIdentity {
  const { nowMs, root, wanted, product } = by
  const { privateKey, publicKey } = newKey()
  const validFromMs = Math.max(EARLIEST_MS, nowMs - BACKDATED_MS)
  const certificate = makeLeafCertificate({
    subject: commonName(product, ` ${wanted.names[0] ?? ''}`),
    publicKey,
    names: wanted.names,
    addresses: wanted.addresses,
    validFromMs,
    validUntilMs: validFromMs + LEAF_MS,
    issuer: { subject: root.name, key: root.key, publicKey: root.publicKey },
  })
  return { key: pemOf(privateKey), certificate }
}

function newKey() {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** @returns at most 64 characters, all of the end among them. @source RFC 5280, appendix A: ub-common-name */
function commonName(start: string, end: string): string {
  return (start.slice(0, Math.max(0, 64 - end.length)) + end).slice(0, 64)
}

// Names: what the machine is called, as far as the root may sign for it.

interface WantedNames {
  names: readonly string[]
  addresses: readonly string[]
  outside: string[]
}

function wantedNames(machine: MachineNames, permitted: readonly string[]): WantedNames {
  const all = dnsNames([...machine.names, 'localhost'])
  const isPermitted = (name: string) => permitted.some((end) => name === end || name.endsWith(`.${end}`))
  const addresses = [...machine.addresses, '127.0.0.1', '::1'].filter((text) => isNamed(text))
  return {
    names: all.filter(isPermitted).slice(0, MOST_NAMES),
    addresses: [...new Map(addresses.map((text) => [canonicalAddress(text), text])).values()].slice(0, MOST_NAMES),
    outside: all.filter((name) => !isPermitted(name)),
  }
}

/** A link-local address of IPv6 needs its interface beside it, which no certificate holds. */
function isNamed(text: string): boolean {
  return parseAddress(text) !== undefined && !/^fe[89ab]/i.test(text)
}

/** As Node tells the addresses of a certificate, but for zeros that are left out. */
function canonicalAddress(text: string): string {
  return [...(parseAddress(text) ?? [])].join('.')
}

function dnsNames(names: readonly string[]): string[] {
  const ascii = names.map((name) => domainToASCII(name.toLowerCase().replace(/\.$/, '')))
  return [...new Set(ascii)]
    .filter((name) => DNS_NAME.test(name) && parseAddress(name) === undefined)
    .slice(0, MOST_NAMES)
}

/** Labels of letters, digits and inner hyphens; underscores, as some machines have them. @source RFC 1123, 2.1 */
const DNS_NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/

/** What a certificate holds for, as Node tells it: `DNS:box, IP Address:10.0.0.7`. */
function namesIn(certificate: X509Certificate) {
  const parts = (certificate.subjectAltName ?? '').split(', ')
  const of = (kind: string) => parts.filter((part) => part.startsWith(kind)).map((part) => part.slice(kind.length))
  return { names: of('DNS:'), addresses: of('IP Address:') }
}

/** @returns undefined if the certificate will do */
function whyAnother(leaf: X509Certificate, wanted: WantedNames, nowMs: number): string | undefined {
  if (leaf.validFromDate.getTime() > nowMs) return 'the clock was set back'
  if (leaf.validToDate.getTime() - nowMs < RENEWED_BEFORE_MS) return 'the one before ends soon'
  const has = namesIn(leaf)
  const hasAddresses = has.addresses.map(canonicalAddress)
  const isMissing =
    wanted.names.some((name) => !has.names.includes(name)) ||
    wanted.addresses.some((address) => !hasAddresses.includes(canonicalAddress(address)))
  return isMissing ? 'the machine has another name or address' : undefined
}

function viewOf({ name, certificate }: Root, leaf: X509Certificate | null, outside: string[]): AuthorityView {
  return {
    rootName: name,
    rootFingerprint: certificate.fingerprint256,
    rootEndsAt: certificate.validToDate.getTime(),
    leaf: leaf
      ? { ...namesIn(leaf), startsAt: leaf.validFromDate.getTime(), endsAt: leaf.validToDate.getTime() }
      : undefined,
    outside,
  }
}
