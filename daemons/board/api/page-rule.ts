/** Which pages may call this board: its own, under each of its names, and those of boards it has found. */
import type { BrowserRule } from '#kit/http/browser-rule.ts'
import { isHostAmong, parseOrigin } from '#kit/net/origin.ts'

export interface PageRuleParts {
  /** What the board is called, without a domain: `lobby`. Asked anew at each request. */
  hostnames(): readonly string[]
  /** Further names that it goes by; key `http.hosts`. */
  hosts: readonly string[]
  /** Its addresses, as other machines reach it. */
  addresses(): readonly string[]
  /** TCP port it listens on. */
  port(): number
  /** Whether a board that was found serves its pages there: `http://10.0.0.7:8080`. */
  isFoundOrigin(origin: string): boolean
}

/** @source Interface 2, B, Authentication 2 */
export function createPageRule(parts: PageRuleParts): BrowserRule {
  const names = () => [...parts.hostnames().flatMap((name) => [name, `${name}.local`]), ...parts.hosts]

  /** The matrix may be open under the address and route to `lobby.local`, which is this very board. */
  function isOwnName(origin: string): boolean {
    const from = parseOrigin(origin)
    if (from?.port !== parts.port()) return false
    const host = from.host.replace(/^\[|\]$/g, '').replace(/\.$/, '')
    return [...names(), ...parts.addresses()].some((one) => one.toLowerCase() === host)
  }

  return {
    takesHost: (host) => isHostAmong(host, names()),
    takesOrigin: (origin) => isOwnName(origin) || parts.isFoundOrigin(origin),
  }
}
