/**
 * What scripts for hosts are made with: the name the board was asked by, and values quoted.
 * @source none beside those below: the scripts are ours
 */
import { hex4, USBIP_PORT } from './op.ts'

/** What a script is for. Everything in it may come from strangers: it ends up quoted, whatever it is. */
export interface HostScriptOptions {
  /** How the host reaches the board: name or address, IPv6 without brackets. */
  host: string
  /** TCP port of the board's USB/IP server. */
  port: number
  /** Which device, as the setting `device` names one: `0403:6001`, `0403:6001:SERIAL`, a place `1-1.4`; null for all. */
  key: string | null
}

/** What the parts on the host are named after: one set for each board. Letters, digits, dots and dashes alone. */
export function hostPartsName({ host, port }: HostScriptOptions): string {
  const board = host.replace(/[^A-Za-z0-9.-]/g, '-').slice(0, 100)
  return `plantroom-usbip-${board}${port === USBIP_PORT ? '' : `-${port}`}`
}

// The name under which a request found this board, as the header Host has it.

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

// Values in shell scripts.

/**
 * A text as one word of a POSIX shell, whatever is in it: in single quotes nothing has a meaning but the quote itself.
 * A zero byte cannot be in a word: the text ends before it, as it does in the kernel.
 * @source POSIX.1-2017, Shell Command Language, 2.2.2
 */
export function quoteShell(text: string): string {
  const [word = ''] = text.split('\0', 1)
  return `'${word.replaceAll("'", "'\\''")}'`
}

// Values in PowerShell scripts.

/** What stands between single quotes as it is: ASCII that can be printed, but for the quote. */
const PLAIN = /[ -&(-~]+|'|[^ -~]/gu

/**
 * A text as one expression of PowerShell, in ASCII, whatever is in it.
 *
 * ASCII, because PowerShell takes U+2018 to U+201B for single quotes too, and because Windows PowerShell reads a file
 * without a mark in the code page of the machine: there a quote may come out of the second byte of any letter.
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
  // A text in front makes texts of all that follows.
  return parts.length === 1 && parts[0]?.startsWith("'") ? parts[0] : `('' + ${parts.join(' + ')})`
}
