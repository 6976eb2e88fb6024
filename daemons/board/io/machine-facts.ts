/** Facts about the machine: its name, model and boot, its temperature, memory, load and clock. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { freemem, hostname, loadavg, totalmem } from 'node:os'
import { join } from 'node:path'
import type { Clock, Timer } from '#kit/clock.ts'
import { reachableAddresses } from '#kit/net/address.ts'
import { identityHere, instanceName } from '#kit/net/mdns/mdns.ts'
import type { MachineFacts } from '../core/machine/ports.ts'

// Facts that stay while the machine runs.

/** Id of the machine's boot; empty if the kernel does not tell. @source random(4), /proc/sys/kernel/random/boot_id */
export function readBootId(path = '/proc/sys/kernel/random/boot_id'): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return '' // a container without this file: reasons of starts are then less exact, and say so
  }
}

/** Two bytes that differ between boards, even between clones of one card and two boards on one machine. */
export function groupSeed(stateFolder: string): Uint8Array {
  return Buffer.from(instanceName('board', identityHere(stateFolder)).slice(-4), 'hex')
}

/** Where makers store the model: device tree on ARM, firmware tables on PCs. */
const MODEL_PLACES = ['/proc/device-tree/model', '/sys/class/dmi/id/product_name']

/** The maker's name of the model; null if unknown. */
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

/** The machine's name, without a domain. */
export function machineName(): string {
  return hostname().split('.')[0] ?? ''
}

// Facts that change.

/** Readings beyond these come from sensors that do not exist. */
const COLDEST_C = -55
const HOTTEST_C = 150

/**
 * The hottest of the machine's zones in degrees, one digit after the point; null if there is none that reads.
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

/** Longest wait for an answer: D-Bus may have to start the service. */
const TIME_SYNC_TIMEOUT_MS = 5000

/**
 * The kernel's clock status, by way of timedated: the daemon's unit blocks adjtimex(2) itself.
 * @returns null if unknown
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

// All facts, read at intervals and cached: status and feed ask often.

/** How to read the facts. */
interface FactsOptions {
  clock: Clock
  periodMs: number
  /** Less often: reading the state of the clock starts a program. */
  timeSyncMs: number
  readTemperature(): Promise<number | null>
  readTimeSync(): Promise<boolean | null>
  /** The clock has begun or ceased to follow a time server. */
  onTimeSync(): void
}

/** The facts as last read. */
export interface FactsBook {
  facts(): MachineFacts
  /** Reads them once, and from then on at intervals. */
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
    const before = isTimeSynchronised
    isTimeSynchronised = await read.readTimeSync()
    if (isTimeSynchronised !== before) read.onTimeSync()
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
      // Not waited for: a bus that does not answer would delay the start.
      void lookAtTime()
      timers = [clock.every(periodMs, () => void lookAtTemperature()), clock.every(timeSyncMs, () => void lookAtTime())]
      await lookAtTemperature()
    },
    stop() {
      for (const timer of timers) timer.cancel()
    },
  }
}
