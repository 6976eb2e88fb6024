/** The boards of the network, this one first. */
import { type Route, route } from '#kit/http/route.ts'
import { type FoundPeer, urlOf } from '../core/peer-table.ts'
import type { RoleName } from '../wire/role-name.ts'

/** This board. */
export interface OwnPeer {
  hostname: string
  /** Empty where it has none. */
  address: string
  port: number
  role: RoleName
  name: string
  version: string
  /** `239.69.1.2:5004`, where it sends sound. */
  stream: string | null
}

/** What the routes are made of. */
export interface PeerRouteParts {
  self(): OwnPeer
  list(): FoundPeer[]
}

export function peerRoutes({ self, list }: PeerRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/peers',
      who: 'admin',
      summary: 'This board and every other board found over mDNS',
      handle: () => [ownView(self()), ...list().map(viewOf)],
    }),
  ]
}

/** `IP` is the name of the interface document; `ip` is for those who read it in JavaScript. */
function ownView({ hostname, address, port, role, name, stream, version }: OwnPeer) {
  return {
    ...{ hostname, IP: address, ip: address, role, name, stream, port },
    ...{ url: urlOf(address || `${hostname}.local`, port), path: '/', version },
    ...{ self: true, state: 'here', last_heard_at: null, last_answer_at: null },
  }
}

function viewOf({ host, address, role, name, stream, port, path, version, state, heardAt, answeredAt }: FoundPeer) {
  return {
    ...{ hostname: host.replace(/\.local$/, ''), IP: address, ip: address, role, name, stream, port },
    ...{ url: urlOf(address, port), path, version },
    ...{ self: false, state, last_heard_at: heardAt, last_answer_at: answeredAt },
  }
}
