/** The time that cameras ask this machine for: whether it may be given, to whom, and who on this machine gives it. */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { ntpAnswer, readNtpQuestion, type TimeSource } from '../../wire/ntp.ts'
import type { ClockService } from './own-clock.ts'

/** @returns the answer; undefined for none */
export type Answerer = (bytes: Uint8Array, from: string) => Uint8Array | undefined

/** What a server of time needs of the network. */
export interface TimePorts {
  /**
   * Answers questions until it is closed.
   * @throws Fault `time_port_taken` where another program has the port, `time_port_refused`
   */
  listen(answer: Answerer): Promise<{ close(): void }>
  /** Whether some program answers a question with a time at an address of this machine; without one, at any of them. */
  isAnswered(own?: string): Promise<boolean>
  /** By which of its addresses this machine reaches a host. @throws Fault `camera_unreachable` */
  routeTo(host: string): Promise<{ own: string; far: string }>
  /** Whether an address is of a network that this machine is in. */
  isNear(address: string): boolean
}

/** By the names of their settings. */
export interface TimeServerSettings {
  isEnabled: boolean
  /** Told while the clock is not synchronized; 0: nothing is answered then. */
  localStratum: number
  lookMs: number
  /** Answers a minute: of one address, and in all. */
  perAddress: number
  inAll: number
  /** Addresses that are counted in a minute; those beyond get no answer. */
  addresses: number
}

interface TimeServerParts {
  clock: Clock
  ports: TimePorts
  service: Pick<ClockService, 'facts' | 'source'>
  settings: TimeServerSettings
  /** Called when it begins or ends to give the time. @param why it does not; null: it does */
  onTurned(why: string | null): void
  /** A question of an address is not answered since there are too many. Called at most once a minute. */
  onTooMany(address: string): void
}

export interface TimeServer {
  start(): void
  stop(): void
  /** Looks whether the time may be given, now. */
  look(): Promise<void>
  /** Why cameras cannot take their time from this machine; null: they can. */
  trouble(): string | null
  /** The address of this machine that a camera is to ask. @param host of the camera */
  addressFor(host: string): Promise<{ address: string } | { why: string }>
  /** Questions since the start. */
  counts(): { answered: number; leftOut: number }
}

const SWITCHED_OFF = 'The recorder serves no time: time_server.enabled is off.'
const NOT_LOOKED = 'The recorder has only just started. Try again in a moment.'
const UNSYNCHRONIZED =
  'The clock of this machine is not synchronized, so that no time is given to cameras. Switch network time on, or set time_server.local_stratum.'

/** 127.127.1.1, by which servers name the clock of the machine itself. */
const OWN_CLOCK = Uint8Array.of(127, 127, 1, 1)

/**
 * Where nobody tells from which server the time comes: chrony and the like tell it over sockets of their own. Far from any reference
 * clock, so that it is not preferred to one that knows.
 */
const UNTOLD = { stratum: 10, rootDelayS: 0, rootDispersionS: 0.1 }

const MINUTE_MS = 60_000

export function createTimeServer(parts: TimeServerParts): TimeServer {
  const { clock, onTurned, ports, settings } = parts
  const budget = createBudget(parts)
  let trouble: string | null = settings.isEnabled ? NOT_LOOKED : SWITCHED_OFF
  let socket: { close(): void } | undefined
  let source: TimeSource | undefined
  let timer: Timer | undefined
  let isStopped = false
  let looking: Promise<void> | undefined

  function answer(bytes: Uint8Array, from: string): Uint8Array | undefined {
    const receivedMs = clock.epochMs()
    const question = readNtpQuestion(bytes)
    if (!question || !source || !ports.isNear(from) || !budget.take(from)) return undefined
    return ntpAnswer(question, source, { receivedMs, sentMs: clock.epochMs() })
  }

  async function lookOnce(): Promise<string | null> {
    try {
      socket ??= await ports.listen(answer)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      const isOthers = error.code === 'time_port_taken' && (await ports.isAnswered())
      return isOthers ? null : error.message
    }
    source = await sourceNow(parts)
    return source ? null : UNSYNCHRONIZED
  }

  async function look(): Promise<void> {
    if (!settings.isEnabled || isStopped) return
    const found = await lookOnce()
    if (isStopped) return socket?.close()
    const isTurned = found !== trouble
    trouble = found
    if (isTurned) onTurned(found)
  }

  /** One at a time: who comes meanwhile waits for the one under way. */
  function lookShared(): Promise<void> {
    looking ??= look().finally(() => {
      looking = undefined
    })
    return looking
  }

  return {
    start() {
      void lookShared()
      timer = clock.every(settings.lookMs, () => void lookShared())
    },
    stop() {
      isStopped = true
      timer?.cancel()
      socket?.close()
    },
    async look() {
      await looking
      await lookShared()
    },
    trouble: () => trouble,
    async addressFor(host) {
      if (trouble !== null) return { why: trouble }
      const { far, own } = await ports.routeTo(host)
      if (socket && !ports.isNear(far))
        return { why: `${far} is behind a router: the recorder gives its time to networks that it is in.` }
      if (!socket && !(await ports.isAnswered(own)))
        return { why: `The other program on the port of NTP gives no time at ${own}. Allow ${far} in its settings.` }
      return { address: own }
    },
    counts: () => ({ ...budget.counts }),
  }
}

/** Where the time comes from that is given now; undefined where it is not to be given. */
async function sourceNow({ clock, service, settings }: TimeServerParts): Promise<TimeSource | undefined> {
  const ownClock: TimeSource = { leap: 0, ...UNTOLD, reference: OWN_CLOCK, setAtMs: clock.epochMs() }
  try {
    if ((await service.facts()).synchronized) return (await service.source()) ?? ownClock
  } catch (error) {
    // Who cannot be asked does not vouch for the clock.
    if (!(error instanceof Fault)) throw error
  }
  const stratum = settings.localStratum
  return stratum === 0 ? undefined : { ...ownClock, stratum }
}

/** How many questions are answered in each minute. */
function createBudget({ clock, onTooMany, settings }: TimeServerParts) {
  const { addresses, inAll, perAddress } = settings
  const taken = new Map<string, number>()
  const counts = { answered: 0, leftOut: 0 }
  let sinceMs = clock.monotonicMs()
  let all = 0
  let isTold = false

  return {
    counts,
    take(address: string): boolean {
      if (clock.monotonicMs() - sinceMs >= MINUTE_MS) {
        taken.clear()
        all = 0
        isTold = false
        sinceMs = clock.monotonicMs()
      }
      const ofIt = taken.get(address) ?? 0
      const isTooMany = (ofIt === 0 && taken.size >= addresses) || ofIt >= perAddress || all >= inAll
      if (!isTooMany) {
        taken.set(address, ofIt + 1)
        all++
        counts.answered++
        return true
      }
      counts.leftOut++
      if (!isTold) onTooMany(address)
      isTold = true
      return false
    },
  }
}
