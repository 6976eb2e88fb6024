/** The gateway's identity, facts about its system, and its state in one line for systemd. */

import type { UnitStatesFace, UnitView } from './bus/units.ts'
import type { PortState } from './lines/port.ts'

// The gateway's own name, shown on the name plate of every page.

/** The content of identity.json. */
export interface IdentityRecord {
  name: string
}

export interface Identity {
  name(): string
  rename(name: string): Promise<void>
}

/** @param save resolves once the name is on disk */
export function createIdentity(record: IdentityRecord, save: (record: IdentityRecord) => Promise<void>): Identity {
  let kept = record
  return {
    name: () => kept.name,
    async rename(name) {
      await save({ name })
      kept = { name }
    },
  }
}

// Facts about the machine, as the system page shows them.

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
  /** Addresses at which others can reach it, by interface. */
  addresses: { name: string; address: string; family: string }[]
  /** By sensor, as the kernel names it; empty for a machine that has none. */
  temperatures: { name: string; celsius: number }[]
}

/** The facts that the status line is made of. */
interface StatusFacts {
  /** Whether anybody can sign in. */
  isSetUp: boolean
  ports: readonly {
    path: string
    life(): { state: PortState }
    adapter: { readonly faces?: { [Face in 'units' | 'nodes']?: Pick<UnitStatesFace, 'list'> } }
  }[]
}

/** How many ports or units are named at most; the pages show all. */
const MOST_NAMED = 3

/** @returns a text without line breaks */
export function statusLine({ isSetUp, ports }: StatusFacts): string {
  if (!isSetUp) return 'nobody can sign in yet: open the page and make the administrator'
  if (ports.length === 0) return 'no lines are set up'
  const lost = ports.filter((port) => ['absent', 'failed'].includes(port.life().state))
  const units = ports.flatMap(({ path, adapter }) =>
    ((adapter.faces?.units ?? adapter.faces?.nodes)?.list() ?? []).map(({ unitId, state }) => ({
      state,
      name: `${unitId} on ${path}`,
    })),
  )
  const namesOf = (...states: UnitView['state'][]) =>
    units.filter(({ state }) => states.includes(state)).map(({ name }) => name)
  // A silent unit that is being probed has not answered yet.
  const [silent, noisy] = [namesOf('silent', 'probing'), namesOf('noisy')]
  const open = ports.filter((port) => port.life().state === 'open').length
  return [
    ...(lost.length > 0 ? [`not there or refused: ${named(lost.map(({ path }) => path))}`] : []),
    ...(silent.length > 0 ? [`silent: unit ${named(silent)}`] : []),
    ...(noisy.length > 0 ? [`noisy: unit ${named(noisy)}`] : []),
    `${open} of ${ports.length} lines are open`,
  ].join('; ')
}

function named(names: readonly string[]): string {
  const more = names.length - MOST_NAMED
  return names.slice(0, MOST_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '')
}
