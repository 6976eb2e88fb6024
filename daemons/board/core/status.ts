/** The board's status as one value, the feeds of status and levels to watchers, and identification by blinking. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import type { Severity } from '#kit/records/ledger-entry.ts'
import type { RoleName } from '../wire/names.ts'
import type { OtaStatus } from './machine/firmware.ts'
import type { NetworkView } from './machine/network.ts'
import type { Blinker, MachineFacts } from './machine/ports.ts'
import type { StartRecord } from './machine/restart.ts'
import type { Meters, RoleHouse, Verdict } from './role.ts'

/** Sources of the status. */
export interface StatusSources {
  clock: Clock
  version: string
  role: RoleName
  names: { name: string; hostname: string }
  /** Whether settings have ever been saved. */
  isSetUp(): boolean
  house: RoleHouse
  machine: { owned: boolean; model: string | null }
  facts(): MachineFacts
  started: Readonly<StartRecord>
  identifyUntil(): number | null
  isPasswordSet(): boolean
  network(): NetworkView
  ota(): OtaStatus
  ledger(): BoardStatus['ledger']
  /** What went wrong with the machine's name; undefined if nothing. */
  nameTrouble(): string | undefined
}

/** The answer of `GET /api/status`. */
export interface BoardStatus {
  role: RoleName
  /** False until settings are saved for the first time: the page then begins with the first run. */
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
  /** What the ledger has open, by severity; `revision` grows with each change of it. */
  ledger: { open: Readonly<Record<Severity, number>>; revision: number }
  /** The role's own state, under its name. */
  [role: string]: unknown
}

/** @returns a function that reads the current status */
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
      ledger: from.ledger(),
      ...(from.house.ptp && { ptp: from.house.ptp() }),
      [from.role]: from.house.state(),
    }
  }
}

/**
 * The role's own verdict, unless it is good while the board itself is in trouble: then nobody should read that all is
 * well.
 */
function verdictOf({ house, nameTrouble, network }: StatusSources): Verdict {
  const verdict = house.verdict()
  const { state, text } = network()
  const isUnsettled = state === 'refused' || state === 'fallen_back' || state === 'unconfirmed'
  const trouble = isUnsettled ? text : nameTrouble()
  const isBad = verdict.state === 'warn' || verdict.state === 'fault'
  return trouble === undefined || isBad ? verdict : { state: 'warn', text: trouble }
}

function networkOf({ network, nameTrouble }: StatusSources): BoardStatus['network'] {
  const { state, confirmUntil, text } = network()
  return { state, confirm_until: confirmUntil, text: [text, nameTrouble()].filter(Boolean).join(' ') }
}

// The status feed: sent at once, at changes, and every second.

/** A subscriber. */
export interface Watcher {
  /** @returns false if it did not take the message */
  send(text: string): boolean
  /** Whether everything sent so far has gone out. */
  readonly hasCaughtUp: boolean
}

/** Dependencies and settings. */
interface StatusFeedParts {
  clock: Clock
  status(): unknown
  /** Least time between two messages. */
  leastMs: number
  /** Most time between two messages. */
  mostMs: number
}

export interface StatusFeed {
  /** Sends the status at once, and from then on. @returns ends it */
  watch(watcher: Watcher): () => void
  /** The status has changed. */
  changed(): void
  close(): void
}

/**
 * Changes are combined: however many there are, and however many watch, a message is made at most every `leastMs`. A
 * watcher that has not taken the last message skips messages until it has; each holds the whole state, so nothing is
 * missed.
 */
export function createStatusFeed({ clock, status, leastMs, mostMs }: StatusFeedParts): StatusFeed {
  const watchers = new Set<Watcher>()
  let timer: Timer | undefined
  let toldMs = Number.NEGATIVE_INFINITY
  let isSoon = false

  function tell(): void {
    toldMs = clock.monotonicMs()
    isSoon = false
    timer?.cancel()
    timer = watchers.size > 0 ? clock.after(mostMs, tell) : undefined
    if (watchers.size === 0) return
    const text = textOf(status)
    for (const watcher of watchers) if (watcher.hasCaughtUp) watcher.send(text)
  }
  return {
    watch(watcher) {
      watchers.add(watcher)
      watcher.send(textOf(status))
      toldMs = clock.monotonicMs()
      timer ??= clock.after(mostMs, tell)
      return () => {
        watchers.delete(watcher)
        if (watchers.size > 0) return
        timer?.cancel()
        timer = undefined
        isSoon = false
      }
    },
    changed() {
      if (isSoon || watchers.size === 0) return
      isSoon = true
      timer?.cancel()
      timer = clock.after(Math.max(0, toldMs + leastMs - clock.monotonicMs()), tell)
    },
    close() {
      timer?.cancel()
      watchers.clear()
    },
  }
}

