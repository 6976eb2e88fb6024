/** Assembles the recorder. The only file that knows both io/ and api/. */
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import type { Timer } from '#kit/clock.ts'
import { journalRoutes } from '#kit/http/kit-routes.ts'
import { ledgerRoutes, measureLedger } from '#kit/http/ledger-routes.ts'
import { createMetrics, type Metrics } from '#kit/http/metrics.ts'
import type { Route } from '#kit/http/route.ts'
import { createHttpServer, type HttpServer } from '#kit/http/server.ts'
import { createShareOf, isHostAllowed } from '#kit/net/address.ts'
import { createPresence } from '#kit/net/mdns/mdns.ts'
import { certificatePart, type LateAuthority, lateAuthority, machineNames } from '#kit/net/own-authority.ts'
import { checkTargetHost } from '#kit/net/target.ts'
import type { Fault } from '#kit/pure/fault.ts'
import { counted } from '#kit/pure/text.ts'
import { TOKEN_LIFE_MS } from '#kit/pure/users.ts'
import { alarmPart } from '#kit/records/alarms.ts'
import type { Ledger } from '#kit/records/ledger.ts'
import { openRecords, type Records } from '#kit/records/records.ts'
import type { AssembleContext, Assembled, KeptAccounts } from '#kit/run/daemon.ts'
import type { Part } from '#kit/run/parts.ts'
import { type Callers, createCallers, hearsLedger, recorderDialect, wholeFence } from './api/callers.ts'
import { cameraRoutes } from './api/camera-routes.ts'
import { clockRoutes } from './api/clock-routes.ts'
import { discoveryRoutes } from './api/discovery-routes.ts'
import { createExtraction } from './api/extraction.ts'
import { faultStatus } from './api/fault-status.ts'
import { footageRoutes } from './api/footage-routes.ts'
import { licenceRoutes } from './api/licence-routes.ts'
import { mqttRoutes } from './api/mqtt-routes.ts'
import { peopleRoutes } from './api/people-routes.ts'
import { pictureRoutes } from './api/picture-routes.ts'
import { patrolRoutes } from './api/ptz-patrol-routes.ts'
import { ptzRoutes } from './api/ptz-routes.ts'
import { storageRoutes } from './api/storage-routes.ts'
import { PRODUCT, systemRoutes } from './api/system-routes.ts'
import { type Clocks, clocksOf } from './assemble/clocks.ts'
import { discoveryOf, openerOf } from './assemble/discovery.ts'
import { footageOf, keepMsOf, storageOf } from './assemble/footage.ts'
import { detectionOf, planMoves, ruleMoves, ruleTalker } from './assemble/joins.ts'
import { licenceOf } from './assemble/licence.ts'
import { mqttOf } from './assemble/mqtt.ts'
import { createPictures, type Pictures } from './assemble/pictures.ts'
import { openPlans, type Plans, planRoutesOf } from './assemble/plans.ts'
import { ptzOf, type Turning } from './assemble/ptz.ts'
import { createReacting, type Reacting } from './assemble/reacting.ts'
import { createSeeing, type Seeing } from './assemble/sight.ts'
import { type Talking, talkOf } from './assemble/talk.ts'
import { updateRoutesOf } from './assemble/updating.ts'
import { createWatching, type Watching } from './assemble/watching.ts'
import type { RecorderConfig } from './config.ts'
import { type CameraBook, type CameraRecord, createCameraBook } from './core/cameras/book.ts'
import { Camera } from './core/cameras/camera.ts'
import type { Discovery } from './core/cameras/discovery.ts'
import type { TimeServer } from './core/clocks/time-server.ts'
import type { Cut } from './core/footage/footage.ts'
import type { Licence } from './core/licence/licence.ts'
import type { Mqtt } from './core/mqtt/mqtt.ts'
import { pictureAt } from './core/pictures/choice.ts'
import { createPlanAiming, type PlanAiming } from './core/plans/aiming.ts'
import type { KeptFile, StreamOpener } from './core/ports.ts'
import { createStream, type StreamLimits } from './core/recording/stream.ts'
import { createStreamMemory, type StreamMemory } from './core/recording/stream-memory.ts'
import { createWall } from './core/recording/timeline.ts'
import type { Site } from './core/site.ts'
import { createStorage } from './core/storage/storage.ts'
import type { StorageBook } from './core/storage/storage-book.ts'
import { realFolder } from './io/footage-disk.ts'
import { fragmentOf, streamCut, tracksOfFile } from './io/footage-reader.ts'
import type { Footage } from './io/footage-store.ts'
import { digest, keptAccounts, newId, openCameras, openPeople, openSite } from './io/state-files.ts'

