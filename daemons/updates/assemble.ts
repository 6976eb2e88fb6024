/** Assembles the update server. The only file that knows both io/ and api/. */
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { journalRoutes } from '#kit/http/kit-routes.ts'
import { ledgerRoutes, measureLedger } from '#kit/http/ledger-routes.ts'
import { createMetrics, type Metrics } from '#kit/http/metrics.ts'
import type { Route } from '#kit/http/route.ts'
import { createHttpServer, type HttpServer } from '#kit/http/server.ts'
import type { Log } from '#kit/log.ts'
import { createShareOf, isHostAllowed, wideNetworkOf } from '#kit/net/address.ts'
import { createPresence } from '#kit/net/mdns/mdns.ts'
import { certificatePart, type LateAuthority, lateAuthority, machineNames } from '#kit/net/own-authority.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createLogGate } from '#kit/pure/pace.ts'
import { counted } from '#kit/pure/text.ts'
import { alarmPart } from '#kit/records/alarms.ts'
import type { Ledger } from '#kit/records/ledger.ts'
import { openRecords, type Records } from '#kit/records/records.ts'
import type { AssembleContext, Assembled } from '#kit/run/daemon.ts'
import { openSeal } from '#kit/store/sealing.ts'
import { artifactReader } from './api/artifact-json.ts'
import { artifactRoutes, panelArtifactRoutes } from './api/artifact-routes.ts'
import { createCallers, publisherFence, SESSION_MS, updatesDialect } from './api/callers.ts'
import { faultStatus } from './api/fault-status.ts'
import { installRoutes } from './api/install-routes.ts'
import { panelInstallationRoutes, panelReleaseRoutes } from './api/panel-release-routes.ts'
import { panelRoutes } from './api/panel-routes.ts'
import { publishRoutes } from './api/publish-routes.ts'
import { PRODUCT, systemRoutes } from './api/system-routes.ts'
import { updateRoutes } from './api/update-routes.ts'
import type { UpdatesConfig } from './config.ts'
import { type Artifacts, createArtifacts } from './core/artifacts/artifacts.ts'
import type { Blobs } from './core/ports.ts'
import { Registry } from './core/registry/registry.ts'
import { type Claims, createClaims } from './core/releases/claims.ts'
import { Deltas } from './core/releases/deltas.ts'
import { createPublishing } from './core/releases/publishing.ts'
import { Releases } from './core/releases/releases.ts'
import { createTransfers, type Transfers } from './core/releases/transfers.ts'
import { type BlobRules, freeBytesOf, openBlobs } from './io/blobs.ts'
import { firstPassword, openPeople, openUpdateKey, type People, type UpdateKey } from './io/people.ts'
import { installerProofOf, proofOfArchive, readSignedRelease } from './io/proofs.ts'
import { createSessions, type PanelSessions } from './io/sessions.ts'
import { openStore, type UpdatesStore } from './io/store.ts'
import { bucketAddress } from './wire/store-address.ts'

type Context = AssembleContext<UpdatesConfig>

const DAY_MS = 86_400_000
/** At most one log line in this time about ids that were not registered, and about what was not written. */
const LINE_MS = 60_000

/** Everything that lives as long as the daemon. */
interface House {
  people: People
  updateKey: UpdateKey
  store: UpdatesStore
  sessions: PanelSessions
  folder: string
  releaseFiles: Blobs
  artifactFiles: Blobs
  registry: Registry
  releases: Releases
  deltas: Deltas
  artifacts: Artifacts
  claims: Claims
  transfers: Transfers
  installerTransfers: Transfers
  authority: LateAuthority
}

/** Loads the stored state, and adds the parts in the order of their dependencies. */
export async function assemble(context: Context): Promise<Assembled> {
  const { config, parts } = context
  const records = openRecords(context)
  const house = await furnish(context, records)
  const { authority, people, registry, store } = house
  const server = serverOf(context, house, records)
  people.list.onChange(() => server.endSignedOut())
  const says = () => ({
    ...{ role: 'updates', name: hostname() },
    ...(config.http.tls ? { more: { scheme: 'https' } } : {}),
  })
  parts.add({ name: 'journal', start: () => {}, stop: () => records.close() })
  parts.add(alarmPart(context, records.ledger, { says }))
  parts.add({ name: 'store', start: () => followStore(house), stop: () => store.close() })
  parts.add({ name: 'registry', start: () => registry.start(), stop: () => registry.stop() })
  parts.add(certificatePart(authority, config.http))
  parts.add({ name: 'http', start: async () => void (await server.listen()), stop: () => server.close() })
  parts.add(createPresence({ ...context, daemon: 'updates', port: () => server.address().port, says }).part)
  return { status: () => statusLine(house) }
}

