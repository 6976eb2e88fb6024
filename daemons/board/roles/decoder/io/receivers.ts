/** Opens the addon's receivers for the decoder's rules. */
import { Fault } from '#kit/pure/fault.ts'
import {
  type AudioClock,
  createAudioClock,
  type Receiver as NativeReceiver,
  openReceiver,
} from '#native/node-gst/index.ts'
import { createRecoveredClock } from '../../../core/sound/recovered-clock.ts'
import { pathAddresses } from '../../../core/sound/sound.ts'
import { interfaceAddress } from '../../../io/interfaces.ts'
import type { ArrivalSpread, PathCounts, Receiver, ReceiverOpener, ReceptionStats, Tuning } from '../core/ports.ts'
import { transitMsOf } from '../core/reception.ts'

type Stats = ReturnType<NativeReceiver['stats']>
type Arrivals = NonNullable<ReturnType<NativeReceiver['takeArrivals']>>
type Last = NonNullable<Stats['last']>

/** Settings of receivers. */
interface ReceiverWorld {
  /** The board's own clock. */
  audio: AudioClock
  /** Interfaces of the first and the second path; empty is the one with the default route. */
  interfaces: readonly [string, string]
  concealPackets: number
  receiveBufferBytes: number
  senderGoneMs: number
  realtimePriority: number
}

/** Opens each receiver with a clock: the board's, or, if packets are played by arrival, one of its own. */
export function createReceiverOpener(world: ReceiverWorld): ReceiverOpener {
  return {
    open(tuning) {
      return tuning.sync === 'clock' ? openByClock(world, tuning) : openByArrival(world, tuning)
    },
  }
}

function openByClock(world: ReceiverWorld, tuning: Tuning): Receiver {
  const opened = openAt(world, tuning, world.audio)
  const { receiver } = opened
  return {
    id: receiver.id,
    stats: () => ({ ...statsOf(opened, receiver.takeArrivals(), { world, tuning }), senderPpm: null }),
    hasNewPath: opened.hasNewPath,
    setLinkMs: (linkMs) => receiver.setLink(nsOf(linkMs)),
    close: () => receiver.close(),
  }
}

/** Has its own clock, which each look keeps on the line of the fastest packets. */
function openByArrival(world: ReceiverWorld, tuning: Tuning): Receiver {
  const clock = createAudioClock()
  const recovered = createRecoveredClock()
  const opened = openAt(world, tuning, clock)
  const { receiver } = opened
  return {
    id: receiver.id,
    hasNewPath: opened.hasNewPath,
    stats() {
      const arrivals = receiver.takeArrivals()
      const { anchors } = receiver.stats()
      const { monotonicNs: nowNs } = clock.read()
      const calibration = recovered.look({ nowNs, fastest: arrivals?.fastest ?? null, anchors })
      if (calibration !== null) clock.calibrate(calibration)
      return { ...statsOf(opened, arrivals, { world, tuning }), senderPpm: recovered.ratePpm() }
    },
    setLinkMs: (linkMs) => receiver.setLink(nsOf(linkMs)),
    close() {
      receiver.close()
      clock.close()
    },
  }
}

/** A receiver of those paths that have a network. */
interface Opened {
  receiver: NativeReceiver
  /** Index in the tuning of each of its paths. */
  places: readonly number[]
  hasNewPath(): boolean
}

