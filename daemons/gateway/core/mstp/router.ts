/** Routes BACnet between an MS/TP ring and BACnet/IP, and tells foreign devices what others hear as broadcasts. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { BROADCAST, FRAME_TYPES, MOST_EXTENDED, MOST_PLAIN, type MstpFrame } from '../../wire/mstp/frame.ts'
import {
  ALL_NETWORKS,
  BVLC,
  EXPECTS_REPLY,
  encodeBvlc,
  encodeRouted,
  encodeRouterMessage,
  IP_ADDRESS_BYTES,
  ipAddressOctets,
  ipAddressOf,
  networksOf,
  ROUTER_MESSAGES,
  type RoutedNpdu,
  readBvlc,
  readRouted,
  wordOctets,
} from '../../wire/mstp/routed.ts'

/** Whence a datagram came, or where it goes: an IPv4 address. */
export interface IpPeer {
  host: string
  port: number
}

/** Where a message came from. */
interface Origin {
  /** Whom an answer goes to. */
  peer: IpPeer
  /** Who sent the datagram: what is forwarded says another peer, and could say any. */
  sender: string
  isBroadcast: boolean
}

interface RouterParts {
  clock: Clock
  /** Of this node on the ring. */
  mac: number
  ringNetwork: number
  ipNetwork: number
  /** Frames for the ring that may be under way; further ones are dropped. */
  queue: number
  /** Foreign devices that may be registered, and of one IP address. */
  foreignDevices: number
  foreignPerAddress: number
  /** Messages to everybody that are passed on in a second. */
  broadcastsPerS: number
  /** Sends with the next token. */
  sendFrame(frame: MstpFrame): Promise<unknown>
  sendTo(peer: IpPeer, bytes: Uint8Array): void
  /** To all on the IP network. */
  sendToAll(bytes: Uint8Array): void
}

/** The part of `broadcastsPerS` that one IP address may use. */
const SHARE_OF_ONE = 1 / 4
/** The part of `queue` that is for what comes from BACnet/IP, and of that for one address: who asks by `rest/send` finds room. */
const [SHARE_OF_IP, SHARE_OF_SENDER] = [3 / 4, 1 / 2]
/** Networks behind other routers of the IP side that are remembered. */
const MOST_ROUTES = 64
/** Added to the time that a foreign device asks for. @source ANSI/ASHRAE 135-2016, Annex J.5.2.3 */
const GRACE_S = 30
/** @source ANSI/ASHRAE 135-2016, Annex J.2.1 */
const [DONE, REGISTER_REFUSED, DELETE_REFUSED, DISTRIBUTE_REFUSED] = [0x0000, 0x0030, 0x0050, 0x0060] as const
/** It has no table of other routers to which it would pass broadcasts on. @source ANSI/ASHRAE 135-2016, Annex J.2.1 */
const NO_DISTRIBUTION = new Map<number, number>([
  [BVLC.writeDistribution, 0x0010],
  [BVLC.readDistribution, 0x0020],
])
/** @source ANSI/ASHRAE 135-2016, 6.4.4 */
const [NO_SUCH_NETWORK, TOO_LONG] = [1, 4] as const

interface Foreign extends IpPeer {
  /** For how long it asked to be registered. */
  seconds: number
  untilMs: number
}

/** One ring as a BACnet network. Nothing of it waits: what cannot go on at once is dropped and counted, as on UDP. */
export class MstpRouter {
  readonly #parts: RouterParts
  /** By `host:port`, which both maps bound. */
  readonly #foreign = new Map<string, Foreign>()
  /** Which router of the IP side has a network. */
  readonly #routes = new Map<number, Origin>()
  /** Frames for the ring by the address that sent their datagram; '' for those of this router. */
  readonly #underWay = new Map<string, number>()
  /** Messages to everybody in this second, in all and by IP address: the first bounds how many addresses there are. */
  #second = { sinceMs: 0, all: 0, of: new Map<string, number>() }
  readonly counts = { routedToRing: 0, routedToIp: 0, routerDrops: 0, routerDamaged: 0 }