async function furnish(context: Context, records: Records): Promise<House> {
  const { clock, config, log, stateFolder } = context
  const store = await storeOf(context, records)
  const parts = { clock, log, stateFolder, documents: store.documents }
  const people = await openPeople({ ...parts, http: config.http })
  const password = await firstPassword(people.users, config.admin.password_file)
  // Shown this once; only its hash is kept. Standard output is for the person who starts it, the log is on another.
  if (password !== undefined) process.stdout.write(`admin password: ${password}\n`)
  const updateKey = await openUpdateKey(parts, config.publishing.update_key)
  const sessions = createSessions({
    ...{ clock, keeper: store.keeper, records: store.stored.session, users: people.list },
    ...{ lifeMs: SESSION_MS, most: config.http.max_tokens },
  })
  // With a bucket, what is looked at is the disk of the state.
  const folder = config.blobs.url === '' ? filesFolder(config, stateFolder) : stateFolder
  const files = await filesOf(context, folder, store)
  const downloads = config.downloads
  const transfers = createTransfers({
    ...{ total: downloads.total, perAddress: downloads.per_address },
    ...{ perInstallation: downloads.per_installation, retryMs: downloads.retry_ms },
  })
  const installerTransfers = createTransfers({
    ...{ total: downloads.installers, perAddress: downloads.installers_per_address, retryMs: downloads.retry_ms },
  })
  const registry = registryOf(context, store)
  const onGone = removerOf(files.releaseFiles, log)
  const releases = releasesOf(context, {
    ...{ store, registry, ledger: records.ledger, transfers: [transfers, installerTransfers], onGone },
    // Made below, before anything can be deleted.
    onDeleted: () => void deltas.prune(),
  })
  const deltas = new Deltas({
    ...{ clock, keeper: store.keeper, records: store.stored.delta, most: config.releases.deltas, releases, onGone },
    onUnwritten: (fault) => log.warning('deltas of a release that is gone are not removed yet', { fault }),
  })
  const artifacts = createArtifacts({
    ...{ clock, keeper: store.keeper, blobs: files.artifactFiles, records: store.stored.artifact },
    ...{ most: config.artifacts.max, onGone: removerOf(files.artifactFiles, log) },
  })
  const claims = createClaims({
    ...{ clock, keeper: store.keeper, records: store.stored.claim, daemon: store.daemon, onGone },
    mostMs: config.uploads.whole_ms,
    onUnwritten: (fault) => log.warning('the end of an upload is not written', { fault }),
  })
  const authority = lateAuthority({
    ...{ folder: stateFolder, clock, log, product: PRODUCT },
    machine: () => machineNames(config.http),
  })
  return {
    ...{ people, updateKey, sessions, store, folder, registry, releases, deltas, artifacts, claims },
    ...{ transfers, installerTransfers, authority },
    ...files,
  }
}

function filesFolder({ storage }: UpdatesConfig, stateFolder: string): string {
  return storage.folder || join(dirname(stateFolder), `${basename(stateFolder)}-files`)
}

/** What a backup of the state does not have. */
export function keptElsewhere(config: UpdatesConfig, stateFolder: string): string[] {
  const records =
    'the records, which are in the database of store.url: copy it by pg_dump, and put it back by pg_restore while no update server runs on it'
  const files =
    config.blobs.url === ''
      ? `what was published, which is in ${filesFolder(config, stateFolder)}: copy that folder too`
      : 'what was published, which is in the bucket of blobs.url: copy that too'
  return [...(config.store.url === '' ? [] : [records]), files]
}