type Context = AssembleContext<RecorderConfig>

const EXPIRY_LOOK_MS = 500

/** For `plantroom password`. */
export function openAccounts(stateFolder: string): Promise<KeptAccounts> {
  return keptAccounts(stateFolder)
}

/** Numbers of the ledger leave gaps by chance: an account of some cameras cannot count the alarms of others by them. */
const ledgerStep = () => randomInt(1, 4)

/** Everything that lives as long as the daemon. */
interface House {
  people: Awaited<ReturnType<typeof openPeople>>
  site: Site
  storage: StorageBook
  footage: Footage
  wall: ReturnType<typeof createWall>
  cameras: CameraBook
  watching: Watching
  reacting: Reacting
  discovery: Discovery
  clocks: Clocks
  pictures: Pictures
  plans: Plans
  ptz: Turning
  seeing: Seeing
  talking: Talking
  aiming: PlanAiming
  authority: LateAuthority
  /** Undefined on a recorder that is not licensed. */
  licence: Licence | undefined
  mqtt: Mqtt
}

/** Loads the stored state, and adds the parts in the order of their dependencies. */
export async function assemble(context: Context): Promise<Assembled> {
  const { config, parts } = context
  const records = openRecords(context, ledgerStep)
  const house = await furnish(context, records)
  const { authority, cameras, footage, people, site, wall } = house
  const server = serverOf(context, house, records)
  // What a new role, a new password or a removal ends is ended now, not at the next heartbeat.
  people.list.onChange(() => server.endSignedOut())

  const says = () => ({
    role: 'recorder',
    name: site.name(),
    ...(config.http.tls ? { more: { scheme: 'https' } } : {}),
  })
  parts.add({ name: 'journal', start: () => {}, stop: () => records.close() })
  parts.add(people.sessions.part)
  parts.add(alarmPart(context, records.ledger, { says }))
  parts.add(footagePart(context, footage))
  parts.add({
    name: 'cameras',
    start: () => cameras.start(),
    async stop() {
      await cameras.stop()
      wall.close()
    },
  })
  parts.add({ name: 'clocks', start: () => house.clocks.start(), stop: () => house.clocks.stop() })
  const { licence, mqtt } = house
  if (licence) parts.add({ name: 'licence', start: () => licence.start(), stop: () => licence.stop() })
  parts.add({ name: 'mqtt', start: () => mqtt.start(), stop: () => mqtt.stop(), stopDeadlineMs: 10_000 })
  parts.add(house.reacting.part)
  parts.add({ name: 'talk', start: () => {}, stop: () => house.talking.talk.close() })
  parts.add(house.pictures.part)
  parts.add(house.ptz.part)
  parts.add(house.watching.part)
  parts.add(house.seeing.part)
  parts.add(certificatePart(authority, config.http))
  parts.add(httpPart(context, server))
  parts.add(createPresence({ ...context, daemon: 'recorder', port: () => server.address().port, says }).part)
  return { status: () => statusLine(house) }
}

/** What a token or an account that expires has open ends soon after, as with one that is revoked. */
function httpPart({ clock }: Context, server: HttpServer): Part {
  let looking: Timer | undefined
  return {
    name: 'http',
    async start() {
      await server.listen()
      looking = clock.every(EXPIRY_LOOK_MS, () => server.endSignedOut())
    },
    async stop() {
      looking?.cancel()
      await server.close()
    },
  }
}

