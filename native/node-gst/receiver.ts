/** Streams that are received: sockets, ring and counts; element `plantroomrtpsrc receiver=<id>` plays one. */
import { addon } from './addon.ts'
import type { AudioClock, NativeClock } from './clock.ts'
import {
  type Arrivals,
  arrivalsOf,
  type NativeArrivals,
  type NativeStats,
  type ReceiverStats,
  statsOf,
} from './receiver-stats.ts'

declare const kind: unique symbol
/** A receiver of the addon's. */
interface NativeReceiver {
  [kind]: 'receiver'
}

interface NativeOptions {
  paths: { group: string; port: number; interfaceAddress: string; source: string }[]
  bytesPerSample: number
  channels: number
  /** -1: any. */
  payloadType: number
  mediaOffset: number
  followsArrival: boolean
  linkNs: bigint
  concealPackets: number
  ringMs: number
  receiveBufferBytes: number
  senderGoneMs: number
  realtimePriority: number
}

/** Calls of this family. */
interface ReceiverCalls {
  openReceiver(clock: NativeClock, options: NativeOptions): NativeReceiver
  receiverId(receiver: NativeReceiver): number
  receiverStats(receiver: NativeReceiver): NativeStats
  takeArrivals(receiver: NativeReceiver): NativeArrivals
  setReceiverLink(receiver: NativeReceiver, linkNs: bigint): undefined
  /** No call may follow it. */
  closeReceiver(receiver: NativeReceiver): undefined
}

/** Where one path of a stream comes from. IPv4 addresses; `interfaceAddress` is one of this machine's. */
export interface ReceivePath {
  group: string
  port: number
  interfaceAddress: string
  /** The sender to hear; null: the first one that is heard, until it has been silent for `senderGoneMs`. */
  source: string | null
}

/** How a stream is received. */
export interface ReceiverOptions {
  /**
   * With sync `clock` the audio clock that the stream's timestamps are of; with `arrival` one of the receiver's own, made
   * for it and kept by the rule in core/sound/recovered-clock.ts from what `takeArrivals` tells. Blocks are played at the
   * pace of this clock while the receiver is routed.
   */
  clock: AudioClock
  sync: 'clock' | 'arrival'
  /** One, or two that carry the same packets (ST 2022-7). */
  paths: readonly ReceivePath[]
  encoding: 'L16' | 'L24'
  /** 1..80; 0: found out from sizes and timestamps. */
  channels: number
  /** null: any. */
  payloadType: number | null
  /** From the instant of a timestamp to its playing. */
  linkNs: bigint
  /** RTP timestamp at the clock's zero, 0..2^32-1 (mediaclk:direct). Without effect with sync `arrival`. */
  mediaOffset: number
  /** Lost packets in a row that are stood in for by a repeat; beyond, sound fades out. */
  concealPackets: number
  /** What the ring holds: at least twice the largest link offset, and 100 ms; what is further from now is no sound. */
  ringMs: number
  /** What the kernel keeps for each path. */
  receiveBufferBytes: number
  senderGoneMs: number
  /** SCHED_FIFO 1..99 for the thread that reads, 0 for an ordinary one. */
  realtimePriority: number
}

/** One stream that is being received. Holds its sockets and thread until `close`. */
export interface Receiver {
  /** For property `receiver` of element plantroomrtpsrc. */
  readonly id: number
  stats(): ReceiverStats
  /** null where no packet came since the last call. Of one caller only. */
  takeArrivals(): Arrivals | null
  /** While it is played too: fades out, moves, fades in. */
  setLink(linkNs: bigint): void
  linkNs(): bigint
  /** What came before is still played. Calls after it answer what was last known. */
  close(): void
}

const MOST_PATHS = 2

/**
 * Joins the groups and begins to receive.
 * @throws RangeError for other than one or two paths, and more than 80 channels; Error with code (ENODEV: no such interface address, EADDRINUSE,
 *   EINVAL: no IPv4 address), errno and syscall where a socket does not open
 */
export function openReceiver(options: ReceiverOptions): Receiver {
  const { clock, sync, paths, encoding, payloadType, ...rest } = options
  if (paths.length < 1 || paths.length > MOST_PATHS) throw new RangeError(`${paths.length} paths, 1 or 2 are possible`)
  const calls = addon() as ReceiverCalls
  const native = calls.openReceiver(clock.native, {
    ...rest,
    paths: paths.map((path) => ({ ...path, source: path.source ?? '' })),
    bytesPerSample: encoding === 'L24' ? 3 : 2,
    payloadType: payloadType ?? -1,
    followsArrival: sync === 'arrival',
  })
  let linkNs = options.linkNs
  let last: ReceiverStats | undefined
  return {
    id: calls.receiverId(native),
    stats: () => last ?? statsOf(calls.receiverStats(native)),
    takeArrivals: () => (last === undefined ? arrivalsOf(calls.takeArrivals(native), linkNs) : null),
    setLink(ns) {
      linkNs = ns
      if (last === undefined) calls.setReceiverLink(native, ns)
    },
    linkNs: () => linkNs,
    close() {
      if (last !== undefined) return
      last = statsOf(calls.receiverStats(native))
      calls.closeReceiver(native)
    },
  }
}
