/** Assembles the board: the only file that imports both io/ and api/. */
import { join } from 'node:path'
import { openHomes } from '#kit/auth/homes.ts'
import { hashPassword } from '#kit/auth/password.ts'
import { createSignInLimiter, type SignInLimiter } from '#kit/auth/sign-in-limiter.ts'
import { listenArgs, loginBounds, parseListen } from '#kit/config/tables.ts'
import { journalRoutes } from '#kit/http/kit-routes.ts'
import { ledgerRoutes, measureLedger } from '#kit/http/ledger-routes.ts'
import { createMetrics } from '#kit/http/metrics.ts'
import type { UploadBounds } from '#kit/http/route.ts'
import { createHttpServer, type HttpServer } from '#kit/http/server.ts'
import { createShareOf } from '#kit/net/address.ts'
import { alarmPart } from '#kit/records/alarms.ts'
import { openRecords, type Records } from '#kit/records/records.ts'
import { imageVersion, readOutcome } from '#kit/release/running-image.ts'
import type { AssembleContext, Assembled } from '#kit/run/daemon.ts'
import { faultStatus } from './api/answers.ts'
import { configRoutes } from './api/config-routes.ts'
import { createDoor } from './api/door.ts'
import { identifyRoutes, otaRoutes, restartRoutes } from './api/machine-routes.ts'
import { createNetworkRequests } from './api/network-requests.ts'
import { createOtaSocket } from './api/ota-socket.ts'
import { otherRoleRoutes } from './api/other-role-routes.ts'
import { measurePeers, peerRoutes } from './api/peer-routes.ts'
import { measureBoard, statusRoutes, statusSocketRoute } from './api/status-routes.ts'
import { fitnessOf, houseOf } from './assemble/house-of.ts'
import type { BoardConfig } from './config.ts'
import { boardConditions, type ConditionWatch, watchConditions } from './core/conditions.ts'
import type { Ota } from './core/machine/firmware.ts'
import type { RestartReason, RootHelper } from './core/machine/ports.ts'
import { openStartBook, type StartBook } from './core/machine/restart.ts'
import { streamText } from './core/peers/peer.ts'
import type { RoleHouse } from './core/role.ts'
import { openSettingsBook, type SettingsBook } from './core/settings/book.ts'
import { type BoardSettings, firstSettings } from './core/settings/settings.ts'
import type { AdminPassword } from './core/sign-in.ts'
import {
  type BoardStatus,
  createBoardStatus,
  createIdentify,
  createMeterFeed,
  createStatusFeed,
  type Identify,
  type MeterFeed,
  type StatusFeed,
} from './core/status.ts'
import { openFirmware } from './io/firmware.ts'
import { ownAddresses } from './io/interfaces.ts'
import {
  createFactsBook,
  type FactsBook,
  groupSeed,
  machineModel,
  machineName,
  readBootId,
  readTemperature,
  readTimeSync,
} from './io/machine-facts.ts'
import { createNeighbourhood, type Neighbourhood, PEER_AGENT } from './io/neighbourhood.ts'
import { createLampBlinker, createRootHelper, noLamp, type OwnMachine, openOwnMachine } from './io/own-machine.ts'
import { type BoardFiles, createBoardFiles, forgetState, openPassword } from './io/state-files.ts'
import { firstGroup } from './wire/addresses.ts'
import { hostLabelFault } from './wire/names.ts'

type Context = AssembleContext<BoardConfig>

/** What every board has, whatever its role. */
interface Common {
  files: BoardFiles
  starts: StartBook
  settings: SettingsBook
  helper: RootHelper
  machine: OwnMachine
  identify: Identify
  facts: FactsBook
  records: Records
  password: AdminPassword
  limiter: SignInLimiter
  ota: Ota
}

