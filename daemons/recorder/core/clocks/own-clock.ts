/** The clock of this machine: its zone and network time as the system's clock service keeps them, and changing them. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { instantOf } from '#kit/pure/wall-time.ts'
import type { TimeSource } from '../../wire/ntp.ts'

/** What the clock service says. */
export interface ClockFacts {
  /** IANA name. */
  zone: string
  /** Whether the time comes from the network. */
  ntp: boolean
  /** Whether something is installed that can fetch it. */
  canNtp: boolean
  /** Whether it was fetched. */
  synchronized: boolean
}

/** The system's clock service. Each may throw Fault `clock_service_missing`, those that change something `clock_refused`. */
export interface ClockService {
  facts(): Promise<ClockFacts>
  /** Where the time that was fetched came from; undefined where nobody tells. Throws nothing. */
  source(): Promise<TimeSource | undefined>
  /** Names of the zones that may be set. */
  zones(): Promise<string[]>
  setZone(name: string): Promise<void>
  setNtp(isOn: boolean): Promise<void>
  setTime(epochMs: number): Promise<void>
}

/** The zone of this machine. */
export interface OwnZone {
  /** Pinned by the environment, which counts more than the system; null where it is not. */
  readonly pinned: string | null
  /** IANA name. */
  name(): string
  /** POSIX string; undefined where the system does not tell it. */
  posix(): string | undefined
}

/** What is said about the clock of this machine. @source interface document 3, A, Recorder clock */
export interface OwnTime {
  /** False where the clock service cannot be reached; what it alone knows is null then. */
  available: boolean
  error?: string
  zone: string
  ntp: boolean | null
  canNtp: boolean
  synchronized: boolean | null
  now: number
  pinnedZone: string | null
  /** Whether cameras can take their time from here. */
  timeServer: boolean
  /** Why they cannot; null where they can. */
  timeServerError: string | null
}

export interface TimeWish {
  zone?: string
  ntp?: boolean
  /** `2031-03-09 14:00`, in the zone that is wished for. */
  time?: string
}

/** One thing that is changed. */
interface TimeChange {
  of: 'time zone' | 'network time' | 'time'
  /** A sentence. */
  what: string
  make(): Promise<void>
}

interface OwnClockParts {
  clock: Clock
  service: ClockService
  zone: OwnZone
  /** Why cameras cannot take their time from here; null: they can. */
  timeTrouble(): string | null
  /** Once for each thing that was changed. */
  onChanged(of: TimeChange['of'], sentence: string): void
}

export interface OwnClock {
  read(): Promise<OwnTime>
  /** Those that may be set: none while one is pinned, or while the clock service cannot be reached. */
  zones(): Promise<string[]>
  /**
   * @param onEach called after each thing that was changed: what comes after it may fail
   * @throws Fault `bad_zone`, `zone_pinned`, `bad_time`, `time_from_network`, `no_network_time`: nothing was changed;
   *   `clock_service_missing`, `clock_refused`; `clock_being_set` while another change is under way
   */
  change(wish: TimeWish, onEach: (sentence: string) => Promise<void>): Promise<OwnTime>
}

export function createOwnClock({ clock, onChanged, service, timeTrouble, zone }: OwnClockParts): OwnClock {
  let isChanging = false
  const shared = shareOf(() => service.facts())
  const zonesAsked = shareOf(() => service.zones())

  const server = () => ({ timeServer: timeTrouble() === null, timeServerError: timeTrouble() })

  function told(facts: ClockFacts): OwnTime {
    const { canNtp, ntp, synchronized } = facts
    return {
      ...{ available: true, zone: zone.pinned ?? facts.zone, ntp, canNtp, synchronized },
      ...{ now: clock.epochMs(), pinnedZone: zone.pinned, ...server() },
    }
  }

  async function changed(wish: TimeWish, onEach: (sentence: string) => Promise<void>): Promise<OwnTime> {
    const facts = await service.facts()
    const known = wish.zone === undefined ? [] : await service.zones()
    for (const { make, of, what } of planOf(wish, { facts, known, service, zone })) {
      await make()
      onChanged(of, what)
      await onEach(what)
    }
    return told(await service.facts())
  }

  return {
    async read() {
      try {
        return told(await shared())
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        return {
          ...{ available: false, error: error.message, zone: zone.name() },
          ...{ ntp: null, canNtp: false, synchronized: null },
          ...{ now: clock.epochMs(), pinnedZone: zone.pinned, ...server() },
        }
      }
    },
    async zones() {
      if (zone.pinned !== null) return []
      try {
        return await zonesAsked()
      } catch (error) {
        if (error instanceof Fault) return []
        throw error
      }
    },
    async change(wish, onEach) {
      if (isChanging) throw new Fault('clock_being_set', 'The clock is being set already. Try again in a moment.')
      isChanging = true
      try {
        return await changed(wish, onEach)
      } finally {
        isChanging = false
      }
    },
  }
}