function textOf(status: () => unknown): string {
  return JSON.stringify({ type: 'status', status: status() })
}

// The feed of levels, in a role with sound: frequent, and never at the cost of anything else.

/** Dependencies and settings. */
interface MeterFeedParts {
  clock: Clock
  /** Source of the levels, as `onMeters` of a role. */
  listen(hear: (meters: Meters) => void): () => void
  /** Least time between two messages. */
  leastMs: number
}

export interface MeterFeed {
  /** Sends all levels from now on. @returns ends it */
  watch(watcher: Watcher): () => void
  close(): void
}

/**
 * Levels are listened to while somebody watches. Those between two messages are combined: the highest peak of each
 * channel, so that no clip is missed, and the latest loudness. A watcher that has not taken the last message gets none.
 */
export function createMeterFeed({ clock, listen, leastMs }: MeterFeedParts): MeterFeed {
  const watchers = new Set<Watcher>()
  let gathered: Meters | undefined
  let toldMs = Number.NEGATIVE_INFINITY
  let timer: Timer | undefined
  let end: (() => void) | undefined

  function tell(): void {
    timer = undefined
    if (gathered === undefined) return
    const text = JSON.stringify({ type: 'meters', meters: gathered })
    gathered = undefined
    toldMs = clock.monotonicMs()
    for (const watcher of watchers) if (watcher.hasCaughtUp) watcher.send(text)
  }
  function hear(meters: Meters): void {
    gathered = gathered === undefined ? meters : together(gathered, meters)
    const waitMs = toldMs + leastMs - clock.monotonicMs()
    if (waitMs <= 0) tell()
    else timer ??= clock.after(waitMs, tell)
  }
  function rest(): void {
    end?.()
    end = undefined
    timer?.cancel()
    timer = undefined
    gathered = undefined
  }
  return {
    watch(watcher) {
      watchers.add(watcher)
      end ??= listen(hear)
      return () => {
        watchers.delete(watcher)
        if (watchers.size === 0) rest()
      }
    },
    close() {
      watchers.clear()
      rest()
    },
  }
}

/** The higher of both peaks per channel; another number of channels means another sound. */
function together(before: Meters, { peak_db, rms_db }: Meters): Meters {
  if (before.peak_db.length !== peak_db.length) return { peak_db, rms_db }
  return { peak_db: peak_db.map((peak, at) => louder(peak, before.peak_db[at] ?? null)), rms_db }
}

function louder(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other
  return Math.max(one, other)
}

// Finding the board in a rack: it blinks and shows a banner for a while.

/** Dependencies and settings. */
interface IdentifyParts {
  clock: Clock
  log: Log
  blinker: Blinker
  lifeMs: number
  onChange(): void
}

export interface Identify {
  /** Starts, restarts or stops. */
  set(isOn: boolean): void
  /** Instant at which it ends, null while off. */
  until(): number | null
  close(): Promise<void>
}

export function createIdentify({ clock, log, blinker, lifeMs, onChange }: IdentifyParts): Identify {
  let timer: Timer | undefined
  let untilAt: number | null = null
  /** Calls to the lamp, one after the other. */
  let lamp: Promise<void> = Promise.resolve()

  function drive(call: () => Promise<unknown>): void {
    lamp = lamp.then(async () => {
      try {
        await call()
      } catch (fault) {
        log.warning('the lamp does not do as told', { fault })
      }
    })
  }
  function set(isOn: boolean): void {
    timer?.cancel()
    timer = isOn ? clock.after(lifeMs, () => set(false)) : undefined
    if (isOn && untilAt === null) drive(() => blinker.start())
    if (!isOn && untilAt !== null) drive(() => blinker.stop())
    untilAt = isOn ? clock.epochMs() + lifeMs : null
    onChange()
  }
  return {
    set,
    until: () => untilAt,
    close() {
      if (untilAt !== null) set(false)
      return lamp
    },
  }
}