async function storeOf(context: Context, { ledger }: Records): Promise<UpdatesStore> {
  const { clock, config, log, parts, stateFolder } = context
  const broken = Promise.withResolvers<never>()
  parts.own(broken.promise, 'the store')
  return await openStore({
    ...{ clock, stateFolder, seal: await openSeal(stateFolder), onBroken: broken.reject },
    ...{ config: config.store, busyMs: config.registration.busy_ms },
    onAway(fault) {
      log.error('the database does not answer', { fault })
      const sentence = `The database does not answer. Checks are answered from memory, downloads go on, and nothing can be changed.`
      ledger.raise({ what: 'store_away', where: 'PostgreSQL', severity: 'fault', sentence })
    },
    onBack() {
      log.notice('the database answers again')
      ledger.clear('store_away', 'PostgreSQL')
    },
  })
}

/** From now on this daemon knows what others on its store write. */
async function followStore({ artifacts, claims, deltas, registry, releases, sessions, store }: House): Promise<void> {
  await store.follow({
    installation: (changes) => registry.follow(changes),
    release: (changes) => releases.follow(changes),
    delta: (changes) => deltas.follow(changes),
    artifact: artifacts.follow,
    session: sessions.follow,
    claim: claims.follow,
  })
  await claims.start()
  await deltas.prune()
}

interface ReleaseParts {
  store: UpdatesStore
  registry: Registry
  ledger: Ledger
  transfers: readonly Transfers[]
  onGone(file: string): void
  onDeleted(): void
}

function releasesOf(
  { clock, config }: Context,
  { ledger, onDeleted, onGone, registry, store, transfers }: ReleaseParts,
): Releases {
  return new Releases({
    ...{ clock, keeper: store.keeper, records: store.stored.release, most: config.releases.max },
    rollout: { haltPercent: config.releases.halt_percent, haltReports: config.releases.halt_reports },
    installations: () => registry.list(),
    onGone(release, gone) {
      for (const one of transfers) one.endOf(release)
      for (const file of gone) onGone(file)
      if (gone.length > 0) onDeleted()
    },
    onUnhalted: (version) => ledger.clear('release_halted', version),
    onHalted(version, { applied, failed }) {
      const sentence = `Release ${version} is not offered any more: ${failed} of ${applied + failed} installations reported a failure.`
      ledger.raise({ what: 'release_halted', where: version, severity: 'fault', sentence })
    },
  })
}

/** Removes files that are not needed any more; those that it cannot are removed at a start, when they are old. */
function removerOf(blobs: Pick<Blobs, 'remove'>, log: Log) {
  return (file: string) => void blobs.remove(file).catch((fault) => log.warning('file not removed', { file, fault }))
}

async function filesOf({ clock, config, log }: Context, folder: string, { documents, stored }: UpdatesStore) {
  const { free_bytes: freeBytes, orphan_days: orphanDays } = config.storage
  const nowAt = clock.epochMs()
  // Where the store is shared, the folder may be: others are writing files, and have some that are not named yet.
  const unfinishedBefore = documents ? nowAt - config.uploads.whole_ms : Number.POSITIVE_INFINITY
  const orphansBefore = Math.min(nowAt - orphanDays * DAY_MS, unfinishedBefore)
  const rules = { freeBytes, orphansBefore, unfinishedBefore }
  const isForGroup = config.downloads.offload !== ''
  const packages = stored.release.flatMap(({ installer, update }) => [installer, update])
  const named = [...packages, ...stored.delta].flatMap((one) => one?.file ?? [])
  const open = await openerOf({ clock, config }, folder, rules)
  const releases = await open('releases', named, isForGroup)
  const artifacts = await open(
    'artifacts',
    stored.artifact.map(({ file }) => file),
    false,
  )
  const missing = [...releases.missing, ...artifacts.missing]
  if (missing.length > 0) log.error('published files are missing: put them back or publish again', { folder, missing })
  return { releaseFiles: releases.blobs, artifactFiles: artifacts.blobs }
}

