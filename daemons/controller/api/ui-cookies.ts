/** The two cookies of the pages: their own session, and the nonce with which another system hands a person over. */
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'

/** The session of a page. Cookies do not tell ports apart, so the name is nobody else's. */
export const SESSION_COOKIE = 'svc_controller'
/** The nonce of POST /api/session_handoff, set by whoever asked for it. @source document 1, Handoff nonce */
export const HANDOFF_COOKIE = 'svc_handoff'

/** Longer is no token of ours. */
const LONGEST = 256

/**
 * The value of a cookie; undefined where there is none, or several that differ: then somebody else has set one of them,
 * for a path or a domain of his own, and which one is ours cannot be told.
 * @source RFC 6265, 5.4
 */
export function cookieOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const values = (headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1))
  const [value] = values
  if (value === undefined || values.some((other) => other !== value)) return undefined
  return /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+$/.test(value) && value.length <= LONGEST ? value : undefined
}

/** The `Set-Cookie` that keeps a session. @param lifeMs how long the browser keeps it; @param isSecure over TLS only */
export function keepSession(token: string, lifeMs: number, isSecure: boolean): string {
  const lifeS = Math.max(1, Math.ceil(lifeMs / 1000))
  return `${SESSION_COOKIE}=${token}; Max-Age=${lifeS}; ${attributes(isSecure)}`
}

/** The `Set-Cookie` that ends one. */
export function dropSession(isSecure: boolean): string {
  return `${SESSION_COOKIE}=; Max-Age=0; ${attributes(isSecure)}`
}

/**
 * The `Set-Cookie`s that clear what a system under a sibling name has set for a domain that both are in: of two that
 * differ none counts, and whoever signs in could never stay.
 */
export function dropPlanted(host: string | undefined, isSecure: boolean): string[] {
  return domainsOf(host).map((domain) => `${dropSession(isSecure)}; Domain=${domain}`)
}

/**
 * The `Set-Cookie`s that clear the nonce. A system under another name can only have set it for a domain that both are
 * in, and a cookie is cleared under the domain alone that it was set for: hence one for each that it may have been.
 */
export function dropHandoff(host: string | undefined): string[] {
  const clear = `${HANDOFF_COOKIE}=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict`
  return [clear, ...domainsOf(host).map((domain) => `${clear}; Domain=${domain}`)]
}

function attributes(isSecure: boolean): string {
  return `Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
}

/** `a.b.example` is in itself and in `b.example`; an address and a bare name are in nothing. */
function domainsOf(host: string | undefined): string[] {
  const name = (host ?? '').replace(/:\d*$/, '').toLowerCase()
  if (!/^[a-z0-9.-]{1,253}$/.test(name) || isIP(name) !== 0) return []
  const labels = name.split('.').filter((label) => label !== '')
  return labels.slice(0, -1).map((_, at) => labels.slice(at).join('.'))
}
