/** Assembles the controller: with assemble/ the only place that knows both io/ and api/. */
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import { listenArgs } from '#kit/config/tables.ts'
import { measureLedger } from '#kit/http/ledger-routes.ts'
import { createMetrics, type Metrics } from '#kit/http/metrics.ts'
import type { Route } from '#kit/http/route.ts'
import { createHttpServer, type HttpServer } from '#kit/http/server.ts'
import { createShareOf } from '#kit/net/address.ts'
import { createPresence, type Finding } from '#kit/net/mdns/mdns.ts'
import { openRecords } from '#kit/records/records.ts'
import type { AssembleContext, Assembled } from '#kit/run/daemon.ts'
import { hookRoutes } from './api/hook-routes.ts'
import { houseCallers, restSurface } from './api/rest-surface.ts'
import { UI_FAULT_STATUS } from './api/ui-gate.ts'
import { deviceWebhookRoute } from './api/webhook-routes.ts'
import { openBackups, tellRestore } from './assemble/backup.ts'
import { alarmsOf, reportAudit } from './assemble/conditions.ts'
import { boundHeapGrowth, definitionsOf, driversOf, type House, importParts, logNotDriven } from './assemble/house.ts'
import { type Brought, openRules } from './assemble/rules.ts'
import { isLost, markAccounts, openUi, tellWithoutAccounts } from './assemble/ui.ts'
import { openUpdates } from './assemble/updates.ts'
import type { ControllerConfig } from './config.ts'
import { isWithoutAccounts } from './core/access/people.ts'
import type { Backups } from './core/backups.ts'
import { FoundDaemons } from './core/drivers/found.ts'
import { limitsOf } from './core/keys.ts'
import type { UiUpdates } from './core/surfaces.ts'
import { AuditFile } from './io/audit-file.ts'
import { openSiteStore } from './io/database.ts'
import { importAtStart } from './io/site-import.ts'

/** Growth relative to the live heap before a collection: docs/decisions/idle-memory-and-speed.md. */
const HEAP_GROWTH_PERCENT = 25

/** Numbers of the ledger leave gaps by chance: on a wall panel nobody can tell from one that an entry is hidden there. */
const ledgerStep = () => randomInt(1, 4)

/** Loads the stored state, and adds the parts in order of their dependencies: the audit outlives all others. */
export async function assemble(context: AssembleContext<ControllerConfig>): Promise<Assembled> {
  const { clock, config, importFile, log, parts, stateFolder } = context
  if (importFile !== undefined) await importAtStart(stateFolder, importFile, { ...importParts(config, clock), log })
  const records = openRecords(context, ledgerStep)
  tellRestore(context, records)
  const onFailing = (fault: unknown) => reportAudit(records.ledger, fault)
  const audit = new AuditFile({ folder: stateFolder, clock, log, limits: config.audit, onFailing })
  const metrics = createMetrics({ process: true })
  measureAudit(metrics, audit)
  measureLedger(metrics, records.ledger)
  const site = openSiteStore(stateFolder, clock, limitsOf(config.store))
  const definitions = definitionsOf(stateFolder, config)
  const house: House = { context, drivers: driversOf(definitions), definitions, audit, records, site }
  markAccounts(house)
  tellEffects(house)
  parts.add({ name: 'audit', start: () => audit.start(), stop: () => audit.stop() })
  parts.add({ name: 'journal', start: () => {}, stop: () => house.records.close() })
  parts.add({ name: 'site', start: () => {}, stop: () => site.close() })
  const rules = await openRules(house)
  const says = () => ({ role: 'controller', name: 'Plantroom controller' })
  parts.add(alarmsOf(house, rules.postman, says))
  const found = new FoundDaemons(clock, site.book, limitsOf(config.found))
  const live: { server?: HttpServer } = {}
  const args = () => listenArgs(config.http.listen, live.server?.address().port)
  const backups = openBackups(house, args)
  parts.add({ name: 'backups', start: () => {}, stop: () => backups.close() })
  const updates = openUpdates(house, rules, args)
  const server = serverOf({ house, brought: rules, found, backups, updates }, metrics)
  live.server = server
  parts.add({ name: 'http', start: async () => void (await server.listen()), stop: () => server.close() })
  parts.add({ name: 'first account', start: () => tellWithoutAccounts(house), stop: () => {} })
  parts.add({ name: 'not driven', start: () => logNotDriven(house.site.book, house.drivers, log), stop: () => {} })
  parts.add(updates.part)
  parts.add({ name: 'heap', start: () => boundHeapGrowth(HEAP_GROWTH_PERCENT), stop: () => {} })
  const finding: Finding = {
    queryMs: config.found.query_ms,
    onHeard: (service) => found.hear(service),
    onGoodbye: (id) => found.doubt(id),
  }
  parts.add(createPresence({ ...context, daemon: 'controller', port: () => server.address().port, says, finding }).part)
  return { status: () => statusLine(house) }
}

