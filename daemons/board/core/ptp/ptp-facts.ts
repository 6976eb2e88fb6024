/** What ptp4l has told, put together. */
import type {
  CurrentData,
  DefaultData,
  ParentData,
  PmcAnswer,
  PortData,
  TimeStatus,
} from '../../wire/ptp/pmc-answer.ts'
import type { ClockSample } from './clock-fit.ts'
import type { Grandmaster } from './ptp.ts'

/** Its latest word of each kind; what it has not told yet is absent. */
export interface PtpFacts {
  time?: TimeStatus
  current?: CurrentData
  parent?: ParentData
  default?: DefaultData
  port?: PortData
  /** Seconds that ptp4l has added to the master's time: TAI - UTC of a master on TAI, else 0. */
  utcOffsetS?: number
}

/** Keeps it. What comes after `clear` is of another run of ptp4l. */
export function createFactsOfPtp() {
  let facts: PtpFacts = {}
  let isPtpTimescale: boolean | undefined
  let settingsUtcOffsetS: number | undefined

  return {
    now: (): Readonly<PtpFacts> => facts,
    heard(answer: PmcAnswer): void {
      if (answer.kind === 'time_status') facts = { ...facts, time: answer }
      else if (answer.kind === 'current') facts = { ...facts, current: answer }
      else if (answer.kind === 'parent') facts = { ...facts, parent: answer }
      else if (answer.kind === 'default') facts = { ...facts, default: answer }
      else if (answer.kind === 'port') facts = { ...facts, port: answer }
      else if (answer.kind === 'time_properties') isPtpTimescale = answer.isPtpTimescale
      else settingsUtcOffsetS = answer.utcOffsetS
      if (isPtpTimescale === undefined || settingsUtcOffsetS === undefined) return
      facts = { ...facts, utcOffsetS: isPtpTimescale ? settingsUtcOffsetS : 0 }
    },
    clear(): void {
      facts = {}
      isPtpTimescale = undefined
      settingsUtcOffsetS = undefined
    },
  }
}

/** Whether this board is the clock that others follow. */
export function isMaster({ port }: PtpFacts): boolean {
  return port?.state === 'MASTER' || port?.state === 'GRAND_MASTER'
}

/** @returns the clock that ptp4l follows, or is; undefined until it has told all of it */
export function grandmasterOf({ default: own, parent }: PtpFacts): Grandmaster | undefined {
  if (!own || !parent) return undefined
  return {
    id: parent.grandmaster,
    domain: own.domain,
    priority1: parent.priority1,
    priority2: parent.priority2,
    clock_class: parent.clockClass,
    is_self: parent.grandmaster === own.clock,
  }
}

/**
 * The master's time against CLOCK_MONOTONIC when its last Sync came. ptp4l tells it against CLOCK_REALTIME, and of a
 * master on TAI against UTC, as its own time stamps are; sound counts the master's own seconds.
 * @param realtimeNs CLOCK_REALTIME less CLOCK_MONOTONIC
 */
export function sampleOf({ ingressNs, offsetNs }: TimeStatus, realtimeNs: bigint, utcOffsetS: number): ClockSample {
  return {
    monotonicNs: ingressNs - realtimeNs,
    differenceNs: realtimeNs - offsetNs + BigInt(utcOffsetS) * 1_000_000_000n,
  }
}
