/** The addresses by which the paths of a stream come and go: of two networks one may be away, and the other carries it. */
import { Fault } from '#kit/fault.ts'

/** By the place of a path; null where its interface has no address. */
export type PathAddresses = readonly (string | null)[]

/**
 * @param names of the interfaces of the paths
 * @param addressOf of an interface, now; throws Fault `no_interface`
 * @throws Fault `no_interface` of the first path, where none has an address
 */
export function pathAddresses(names: readonly string[], addressOf: (name: string) => string): PathAddresses {
  const faults: Fault[] = []
  const addresses = names.map((name) => {
    try {
      return addressOf(name)
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault
      faults.push(fault)
      return null
    }
  })
  const [first] = faults
  if (first !== undefined && faults.length === names.length) throw first
  return addresses
}

/** Whether a path has an address now that it did not have before; one that went is waited for. */
export function hasMoved(from: PathAddresses, now: PathAddresses): boolean {
  return now.some((address, at) => address !== null && address !== from[at])
}

/**
 * A path that was there keeps its address while its network is away: a plug that is pulled makes no other stream.
 * @returns what fills the gaps in what there is now
 */
export function createLastAddresses(): (now: PathAddresses) => PathAddresses {
  let last: PathAddresses = []
  return (now) => {
    last = now.map((address, at) => address ?? last[at] ?? null)
    return last
  }
}
