/** What the machine says of itself, looked up at intervals and kept in between: status and feed ask often. */
import { freemem, loadavg, totalmem } from 'node:os'
import type { Clock, Timer } from '#kit/clock.ts'
import { reachableAddresses } from '#kit/net/own-addresses.ts'
import type { MachineFacts } from '../core/machine-ports.ts'

/** How the facts are looked up. */
export interface FactsOptions {
  clock: Clock
  periodMs: number
  /** Asking for the state of the clock starts a program: it is done less often. */
  timeSyncMs: number
  readTemperature(): Promise<number | null>
  readTimeSync(): Promise<boolean | null>
}

/** The facts as they were last looked up. */
export interface FactsBook {
  facts(): MachineFacts
  /** Looks them up once, and from then on at intervals. */
  start(): Promise<void>
  stop(): void
}

export function createFactsBook({ clock, periodMs, timeSyncMs, ...read }: FactsOptions): FactsBook {
  let temperatureC: number | null = null
  let isTimeSynchronised: boolean | null = null
  let timers: Timer[] = []

  async function lookAtTemperature(): Promise<void> {
    temperatureC = await read.readTemperature()
  }
  async function lookAtTime(): Promise<void> {
    isTimeSynchronised = await read.readTimeSync()
  }
  return {
    facts: () => ({
      addresses: reachableAddresses(),
      temperatureC,
      memory: { totalBytes: totalmem(), availableBytes: freemem(), processBytes: process.memoryUsage.rss() },
      load: loadavg() as [number, number, number],
      isTimeSynchronised,
    }),
    async start() {
      // Not waited for: a bus that does not answer would hold up the start.
      void lookAtTime()
      timers = [clock.every(periodMs, () => void lookAtTemperature()), clock.every(timeSyncMs, () => void lookAtTime())]
      await lookAtTemperature()
    },
    stop() {
      for (const timer of timers) timer.cancel()
    },
  }
}