/** Adds the parts in order of their dependencies. */
export async function assemble(context: Context): Promise<Assembled> {
  const { clock, config, log, parts, stateFolder } = context
  const live: { server?: HttpServer; feed?: StatusFeed; watch?: ConditionWatch } = {}
  const onChange = () => {
    live.feed?.changed()
    live.watch?.changed()
  }
  const restartSelf = (reason: RestartReason) =>
    context.restart({ reason, args: listenArgs(config.http.listen, live.server?.address().port) })
  const common = await furnish(context, { onChange, restartSelf })
  const { helper, machine, records, settings, starts } = common
  const { role } = settings.running
  const world = { clock, log, stateFolder, parts, recorder: records.recorder, refusals: records.refusals, onChange }
  const httpPort = () => live.server?.address().port ?? parseListen(config.http.listen).port
  const house = await houseOf(world, { config, helper, settings: settings.running, httpPort })
  const status = statusOf(context, common, house)
  const feed = createStatusFeed({ clock, status, leastMs: config.feed.least_ms, mostMs: config.feed.most_ms })
  const meters = meterFeedOf(context, house)
  const port = () => server.address().port
  const { peers: file } = common.files
  const neighbourhood = createNeighbourhood({ ...context, file, port, says: () => settings.running, onChange })
  live.watch = watchOf(context, { house, common, neighbourhood })
  const server = serverOf(context, common, { house, status, feed, meters, neighbourhood })
  Object.assign(live, { server, feed })
  common.password.onChange(() => {
    // Sessions of the old password end now, not at the next heartbeat.
    server.endSignedOut()
    onChange()
  })
  parts.add({
    name: 'http',
    start: async () => void (await server.listen()),
    stop() {
      live.watch?.close()
      feed.close()
      meters?.close()
      return server.close()
    },
  })
  parts.add({ name: 'ota socket', ...otaSocketOf(context, common) })
  const says = () => ({ role, name: settings.running.name })
  parts.add(alarmPart(context, records.ledger, { says }))
  parts.add({ name: 'conditions', start: () => live.watch?.changed(), stop: () => {} })
  // After the server and not waited for: a new address is confirmed by requests to the page.
  parts.add({ name: 'machine', start: () => void machine.start(), stop: () => machine.network.close() })
  parts.add(neighbourhood.part)
  log.notice('board', { role, started: starts.started.reason })
  return { status: () => house.verdict().text }
}

interface Calls {
  onChange(): void
  restartSelf(reason: RestartReason): void
}

/** Loads the saved state, and adds the parts that need no role. */
async function furnish(context: Context, { onChange, restartSelf }: Calls): Promise<Common> {
  const { clock, config, log, parts, stateFolder } = context
  const files = createBoardFiles(stateFolder, log)
  const forget = () => forgetState(stateFolder)
  const starts = await openStartBook({ clock, file: files.starts, bootId: readBootId(), forget })
  parts.add({ name: 'starts', start: () => {}, stop: () => starts.stopped() })
  const settings = await openSettingsBook({
    file: files.settings,
    first: firstOf(context),
    world: { httpPort: parseListen(config.http.listen).port },
    log,
  })
  const { helper: path, helper_ms: timeoutMs } = config.machine
  const helper = createRootHelper({ path, timeoutMs, installMs: config.ota.install_ms })
  const isOwned = config.machine.owned
  const ota = await openFirmware({ clock, log, config: config.ota, isOwned, helper, stateFolder, onChange })
  const machine = await openOwnMachine({
    clock,
    log,
    config: config.machine,
    helper,
    settings: settings.running,
    saves: settings.saves,
    starts,
    networkFile: files.network,
    settle: ota.rest,
    restartSelf,
    onChange,
  })
  const records = openRecords(context)
  parts.add({ name: 'journal', start: () => {}, stop: () => records.close() })
  const homes = await openHomes({ folder: stateFolder, clock, log, most: config.http.login_homes })
  const limiter = createSignInLimiter({ clock, homes, bounds: loginBounds(config.http) })
  const hash = (text: string) => limiter.within(() => hashPassword(text))
  const password = await openPassword({ stateFolder, log, clock, hash })
  const facts = factsOf(context, onChange)
  const identify = identifyOf(context, helper, onChange)
  return { files, starts, settings, helper, machine, identify, facts, records, password, limiter, ota }
}

/** Settings of a board that nobody has set up. */
function firstOf({ config, stateFolder }: Context): BoardSettings {
  const name = machineName().toLowerCase()
  const hostname = hostLabelFault(name) === undefined ? name : 'board'
  return firstSettings({ role: config.board.role, hostname, mcast: firstGroup(groupSeed(stateFolder)) })
}

/** Tells the ledger what is wrong with the board. */
function watchOf(
  { clock, config }: Context,
  { house, common, neighbourhood }: { house: RoleHouse; common: Common; neighbourhood: Neighbourhood },
): ConditionWatch {
  const { facts, records, settings } = common
  const read = () =>
    boardConditions({
      role: settings.running.role,
      verdict: house.verdict,
      ofRole: house.conditions,
      ptp: house.ptp,
      peers: () => neighbourhood.peers.list(),
      isTimeSynchronised: () => facts.facts().isTimeSynchronised,
    })
  return watchConditions({ clock, conditions: records.ledger, leastMs: config.feed.least_ms, read })
}

function factsOf({ clock, config, parts }: Context, onTimeSync: () => void): FactsBook {
  const { facts_ms: periodMs, time_sync_ms: timeSyncMs } = config.machine
  const facts = createFactsBook({ clock, periodMs, timeSyncMs, readTemperature, readTimeSync, onTimeSync })
  parts.add({ name: 'facts', start: () => facts.start(), stop: () => facts.stop() })
  return facts
}

