/** How the board is, as one value. */
import type { Clock } from '#kit/clock.ts'
import type { RoleName } from '../wire/role-name.ts'
import type { MachineFacts } from './machine-ports.ts'
import type { NetworkView } from './network-care.ts'
import type { OtaStatus } from './ota.ts'
import type { RoleHouse, Verdict } from './role.ts'
import type { StartRecord } from './start-record.ts'

/** What it is made of. */
export interface StatusSources {
  clock: Clock
  version: string
  role: RoleName
  names: { name: string; hostname: string }
  /** Whether somebody has ever saved settings. */
  isSetUp(): boolean
  house: RoleHouse
  machine: { owned: boolean; model: string | null }
  facts(): MachineFacts
  started: Readonly<StartRecord>
  identifyUntil(): number | null
  isPasswordSet(): boolean
  network(): NetworkView
  ota(): OtaStatus
  /** What went wrong with the machine's name; undefined where nothing did. */
  nameTrouble(): string | undefined
}

/** As `GET /api/status` answers it. */
export interface BoardStatus {
  role: RoleName
  /** False until somebody has saved settings for the first time: the page begins with the first run. */
  set_up: boolean
  name: string
  hostname: string
  version: string
  verdict: Verdict
  uptime_s: number
  started_at: number
  machine: { owned: boolean; model: string | null }
  addresses: MachineFacts['addresses']
  temperature_c: number | null
  memory: { total_bytes: number; available_bytes: number; process_bytes: number }
  load: [number, number, number]
  time: { now: number; synchronised: boolean | null }
  last_start: { at: number; reason: StartRecord['reason'] }
  identify_until: number | null
  password_set: boolean
  network: { state: NetworkView['state']; confirm_until: number | null; text: string }
  ota: OtaStatus
  /** What the role itself has to say, under its name. */
  [role: string]: unknown
}

/** @returns what tells how the board is now */
export function createBoardStatus(from: StatusSources): () => BoardStatus {
  const startedMs = from.clock.monotonicMs()
  return () => {
    const { addresses, temperatureC, memory, load, isTimeSynchronised } = from.facts()
    return {
      role: from.role,
      set_up: from.isSetUp(),
      ...from.names,
      version: from.version,
      verdict: verdictOf(from),
      uptime_s: Math.floor((from.clock.monotonicMs() - startedMs) / 1000),
      started_at: from.started.startedAt,
      machine: from.machine,
      addresses,
      temperature_c: temperatureC,
      memory: {
        total_bytes: memory.totalBytes,
        available_bytes: memory.availableBytes,
        process_bytes: memory.processBytes,
      },
      load,
      time: { now: from.clock.epochMs(), synchronised: isTimeSynchronised },
      last_start: { at: from.started.startedAt, reason: from.started.reason },
      identify_until: from.identifyUntil(),
      password_set: from.isPasswordSet(),
      network: networkOf(from),
      ota: from.ota(),
      ...(from.house.ptp && { ptp: from.house.ptp() }),
      [from.role]: from.house.state(),
    }
  }
}

/** The role's own word, unless that is good and the board itself is in trouble: then nobody is to read that all is well. */
function verdictOf({ house, nameTrouble, network }: StatusSources): Verdict {
  const verdict = house.verdict()
  const { state, text } = network()
  const trouble = state === 'refused' || state === 'fallen_back' ? text : nameTrouble()
  const isBad = verdict.state === 'warn' || verdict.state === 'fault'
  return trouble === undefined || isBad ? verdict : { state: 'warn', text: trouble }
}

function networkOf({ network, nameTrouble }: StatusSources): BoardStatus['network'] {
  const { state, confirmUntil, text } = network()
  return { state, confirm_until: confirmUntil, text: [text, nameTrouble()].filter(Boolean).join(' ') }
}