/** Opens a part of the files, in the folder or in the bucket that is set. */
async function openerOf(
  { clock, config }: Pick<Context, 'clock' | 'config'>,
  folder: string,
  rules: Omit<BlobRules, 'isForGroup'>,
) {
  const { blobs, uploads } = config
  const address = bucketAddress(blobs.url)
  if (!address)
    return (part: string, named: readonly string[], isForGroup: boolean) =>
      openBlobs(join(folder, part), new Set(named), { ...rules, isForGroup })
  if (config.downloads.offload !== '')
    throw new Fault('files_unusable', 'downloads.offload needs the files in a folder: leave it empty, or blobs.url')
  const { openBucket } = await import('./io/bucket.ts')
  const s3 = {
    ...{ clock, region: blobs.region, bucket: address.bucket, accessKey: blobs.access_key },
    ...{ endpoint: blobs.endpoint || `https://s3.${blobs.region}.amazonaws.com` },
    ...{ secretFile: blobs.secret_file, caFile: blobs.ca_file, answerMs: blobs.answer_ms, tries: blobs.tries },
    ...{ retryFirstMs: blobs.retry_first_ms, retryMaxMs: blobs.retry_max_ms },
  }
  const own = { ...rules, partBytes: blobs.part_bytes, mostBytes: uploads.max_bytes }
  return (part: string, named: readonly string[]) => openBucket(s3, `${address.prefix}${part}/`, new Set(named), own)
}

function registryOf({ clock, config, log }: Context, { keeper, stored }: UpdatesStore): Registry {
  const bounds = config.registration
  const refused = createLogGate(clock, LINE_MS, (times, facts) =>
    log.warning('registrations_refused', { times, ...facts }),
  )
  const unwritten = createLogGate(clock, LINE_MS, (times, facts) =>
    log.error('installations_unwritten', { times, ...facts }),
  )
  return new Registry({
    ...{ clock, keeper, records: stored.installation },
    ...{ shareOf: createShareOf(config.connections.trusted), siteOf: wideNetworkOf },
    bounds: {
      ...{ most: bounds.max, pendingMax: bounds.pending_max, perAddressPerHour: bounds.per_address_per_hour },
      ...{ addresses: bounds.addresses, pendingMs: bounds.pending_days * DAY_MS, writeMs: bounds.write_ms },
    },
    onRefused: (why) => refused.note({ why }),
    onUnwritten: (fault) => unwritten.note({ fault }),
  })
}

function serverOf(context: Context, house: House, records: Records): HttpServer {
  const { clock, config, log, version } = context
  const { authority, people, sessions, store, updateKey } = house
  const { ledger } = records
  const isUpdateKey = (text: string) => updateKey.isRight(text)
  const callers = createCallers({ sessions, isUpdateKey, limiter: people.limiter })
  const metrics = createMetrics({ process: true })
  measureLedger(metrics, ledger)
  measureHouse(metrics, house)
  const server = createHttpServer({
    ...{ log, clock, config: config.http, version, metrics, faultStatus, title: PRODUCT, dialect: updatesDialect },
    tls: config.http.tls ? { config: config.http, identity: () => authority.identity() } : undefined,
    shareOf: createShareOf(config.connections.trusted),
    async identify(knock) {
      // Whoever signs in at one daemon, or changes something there, finds it at the others at once.
      if (callers.sessionOf(knock.headers) !== undefined) await store.refresh().catch(() => {})
      return await callers.callerOf(knock)
    },
    isStillSignedIn: (caller) => callers.isStillSignedIn(caller),
    browsers: { takesHost: (host) => isHostAllowed(host, config.http.hosts), takesOrigin: () => false },
    fence: publisherFence,
    routes: [
      ...panelRoutes({
        ...{ users: people.users, book: people.book, sessions, callers, updateKey },
        ...{ recorder: records.recorder, refusals: records.refusals, journal: records.journal },
        ...{ isSecure: config.http.tls, settings: () => settingsOf(config) },
        endSignedOut: () => server.endSignedOut(),
      }),
      ...routesOf(context, house, records),
      ...journalRoutes({ journal: records.journal, clock }).map(withoutTicket),
      ...ledgerRoutes({ ledger, recorder: records.recorder, clock, shows: (caller) => caller?.role === 'admin' }).map(
        withoutTicket,
      ),
    ],
    web: { folder: join(import.meta.dirname, 'web/updates'), also: { '/admin': '/' } },
  })
  return server
}

