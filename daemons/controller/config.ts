/** Every key of controller.toml: type, default, range, unit and description. */
import { type Static, Type } from 'typebox'
import { commonTablesWith, headerBytesKey, httpTable, journalTable, networks } from '#kit/config/tables.ts'
import { alarmsTable, mailAlarmKeys } from '#kit/records/alarms.ts'
import { ledgerTable } from '#kit/records/ledger.ts'
import { scheduleKeys, triggerKeys } from './core/automation-keys.ts'
import { driverKeys, historyKeys, liveKeys } from './core/device-keys.ts'
import { foundKeys } from './core/drivers/found.ts'
import { trafficKeys } from './core/drivers/traffic.ts'
import {
  auditKeys,
  backupKeys,
  countKey,
  dataKeys,
  letterKeys,
  macroKeys,
  mailKeys,
  peopleKeys,
  siteKeys,
  socketKeys,
  storeKeys,
  uiKeys,
} from './core/keys.ts'
import { memoryPlan } from './core/memory.ts'
import { updatingKeys } from './core/update-keys.ts'

/** The default port of the controller. */
export const DEFAULT_PORT = 3130

const httpKeys = {
  // Room for a query of `data.query_bytes` and other headers.
  header_bytes: headerBytesKey(32_768),
  trusted_proxies: networks([], 'proxies whose X-Forwarded-For is believed: addresses and networks'),
  forwarded_hops: countKey('', 32, [1, 256], 'entries of one X-Forwarded-For that are looked at'),
  local_networks: networks([], 'public networks that belong to the building: who calls from there is not remote'),
}

const tunnel = Type.Object(
  {
    header: Type.String({
      default: 'svc-cloud-tunnel',
      pattern: '^[a-z0-9-]{1,64}$',
      description: 'header by which the tunnel marks what it brings; whoever is marked is remote',
    }),
    peers: networks(['127.0.0.1', '::1'], 'where the tunnel connects from; a mark from elsewhere is ignored'),
  },
  { additionalProperties: false, default: {}, description: 'the cloud tunnel' },
)

export const config = Type.Object(
  {
    // Sign-ins here are limited by the table `people`.
    ...commonTablesWith(httpTable(DEFAULT_PORT, httpKeys)),
    store: storeKeys,
    site: siteKeys,
    people: peopleKeys,
    smtp: mailKeys,
    letters: letterKeys,
    data: dataKeys,
    drivers: driverKeys,
    traffic: trafficKeys,
    found: foundKeys,
    live: liveKeys,
    history: historyKeys,
    macros: macroKeys,
    schedules: scheduleKeys,
    triggers: triggerKeys,
    ui: uiKeys,
    socket: socketKeys,
    tunnel,
    audit: auditKeys,
    backup: backupKeys,
    updating: updatingKeys,
    journal: journalTable(),
    ledger: ledgerTable(),
    alarms: alarmsTable(mailAlarmKeys()),
  },
  { additionalProperties: false },
)

export type ControllerConfig = Static<typeof config>

/** The memory budget of the daemon with these settings. */
export const memory = memoryPlan
