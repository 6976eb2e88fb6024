/** What pages do with boards, gateways and recorders that were found: list them, compare root CAs, adopt them as devices. */
import { Fault } from '#kit/pure/fault.ts'
import type { FoundDaemon, FoundDaemons } from '../core/drivers/found.ts'
import { rootOf } from '../core/drivers/gateway/gateway-place.ts'
import type { UiFound } from '../core/surfaces.ts'
import { createGatewayRoots, type FetchedRoot } from '../io/gateway-roots.ts'
import { stageRows } from '../io/site-import.ts'
import { fingerprintOf } from '../io/transports/secure.ts'
import { type House, importParts } from './house.ts'

export function foundOf({ context, records, site }: House, found: FoundDaemons): UiFound {
  const { clock, config } = context
  const roots = createGatewayRoots({ clock, connectMs: config.drivers.connect_ms })

  /** @throws Fault `found_root_unread` */
  function fetchRoot({ address, port, hasTls }: FoundDaemon): Promise<FetchedRoot> {
    if (!hasTls) throw new Fault('found_root_unread', 'It has no root CA to compare: it does not speak HTTPS.')
    return roots.fetch({ host: address, port })
  }

  /** Fetches the root again, since it is not kept until somebody has compared it. @throws Fault `found_root` */
  async function comparedRoot(id: string, fingerprint: string): Promise<string> {
    const { root, fingerprint: now } = await fetchRoot(found.daemon(id))
    if (now === fingerprint) return root
    throw new Fault('found_root', `Its root CA is another now (fingerprint ${now}). Compare it once more.`)
  }

  return {
    isLooking: () => config.mdns.enabled,
    list: () => found.list(),
    async root(id) {
      const daemon = found.daemon(id)
      const { fingerprint, endsAt } = await fetchRoot(daemon)
      const row = daemon.device ? site.book.row('device', daemon.device.id) : undefined
      return { fingerprint, endsAt, adopted: adoptedPrint(row && rootOf(row)) }
    },
    async adopt({ fingerprint, ...wish }, { username: author }) {
      const compared = fingerprint === undefined ? {} : { root: await comparedRoot(wish.id, fingerprint) }
      const waiting = site.pending
        .changes()
        .flatMap((change) => (change.kind === 'add' && change.table === 'device' ? [change.row] : []))
      const rows = { device: [found.rowOf({ ...wish, ...compared }, waiting)] }
      await stageRows(site, { rows, remove: {} }, importParts(config, clock), author)
      const facts = fingerprint === undefined ? {} : { detail: { fingerprint } }
      records.journal.record({ who: author, from: 'page', what: 'device adopted', target: wish.id, ...facts })
    },
  }
}

/** Null if there is no root, or none that can be read. */
function adoptedPrint(root: unknown): string | null {
  try {
    return typeof root === 'string' ? fingerprintOf(root) : null
  } catch {
    return null
  }
}