/** Outlives the cameras, whose last files it puts on the disk. */
function footagePart({ clock, config }: Context, footage: Footage): Part {
  let trimming: Timer | undefined
  return {
    name: 'footage',
    start() {
      trimming = clock.every(config.storage.trim_s * 1000, () => void footage.trim())
    },
    async stop() {
      trimming?.cancel()
      await footage.close()
    },
  }
}

async function furnish(context: Context, records: Records): Promise<House> {
  const { ledger } = records
  const { clock, config, log, parts, stateFolder } = context
  const limits = { accounts: config.users.max, tokens: config.users.api_tokens }
  const people = await openPeople({ clock, log, stateFolder, http: config.http, limits })
  const site = await openSite(stateFolder, log)
  // Ends the daemon: systemd starts it again, and a new index is made while recording goes on.
  const onIndexDamaged = (fault: Fault) => parts.own(Promise.reject(fault), 'the index of footage')
  const storage = await storageOf({ ...context, onIndexDamaged })
  let seeing: Seeing | undefined
  const onRemoved: Seeing['footageRemoved'] = (...gone) => seeing?.footageRemoved(...gone)
  const footage = await footageOf({ ...context, onIndexDamaged, onRemoved }, storage, ledger)
  const wall = createWall(clock, footage.newestAt())
  const authority = lateAuthority({
    ...{ folder: stateFolder, clock, log, product: PRODUCT },
    machine: () => machineNames(config.http),
  })
  const opener = openerOf(context)
  const streams = {
    opener,
    memory: createStreamMemory(config.cameras.held_bytes, config.cameras.spare_bytes),
    limits: streamLimits(config),
  }
  let cameras: CameraBook
  const pictures = createPictures(context, ledger)
  const plans = await openPlans(context, (change) => watching.planChanged(change))
  const watching = createWatching(context, {
    ...{ wall, ...streams, cameras: () => cameras, decoder: pictures.decoder, plans: plans.plans },
  })
  const base = { people, site, storage, footage, wall, authority, pictures, plans, watching }
  const care = await careOf(context, records, { ...base, ...streams })
  cameras = care.cameras
  seeing = care.seeing
  return { ...base, ...care, discovery: discoveryOf(context, { cameras, opener }) }
}

interface CareParts extends Omit<CameraParts, 'ledger' | 'licence' | 'onCameras' | 'reacting'> {
  people: House['people']
  pictures: Pictures
  site: Site
  storage: StorageBook
}

