/** Kinds of services, as multicast DNS names them. */

/** A kind. */
export interface ServiceKind {
  /** `plantroom` for `_plantroom._tcp.local`. */
  type: string
  /** A part of the kind that is looked for instead of all: `ravenna_session`. @source RFC 6763, 7.1 */
  subtype?: string
}

/** What every daemon is. */
export const DAEMON: ServiceKind = { type: 'plantroom' }

/** What services of a kind are called behind their own name. */
export function domainOf({ type }: ServiceKind): string {
  return `_${type}._tcp.local`
}

/** What is asked for to find them. */
export function soughtOf(kind: ServiceKind): string {
  return kind.subtype === undefined ? domainOf(kind) : `_${kind.subtype}._sub.${domainOf(kind)}`
}

/** Labels one of which stands in each message that has to do with the kind. */
export function labelsOf({ subtype, type }: ServiceKind): string[] {
  return subtype === undefined ? [`_${type}`] : [`_${type}`, `_${subtype}`]
}