function identifyOf({ clock, config, log, parts }: Context, helper: RootHelper, onChange: () => void): Identify {
  const { lamp: name, identify_ms: lifeMs, owned } = config.machine
  const blinker = owned ? createLampBlinker({ helper, name }) : noLamp
  const identify = createIdentify({ clock, log, blinker, lifeMs, onChange })
  parts.add({ name: 'identify', start: () => {}, stop: () => identify.close() })
  return identify
}

function statusOf({ clock, config, version }: Context, common: Common, house: RoleHouse): () => BoardStatus {
  const { facts, identify, machine, ota, records, settings, starts } = common
  const { ledger } = records
  const { role, name, hostname } = settings.running
  return createBoardStatus({
    clock,
    version,
    role,
    names: { name, hostname },
    isSetUp: () => settings.saves > 0,
    house,
    machine: { owned: config.machine.owned, model: machineModel() },
    facts: facts.facts,
    started: starts.started,
    identifyUntil: identify.until,
    isPasswordSet: common.password.isSet,
    network: () => machine.network.view(),
    ota: ota.status,
    ledger: () => ({ open: ledger.openCounts(), revision: ledger.revision() }),
    nameTrouble: machine.nameTrouble,
  })
}

/** A role without sound has no levels. */
function meterFeedOf({ clock, config }: Context, { onMeters: listen }: RoleHouse): MeterFeed | undefined {
  return listen && createMeterFeed({ clock, listen, leastMs: config.feed.meters_ms })
}

interface Shown {
  house: RoleHouse
  status(): BoardStatus
  feed: StatusFeed
  meters: MeterFeed | undefined
  neighbourhood: Neighbourhood
}

function serverOf(context: Context, common: Common, { house, status, feed, meters, neighbourhood }: Shown): HttpServer {
  const { clock, config, log, version } = context
  const { identify, machine, ota, records, settings } = common
  const { journal, ledger, recorder } = records
  const { rebooter } = machine
  const { peers } = neighbourhood
  const door = createDoor({
    ...common,
    clock,
    http: config.http,
    realm: () => settings.running.hostname,
    hostnames: () => [machineName(), settings.running.hostname],
    addresses: ownAddresses,
    port: () => server.address().port,
    isFoundOrigin: (origin) => peers.isFoundOrigin(origin),
  })
  const metrics = createMetrics({ process: true })
  measureBoard(metrics, status)
  house.measure(metrics)
  measureLedger(metrics, ledger)
  measurePeers(metrics, () => peers.counts(), neighbourhood.mdnsCounts)
  const server = createHttpServer({
    log,
    clock,
    config: config.http,
    shareOf: createShareOf(config.connections.trusted),
    ...door.options,
    routes: [
      ...door.routes,
      ...statusRoutes({ status }),
      ...configRoutes({ book: settings, rebooter, recorder, fitness: fitnessOf(context) }),
      ...restartRoutes({ book: settings, rebooter, recorder }),
      ...identifyRoutes({ identify }),
      ...peerRoutes({
        self: () => ({
          ...{ ...settings.running, stream: streamText(settings.running) },
          ...{ version, address: neighbourhood.address(), port: server.address().port },
        }),
        table: peers,
        recorder,
      }),
      ...otaRoutes({
        ota,
        lastOutcome: () => readOutcome(config.ota.outcome),
        bounds: uploadBounds(config),
        rebooter,
        recorder,
      }),
      ...journalRoutes({ journal, clock }),
      ...ledgerRoutes({ ledger, recorder, clock }),
      ...house.routes,
      ...otherRoleRoutes(settings.running.role),
    ],
    sockets: [statusSocketRoute({ feed, meters })],
    web: { folder: join(import.meta.dirname, 'web/board'), who: 'admin', also: { '/matrix': '/' }, asksOthers: true },
    faultStatus,
    title: 'Plantroom board',
    version,
    metrics,
    headers: neighbourhood.headers,
    onAnswered({ from, at, agent }) {
      // Another board in the same wrong network could reach this one when nobody else can.
      if (agent !== PEER_AGENT) machine.network.contact(from, at)
    },
  })
  return server
}

function otaSocketOf({ clock, config, version }: Context, { machine, ota, records, settings: book }: Common) {
  const [folder = ''] = (process.env.RUNTIME_DIRECTORY ?? '').split(':')
  const { network, rebooter } = machine
  const { recorder } = records
  return createOtaSocket({
    ...{ clock, ota, bounds: uploadBounds(config), rebooter, recorder },
    network: createNetworkRequests({ book, network, rebooter, recorder, confirmMs: config.machine.confirm_ms }),
    path: config.ota.socket || (folder === '' ? '' : join(folder, 'ota.sock')),
    runs: imageVersion(config.ota.os_release) ?? version,
    compatible: config.ota.compatible,
    bootId: readBootId(),
  })
}

function uploadBounds({ ota }: BoardConfig): UploadBounds {
  return { maxBytes: ota.max_bytes, idleMs: ota.idle_ms, wholeMs: ota.receive_ms }
}
