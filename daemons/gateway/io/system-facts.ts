/** Facts about the machine and its operating system. */

import { readdir, readFile, readlink } from 'node:fs/promises'
import { arch, freemem, hostname, loadavg, release, totalmem, uptime } from 'node:os'
import { join } from 'node:path'
import { reachableAddresses } from '#kit/net/address.ts'
import type { SystemFacts } from '../core/status.ts'

/** Reads everything anew each time, which is cheap enough for every request. */
export async function readSystemFacts(): Promise<SystemFacts> {
  return {
    hostname: hostname(),
    os: await osName(),
    kernel: release(),
    arch: arch(),
    node: process.version,
    systemUptimeMs: Math.round(uptime() * 1000),
    timeZone: await timeZone(),
    memory: { rssBytes: process.memoryUsage.rss(), totalBytes: totalmem(), freeBytes: freemem() },
    load: loadavg() as [number, number, number],
    addresses: reachableAddresses().map(({ interface: name, address, family }) => ({ name, address, family })),
    temperatures: await readTemperatures(),
  }
}

/** Sensors of one machine; a server may have dozens. */
const MOST_SENSORS = 32

/**
 * The thermal zones of the kernel. One that is off answers with an error, and is left out.
 * @param folder of the kernel's; a machine without sensors has none
 * @source Documentation/ABI/testing/sysfs-class-thermal: `temp` in thousandths of a degree
 */
export async function readTemperatures(folder = '/sys/class/thermal'): Promise<SystemFacts['temperatures']> {
  const zones = (await readdir(folder).catch(() => [])).filter((name) => name.startsWith('thermal_zone')).sort()
  const read = async (zone: string, file: string) =>
    (await readFile(join(folder, zone, file), 'utf8').catch(() => '')).trim()
  const all = await Promise.all(
    zones.slice(0, MOST_SENSORS).map(async (zone) => {
      const thousandths = await read(zone, 'temp')
      return {
        name: (await read(zone, 'type')) || zone,
        celsius: thousandths === '' ? Number.NaN : Number(thousandths) / 1000,
      }
    }),
  )
  return all.filter(({ celsius }) => Number.isFinite(celsius))
}

/** @source os-release(5), PRETTY_NAME */
async function osName(): Promise<string> {
  try {
    const text = await readFile('/etc/os-release', 'utf8')
    return /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(text)?.[1] ?? 'Linux'
  } catch {
    return 'Linux' // minimal systems have no such file; the kernel's release says the rest
  }
}

/**
 * The name of the time zone, such as `Europe/Berlin`. ICU is asked last, because its tables keep 6 MB of memory.
 * @source localtime(5); Debian's /etc/timezone where /etc/localtime is a copy
 */
async function timeZone(): Promise<string> {
  const link = await readlink('/etc/localtime').catch(() => '')
  const name =
    process.env.TZ ?? /\/zoneinfo\/(.+)$/.exec(link)?.[1] ?? (await readFile('/etc/timezone', 'utf8').catch(() => ''))
  return /^[A-Z][A-Za-z0-9_+/-]*$/m.exec(name)?.[0] ?? Intl.DateTimeFormat().resolvedOptions().timeZone
}
