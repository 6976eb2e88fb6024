/** What the machine says of itself, as the system page shows it. */

/** Bytes for memory, milliseconds for uptime, load as the mean of 1, 5 and 15 minutes. */
export interface SystemFacts {
  hostname: string
  os: string
  kernel: string
  arch: string
  node: string
  systemUptimeMs: number
  timeZone: string
  memory: { rssBytes: number; totalBytes: number; freeBytes: number }
  load: [number, number, number]
  /** Addresses that others can reach, by interface. */
  addresses: { name: string; address: string; family: string }[]
}