/** Cameras, and what looks after them. */
async function careOf(context: Context, records: Records, parts: CareParts) {
  const { footage, people, site, storage, wall, watching } = parts
  const { ledger } = records
  const licence = await licenceOf(context, {
    ...{ conditions: ledger, cameras: () => cameras.list().length },
    onChange: (state) => watching.feed.tellStale({ type: 'license-changed', state }, () => true),
  })
  const clocks = await clocksOf(context, ledger, () => cameras.list().map(({ record }) => record))
  const keeper = createStorage({ book: storage, footage })
  const aiming = createPlanAiming({ plans: parts.plans.plans, moves: planMoves(() => ptz) })
  const reacting = await createReacting(context, {
    ...{ ...records, feed: watching.feed, writes: clocks.writes },
    ...{ cameras: () => cameras, zone: () => clocks.zone.name() },
    hasAccount: (id) => people.list.all().some((one) => one.id === id),
    preserve: (wish) => keeper.preserve(wish, false),
    moves: ruleMoves({ cameras: () => cameras, plans: parts.plans.plans, aiming: () => aiming, ptz: () => ptz }),
    talker: ruleTalker(
      () => cameras,
      () => talking,
    ),
    history: (wish) => seeing.density(wish),
    onClaim: (event) => seeing.claimed(event),
  })
  const onCameras = () => {
    seeing.camerasChanged()
    ptz.camerasChanged()
  }
  const cameras: CameraBook = await camerasOf(context, { ...parts, ledger, licence, reacting, onCameras })
  const keepMs = (camera: string) => keepMsOf(storage, camera)
  const seeing: Seeing = await createSeeing(context, {
    ...{ ledger, wall, watching, cameras, footage, keepMs, licence, decoder: parts.pictures.decoder },
    pictureAt: pictureFrom(context, parts),
  })
  const ptz: Turning = await ptzOf(context, {
    ...{ ledger, cameras, writes: clocks.writes, decoder: parts.pictures.decoder, newest: watching.newest },
    ...{ feed: watching.feed, zone: () => clocks.zone.name() },
  })
  const talking: Talking = await talkOf(context, cameras)
  seeing.onEvent((event, phase) => reacting.detected(detectionOf(event, phase, seeing.nameOf), phase))
  seeing.onSighting((sighting) => ptz.follows.sighted(sighting))
  const { goingOn, onEvent, onSighting } = seeing
  const sources = { onCamera: watching.onCamera, goingOn, onEvent, onSighting, onAlert: reacting.onAlert }
  const mqtt = await mqttOf(context, { cameras, ledger, licence, site, sources })
  return { aiming, cameras, clocks, licence, mqtt, ptz, reacting, seeing, talking }
}

/** Bounds of streams that are recorded. */
function streamLimits({ cameras: bounds, storage }: RecorderConfig): StreamLimits {
  return {
    ...{ fileMs: storage.file_s * 1000, filesPerMinute: storage.files_per_minute },
    ...{ groupBytes: bounds.group_bytes, pictureBytes: bounds.picture_bytes, soundBytes: bounds.sound_bytes },
    ...{ reorderPackets: bounds.reorder_packets, reorderBytes: bounds.reorder_bytes, reorderMs: bounds.reorder_ms },
    ...{ slewPpm: bounds.slew_ppm, toleranceMs: bounds.tolerance_ms },
  }
}

interface CameraParts extends Pick<House, 'footage' | 'licence' | 'plans' | 'reacting' | 'wall' | 'watching'> {
  ledger: Ledger
  opener: StreamOpener
  memory: StreamMemory
  limits: StreamLimits
  /** Cameras were added, changed or removed. */
  onCameras(): void
}

async function camerasOf(context: Context, parts: CameraParts): Promise<CameraBook> {
  const { footage, ledger, licence, limits, memory, onCameras, opener, plans, reacting, wall, watching } = parts
  const { clock, config, log, stateFolder } = context
  const { cameras: bounds } = config
  const pictureMs = bounds.picture_ms
  const retry = { firstMs: bounds.retry_first_ms, maxMs: bounds.retry_max_ms }

  function make({ audio, id, mode, name, onvif, password, transport, url, username }: CameraRecord): Camera {
    const onPicture = () => camera.pictured()
    const about = { where: name, about: id }
    const tap = watching.tapOf(id)
    const store = mode === 'record' ? footage : undefined
    const stream = createStream({ camera: id, clock, wall, store, tap, memory, limits, onPicture })
    const place = {
      url,
      username: username ?? undefined,
      password: password ?? undefined,
      isHashed: onvif?.isHashed === true,
      isHeard: audio,
      isUdp: transport === 'udp',
    }
    const onChange = () => {
      const { fault, state } = camera.health()
      watching.stateChanged()
      log.info('camera', { camera: name, state })
      if (state === 'recording' || state === 'off') ledger.clear('camera_lost', name, id)
      else if (fault) ledger.raise({ ...about, what: 'camera_lost', severity: 'fault', sentence: fault.message })
    }
    const onFlood = (fault: Fault | undefined) => {
      if (!fault) ledger.clear('camera_floods', name, id)
      else ledger.raise({ ...about, what: 'camera_floods', severity: 'warning', sentence: fault.message })
    }
    const isDiskReady = () => store?.isReady() ?? true
    const eventsStatus = () => reacting.eventsStatus(id)
    const camera: Camera = new Camera({
      ...{ place, clock, opener, stream, retry, pictureMs },
      ...{ isDiskReady, eventsStatus, onChange, onFlood },
    })
    return camera
  }

  const { records, save } = await openCameras(stateFolder, log)
  let known: readonly CameraRecord[] = records
  async function saveAndTell(next: CameraRecord[]): Promise<void> {
    await save(next)
    for (const { id, name } of known) {
      const now = next.find((one) => one.id === id)?.name
      if (now !== name) ledger.renamed(id, name, now)
    }
    known = next
    watching.camerasAre(next)
    plans.camerasAre(next)
    reacting.camerasAre(next)
    // Once the book has it.
    setImmediate(onCameras)
  }
  watching.camerasAre(records)
  plans.camerasAre(records)
  reacting.camerasAre(records)
  const licensed = () => licence?.cameraLimit() ?? null
  return createCameraBook({
    ...{ records, save: saveAndTell, make, newId, checkHost: checkTargetHost, most: bounds.max, licensed },
  })
}

