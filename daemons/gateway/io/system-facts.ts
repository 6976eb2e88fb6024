/** What the machine says of itself. */

import { readFile } from 'node:fs/promises'
import { arch, freemem, hostname, loadavg, networkInterfaces, release, totalmem, uptime } from 'node:os'
import type { SystemFacts } from '../core/system-facts.ts'

/** Reads it all anew; cheap enough for every request. */
export async function readSystemFacts(): Promise<SystemFacts> {
  return {
    hostname: hostname(),
    os: await osName(),
    kernel: release(),
    arch: arch(),
    node: process.version,
    systemUptimeMs: Math.round(uptime() * 1000),
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    memory: { rssBytes: process.memoryUsage.rss(), totalBytes: totalmem(), freeBytes: freemem() },
    load: loadavg() as [number, number, number],
    addresses: Object.entries(networkInterfaces()).flatMap(([name, list]) =>
      (list ?? []).filter((entry) => !entry.internal).map(({ address, family }) => ({ name, address, family })),
    ),
  }
}

/** @source os-release(5), PRETTY_NAME */
async function osName(): Promise<string> {
  try {
    const text = await readFile('/etc/os-release', 'utf8')
    return /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(text)?.[1] ?? 'Linux'
  } catch {
    return 'Linux' // no such file on a minimal system; the kernel's release says the rest
  }
}
