/** What holds a caller to less than its role allows: a program's key that is for some things only. */
import type { Fault } from '#kit/fault.ts'
import type { Caller } from './route.ts'

/** Where somebody knocks. */
export interface Place {
  method: string
  /** As the route table has it: `/api/ports/:path/rest/tx`. */
  path: string
  /** Parameters of the path, decoded once. */
  params: Readonly<Record<string, string>>
  /** Address of the peer, without port. */
  remoteAddress: string
}

/** The one place of a daemon where that is decided. Routes for anyone are not asked about. */
export interface Fence {
  /** Asked of every route and socket after the role. @throws Fault with a status of 403 */
  check(caller: Caller, place: Place): void
  /** Whether a measurement with these labels is this caller's to see. */
  showsSample(caller: Caller, labels: Readonly<Record<string, unknown>>): boolean
  /** Told of every known caller that was refused, by its role or by `check`. Must not throw. */
  refused(caller: Caller, place: Place, fault: Fault): void
}