/** Logs what an upgrade changed in the site, once, beside the lines of the update. */
function tellEffects({ context: { log }, records: { journal }, site }: House): void {
  for (const effect of site.effects) {
    log.notice(`[UPDATE] ${effect}`)
    journal.record({ who: 'plantroom', from: 'update', what: 'changed with the upgrade', detail: { what: effect } })
  }
}

/** What the server serves. */
interface Served {
  house: House
  brought: Brought
  found: FoundDaemons
  backups: Backups
  updates: UiUpdates
}

function serverOf({ house, brought, found, backups, updates }: Served, metrics: Metrics): HttpServer {
  const { audit, context } = house
  const { clock, config, log, version } = context
  const { rules, isRestEnabled } = brought
  const ui = openUi(house, brought, { found, backups, updates })
  return createHttpServer({
    log,
    clock,
    config: config.http,
    shareOf: createShareOf(config.connections.trusted),
    identify: houseCallers(rules),
    routes: [...ui.routes, ...hooksOf(house, brought), webhookRoute(house, brought)],
    sockets: ui.sockets,
    surface: restSurface({
      rules,
      audit,
      clock,
      log,
      version,
      isEnabled: isRestEnabled,
      limits: { recordMs: config.audit.record_ms },
    }),
    web: { folder: join(import.meta.dirname, 'web/controller') },
    faultStatus: UI_FAULT_STATUS,
    title: 'Plantroom controller',
    version,
    metrics,
  })
}

/** Calls of other systems that start macros. */
function hooksOf({ audit, context }: House, { control, originOf }: Brought): readonly Route[] {
  const { clock, config } = context
  return hookRoutes({
    ...{ hooks: control.automation.triggers, audit, clock, limits: limitsOf(config.triggers) },
    originOf: ({ remoteAddress, headers }) => originOf(remoteAddress, headers),
  })
}

function webhookRoute({ context: { config }, records }: House, { control: { webhookOf } }: Brought): Route {
  const { message_bytes: bodyBytes } = config.drivers
  return deviceWebhookRoute({
    ...{ webhookOf, bodyBytes, bodyMs: config.http.request_timeout_ms },
    refusals: records.refusals,
  })
}

function statusLine({ audit, context, site }: House): string {
  const { isFailing, written } = audit.counts()
  if (isFailing) return 'the audit cannot be written: no command is taken'
  if (isLost({ context, site })) return 'the accounts are gone: put a backup back'
  if (isWithoutAccounts(site.book)) return 'nobody can sign in yet: open the page and make the first account'
  return `${written} calls recorded since the start`
}

/** @param metrics gets counters of records written and lost, and gauges of records waiting and of failing writes */
function measureAudit(metrics: Metrics, audit: AuditFile): void {
  metrics.counts({ name: 'audit_records_written_total', help: 'Calls recorded on the disk' }, () => [
    { labels: {}, value: audit.counts().written },
  ])
  metrics.counts({ name: 'audit_records_lost_total', help: 'Calls that are not recorded, as too many waited' }, () => [
    { labels: {}, value: audit.counts().lost },
  ])
  metrics.gauge({ name: 'audit_records_waiting', help: 'Calls that wait for the disk' }, () => [
    { labels: {}, value: audit.counts().waiting },
  ])
  metrics.gauge({ name: 'audit_failing', help: 'Whether the disk takes no record, and no command is taken' }, () => [
    { labels: {}, value: audit.counts().isFailing ? 1 : 0 },
  ])
}