  constructor(parts: RouterParts) {
    this.#parts = parts
  }

  /** Tells who is on the IP side which network is here. */
  begin(): void {
    this.#toAllIp(this.#iAmRouter([this.#parts.ringNetwork]))
  }

  foreignDevices(): number {
    this.#forgetExpired()
    return this.#foreign.size
  }

  // From BACnet/IP.

  /** A datagram, of whatever kind. */
  datagram(bytes: Uint8Array, peer: IpPeer): void {
    try {
      this.#open(bytes, peer)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      this.counts.routerDamaged++
    }
  }

  #open(bytes: Uint8Array, peer: IpPeer) {
    const { kind, rest } = readBvlc(bytes)
    const sender = peer.host
    if (kind === BVLC.unicast) return this.#fromIp(readRouted(rest), { peer, sender, isBroadcast: false })
    if (TO_ALL.includes(kind) && !this.#mayTellAll(peer)) return this.#drop()
    if (kind === BVLC.broadcast) {
      const npdu = readRouted(rest)
      if (!this.#isOurs(npdu)) this.#toForeign(forwardedOf(peer, rest))
      return this.#fromIp(npdu, { peer, sender, isBroadcast: true })
    }
    if (kind === BVLC.forwarded) {
      if (rest.length < IP_ADDRESS_BYTES) throw new Fault('bacnet_cut', 'It breaks off in the address of its sender.')
      const npdu = readRouted(rest.subarray(IP_ADDRESS_BYTES))
      return this.#fromIp(npdu, { peer: ipAddressOf(rest), sender, isBroadcast: true })
    }
    if (kind === BVLC.registerForeign) return this.#register(rest, peer)
    if (kind === BVLC.readForeign) return this.#tellForeign(peer)
    if (kind === BVLC.deleteForeign) return this.#deleteForeign(rest, peer)
    if (kind === BVLC.distribute) return this.#distribute(rest, peer)
    const refusal = NO_DISTRIBUTION.get(kind)
    if (refusal !== undefined) this.#result(refusal, peer)
  }

  #fromIp(npdu: RoutedNpdu, origin: Origin) {
    const { ipNetwork, ringNetwork } = this.#parts
    const { isBroadcast, peer } = origin
    const { from, message, to } = npdu
    if (this.#isOurs(npdu)) return
    if (from?.network === ipNetwork) return this.#drop()
    if (from) this.#learn(from.network, origin)
    if (to === undefined || to.network === ALL_NETWORKS) {
      // What a message among routers asks is answered to everybody.
      if (message !== undefined && !isBroadcast && !this.#mayTellAll(peer)) return this.#drop()
      if (message !== undefined) this.#messageFromIp(npdu, origin)
      if (to === undefined) return
    }
    if (to.network !== ringNetwork && to.network !== ALL_NETWORKS) {
      if (!isBroadcast) this.#toIp(this.#reject(NO_SUCH_NETWORK, to.network), peer)
      return
    }
    const isAll = to.network === ALL_NETWORKS
    if (npdu.hops <= 1 || (!isAll && to.address.length > 1)) return this.#drop()
    const own = { network: ipNetwork, address: ipAddressOctets(peer.host, peer.port) }
    const onward = { ...npdu, from: from ?? own, hops: npdu.hops - 1 }
    if (!isAll) delete onward.to
    const destination = isAll ? BROADCAST : (to.address[0] ?? BROADCAST)
    this.#toRing(onward, destination, origin)
  }

  /** Each goes to the network and to all foreign devices: without a bound, one sender makes a flood of them. */
  #mayTellAll({ host }: IpPeer): boolean {
    const { broadcastsPerS: most, clock } = this.#parts
    const nowMs = clock.monotonicMs()
    if (nowMs - this.#second.sinceMs >= 1000) this.#second = { sinceMs: nowMs, all: 0, of: new Map() }
    const { all, of } = this.#second
    const own = of.get(host) ?? 0
    if (all >= most || own >= Math.max(1, most * SHARE_OF_ONE)) return false
    this.#second.all++
    of.set(host, own + 1)
    return true
  }

  /** It comes from the ring: our own broadcast, which the socket hears too. */
  #isOurs({ from }: RoutedNpdu): boolean {
    return from?.network === this.#parts.ringNetwork
  }

  #messageFromIp({ message, rest }: RoutedNpdu, origin: Origin) {
    const { ipNetwork, ringNetwork } = this.#parts
    if (message === ROUTER_MESSAGES.iAmRouter) {
      for (const network of networksOf(rest))
        if (network !== ringNetwork && network !== ipNetwork) this.#learn(network, origin)
    } else if (message === ROUTER_MESSAGES.whatIsNetworkNumber) {
      this.#toAllIp(encodeRouterMessage(ROUTER_MESSAGES.networkNumberIs, [...wordOctets(ipNetwork), 1]))
    } else if (message === ROUTER_MESSAGES.whoIsRouter) {
      const [asked] = networksOf(rest)
      if (asked === undefined || asked === ringNetwork) this.#toAllIp(this.#iAmRouter([ringNetwork]))
    }
  }

