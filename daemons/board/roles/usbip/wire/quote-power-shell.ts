/** Values in PowerShell scripts. */
import { hex4 } from './hex4.ts'

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
