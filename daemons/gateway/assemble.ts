/** Assembles the gateway. The only file that knows both io/ and api/. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { createTokenStore } from '#kit/auth/credentials.ts'
import { createDefinitionLibrary } from '#kit/device/load.ts'
import { journalRoutes } from '#kit/http/kit-routes.ts'
import { ledgerRoutes, measureLedger } from '#kit/http/ledger-routes.ts'
import { licencesIn } from '#kit/http/licence-routes.ts'
import { createMetrics, type Metrics } from '#kit/http/metrics.ts'
import type { Caller, Route } from '#kit/http/route.ts'
import { createHttpServer, type HttpServer } from '#kit/http/server.ts'
import { createTickets } from '#kit/http/sockets.ts'
import { createLineFinder } from '#kit/line/line-finder.ts'
import { createSerialOpener } from '#kit/line/serial-line.ts'
import { createShareOf } from '#kit/net/address.ts'
import { createPresence } from '#kit/net/mdns/mdns.ts'
import { type MqttOutlet, openMqttOutlet } from '#kit/net/mqtt/outlet.ts'
import { certificatePart, type LateAuthority, lateAuthority, machineNames } from '#kit/net/own-authority.ts'
import { parseTarget } from '#kit/net/target.ts'
import { createLineRule, openerOfAllowed, queueLimits } from '#kit/pure/line.ts'
import { createPageSessions, TOKEN_LIFE_MS } from '#kit/pure/users.ts'
import { alarmPart } from '#kit/records/alarms.ts'
import type { Ledger } from '#kit/records/ledger.ts'
import type { LedgerEntry } from '#kit/records/ledger-entry.ts'
import { openRecords, type Recorder, type Records } from '#kit/records/records.ts'
import type { AssembleContext, Assembled } from '#kit/run/daemon.ts'
import type { Part } from '#kit/run/parts.ts'
import { actionRoutes, equipmentRoutes, meterRoutes, mstpRoutes } from './api/action-routes.ts'
import { faultStatus } from './api/fault-status.ts'
import { createGate } from './api/gate.ts'
import { historyRoutes } from './api/history-routes.ts'
import { huntRoutes } from './api/hunt-routes.ts'
import { captureRoute, liveFeedRoute } from './api/live-routes.ts'
import { measureCaptures, measureMqtt, measurePoints, measurePorts } from './api/metrics.ts'
import { mqttRoutes } from './api/mqtt-routes.ts'
import { outstationRoutes } from './api/outstation-routes.ts'
import { callerRoutes, firstRunRoute, keyRoutes, signInRoutes } from './api/people-routes.ts'
import { pointRoutes, templateRoutes } from './api/point-routes.ts'
import { portRoutes } from './api/port-routes.ts'
import { certificateRoutes, PRODUCT, systemRoutes } from './api/system-routes.ts'
import { findingRoutes, registerRoutes, scanRoutes, unitRoutes } from './api/unit-routes.ts'
import { webhookRoutes } from './api/webhook-routes.ts'
import { historyOf, recordValue } from './assemble/history.ts'
import type { GatewayConfig } from './config.ts'
import type { History } from './core/history/history.ts'
import { Hunts } from './core/hunt/hunts.ts'
import { type Captures, createCaptures } from './core/lines/capture.ts'
import { isOfPort, PortConditions } from './core/lines/conditions.ts'
import { createEventHub, type EventHub } from './core/lines/events.ts'
import { createHourCount, Port } from './core/lines/port.ts'
import { PortRegistry } from './core/lines/port-registry.ts'
import type { PortRecord } from './core/lines/ports.ts'
import { MqttPublisher } from './core/mqtt/publisher.ts'
import { seesPort } from './core/people/keys.ts'
import { createPointBook, type PointBook } from './core/points/book.ts'
import type { TemplateLibrary } from './core/points/definition.ts'
import type { ValuePayload } from './core/points/values.ts'
import { huntedProtocols, linkTypeOf, makeAdapter, servedValues } from './core/protocols.ts'
import { createIdentity, type Identity, statusLine } from './core/status.ts'
import {
  createWebhookBook,
  createWebhookPublisher,
  type WebhookBook,
  type WebhookPublisher,
} from './core/webhooks/book.ts'
import { createProtocolWorld } from './io/protocol-world.ts'
import { createStateFiles, createTemplateFiles, openPeople, type People, type StateFiles } from './io/state-files.ts'
import { readSystemFacts } from './io/system-facts.ts'
import { createWebhookCourier } from './io/webhook-courier.ts'

type Context = AssembleContext<GatewayConfig>

/** The lines, and what follows them. */
interface Lines {
  hub: EventHub
  /** Checks that a device path may be a port. */
  checkPath(path: string): void
  registry: PortRegistry
  conditions: PortConditions
  delivery: WebhookPublisher
  captures: Captures
  /** Points or units of a line are others, or it was removed. */
  onChanged(path: string): void
  history: History
}

