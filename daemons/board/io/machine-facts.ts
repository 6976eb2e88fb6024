/** What the machine says of itself: its name, model and start, its temperature, memory, load and clock. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { freemem, hostname, loadavg, totalmem } from 'node:os'
import { join } from 'node:path'
import type { Clock, Timer } from '#kit/clock.ts'
import { reachableAddresses } from '#kit/net/address.ts'
import { identityHere, instanceName } from '#kit/net/mdns/mdns.ts'
import type { MachineFacts } from '../core/machine/ports.ts'

// What stays as it is while the machine runs.

/** Which life of the machine this is: new at each boot; empty where the kernel does not tell. @source random(4), /proc/sys/kernel/random/boot_id */
export function readBootId(path = '/proc/sys/kernel/random/boot_id'): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return '' // a container without this file: reasons of starts are less exact, and say so
  }
}

/** Two bytes that differ from board to board, also between copies of one card and between two boards on one machine. */
export function groupSeed(stateFolder: string): Uint8Array {
  return Buffer.from(instanceName('board', identityHere(stateFolder)).slice(-4), 'hex')
}

/** Where makers write the model: device tree on ARM, firmware tables on PCs. */
const MODEL_PLACES = ['/proc/device-tree/model', '/sys/class/dmi/id/product_name']

/** The maker's name of the model; null where nobody wrote one. */
export function machineModel(places: readonly string[] = MODEL_PLACES): string | null {
  for (const place of places) {
    // Device tree texts end with a NUL.
    const model = textOfFile(place).replaceAll('\0', '').trim()
    if (model !== '') return model.slice(0, 128)
  }
  return null
}

function textOfFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // not this kind of machine
  }
}

/** What the machine is called, without a domain. */
export function machineName(): string {
  return hostname().split('.')[0] ?? ''
}

// What changes.

/** Readings beyond these come from sensors that are not there. */
const COLDEST_C = -55
const HOTTEST_C = 150

/**
 * The hottest of the machine's zones in degrees, one digit behind the point; null where it has none, or none that reads.
 * @source linux/Documentation/driver-api/thermal/sysfs-api.rst: temp in thousandths of a degree
 */
export async function readTemperature(folder = '/sys/class/thermal'): Promise<number | null> {
  const zones = await readdir(folder).catch(() => [])
  const readings = await Promise.all(
    zones.filter((zone) => /^thermal_zone\d+$/.test(zone)).map((zone) => readZone(join(folder, zone, 'temp'))),
  )
  const degrees = readings.filter((reading) => reading >= COLDEST_C && reading <= HOTTEST_C)
  return degrees.length === 0 ? null : Math.round(Math.max(...degrees) * 10) / 10
}

/** Not a number for a zone that cannot be read: some drivers refuse while their device sleeps. */
async function readZone(path: string): Promise<number> {
  const text = await readFile(path, 'utf8').catch(() => '')
  return /^-?\d+\s*$/.test(text) ? Number(text) / 1000 : Number.NaN
}

/** Longest answer that is waited for: D-Bus starts the service where it does not run. */
const TIME_SYNC_TIMEOUT_MS = 5000

/**
 * What the kernel says of its clock, by way of timedated: adjtimex(2) itself is closed to the daemon by its unit.
 * @returns null where nobody can say
 * @source timedatectl(1), NTPSynchronized; adjtimex(2), STA_UNSYNC
 */
export function readTimeSync(command = 'timedatectl'): Promise<boolean | null> {
  return new Promise((resolve) => {
    const args = ['show', '--property=NTPSynchronized', '--value']
    execFile(command, args, { timeout: TIME_SYNC_TIMEOUT_MS, maxBuffer: 4096 }, (error, answer) => {
      const word = error ? '' : answer.trim()
      resolve(word === 'yes' ? true : word === 'no' ? false : null)
    })
  })
}

// All of it, looked up at intervals and kept in between: status and feed ask often.

/** How the facts are looked up. */
interface FactsOptions {
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
