/** The hops of `x-forwarded-for`, the nearest first. */

/** No proxy writes longer ones: an IPv6 address with zone, brackets, quotes and a port. */
const LONGEST_HOP = 100

/**
 * Takes the header apart from its right end, where the nearest proxy wrote, and no further than asked: what stands on
 * the left is whatever a stranger sent. Empty entries are left out (RFC 9110, 5.6.1.2). Quotes, brackets, ports and
 * zones are taken off; what is left is not checked to be an address.
 * @param header its lines in the order they came, or joined by commas as Node does
 * @param most hops that are looked at
 * @source document 1, Audit record
 */
export function hopsOf(header: string | readonly string[] | undefined, most: number): string[] {
  const text = typeof header === 'string' ? header : (header ?? []).join(',')
  const hops: string[] = []
  let end = text.length
  for (let looked = 0; looked < most && end >= 0; looked++) {
    const comma = end === 0 ? -1 : text.lastIndexOf(',', end - 1)
    const hop = text.slice(comma + 1, end).trim()
    if (hop !== '') hops.push(hop.length > LONGEST_HOP ? '' : bare(hop))
    end = comma
  }
  return hops
}

/** `"[2001:db8::1]:443"`, `[fe80::1%eth0]`, `192.0.2.1:8080`; a lone IPv6 address has colons and no port. */
function bare(hop: string): string {
  const unquoted = /^"(.*)"$/.exec(hop)?.[1] ?? hop
  const inside = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(unquoted)?.[1]
  if (inside !== undefined) return withoutZone(inside)
  return withoutZone(/^([^:]*):\d{1,5}$/.exec(unquoted)?.[1] ?? unquoted)
}

function withoutZone(address: string): string {
  return address.split('%', 1)[0] ?? ''
}
