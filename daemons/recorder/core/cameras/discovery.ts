/** Cameras that answered on the network: a list of them, and adding them with a login. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import { atHost } from '../../wire/onvif.ts'
import type { ProbeMatch } from '../../wire/ws-discovery.ts'
import type { Adopter } from './adopt.ts'
import { type CameraBook, hostOf, type KnownCamera } from './book.ts'
import type { CameraLogin } from './onvif.ts'

/** Asks the networks of this machine for cameras. */
export interface Prober {
  /**
   * Resolves once the time for answers is over.
   * @param onMatch called with each answer, and the address it came from
   * @returns how many interfaces were asked
   */
  probe(onMatch: (match: ProbeMatch, address: string) => void): Promise<number>
}

/** A camera that answered. */
export interface FoundCamera {
  id: string
  address: string
  /** Address of its device service, at the address it answered from. */
  service: string
  name: string
  manufacturer: string | undefined
  model: string | undefined
  seenAt: number
  /** The camera that records it, or one that is at the same address. */
  known: KnownCamera | undefined
}

/** The list, and how it came about. */
export interface DiscoveryState {
  isScanning: boolean
  /** When the last scan ended; null before the first. */
  scannedAt: number | null
  /** Networks that were asked. */
  interfaces: number
  found: FoundCamera[]
}

/** What became of adding several. */
export interface AdoptedAll {
  adopted: KnownCamera[]
  failed: { found: FoundCamera; fault: Fault }[]
}

interface DiscoveryParts {
  clock: Clock
  prober: Prober
  adopter: Adopter
  cameras: CameraBook
  newId(): string
  limits: DiscoveryLimits
}

/** Bounds, by the names of their settings. */
interface DiscoveryLimits {
  found: number
  foundPerAddress: number
  adoptAtOnce: number
}

export interface Discovery {
  state(): DiscoveryState
  /** Callers that ask while one runs share it. */
  scan(): Promise<DiscoveryState>
  /**
   * @param name that of the camera itself if it is left out
   * @throws Fault `unknown_device`, `camera_known`, `too_many_cameras`, and what the camera did
   */
  adopt(id: string, login: CameraLogin, name?: string): Promise<KnownCamera>
  /** Adds those of these ids that are not added yet; all without ids. */
  adoptAll(login: CameraLogin, ids?: readonly string[]): Promise<AdoptedAll>
}

type Kept = Omit<FoundCamera, 'known'>

export function createDiscovery(parts: DiscoveryParts): Discovery {
  const { cameras, clock, prober } = parts
  const found = createFoundList(parts)
  let scanning: Promise<DiscoveryState> | undefined
  let scannedAt: number | null = null
  let interfaces = 0

  /** A camera at its address: many are known under an address of RTSP alone. */
  const knownAt = (address: string) =>
    cameras.list().find(({ record: { onvif, url } }) => hostOf(onvif?.service ?? url) === address)
  const withKnown = (one: Kept): FoundCamera => ({ ...one, known: knownAt(one.address) })
  const require = (id: string) => withKnown(found.require(id))
  const adopt = createAdoption(parts, require)

  function state(): DiscoveryState {
    return { isScanning: scanning !== undefined, scannedAt, interfaces, found: found.list().map(withKnown) }
  }

  async function scanNow(): Promise<DiscoveryState> {
    found.beginScan()
    try {
      interfaces = await prober.probe((match, address) => found.add(match, address))
      found.endScan()
      scannedAt = clock.epochMs()
    } finally {
      scanning = undefined
    }
    return state()
  }

  return {
    state,
    scan: () => {
      scanning ??= scanNow()
      return scanning
    },
    adopt,
    async adoptAll(login, ids) {
      const named = ids && [...new Set(ids)].map(require)
      const chosen =
        named ??
        found
          .list()
          .map(withKnown)
          .filter(({ known }) => !known)
      const results = await Promise.all(
        chosen.map(async (one) => {
          try {
            return { camera: await adopt(one.id, login) }
          } catch (error) {
            if (error instanceof Fault) return { found: one, fault: error }
            throw error
          }
        }),
      )
      return {
        adopted: results.flatMap(({ camera }) => camera ?? []),
        failed: results.flatMap(({ fault, found }) => (fault ? { found, fault } : [])),
      }
    },
  }
}

