/** Basic credentials of an Authorization header. */
import { bytesOfBase64 } from '../bytes/base64.ts'

/** Who says to be whom. */
export interface BasicCredentials {
  username: string
  password: string
}

/** The length bounds what is decoded for a stranger. */
const BASIC = /^basic +([A-Za-z0-9+/]{0,4096}={0,2})$/i

/** No control characters in either. @source RFC 7617, 2 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

/**
 * Reads `Basic <base64 of user:password in UTF-8>`. The first colon ends the user; a password may hold more of them.
 * @returns undefined where there is no header, one of another scheme, or one of no such form
 * @source RFC 7617, 2 and 2.1
 */
export function basicOf(header: string | undefined): BasicCredentials | undefined {
  const coded = header === undefined ? undefined : BASIC.exec(header.trim())?.[1]
  const text = coded === undefined ? undefined : textOf(coded)
  const colon = text?.indexOf(':') ?? -1
  if (text === undefined || colon < 0 || CONTROL.test(text)) return undefined
  return { username: text.slice(0, colon), password: text.slice(colon + 1) }
}

function textOf(coded: string): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytesOfBase64(coded))
  } catch {
    // Whatever is wrong with it: these are no credentials, and that is all a stranger gets to know.
    return undefined
  }
}
