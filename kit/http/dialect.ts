/** How the clients of a server speak: how bodies are written, how somebody signs in. */
import { Fault } from '#kit/fault.ts'
import type { Source } from './check.ts'
import { type Form, readForm } from './form.ts'
import { readJson } from './json.ts'

/** One way to speak; a server has one. */
export interface Dialect {
  /** Media type of every body but an upload. */
  mediaType: 'application/json' | 'application/x-www-form-urlencoded'
  /** How the check of a body reads what `readBody` gave. */
  source: Source
  /** @throws Fault `bad_json`, `bad_form`, `unsupported_media_type` */
  readBody(bytes: Uint8Array, contentType: string): unknown
  /** What stands for a body where none was sent; undefined: that is told as a fault of the body. */
  nothing(): unknown
  /** The header `WWW-Authenticate` of every 401. @source RFC 9110, 11.6.1 */
  challenge(): string
  /** How credentials are sent, as the end of a sentence. */
  credentials: string
  /** The same in OpenAPI. */
  securityScheme: Readonly<Record<string, string>>
}

/** JSON bodies, bearer tokens. */
export const jsonDialect: Dialect = {
  mediaType: 'application/json',
  source: 'json',
  // Programs that name the type of a body they do not send are common; an empty body is none.
  readBody: (bytes) => (bytes.length === 0 ? undefined : readJson(bytes)),
  nothing: () => undefined,
  challenge: () => 'Bearer',
  credentials: 'send Authorization: Bearer <token>',
  securityScheme: { type: 'http', scheme: 'bearer' },
}

/**
 * Forms, Basic credentials.
 * @param by `realm` is what a browser shows when it asks for the password of `user`; `maxFields` bounds one body
 */
export function formDialect(by: { user: string; realm: () => string; maxFields: number }): Dialect {
  return {
    mediaType: 'application/x-www-form-urlencoded',
    source: 'form',
    readBody(bytes, contentType) {
      checkCharset(contentType)
      return readForm(bytes, by.maxFields)
    },
    nothing: (): Form => ({ fields: Object.create(null), faults: [] }),
    // RFC 7617, 2.1: the one value that charset may have.
    challenge: () => `Basic realm="${quotable(by.realm())}", charset="UTF-8"`,
    credentials: `send Authorization: Basic with the user ${by.user} and the password`,
    securityScheme: { type: 'http', scheme: 'basic' },
  }
}

/** What stands in a quoted string of a header: printable ASCII without quotes and backslashes. RFC 9110, 5.6.4 */
function quotable(text: string): string {
  return text.replaceAll(/[^ !#-[\]-~]/g, '?')
}

/** A form is UTF-8 whatever it says; one that says otherwise would be misread in silence. */
function checkCharset(contentType: string): void {
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(contentType)?.[1]
  if (charset !== undefined && !/^utf-?8$/i.test(charset))
    throw new Fault(
      'unsupported_media_type',
      `the form says charset=${charset.slice(0, 40)}, expected UTF-8, which needs not be said`,
    )
}
