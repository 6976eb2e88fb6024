/** How the gateway is, in one line for `systemctl status`: what is wrong, and where, before what is well. */
import type { PortState } from './port-state-table.ts'
import type { UnitView } from './unit-view.ts'

/** What the line is made of. */
export interface StatusFacts {
  /** Whether anybody can sign in. */
  isSetUp: boolean
  ports: readonly {
    path: string
    life(): { state: PortState }
    adapter: { readonly faces?: { units?: { list(): Pick<UnitView, 'unitId' | 'state'>[] } } }
  }[]
}

/** Named at most; the pages have all. */
const MOST_NAMED = 3

/** @returns no line break */
export function statusLine({ isSetUp, ports }: StatusFacts): string {
  if (!isSetUp) return 'nobody can sign in yet: open the page and make the administrator'
  if (ports.length === 0) return 'no lines are set up'
  const lost = ports.filter((port) => ['absent', 'failed'].includes(port.life().state))
  const units = ports.flatMap(({ path, adapter }) =>
    (adapter.faces?.units?.list() ?? []).map(({ unitId, state }) => ({ state, name: `${unitId} on ${path}` })),
  )
  const namesOf = (...states: UnitView['state'][]) =>
    units.filter(({ state }) => states.includes(state)).map(({ name }) => name)
  // While it is probed a silent unit has not answered yet.
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