/** Everything that lives as long as the daemon. */
interface House extends Lines {
  people: People
  identity: Identity
  authority: LateAuthority
  webhooks: WebhookBook
  points: PointBook
  templates: TemplateLibrary
  mqtt: Mqtt | undefined
  hunts: Hunts
}

/** What is told through a broker. */
interface Mqtt {
  outlet: MqttOutlet
  publisher: MqttPublisher
}

/** Whose entries of the ledger a caller may see: of their ports, where they may see only some. */
function ledgerFence(registry: PortRegistry) {
  return (caller: Caller | undefined, { where }: LedgerEntry) =>
    caller !== undefined &&
    (!caller.only || registry.all().some(({ path }) => isOfPort(where, path) && seesPort(caller, path)))
}

/** Loads the stored state, and adds the parts in the order of their dependencies. */
export async function assemble(context: Context): Promise<Assembled> {
  const { parts } = context
  const files = createStateFiles(context.stateFolder, context.log)
  const ports = await files.ports.load()
  const records = openRecords(context)
  const house = await furnish(context, files, records)
  const { delivery, people, registry } = house
  const server = serverOf(context, house, records)
  // What a new role, a new password or a removal ends is ended now, not at the next heartbeat.
  people.list.onChange(() => server.endSignedOut())
  people.keys.onRemoved(() => server.endSignedOut())

  const more = context.config.http.tls ? { more: { scheme: 'https' } } : {}
  const says = () => ({ role: 'gateway', name: house.identity.name(), ...more })
  parts.add({ name: 'journal', start: () => {}, stop: () => records.close() })
  parts.add(alarmPart(context, records.ledger, { says }))
  parts.add({ name: 'keys', start: () => {}, stop: () => people.keys.close() })
  parts.add({
    name: 'webhooks',
    start: async () => void (await Promise.all(ports.map((port) => delivery.setWebhooks(port.path, port.webhooks)))),
    stop: () => delivery.close(),
    stopDeadlineMs: context.config.webhooks.drain_ms + 1000,
  })
  parts.add({ name: 'ports', start: () => registry.start(ports), stop: () => registry.stop() })
  // Stopped before the ports, which have their lines back then.
  parts.add({ name: 'hunts', start: () => {}, stop: () => house.hunts.close() })
  if (house.mqtt) parts.add(mqttPart(house.mqtt))
  // Stopped before the ports: what their points had to the last moment belongs to it.
  parts.add({ name: 'history', start: () => house.history.start(), stop: () => house.history.close() })
  parts.add(certificatePart(house.authority, context.config.http))
  parts.add({
    name: 'http',
    start: async () => void (await server.listen()),
    stop() {
      house.captures.close()
      return server.close()
    },
  })
  parts.add(createPresence({ ...context, daemon: 'gateway', port: () => server.address().port, says }).part)
  return { status: () => statusLine({ isSetUp: people.users.isSetUp(), ports: registry.all() }) }
}

