/**
 * Helpers for host scripts: the name by which the board was addressed, and quoting of values.
 * @source none beside those below: the scripts are ours
 */
import { hex4, USBIP_PORT } from './op.ts'

/** What a script is for. Any value may come from a stranger; each one is quoted. */
export interface HostScriptOptions {
  /** How the host reaches the board: name or address, IPv6 without brackets. */
  host: string
  /** TCP port of the board's USB/IP server. */
  port: number
  /** The device, as the setting `device` names it: `0403:6001`, `0403:6001:SERIAL`, a place `1-1.4`; null for all. */
  key: string | null
}

/** Name of the files on the host: one set for each board. Only letters, digits, dots and dashes. */
export function hostPartsName({ host, port }: HostScriptOptions): string {
  const board = host.replace(/[^A-Za-z0-9.-]/g, '-').slice(0, 100)
  return `plantroom-usbip-${board}${port === USBIP_PORT ? '' : `-${port}`}`
}

// The name by which a request reached this board, from its Host header.

/** RFC 1123, 2.1; and underscores, which occur in names of Windows machines. */
const LABEL = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?'
const NAME = new RegExp(`^(${LABEL}(?:\\.${LABEL})*)\\.?(?::\\d{1,5})?$`, 'i')
const LITERAL = /^\[([0-9a-f:.]{2,45})\](?::\d{1,5})?$/i

/**
 * @param header `board.local`, `10.0.0.7:8080`, `[fd00::7]`
 * @returns name or address in lower case, without port, final dot and brackets; undefined if it is neither
 * @source RFC 9110, 7.2; RFC 3986, 3.2.2
 */
export function hostOfHeader(header: string | undefined): string | undefined {
  if (header === undefined || header.length > 260) return undefined
  const literal = LITERAL.exec(header)?.[1]
  if (literal !== undefined) return URL.canParse(`http://[${literal}]/`) ? literal.toLowerCase() : undefined
  const name = NAME.exec(header)?.[1]?.toLowerCase()
  // 256.1.1.1 and 1.2.3 look like names, but digits alone are meant as an address.
  if (name !== undefined && /^[\d.]+$/.test(name)) return isIpv4(name) ? name : undefined
  return name
}

function isIpv4(text: string): boolean {
  const parts = text.split('.')
  return parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)
}

// Values in shell scripts.

/**
 * Quotes any text as one word of a POSIX shell: within single quotes only the quote itself is special. A word cannot
 * contain a zero byte: the text ends before it, as it does in the kernel.
 * @source POSIX.1-2017, Shell Command Language, 2.2.2
 */
export function quoteShell(text: string): string {
  const [word = ''] = text.split('\0', 1)
  return `'${word.replaceAll("'", "'\\''")}'`
}

// Values in PowerShell scripts.

/**
 * The alternatives: printable ASCII other than the quote, which goes between single quotes as it is; the quote;
 * anything else.
 */
const PLAIN = /[ -&(-~]+|'|[^ -~]/gu

/**
 * Quotes any text as one PowerShell expression in ASCII.
 *
 * ASCII, because PowerShell also accepts U+2018 to U+201B as single quotes, and because Windows PowerShell reads a file
 * without a byte order mark in the machine's code page, where the second byte of any letter may become a quote.
 * @source PowerShell language specification 3.0, 2.3.5.2 string literals
 */
export function quotePowerShell(text: string): string {
  const parts: string[] = []
  for (const [part] of text.matchAll(PLAIN)) {
    if (part === "'") parts.push("''''")
    else if (/^[ -~]/.test(part)) parts.push(`'${part}'`)
    else for (let at = 0; at < part.length; at++) parts.push(`[char]0x${hex4(part.charCodeAt(at))}`)
  }
  if (parts.length === 0) return "''"
  // A leading string makes `+` concatenate.
  return parts.length === 1 && parts[0]?.startsWith("'") ? parts[0] : `('' + ${parts.join(' + ')})`
}