/** @throws Fault `no_interface`, `receiver_failed` */
function openAt(world: ReceiverWorld, tuning: Tuning, clock: AudioClock): Opened {
  const { concealPackets, interfaces, realtimePriority, receiveBufferBytes, senderGoneMs } = world
  const { channels, encoding, linkMs, mediaOffset, payloadType, roomMs, sync } = tuning
  const names = tuning.paths.map((_, at) => interfaces[at] || interfaces[0])
  const addresses = pathAddresses(names, interfaceAddress)
  const places = [...names.keys()].filter((at) => addresses[at] !== null)
  const paths = tuning.paths
    .map((path, at) => ({ ...path, interfaceAddress: addresses[at] ?? '' }))
    .filter((_, at) => places.includes(at))
  try {
    const receiver = openReceiver({
      ...{ clock, sync, paths, encoding, channels, payloadType, mediaOffset, concealPackets, receiveBufferBytes },
      ...{ senderGoneMs, realtimePriority, linkNs: nsOf(linkMs), ringMs: roomMs },
    })
    const lacking = names.filter((_, at) => !places.includes(at))
    return { receiver, places, hasNewPath: () => lacking.some(hasAddress) }
  } catch (cause) {
    const { code = '', message } = cause as NodeJS.ErrnoException
    const groups = paths.map(({ group, port }) => `${group}:${port}`).join(' and ')
    throw new Fault('receiver_failed', `${groups} cannot be received: ${code === '' ? message : code}.`, { cause })
  }
}

function hasAddress(name: string): boolean {
  try {
    interfaceAddress(name)
    return true
  } catch (fault) {
    if (fault instanceof Fault) return false
    throw fault
  }
}

function nsOf(ms: number): bigint {
  return BigInt(Math.round(ms * 1e6))
}

/** On the board's own clock, whichever clock the receiver plays by. */
function transitOf({ audio }: ReceiverWorld, { mediaOffset }: Tuning, { monotonicNs, timestamp }: Last): number {
  return transitMsOf({ timestamp, mediaOffset, audioNs: audio.audioAt(monotonicNs) })
}

function statsOf(
  { places, receiver }: Opened,
  arrivals: Arrivals | null,
  { tuning, world }: { world: ReceiverWorld; tuning: Tuning },
): Omit<ReceptionStats, 'senderPpm'> {
  const stats = receiver.stats()
  const { channels, concealed, framesPerPacket, glitches, last, late, lost, packets, paths, wild } = stats
  const told = paths.find(({ payloadType }) => payloadType !== null)
  return {
    ...{ channels, concealed, glitches, late, lost, wild, received: packets },
    paths: tuning.paths.map((_, at) => {
      const path = paths[places.indexOf(at)]
      return path === undefined ? NOTHING_CAME : pathOf(path)
    }),
    packetMs: framesPerPacket === null ? null : framesPerPacket / 48,
    payloadType: told?.payloadType ?? null,
    frameBytes: told?.seenFrameBytes ?? null,
    arrival: arrivals && spreadOf(arrivals),
    transitMs: last && transitOf(world, tuning, last),
  }
}

/** Counts of a path without a network. */
const NOTHING_CAME: PathCounts = {
  ...{ packets: 0, bytes: 0, lost: 0, late: 0, duplicate: 0, reordered: 0, malformed: 0 },
  ...{ wrongSource: 0, wrongSourceAddress: null, otherSsrc: 0, wrongFormat: 0, sender: null },
}

function pathOf(path: Stats['paths'][number]): PathCounts {
  const { bytes, duplicate, late, lost, malformed, packets, reordered, sender, wrongFormat, wrongSource, wrongSsrc } =
    path
  return {
    ...{ bytes, duplicate, late, lost, packets, reordered, sender, wrongFormat },
    wrongSource: wrongSource.count,
    wrongSourceAddress: wrongSource.address,
    otherSsrc: wrongSsrc,
    malformed: Object.values(malformed).reduce((sum, count) => sum + count, 0),
  }
}

function spreadOf({ earliestNs, jitterNs, latestNs }: Arrivals): ArrivalSpread {
  const us = (ns: number) => Math.round(ns / 100) / 10 + 0
  return {
    earliestUs: us(earliestNs),
    latestUs: us(latestNs),
    jitterP50Us: us(jitterNs.p50),
    jitterP99Us: us(jitterNs.p99),
    jitterMaxUs: us(jitterNs.max),
  }
}
