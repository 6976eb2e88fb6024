/** The session token of a call: from its headers alone, never from a query or a cookie. */

/** No token of ours is longer; what is longer is not looked up. */
const LONGEST = 512

/**
 * `Authorization: Bearer` wins over `svc-api-token`, also with a token that is not good or missing: who names both means
 * the first. Another scheme than Bearer says nothing of a token.
 * @source document 1, Session token; Authentication 2
 */
export function tokenOf(headers: Readonly<Record<string, string | string[] | undefined>>): string | undefined {
  const { authorization, 'svc-api-token': own } = headers
  const bearer = typeof authorization === 'string' ? /^bearer(?:[ \t]+(.*))?$/i.exec(authorization.trim()) : null
  const text = bearer ? bearer[1] : typeof own === 'string' ? own.trim() : undefined
  return text === undefined || text === '' || text.length > LONGEST ? undefined : text
}