function routesOf({ clock, config, log, version }: Context, house: House, { recorder }: Records): Route[] {
  const { artifacts, claims, deltas, folder, installerTransfers, registry, releases, transfers, updateKey } = house
  const { artifacts: most, downloads, publishing, storage, uploads } = config
  const files = { files: house.releaseFiles, isOffloaded: downloads.offload === 'x-accel-redirect' }
  const shareOf = createShareOf(config.connections.trusted)
  const limits = { idleMs: uploads.idle_ms, wholeMs: uploads.whole_ms, retryMs: uploads.retry_ms }
  const artifactParts = {
    ...{ registry, transfers, shareOf, recorder, readJson: artifactReader(most.values) },
    files: house.artifactFiles,
    limits: { fileBytes: most.file_bytes, atOnce: most.at_once, ...limits },
    artifacts,
  }
  const taking = createPublishing({
    ...{ clock, claims, blobs: house.releaseFiles, releases, deltas, proofOf: proofOfArchive },
    onGone: removerOf(house.releaseFiles, log),
    limits: {
      ...{ atOnce: uploads.at_once, mostBytes: uploads.max_bytes, retryMs: uploads.retry_ms },
      ...{ paceBytes: uploads.pace_bytes, paceMs: uploads.pace_ms },
    },
  })
  return [
    ...updateRoutes({
      registry,
      releases,
      deltas,
      transfers,
      ...files,
      shareOf,
      window: config.releases.window,
    }),
    ...publishRoutes({
      ...{ log, recorder, readSigned: readSignedRelease },
      bounds: { maxBytes: uploads.max_bytes, idleMs: uploads.idle_ms, wholeMs: uploads.whole_ms },
      publishing: taking,
    }),
    ...installRoutes({
      ...{ ...files, releases, shareOf, transfers: installerTransfers },
      ...{ publicUrl: publishing.public_url, isSecure: config.http.tls, proofOf: installerProofOf },
    }),
    ...artifactRoutes(artifactParts),
    ...panelArtifactRoutes(artifactParts),
    ...panelInstallationRoutes({ registry, releases, recorder }),
    ...panelReleaseRoutes({ publishing: taking, releases, deltas, recorder }),
    ...systemRoutes({
      ...{ clock, version, registry, releases, authority: house.authority, name: hostname },
      downloads: () => ({ updates: transfers.many(), installers: installerTransfers.many() }),
      disk: async () => ({ freeBytes: await freeBytesOf(folder), reservedBytes: storage.free_bytes }),
      isUpdateKeySet: () => updateKey.source().from !== 'none',
    }),
  ]
}

function settingsOf({ artifacts, publishing, releases, uploads }: UpdatesConfig) {
  return {
    ...{ upload_bytes: uploads.max_bytes, artifact_bytes: artifacts.file_bytes, session_ms: SESSION_MS },
    ...{ public_url: publishing.public_url, halt_percent: releases.halt_percent, window: releases.window },
  }
}

/** The cookie of a page goes with a download too: no ticket is needed. */
function withoutTicket({ ticket: _, ...route }: Route): Route {
  return route
}

function measureHouse(metrics: Metrics, { installerTransfers, registry, store, transfers }: House): void {
  metrics.gauge({ name: 'store_reachable', help: 'Whether the database answers (1)', labels: [] }, () => [
    { labels: {}, value: Number(store.isReachable()) },
  ])
  metrics.gauge({ name: 'installations', help: 'Installations by state', labels: ['state'] }, () =>
    Object.entries(registry.counts()).map(([state, value]) => ({ labels: { state }, value })),
  )
  metrics.gauge({ name: 'downloads_running', help: 'Files that are being sent', labels: ['kind'] }, () => [
    { labels: { kind: 'update' }, value: transfers.many() },
    { labels: { kind: 'installer' }, value: installerTransfers.many() },
  ])
}

/** @returns a text without line breaks */
function statusLine({ registry, releases }: House): string {
  const { enabled, pending } = registry.counts()
  const waiting = pending > 0 ? `, ${pending} wait to be enabled` : ''
  return `serves ${counted(releases.list().length, 'release')} to ${counted(enabled, 'installation')}${waiting}`
}
