/** SAP on one network interface: announces and listens, and reopens when the interface or its address changes. */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { areSameLinks, type Link } from '#kit/net/mdns/sockets.ts'
import { Fault } from '#kit/pure/fault.ts'
import { type Announced, SapAnnouncing } from '../core/streams/announcing.ts'
import type { StreamBook } from '../core/streams/book.ts'
import { readSap, SAP_GROUPS, SAP_PORT, type SapPacket } from '../wire/streams/sap.ts'

// Keeps something open on a network interface, and reopens it when the interface or its address changes.

/** Something open. */
interface Open {
  close(): void
}

/** Dependencies and settings. */
interface KeptOnLinkOptions<Thing extends Open> {
  clock: Clock
  log: Log
  /** Log text if it cannot be opened. */
  trouble: string
  /** Interval of checks. */
  recheckMs: number
  link(): Link | undefined
  /** @throws the system's error; it is tried again at the next check */
  open(link: Link): Promise<Thing>
  /** It was opened, for the first time or again. */
  onOpen(thing: Thing, link: Link): void
}

/** Runs until stopped. Each failure is logged once per link, and tried again. */
export class KeptOnLink<Thing extends Open> {
  readonly #options: KeptOnLinkOptions<Thing>
  #timer: Timer | undefined
  #thing: Thing | undefined
  #link: Link | undefined
  #told: Link | undefined
  #turn: Promise<void> = Promise.resolve()

  constructor(options: KeptOnLinkOptions<Thing>) {
    this.#options = options
  }

  async start(): Promise<void> {
    this.#timer ??= this.#options.clock.every(this.#options.recheckMs, () => void this.#look())
    await this.#look()
  }

  async stop(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = undefined
    await this.#turn
    this.#close()
  }

  /** Undefined if there is no interface, or it could not be opened. */
  get thing(): Thing | undefined {
    return this.#thing
  }

  /** It no longer works: reopen at the next check. */
  broken(): void {
    this.#close()
  }

