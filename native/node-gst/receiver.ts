/** Receivers of streams: sockets, ring and counts; the element `plantroomrtpsrc receiver=<id>` plays one. */
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
/** Handle of a native receiver. */
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

/** Native receiver calls. */
interface ReceiverCalls {
  openReceiver(clock: NativeClock, options: NativeOptions): NativeReceiver
  receiverId(receiver: NativeReceiver): number
  receiverStats(receiver: NativeReceiver): NativeStats
  takeArrivals(receiver: NativeReceiver): NativeArrivals
  setReceiverLink(receiver: NativeReceiver, linkNs: bigint): undefined
  /** No call may follow this one. */
  closeReceiver(receiver: NativeReceiver): undefined
}

/** Source of one path of a stream. IPv4 addresses; `interfaceAddress` is one of this machine's. */
export interface ReceivePath {
  group: string
  port: number
  interfaceAddress: string
  /** The sender to accept; null: the first one received, until it has been silent for `senderGoneMs`. */
  source: string | null
}

/** How to receive a stream. */
export interface ReceiverOptions {
  /**
   * With sync `clock`, the audio clock that the stream's timestamps refer to; with `arrival`, the receiver's own clock,
   * created for it and adjusted by core/sound/recovered-clock.ts from the results of `takeArrivals`. Blocks are played
   * at the pace of this clock while the receiver is routed.
   */
  clock: AudioClock
  sync: 'clock' | 'arrival'
  /** One, or two that carry the same packets (ST 2022-7). */
  paths: readonly ReceivePath[]
  encoding: 'L16' | 'L24'
  /** 1..80; 0: detected from sizes and timestamps. */
  channels: number
  /** null: any. */
  payloadType: number | null
  /** From the instant of a timestamp to its playing. */
  linkNs: bigint
  /** RTP timestamp at the clock's zero, 0..2^32-1 (mediaclk:direct). No effect with sync `arrival`. */
  mediaOffset: number
  /** Lost packets in a row that are replaced by a repeat; beyond that, sound fades out. */
  concealPackets: number
  /** Size of the ring: at least twice the largest link offset, and 100 ms; packets further from now are dropped. */
  ringMs: number
  /** Kernel buffer of each path. */
  receiveBufferBytes: number
  senderGoneMs: number
  /** SCHED_FIFO 1..99 for the reading thread, 0 for ordinary priority. */
  realtimePriority: number
}

/** One stream being received. Holds its sockets and thread until `close`. */
export interface Receiver {
  /** For the property `receiver` of the element plantroomrtpsrc. */
  readonly id: number
  stats(): ReceiverStats
  /** null if no packet arrived since the last call. Use from one caller only. */
  takeArrivals(): Arrivals | null
  /** Also while playing: fades out, moves, fades in. */
  setLink(linkNs: bigint): void
  linkNs(): bigint
  /** What arrived before is still played. Later calls return the last known values. */
  close(): void
}

const MOST_PATHS = 2

/**
 * Joins the groups and starts to receive.
 * @throws RangeError unless there are one or two paths, or for more than 80 channels; Error with code (ENODEV: no such
 * interface address, EADDRINUSE, EINVAL: no IPv4 address), errno and syscall if a socket does not open
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