  #toRing(npdu: RoutedNpdu, destination: number, { isBroadcast, peer, sender }: Origin) {
    const { mac, queue, ringNetwork } = this.#parts
    const data = encodeRouted(npdu)
    if (data.length > MOST_EXTENDED) {
      // A message to everybody has no sender who waits for an answer.
      if (!isBroadcast) this.#toIp(this.#reject(TOO_LONG, ringNetwork), peer)
      return this.#drop()
    }
    if (destination === mac) return this.#drop()
    const expectsReply = (npdu.flags & EXPECTS_REPLY) !== 0 && destination !== BROADCAST
    const frame = { frameType: frameTypeOf(data.length, expectsReply), destination, source: mac, data }
    const most = Math.max(1, Math.floor(queue * SHARE_OF_IP * SHARE_OF_SENDER))
    this.#send(frame, { by: sender, most })?.then(
      () => this.counts.routedToRing++,
      () => {},
    )
  }

  /**
   * A line takes some ten frames a second, and one sender could have all of them: then nobody else would reach the ring.
   * @param by whose frame it is, and how many of theirs may be under way
   * @returns undefined if it was dropped
   */
  #send(frame: MstpFrame, { by, most }: { by: string; most: number }): Promise<unknown> | undefined {
    const { queue, sendFrame } = this.#parts
    const own = this.#underWay.get(by) ?? 0
    let inAll = 0
    for (const count of this.#underWay.values()) inAll += count
    if (inAll >= Math.max(1, Math.floor(queue * SHARE_OF_IP)) || own >= most) {
      this.#drop()
      return undefined
    }
    this.#underWay.set(by, own + 1)
    const sent = sendFrame(frame)
    sent
      // The token did not come, or no answer did: whoever asked tries again, as on any datagram.
      .catch(() => this.#drop())
      .finally(() => {
        const rest = (this.#underWay.get(by) ?? 1) - 1
        if (rest === 0) this.#underWay.delete(by)
        else this.#underWay.set(by, rest)
      })
    return sent
  }

  // From the ring.

  /** A frame for this node or for all, whole. */
  frame({ data, destination, source }: MstpFrame): void {
    try {
      this.#fromRing(readRouted(data), source, destination === BROADCAST)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      this.counts.routerDamaged++
    }
  }

  #fromRing(npdu: RoutedNpdu, source: number, isBroadcast: boolean) {
    const { ipNetwork, ringNetwork } = this.#parts
    const { message, to } = npdu
    // Another router between the same two networks brings back what came from there: it would go round for ever.
    if (npdu.from?.network === ipNetwork || npdu.from?.network === ringNetwork) return this.#drop()
    if (message !== undefined && (to === undefined || to.network === ALL_NETWORKS)) this.#messageFromRing(npdu)
    if (to === undefined) return
    if (npdu.hops <= 1) return this.#drop()
    const from = npdu.from ?? { network: ringNetwork, address: Uint8Array.of(source) }
    const onward: RoutedNpdu = { ...npdu, from, hops: npdu.hops - 1 }
    if (to.network === ALL_NETWORKS) return this.#toAllIp(encodeRouted(onward))
    const router = this.#routes.get(to.network)
    if (router) return this.#toIp(encodeRouted(onward), router.peer)
    if (to.network !== ipNetwork) {
      if (!isBroadcast) this.#tellRing(this.#reject(NO_SUCH_NETWORK, to.network), source)
      return
    }
    delete onward.to
    if (to.address.length === 0) return this.#toAllIp(encodeRouted(onward))
    if (to.address.length !== IP_ADDRESS_BYTES) return this.#drop()
    this.#toIp(encodeRouted(onward), ipAddressOf(to.address))
  }

  #messageFromRing({ message, rest }: RoutedNpdu) {
    const { ipNetwork, ringNetwork } = this.#parts
    if (message === ROUTER_MESSAGES.whatIsNetworkNumber) {
      this.#tellRing(encodeRouterMessage(ROUTER_MESSAGES.networkNumberIs, [...wordOctets(ringNetwork), 1]), BROADCAST)
    } else if (message === ROUTER_MESSAGES.whoIsRouter) {
      const [asked] = networksOf(rest)
      const known = [ipNetwork, ...this.#routes.keys()]
      const told = asked === undefined ? known : known.filter((network) => network === asked)
      if (told.length > 0) this.#tellRing(this.#iAmRouter(told), BROADCAST)
    }
  }

  #tellRing(data: Uint8Array, destination: number) {
    const { mac, queue } = this.#parts
    const frame = { frameType: frameTypeOf(data.length, false), destination, source: mac, data }
    void this.#send(frame, { by: '', most: queue })
  }

  #toIp(npdu: Uint8Array, peer: IpPeer): void {
    this.counts.routedToIp++
    this.#parts.sendTo(peer, encodeBvlc(BVLC.unicast, npdu))
  }

  #toAllIp(npdu: Uint8Array): void {
    this.counts.routedToIp++
    this.#parts.sendToAll(encodeBvlc(BVLC.broadcast, npdu))
    // Not as a forwarded one, which names its sender: they take the address that the datagram comes from.
    this.#toForeign(encodeBvlc(BVLC.unicast, npdu))
  }

  // Foreign devices: they are on other IP networks, where no broadcast comes.

  #register(rest: Uint8Array, peer: IpPeer): void {
    const { clock, foreignDevices: most, foreignPerAddress } = this.#parts
    const key = keyOf(peer)
    this.#forgetExpired()
    const ofAddress = [...this.#foreign.values()].filter(({ host }) => host === peer.host).length
    const hasRoom = this.#foreign.size < most && ofAddress < foreignPerAddress
    const isRefused = rest.length !== 2 || (!this.#foreign.has(key) && !hasRoom)
    if (!isRefused) {
      const seconds = (rest[0] ?? 0) * 256 + (rest[1] ?? 0)
      this.#foreign.set(key, { ...peer, seconds, untilMs: clock.monotonicMs() + (seconds + GRACE_S) * 1000 })
    }
    this.#result(isRefused ? REGISTER_REFUSED : DONE, peer)
  }

  /** @source ANSI/ASHRAE 135-2016, Annex J.2.7 */
  #tellForeign(peer: IpPeer): void {
    this.#forgetExpired()
    const nowMs = this.#parts.clock.monotonicMs()
    const entries = [...this.#foreign.values()].map(({ host, port, seconds, untilMs }) => {
      const leftS = Math.min(MOST_SECONDS, Math.ceil((untilMs - nowMs) / 1000))
      return Uint8Array.of(...ipAddressOctets(host, port), ...wordOctets(seconds), ...wordOctets(leftS))
    })
    this.#parts.sendTo(peer, encodeBvlc(BVLC.foreignTable, ...entries))
  }

  #deleteForeign(rest: Uint8Array, peer: IpPeer): void {
    this.#forgetExpired()
    const isThere = rest.length === IP_ADDRESS_BYTES && this.#foreign.delete(keyOf(ipAddressOf(rest)))
    this.#result(isThere ? DONE : DELETE_REFUSED, peer)
  }

  #distribute(rest: Uint8Array, peer: IpPeer) {
    this.#forgetExpired()
    if (!this.#foreign.has(keyOf(peer))) return this.#result(DISTRIBUTE_REFUSED, peer)
    const npdu = readRouted(rest)
    const forwarded = forwardedOf(peer, rest)
    this.#parts.sendToAll(forwarded)
    this.#toForeign(forwarded, peer)
    this.#fromIp(npdu, { peer, sender: peer.host, isBroadcast: true })
  }

  #result(code: number, peer: IpPeer): void {
    this.#parts.sendTo(peer, encodeBvlc(BVLC.result, Uint8Array.of(...wordOctets(code))))
  }

  #toForeign(bytes: Uint8Array, but?: IpPeer): void {
    this.#forgetExpired()
    for (const { host, port } of this.#foreign.values())
      if (host !== but?.host || port !== but.port) this.#parts.sendTo({ host, port }, bytes)
  }

  #forgetExpired(): void {
    const nowMs = this.#parts.clock.monotonicMs()
    for (const [key, { untilMs }] of this.#foreign) if (untilMs <= nowMs) this.#foreign.delete(key)
  }

  #learn(network: number, origin: Origin): void {
    if (network === 0 || network === ALL_NETWORKS) return
    this.#routes.delete(network)
    this.#routes.set(network, origin)
    if (this.#routes.size > MOST_ROUTES) this.#forgetRoute()
  }

  /** Forgets the oldest route of the sender with the most: one that claims to reach every network displaces no other router. */
  #forgetRoute(): void {
    const bySender = Map.groupBy(this.#routes, ([, { sender }]) => sender)
    const [greediest] = [...bySender.values()].toSorted((one, other) => other.length - one.length)
    if (greediest?.[0]) this.#routes.delete(greediest[0][0])
  }

  #iAmRouter(networks: readonly number[]): Uint8Array {
    return encodeRouterMessage(ROUTER_MESSAGES.iAmRouter, networks.flatMap(wordOctets))
  }

  #reject(reason: number, network: number): Uint8Array {
    return encodeRouterMessage(ROUTER_MESSAGES.reject, [reason, ...wordOctets(network)])
  }

  #drop(): void {
    this.counts.routerDrops++
  }
}

/** Datagrams whose message is for everybody, and one whose answer is much longer than itself. */
const TO_ALL: readonly number[] = [BVLC.broadcast, BVLC.forwarded, BVLC.distribute, BVLC.readForeign]

/** What two octets hold. */
const MOST_SECONDS = 0xffff

function keyOf({ host, port }: IpPeer): string {
  return `${host}:${port}`
}

function forwardedOf({ host, port }: IpPeer, npdu: Uint8Array): Uint8Array {
  return encodeBvlc(BVLC.forwarded, ipAddressOctets(host, port), npdu)
}

function frameTypeOf(length: number, expectsReply: boolean): number {
  if (length > MOST_PLAIN)
    return expectsReply
      ? FRAME_TYPES.BACNET_EXTENDED_DATA_EXPECTING_REPLY
      : FRAME_TYPES.BACNET_EXTENDED_DATA_NOT_EXPECTING_REPLY
  return expectsReply ? FRAME_TYPES.BACNET_DATA_EXPECTING_REPLY : FRAME_TYPES.BACNET_DATA_NOT_EXPECTING_REPLY
}