/** Asks once, however many want to know meanwhile. */
function shareOf<Answer>(ask: () => Promise<Answer>): () => Promise<Answer> {
  let asked: Promise<Answer> | undefined
  return () => {
    asked ??= ask().finally(() => {
      asked = undefined
    })
    return asked
  }
}

interface Standing {
  facts: ClockFacts
  known: readonly string[]
  service: ClockService
  zone: OwnZone
}

/**
 * What has to be done, all of it checked: the zone first, in which the time is read; network time before the time, which it
 * would overwrite.
 */
function planOf(wish: TimeWish, { facts, known, service, zone }: Standing): TimeChange[] {
  const plan: TimeChange[] = []
  const wanted = wish.zone
  if (wanted !== undefined && wanted !== (zone.pinned ?? facts.zone)) {
    checkZone(wanted, known, zone.pinned)
    plan.push({ of: 'time zone', what: `The time zone was set to ${wanted}.`, make: () => service.setZone(wanted) })
  }
  const { ntp } = wish
  if (ntp === true && !facts.canNtp)
    throw new Fault(
      'no_network_time',
      'Nothing on this machine can fetch the time from the network. Install systemd-timesyncd or chrony.',
    )
  if (ntp !== undefined && ntp !== facts.ntp)
    plan.push({
      of: 'network time',
      what: `Network time was switched ${ntp ? 'on' : 'off'}.`,
      make: () => service.setNtp(ntp),
    })
  if (wish.time === undefined) return plan
  const epochMs = readTime(wish.time, wanted ?? zone.pinned ?? facts.zone)
  if (ntp ?? facts.ntp)
    throw new Fault(
      'time_from_network',
      'The time comes from the network, which would overwrite this. Switch network time off in the same request.',
    )
  plan.push({ of: 'time', what: `The time was set to ${wish.time}.`, make: () => service.setTime(epochMs) })
  return plan
}

/** @throws Fault `bad_zone`, `zone_pinned` */
function checkZone(wanted: string, known: readonly string[], pinned: string | null): void {
  if (pinned !== null)
    throw new Fault(
      'zone_pinned',
      `SVC_TZ in the recorder's environment pins the zone to ${pinned}. Take it out there.`,
    )
  if (!known.includes(wanted))
    throw new Fault('bad_zone', `This machine knows no time zone ${wanted}. Take one of those that it lists.`)
}

const FORM = /^(20\d\d)-(\d\d)-(\d\d) (\d\d):(\d\d)$/

/** @throws Fault `bad_time` */
function readTime(text: string, zone: string): number {
  const iso = text.replace(' ', 'T')
  // 31 February is taken for a day of March.
  const asUtcMs = FORM.test(text) ? Date.parse(`${iso}Z`) : Number.NaN
  const isDay = !Number.isNaN(asUtcMs) && new Date(asUtcMs).toISOString().startsWith(iso)
  const epochMs = isDay ? instantOf(iso, zone) : Number.NaN
  if (!Number.isNaN(epochMs)) return epochMs
  throw new Fault('bad_time', `${text} is no time such as 2031-03-09 14:00, from 2000 to 2099.`)
}
