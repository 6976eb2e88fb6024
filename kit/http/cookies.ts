/** Cookies that keep a session: reading one from a request, and the `Set-Cookie`s that store and end it. */
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'

/** None of our tokens is longer. */
const LONGEST = 256

/**
 * The value of a cookie; undefined if there is none, or several that differ: then somebody else has set one of them for
 * another path or domain, and it cannot be told which is ours.
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

/** A session of one daemon's pages. */
export interface SessionCookie {
  name: string
  /** Sent over TLS only. */
  isSecure: boolean
}

/** The `Set-Cookie` that stores a session. @param lifeMs how long the browser keeps it */
export function keepSession({ name, isSecure }: SessionCookie, token: string, lifeMs: number): string {
  const lifeS = Math.max(1, Math.ceil(lifeMs / 1000))
  return `${name}=${token}; Max-Age=${lifeS}; ${attributes(isSecure)}`
}

/** The `Set-Cookie` that ends a session. */
export function dropSession({ name, isSecure }: SessionCookie): string {
  return `${name}=; Max-Age=0; ${attributes(isSecure)}`
}

/**
 * The `Set-Cookie`s that clear cookies which a system under a sibling name has set for a shared domain: two different
 * values are both ignored, so nobody could stay signed in.
 */
export function dropPlanted(cookie: SessionCookie, host: string | undefined): string[] {
  return domainsOf(host).map((domain) => `${dropSession(cookie)}; Domain=${domain}`)
}

/**
 * The `Set-Cookie`s that clear a cookie of another system. A system under another name can only have set it for a
 * shared domain, and a cookie can only be cleared under the domain it was set for: hence one for each possible domain.
 */
export function dropEverywhere(name: string, host: string | undefined): string[] {
  const clear = dropSession({ name, isSecure: false })
  return [clear, ...domainsOf(host).map((domain) => `${clear}; Domain=${domain}`)]
}

function attributes(isSecure: boolean): string {
  return `Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
}

/** `a.b.example` belongs to itself and `b.example`; an address or a bare name belongs to none. */
function domainsOf(host: string | undefined): string[] {
  const name = (host ?? '').replace(/:\d*$/, '').toLowerCase()
  if (!/^[a-z0-9.-]{1,253}$/.test(name) || isIP(name) !== 0) return []
  const labels = name.split('.').filter((label) => label !== '')
  return labels.slice(0, -1).map((_, at) => labels.slice(at).join('.'))
}
