/** What a board says of itself over the network, judged. Nothing of it is believed before the board has answered. */
import type { HeardService } from '#kit/net/mdns/heard-service.ts'
import { groupFault } from '../wire/multicast-group.ts'
import { type RoleName, roleNames } from '../wire/role-name.ts'

/** What a board says of itself. */
export interface PeerClaim {
  role: RoleName
  /** 1..64 characters, none of them a control character. */
  name: string
  /** `lobby.local`, or empty. */
  host: string
  /** 1..65535 */
  port: number
  /** Addresses, the likeliest first; at least one. */
  reach: readonly string[]
  /** Address that this was sent from. */
  from: string
  /** null where it says none that is one. */
  version: string | null
  /** Where its pages begin: on its own site, whatever it says. */
  path: string
  /** `239.69.1.2:5004`, where it sends sound. */
  stream: string | null
}

/**
 * The stream that a board sends, as it announces it and is read by others.
 * @returns `239.69.1.2:5004`; null in every other role
 * @source Interface 2, B, Peer
 */
export function streamText({ role, mcast, port }: { role: RoleName; mcast: string; port: number }): string | null {
  return role === 'encoder' && mcast !== '' ? `${mcast}:${port}` : null
}

const LONGEST_NAME = 64
const VERSION = /^\d{1,5}\.\d{1,5}\.\d{1,5}(?:[-+][0-9A-Za-z.+-]{1,32})?$/
/** Two slashes in front would lead to another site. */
const PATH = /^\/(?:[\w.~-][\w.~/-]{0,62})?$/

/** @returns undefined where it is no board: a gateway, another daemon, or nothing that there is */
export function claimOf({ id, host, port, reach, from, text }: HeardService): PeerClaim | undefined {
  const role = roleNames.find((known) => known === text.get('role'))
  if (!role || reach.length === 0) return undefined
  const version = text.get('version') ?? ''
  const path = text.get('path') ?? ''
  return {
    role,
    name: nameOf(text.get('name') ?? '', host, id),
    host,
    port,
    reach,
    from,
    version: VERSION.test(version) ? version : null,
    path: PATH.test(path) ? path : '/',
    stream: streamOf(text.get('stream') ?? ''),
  }
}

/** Behind a repeater. */
export const RELAYED = 'relayed'

/** Who boards are counted by, so that one machine cannot take the room of others: its address, or that it was relayed. */
export function senderOf({ reach, from }: PeerClaim): string {
  return reach.includes(from) ? from : RELAYED
}

/** Whether a board says the same twice; where it sent that from does not matter. */
export function isSameClaim(one: PeerClaim, other: PeerClaim): boolean {
  const { from: _one, reach: reachOne, ...restOne } = one
  const { from: _other, reach: reachOther, ...restOther } = other
  return JSON.stringify(restOne) === JSON.stringify(restOther) && reachOther.every((each) => reachOne.includes(each))
}

function nameOf(name: string, host: string, id: string): string {
  const shown = name || host.replace(/\.local$/, '') || id.split('.', 1)[0] || id
  return [...shown].slice(0, LONGEST_NAME).join('')
}

function streamOf(text: string): string | null {
  const [, group = '', port = ''] = /^([\d.]{7,15}):(\d{1,5})$/.exec(text) ?? []
  const isPort = Number(port) >= 1 && Number(port) <= 65_535
  return group !== '' && isPort && groupFault(group) === undefined ? `${group}:${Number(port)}` : null
}