async function furnish(context: Context, files: StateFiles, { ledger }: Records): Promise<House> {
  const { clock, config, log } = context
  const limits = { users: config.users.max, keys: config.keys.max, keySaveMs: config.keys.save_ms }
  const people = await openPeople({ clock, log, stateFolder: context.stateFolder, http: config.http, limits }, files)
  const { history: events, history_bytes: historyBytes, history_total_bytes: totalBytes } = config.ports
  const hub = createEventHub(clock, { history: events, historyBytes, totalBytes })
  const identity = createIdentity(await files.identity.load(), async (record) => {
    await files.identity.save(record)
    mqtt?.publisher.allChanged()
  })
  const machine = () => machineNames(config.http)
  const authority = lateAuthority({ folder: context.stateFolder, clock, log, product: PRODUCT, machine })
  const conditions = new PortConditions(ledger)
  const delivery = deliveryOf(context, { hub, conditions })
  const captures = capturesOf(context, hub)
  const checkPath = createLineRule(config.ports.allow, 'ports.allow')
  const onChanged = (path: string) => mqtt?.publisher.changed(path)
  const history = historyOf(context, ledger, () => registry.all())
  const templates = createTemplateFiles(join(import.meta.dirname, 'templates/gateway'), clock)
  const known = { hub, checkPath, delivery, captures, conditions, history, onChanged, templates }
  const registry = registryOf(context, files, known)
  const webhooks = webhooksOf(context, registry, delivery)
  const points = pointsOf(context, { registry, templates, conditions, onChanged })
  const lines = { hub, checkPath, registry, conditions, delivery, captures, history, onChanged }
  const mqtt = await mqttOf(context, { hub, registry, identity, ledger })
  const hunts = huntsOf(context, registry, ledger)
  return { ...lines, people, identity, authority, webhooks, points, templates, mqtt, hunts }
}

async function mqttOf(
  context: Context,
  { hub, identity, ledger, registry }: Pick<House, 'hub' | 'identity' | 'registry'> & { ledger: Ledger },
): Promise<Mqtt | undefined> {
  const { clock, config, version } = context
  const outlet = await openMqttOutlet({ ...context, conditions: ledger, chance: Math.random })
  if (!outlet) return undefined
  const says = () => ({ name: identity.name(), version, product: PRODUCT })
  const ports = () => registry.all()
  return { outlet, publisher: new MqttPublisher({ clock, outlet, hub, ports, config: config.mqtt, says }) }
}

/** After the lines, so that what they are is told first; it ends before them. */
function mqttPart({ outlet: { part }, publisher }: Mqtt): Part {
  return {
    ...part,
    start() {
      publisher.start()
      return part.start()
    },
    stop() {
      publisher.close()
      return part.stop()
    },
  }
}

function deliveryOf(
  { clock, config, log }: Context,
  { conditions, hub }: Pick<House, 'conditions' | 'hub'>,
): WebhookPublisher {
  const onPaused = conditions.webhook.bind(conditions)
  const courier = createWebhookCourier({ clock, log, onPaused, limits: config.webhooks })
  return createWebhookPublisher(courier, { hub, clock, transitBytes: config.webhooks.transit_bytes })
}

function capturesOf({ clock, config, log }: Context, hub: EventHub): Captures {
  const onBrokenOff = (port: string) =>
    log.warning('capture broken off', { port, backlogBytes: config.capture.backlog_bytes })
  return createCaptures({ hub, clock, max: config.capture.max, linkTypeOf, onBrokenOff })
}