  #look(): Promise<void> {
    this.#turn = this.#turn.then(() => this.#renew())
    return this.#turn
  }

  async #renew(): Promise<void> {
    const { link: linkNow, log, onOpen, open, trouble } = this.#options
    const link = linkNow()
    const isSame = areSameLinks(this.#link ? [this.#link] : [], link ? [link] : [])
    if (!this.#timer || (isSame && this.#thing)) return
    this.#close()
    if (!link) return
    try {
      this.#thing = await open(link)
      this.#link = link
      this.#told = undefined
      onOpen(this.#thing, link)
    } catch (fault) {
      if (!areSameLinks(this.#told ? [this.#told] : [], [link]))
        log.warning(trouble, { interface: link.name, address: link.address, fault })
      this.#told = link
    }
  }

  #close(): void {
    this.#thing?.close()
    this.#thing = undefined
    this.#link = undefined
  }
}

// The sockets.

/** Sends to the SAP groups. */
interface SapSpeaker {
  send(bytes: Uint8Array): void
  /** Closes once everything passed to `send` has gone out. */
  close(): void
}

/** Events of the sockets. */
interface SapEvents {
  /** @param from address that the packet came from */
  onPacket(bytes: Uint8Array, from: string): void
  /** The socket is no longer usable. */
  onTrouble(error: Error): void
}

/** Receive buffer for when the daemon is busy: half a second of a flood. */
const RECEIVE_BYTES = 1 << 19

/**
 * @param address of the interface
 * @param ttl 1..255
 * @throws the system's error
 */
export async function openSapSpeaker(
  address: string,
  ttl: number,
  onTrouble: (error: Error) => void,
): Promise<SapSpeaker> {
  const socket = await opened(address, 0)
  try {
    socket.setMulticastInterface(address)
    socket.setMulticastTTL(ttl)
    // So that a decoder on this machine hears it too.
    socket.setMulticastLoopback(true)
  } catch (error) {
    socket.close()
    throw error
  }
  socket.on('error', onTrouble)
  let underWay = 0
  let isClosing = false
  const sent = (error: Error | null) => {
    underWay--
    if (isClosing && underWay === 0) socket.close()
    // Last, since the handler closes the socket.
    else if (error && !isClosing) onTrouble(error)
  }
  return {
    send(bytes) {
      underWay += SAP_GROUPS.length
      for (const group of SAP_GROUPS) socket.send(bytes, SAP_PORT, group, sent)
    },
    close() {
      if (isClosing) return
      isClosing = true
      if (underWay === 0) socket.close()
    },
  }
}

/**
 * One socket for each group, bound to it, so that unicast to this machine does not come in.
 * @param address of the interface
 * @throws the system's error
 */
async function openSapListener(address: string, { onPacket, onTrouble }: SapEvents): Promise<{ close(): void }> {
  const sockets: Socket[] = []
  const close = () => {
    for (const socket of sockets.splice(0)) socket.close()
  }
  try {
    for (const group of SAP_GROUPS) {
      const socket = await opened(group, SAP_PORT)
      sockets.push(socket)
      socket.setRecvBufferSize(RECEIVE_BYTES)
      socket.addMembership(group, address)
      socket.on('message', (bytes, from) => onPacket(bytes, from.address))
      socket.on('error', onTrouble)
    }
  } catch (error) {
    close()
    throw error
  }
  return { close }
}

async function opened(address: string, port: number): Promise<Socket> {
  const socket = createSocket({ type: 'udp4', reuseAddr: true })
  try {
    socket.unref().bind({ address, port })
    await once(socket, 'listening')
  } catch (error) {
    // A socket that failed to bind is still open, and this is retried again and again.
    socket.close()
    throw error
  }
  return socket
}

// Announcing.

/** Dependencies and settings. */
interface SapAnnouncerOptions {
  clock: Clock
  log: Log
  everyMs: number
  /** 1..255 */
  ttl: number
  recheckMs: number
  link(): Link | undefined
  describe(): Announced | undefined
  /** Something was announced, or could not be. */
  onChange(): void
}

/** Announces from `start` to `stop`, which withdraws the stream. */
export function createSapAnnouncer(options: SapAnnouncerOptions) {
  const { clock, describe, everyMs, link, log, onChange, recheckMs, ttl } = options
  const kept = new KeptOnLink<SapSpeaker>({
    ...{ clock, log, link, recheckMs },
    trouble: 'the stream cannot be announced',
    open: ({ address }) =>
      openSapSpeaker(address, ttl, (fault) => {
        log.warning('the stream could not be announced', { fault })
        kept.broken()
        onChange()
      }),
    onOpen: () => announcing.again(),
  })
  const announcing = new SapAnnouncing({
    ...{ clock, everyMs, describe },
    send(bytes) {
      kept.thing?.send(bytes)
      onChange()
      return kept.thing !== undefined
    },
  })
  return {
    async start(): Promise<void> {
      await kept.start()
      announcing.start()
    },
    async stop(): Promise<void> {
      announcing.stop()
      await kept.stop()
    },
    changed: () => announcing.changed(),
    /** `on` while it can be sent. */
    view: () => ({ ...announcing.view(), on: kept.thing !== undefined }),
  }
}

/** Dependencies. */
interface SapListenerOptions {
  clock: Clock
  log: Log
  recheckMs: number
  link(): Link | undefined
  book: Pick<StreamBook, 'heard' | 'takenBack'>
}

/** Listens from `start` to `stop`. */
export function createSapListener({ book, clock, link, log, recheckMs }: SapListenerOptions) {
  const counts = { packets: 0, malformed: 0, notRead: 0 }

  function opened(bytes: Uint8Array): SapPacket | undefined {
    try {
      return readSap(bytes)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      if (error.code === 'sap_not_read') counts.notRead++
      else counts.malformed++
      return undefined
    }
  }

  function onPacket(bytes: Uint8Array, from: string): void {
    counts.packets++
    const packet = opened(bytes)
    if (!packet) return
    const { hash, isDeletion, sdp } = packet
    if (isDeletion) book.takenBack({ by: ['sap'], from, hash, sdp })
    else book.heard({ by: ['sap'], from, hash, sdp })
  }

  const kept = new KeptOnLink({
    ...{ clock, log, link, recheckMs },
    trouble: 'announcements of streams cannot be heard',
    open: ({ address }) => {
      const onTrouble = (fault: Error) => {
        log.warning('announcements of streams are heard no more', { fault })
        kept.broken()
      }
      return openSapListener(address, { onPacket, onTrouble })
    },
    onOpen: () => {},
  })
  return {
    start: () => kept.start(),
    stop: () => kept.stop(),
    isOpen: () => kept.thing !== undefined,
    /** Packets received; invalid ones; those encrypted, compressed, or of another type. */
    counts: () => ({ ...counts }),
  }
}