function callersOf({ clock }: Context, { list: accounts, sessions, tokens }: House['people']): Callers {
  return createCallers({ clock, accounts, sessions: sessions.sessions, tokens, digest })
}

function serverOf(context: Context, house: House, records: Records): HttpServer {
  const { clock, config, log, version } = context
  const { authority, cameras, footage, people, pictures, site, wall } = house
  const { plans } = house.plans
  const { journal, ledger, recorder, refusals } = records
  const callers = callersOf(context, people)
  const { masked_streams: maskedStreams, streams, total_streams: totalStreams } = config.playback
  const extraction = createExtraction({ clock, recorder, limits: { streams, totalStreams, maskedStreams } })
  const metrics = createMetrics({ process: true })
  measureLedger(metrics, ledger)
  measureTimeServer(metrics, house.clocks.timeServer)
  const server = createHttpServer({
    ...{ log, clock, config: config.http, version, metrics, faultStatus, title: PRODUCT, dialect: recorderDialect },
    tls: config.http.tls ? { config: config.http, identity: () => authority.identity() } : undefined,
    shareOf: createShareOf(config.connections.trusted),
    identify: (knock) => callers.callerOf(knock),
    isStillSignedIn: (caller) => callers.isStillSignedIn(caller),
    browsers: { takesHost: (host) => isHostAllowed(host, config.http.hosts), takesOrigin: () => false },
    fence: wholeFence(callers),
    routes: [
      ...systemRoutes({
        ...{ clock, version, users: people.users, callers, cameras, site, footage, authority, recorder },
        ...{ decoder: pictures.decoder, detector: house.seeing },
        clockAheadMs: () => wall.aheadMs(),
        keepBytes: () => house.storage.kept().keepBytes,
        timeZone: () => house.clocks.zone.name(),
      }),
      ...peopleRoutes({
        ...{ clock, callers, journal, recorder, refusals, accounts: people.accounts, tokens: people.tokens },
        ...{ sessionLifeMs: TOKEN_LIFE_MS, isSecure: config.http.tls },
        ...{ site, users: people.users },
        endSignedOut: () => server.endSignedOut(),
      }),
      ...journalRoutes({ journal, clock }).map(withoutTicket),
      ...ledgerRoutes({ ledger, recorder, clock, shows: hearsLedger(callers) }).map(withoutTicket),
      ...cameraRoutes({ ...{ callers, cameras, plans, recorder }, hide: (camera) => house.watching.hide(camera) }),
      ...discoveryRoutes({ callers, discovery: house.discovery, plans, recorder }),
      ...planRoutesOf(context, { callers, cameras, plans: house.plans, recorder, aiming: house.aiming }),
      ...clockRoutes({ callers, cameras, recorder, ...house.clocks }),
      ...mqttRoutes({ clock, recorder, mqtt: house.mqtt }),
      ...licenceRoutes({ callers, recorder, licence: house.licence, cameras: () => cameras.list().length }),
      ...updateRoutesOf(context, { licence: house.licence, recorder }),
      ...ptzRoutes({ clock, callers, cameras, recorder, ...house.ptz }),
      ...patrolRoutes({ callers, cameras, recorder, ...house.ptz }),
      ...storageRoutes({
        ...{ clock, callers, cameras, footage, recorder, realFolder, stateFolder: context.stateFolder },
        storage: createStorage({ book: house.storage, footage }),
      }),
      ...footageRoutes({ callers, cameras, extraction, ...footageOfRoutes(context, house) }),
      ...pictureRoutes({
        ...{ callers, cameras, extraction, decoder: pictures.decoder },
        ...{ clock, newest: house.watching.newest, pictureAt: pictureFrom(context, house) },
        readMs: config.storage.stuck_ms,
      }),
      ...house.reacting.routes(callers),
      ...house.talking.routes({ callers, plans, recorder }),
      house.watching.route(callers),
      ...house.seeing.routes({
        ...{ callers, recorder, decoder: pictures.decoder, newest: house.watching.newest },
        ...{ licence: house.licence, pictureAt: pictureFrom(context, house), timeZone: () => house.clocks.zone.name() },
      }),
    ],
    sockets: house.watching.sockets(callers),
    web: { folder: join(import.meta.dirname, 'web/recorder'), also: { '/playback': '/', '/events': '/' } },
  })
  return server
}