/** Adds cameras, as many at once as the setting says. @param require the camera of an id, as it is known at that moment */
function createAdoption(
  { adopter, cameras, limits }: DiscoveryParts,
  require: (id: string) => FoundCamera,
): Discovery['adopt'] {
  // A camera that answers slowly holds up those of its own lane alone.
  const lanes = Array.from({ length: limits.adoptAtOnce }, () => createSerialTurn())
  const waiting = new Set<string>()
  let nextLane = 0
  let underWay = 0
  /** Resolves when the next one that is being added is through. */
  let ended = Promise.withResolvers<void>()

  function requireNew(id: string): FoundCamera {
    const one = require(id)
    if (one.known) throw new Fault('camera_known', `${one.name} is added already, as ${one.known.record.name}.`)
    return one
  }

  /** Cameras of one maker often have one name. */
  function ownName({ address, name }: FoundCamera): string {
    return cameras.list().some(({ record }) => record.name === name) ? `${name} ${address}` : name
  }

  async function adoptNow(id: string, login: CameraLogin, name: string | undefined): Promise<KnownCamera> {
    const { service } = requireNew(id)
    // The last places may be those of others that are being added; not each of them succeeds.
    while (underWay > 0 && cameras.room() <= underWay) await ended.promise
    cameras.requireRoom()
    underWay++
    try {
      const { link, subUrl, url } = await adopter(service, login)
      const one = requireNew(id)
      return await cameras.add({ name: name ?? ownName(one), url, subUrl, ...login, onvif: link })
    } finally {
      underWay--
      ended.resolve()
      ended = Promise.withResolvers()
    }
  }

  return async (id, login, name) => {
    const one = require(id)
    if (waiting.has(id)) throw new Fault('camera_known', `${one.name} is being added. Wait until that is over.`)
    waiting.add(id)
    nextLane = (nextLane + 1) % lanes.length
    const inTurn = lanes[nextLane] ?? createSerialTurn()
    try {
      return await inTurn(() => adoptNow(id, login, name))
    } finally {
      waiting.delete(id)
    }
  }
}

/** The cameras of the last scan. One that is found again keeps its id; one that a whole scan did not find is gone. */
function createFoundList({ clock, limits, newId }: DiscoveryParts) {
  // By address first: whatever one host says, it takes no place of another's.
  const found = new Map<string, Kept>()
  let seen = new Set<string>()

  function serviceOf({ addresses }: ProbeMatch, address: string): string | undefined {
    const said = addresses.flatMap((text) => URL.parse(text) ?? []).filter(({ protocol }) => /^https?:$/.test(protocol))
    // Of several, that which it answers from, then one of IPv4: the port and path may be right although the host is not.
    // One without encryption comes before one with a certificate of its own making.
    const rank = ({ hostname, protocol }: URL) =>
      (hostname === address ? 0 : hostname.startsWith('[') ? 4 : 2) + (protocol === 'http:' ? 0 : 1)
    const [best] = said.toSorted((a, b) => rank(a) - rank(b))
    return best && atHost(best.href, address)
  }

  function mayTake(key: string, address: string): boolean {
    if (found.has(key)) return true
    const ofIt = [...found.values()].filter((one) => one.address === address)
    return found.size < limits.found && ofIt.length < limits.foundPerAddress
  }

  function unusedId(): string {
    const id = newId()
    return [...found.values()].some((one) => one.id === id) ? unusedId() : id
  }

  return {
    list: () => [...found.values()],
    require(id: string): Kept {
      for (const one of found.values()) if (one.id === id) return one
      throw new Fault('unknown_device', 'No camera of this id was found. Scan again: POST /api/discovery/scan.')
    },
    beginScan() {
      seen = new Set()
    },
    endScan() {
      for (const key of found.keys()) if (!seen.has(key)) found.delete(key)
    },
    add(match: ProbeMatch, address: string): void {
      const service = serviceOf(match, address)
      const key = `${address} ${match.endpoint}`
      if (service === undefined || !mayTake(key, address)) return
      seen.add(key)
      const { manufacturer, model } = match
      const name = match.name ?? model ?? address
      const id = found.get(key)?.id ?? unusedId()
      found.set(key, { id, address, service, name, manufacturer, model, seenAt: clock.epochMs() })
    },
  }
}