function registryOf(
  context: Context,
  files: StateFiles,
  {
    hub,
    checkPath,
    delivery,
    captures,
    conditions,
    history,
    onChanged,
    templates,
  }: Omit<Lines, 'registry'> & Pick<House, 'templates'>,
): PortRegistry {
  const { clock, config, log, version } = context
  const queue = queueLimits(config.raw_tcp)
  const opener = openerOfAllowed(checkPath, createSerialOpener({ log, clock, queue }))
  const retry = { firstMs: config.ports.retry_first_ms, maxMs: config.ports.retry_max_ms }
  const { host, backlog_bytes: backlogBytes, slow_client_ms: slowClientMs, tell_ms: tellMs } = config.raw_tcp
  const { clients_per_address: clientsPerAddress, clients } = config.raw_tcp
  const { leftBytes, queueBytes } = queue
  const rawTcp = { host, backlogBytes, leftBytes, clientsPerAddress, clients, slowClientMs, tellMs }
  const shareOf = createShareOf(config.connections.trusted)
  // The owner's go before those of the package.
  const folders = [join(context.stateFolder, 'definitions'), join(import.meta.dirname, 'templates/devices')]
  const world = createProtocolWorld({
    ...{ clock, log, rawTcp, queueBytes, streamMs: config.raw_tcp.stream_ms },
    modbusTcp: config.modbus_tcp,
    modbusLimits: config.modbus,
    templates,
    dnp3Tcp: config.dnp3_tcp,
    mstpTransitFrames: config.mstp.transit_frames,
    mstpRealtimePriority: config.mstp.realtime_priority,
    checkPath,
    definitions: createDefinitionLibrary(folders, config.equipment.definition_bytes),
    shareOf,
    retry,
    version,
  })

  function makePort(record: PortRecord) {
    const { path, line } = record
    const errors = createHourCount(clock)
    const publish = hub.publisherOf(path, (event, payload) => {
      if (event === 'error') errors.add()
      conditions.hear({ port: path, event, payload })
      if (event === 'value') recordValue(history, path, payload as ValuePayload)
    })
    const whyNotOpen = () => port.whyNotOpen()
    const adapter = makeAdapter(record, { port: path, lineSettings: line, clock, whyNotOpen, publish }, world)
    const port: Port = new Port({ path, line, adapter, opener, clock, retry, publish, errors })
    return port
  }

  return new PortRegistry({
    checkPath,
    makePort,
    save: (records) => files.ports.save(records),
    finder: createLineFinder({ log }),
    maxPorts: config.ports.max,
    servedValues,
    maxSlaveValues: config.ports.slave_values,
    onRemoved(path) {
      void delivery.setWebhooks(path, [])
      hub.forget(path)
      conditions.forget(path)
      captures.endOf(path)
      onChanged(path)
    },
    onOtherProtocol: (path) => captures.endOf(path),
  })
}

function huntsOf({ clock, config, log }: Context, registry: PortRegistry, ledger: Ledger): Hunts {
  return new Hunts({
    ...{ clock, limits: config.hunt, protocols: huntedProtocols, opener: createSerialOpener({ log, clock }) },
    lend: registry.lend.bind(registry),
    onEnded: (where, { fault, verdict }) =>
      ledger.happened({ what: 'hunt_ended', where, severity: 'notice', sentence: fault?.message ?? verdict ?? '' }),
  })
}

function webhooksOf({ config }: Context, registry: PortRegistry, delivery: WebhookPublisher): WebhookBook {
  return createWebhookBook({
    keeper: {
      list: (port) => registry.record(port).webhooks,
      change: (port, apply) => registry.amend(port, (record) => ({ ...record, webhooks: apply(record.webhooks) })),
    },
    delivery,
    rules: { limits: config.webhooks, parseTarget },
    newId: randomUUID,
  })
}

function pointsOf(
  { config }: Context,
  { conditions, onChanged, registry, templates }: Pick<House, 'conditions' | 'onChanged' | 'registry' | 'templates'>,
): PointBook {
  return createPointBook({
    keeper: {
      port: (path) => registry.require(path),
      list: (path) => registry.record(path).points,
      async change(path, apply) {
        await registry.amend(path, (record) => ({ ...record, points: apply(record.points) }))
        conditions.onlyPoints(
          path,
          registry.record(path).points.map(({ name }) => name),
        )
        onChanged(path)
      },
      total: () => registry.all().reduce((sum, { path }) => sum + registry.record(path).points.length, 0),
    },
    templates,
    limits: config.points,
  })
}

function metricsOf(
  { captures, mqtt, registry }: Pick<House, 'captures' | 'mqtt' | 'registry'>,
  ledger: Ledger,
): Metrics {
  const metrics = createMetrics({ process: true })
  measurePorts(metrics, registry)
  measurePoints(metrics, registry)
  measureCaptures(metrics, captures)
  measureMqtt(metrics, mqtt?.outlet)
  measureLedger(metrics, ledger)
  return metrics
}

/** What else has to be forgotten with a unit. */
function forgettingOf({ conditions, onChanged }: House) {
  return (port: string, unitId: number) => {
    conditions.forgetUnit(port, unitId)
    onChanged(port)
  }
}

