/** The name under which a request found this board, as the header Host has it. */

/** RFC 1123, 2.1; and underscores, which names of Windows machines have. */
const LABEL = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?'
const NAME = new RegExp(`^(${LABEL}(?:\\.${LABEL})*)\\.?(?::\\d{1,5})?$`, 'i')
const LITERAL = /^\[([0-9a-f:.]{2,45})\](?::\d{1,5})?$/i

/**
 * @param header `board.local`, `10.0.0.7:8080`, `[fd00::7]`
 * @returns name or address in lower case, without port, dot at the end and brackets; undefined where it is neither
 * @source RFC 9110, 7.2; RFC 3986, 3.2.2
 */
export function hostOfHeader(header: string | undefined): string | undefined {
  if (header === undefined || header.length > 260) return undefined
  const literal = LITERAL.exec(header)?.[1]
  if (literal !== undefined) return URL.canParse(`http://[${literal}]/`) ? literal.toLowerCase() : undefined
  const name = NAME.exec(header)?.[1]?.toLowerCase()
  // 256.1.1.1 and 1.2.3 look like names; whoever means a number means an address.
  if (name !== undefined && /^[\d.]+$/.test(name)) return isIpv4(name) ? name : undefined
  return name
}

function isIpv4(text: string): boolean {
  const parts = text.split('.')
  return parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)
}