function measureTimeServer(metrics: Metrics, { counts }: TimeServer): void {
  const labels = ['result']
  metrics.counts({ name: 'time_questions_total', help: 'Questions for the time (NTP)', labels }, () => {
    const { answered, leftOut } = counts()
    return [
      { labels: { result: 'answered' }, value: answered },
      { labels: { result: 'left_out' }, value: leftOut },
    ]
  })
}

/** The cookie of a page goes with a download too: no ticket is needed. */
function withoutTicket({ ticket: _, ...route }: Route): Route {
  return route
}

function footageOfRoutes({ config }: Context, { footage, pictures: { recoder } }: House) {
  return {
    mostS: config.playback.most_s,
    mostBytes: mostDecoded(config),
    decoder: recoder,
    footage: {
      between: (camera: string, fromAt: number, toAt: number) => footage.between(camera, fromAt, toAt),
      spans: (camera: string, fromAt: number, toAt: number) => footage.spans(camera, fromAt, toAt),
      awaySpans: (camera: string, fromAt: number, toAt: number) => footage.awaySpans(camera, fromAt, toAt),
      bounds: (camera: string) => footage.bounds(camera),
      tracksOf: (file: KeptFile) => tracksOfFile(file),
      stream: (cut: Cut, goesOn: () => boolean) => streamCut(cut, goesOn),
      bytesOf: fragmentOf,
    },
  }
}

/** A group, and the picture at its end: a longer one is decoded nowhere. */
function mostDecoded({ cameras }: RecorderConfig): number {
  return cameras.group_bytes + cameras.picture_bytes
}

function pictureFrom({ config }: Context, { footage }: Pick<House, 'footage'>) {
  return (camera: string, at: number) =>
    pictureAt({
      ...{ at, files: footage.between(camera, at - 1, at + 1) },
      setsOf: async (file) => (await tracksOfFile(file)).sets,
      bytesOf: fragmentOf,
      mostBytes: mostDecoded(config),
    })
}

/** @returns a text without line breaks */
function statusLine({ cameras, people }: House): string {
  if (!people.users.isSetUp()) return 'nobody can sign in yet: POST /api/setup makes the administrator'
  const all = cameras.list().filter(({ record }) => record.enabled && record.mode === 'record')
  const recording = all.filter(({ camera }) => camera.health().state === 'recording')
  return `records ${recording.length} of ${counted(all.length, 'camera')}`
}