/** Routes of lines, and of what is made of them: points, units, webhooks, topics of a broker. */
function lineRoutesOf(
  { clock, config }: Context,
  house: House,
  { journal, recorder }: Pick<Records, 'journal' | 'recorder'>,
): Route[] {
  const { captures, history, hub, points, registry, templates, webhooks } = house
  return [
    ...portRoutes({ registry, hub, recorder, history: config.ports.history }),
    captureRoute({ registry, captures, backlogBytes: config.capture.backlog_bytes }),
    ...actionRoutes({ registry, recorder }),
    ...[equipmentRoutes, meterRoutes, mstpRoutes, outstationRoutes].flatMap((routes) => routes({ registry, recorder })),
    ...pointRoutes({ book: points, recorder, maxPoints: config.points.max }),
    ...historyRoutes({ registry, history }),
    ...templateRoutes({ templates }),
    ...unitRoutes({ registry, recorder, onForgotten: forgettingOf(house) }),
    ...registerRoutes({ registry, recorder }),
    ...scanRoutes({ registry, recorder }),
    ...huntRoutes({ hunts: house.hunts, recorder }),
    ...findingRoutes({ registry }),
    ...webhookRoutes({ book: webhooks, journal }),
    ...mqttRoutes({ outlet: house.mqtt?.outlet, recorder, clock }),
  ]
}

/** The routes about the box itself. */
function boxRoutes({ clock, config, version }: Context, house: House, recorder: Recorder): Route[] {
  const { authority, identity, people, registry } = house
  const { users } = people
  const licences = licencesIn(join(import.meta.dirname, 'licences'), 'gateway')
  const facts = { facts: readSystemFacts, hasTls: config.http.tls, licences }
  return [
    ...systemRoutes({ clock, version, users, identity, recorder, registry, authority, ...facts }),
    ...certificateRoutes({ authority }),
  ]
}

function serverOf(context: Context, house: House, { journal, ledger, recorder, refusals }: Records): HttpServer {
  const { clock, config, log, version } = context
  const { authority, hub, identity, people, registry } = house
  const { book, keys, list, users } = people
  const tokens = { clock, lifeMs: TOKEN_LIFE_MS, kind: 'sliding', max: config.http.max_tokens } as const
  const sessions = createPageSessions(list, createTokenStore(tokens))
  const lifeMs = config.http.ticket_life_ms
  const tickets = createTickets({ clock, lifeMs, max: config.http.max_tickets })
  const tls = config.http.tls ? { config: config.http, identity: () => authority.identity() } : undefined
  const metrics = metricsOf(house, ledger)
  const shows = ledgerFence(registry)
  const server = createHttpServer({
    ...{ log, clock, config: config.http, tls, version, metrics },
    shareOf: createShareOf(config.connections.trusted),
    ...createGate({ sessions, keys, takeTicket: tickets.take, refusals }),
    routes: [
      ...boxRoutes(context, house, recorder),
      firstRunRoute({ users, registry }),
      ...signInRoutes({
        users,
        book,
        sessions,
        rename: (name) => identity.rename(name),
        recorder,
        refusals,
        endSignedOut: () => server.endSignedOut(),
      }),
      ...callerRoutes({ tickets: { issue: (caller) => tickets.issue(caller), lifeMs } }),
      ...keyRoutes({ keys, clock, checkPath: house.checkPath, recorder }),
      ...journalRoutes({ journal, clock }),
      ...ledgerRoutes({ ledger, recorder, clock, shows }),
      ...lineRoutesOf(context, house, { journal, recorder }),
    ],
    sockets: [
      liveFeedRoute({
        hub,
        clock,
        limits: { summaryMs: config.feed.summary_ms },
        badMessages: config.feed.bad_messages,
        onLedger: (listener) => ledger.onChange(listener),
        ledger: (caller) => ({
          open: ledger.openCounts((entry) => shows(caller, entry)),
          revision: ledger.revision(),
        }),
      }),
    ],
    web: { folder: join(import.meta.dirname, 'web/gateway') },
    faultStatus,
    title: PRODUCT,
  })
  return server
}
