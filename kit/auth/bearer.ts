/** The bearer token of an Authorization header. */

/** RFC 6750, 2.1: `b64token`. The length bounds what is hashed for a stranger. */
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]{1,512}=*)$/i

/** @returns undefined where there is no header, or one of another scheme or form */
export function bearerOf(header: string | undefined): string | undefined {
  return header === undefined ? undefined : BEARER.exec(header.trim())?.[1]
}
