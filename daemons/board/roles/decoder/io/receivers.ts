/** Receivers of the addon, as the rules of the decoder want them. */
import { Fault } from '#kit/fault.ts'
import {
  type AudioClock,
  createAudioClock,
  type Receiver as NativeReceiver,
  openReceiver,
} from '#native/node-gst/index.ts'
import { createRecoveredClock } from '../../../core/sound/recovered-clock.ts'
import { interfaceAddress } from '../../../io/sound/interface-address.ts'
import type { ArrivalSpread, PathCounts, Receiver, ReceiverOpener, ReceptionStats, Tuning } from '../core/ports.ts'
import { transitMsOf } from '../core/transit.ts'

type Stats = ReturnType<NativeReceiver['stats']>
type Arrivals = NonNullable<ReturnType<NativeReceiver['takeArrivals']>>
type Last = NonNullable<Stats['last']>

/** What receivers are opened with. */
export interface ReceiverWorld {
  /** The board's own. */
  audio: AudioClock
  /** Of the first and the second path; empty is the one with the default route. */
  interfaces: readonly [string, string]
  concealPackets: number
  receiveBufferBytes: number
  senderGoneMs: number
  realtimePriority: number
}

/** Opens each with a clock: the board's, or where packets are played by their arrival one of its own. */
export function createReceiverOpener(world: ReceiverWorld): ReceiverOpener {
  return {
    open(tuning) {
      return tuning.sync === 'clock' ? openByClock(world, tuning) : openByArrival(world, tuning)
    },
  }
}

function openByClock(world: ReceiverWorld, tuning: Tuning): Receiver {
  const receiver = openAt(world, tuning, world.audio)
  return {
    id: receiver.id,
    stats: () => ({ ...statsOf(receiver, receiver.takeArrivals(), { world, tuning }), senderPpm: null }),
    setLinkMs: (linkMs) => receiver.setLink(nsOf(linkMs)),
    close: () => receiver.close(),
  }
}

/** With a clock of its own, that each look keeps on the line of the fastest packets. */
function openByArrival(world: ReceiverWorld, tuning: Tuning): Receiver {
  const clock = createAudioClock()
  const recovered = createRecoveredClock()
  const receiver = openAt(world, tuning, clock)
  return {
    id: receiver.id,
    stats() {
      const arrivals = receiver.takeArrivals()
      const { anchors } = receiver.stats()
      const { monotonicNs: nowNs } = clock.read()
      const calibration = recovered.look({ nowNs, fastest: arrivals?.fastest ?? null, anchors })
      if (calibration !== null) clock.calibrate(calibration)
      return { ...statsOf(receiver, arrivals, { world, tuning }), senderPpm: recovered.ratePpm() }
    },
    setLinkMs: (linkMs) => receiver.setLink(nsOf(linkMs)),
    close() {
      receiver.close()
      clock.close()
    },
  }
}

/** @throws Fault `no_interface`, `receiver_failed` */
function openAt(world: ReceiverWorld, tuning: Tuning, clock: AudioClock): NativeReceiver {
  const { concealPackets, interfaces, realtimePriority, receiveBufferBytes, senderGoneMs } = world
  const { channels, encoding, linkMs, mediaOffset, payloadType, roomMs, sync } = tuning
  const paths = tuning.paths.map((path, index) => ({
    ...path,
    interfaceAddress: interfaceAddress(interfaces[index] || interfaces[0]),
  }))
  try {
    return openReceiver({
      ...{ clock, sync, paths, encoding, channels, payloadType, mediaOffset, concealPackets, receiveBufferBytes },
      ...{ senderGoneMs, realtimePriority, linkNs: nsOf(linkMs), ringMs: roomMs },
    })
  } catch (cause) {
    const { code = '', message } = cause as NodeJS.ErrnoException
    const groups = paths.map(({ group, port }) => `${group}:${port}`).join(' and ')
    throw new Fault('receiver_failed', `${groups} cannot be received: ${code === '' ? message : code}.`, { cause })
  }
}

function nsOf(ms: number): bigint {
  return BigInt(Math.round(ms * 1e6))
}

/** By the board's own clock, whatever the receiver plays by. */
function transitOf({ audio }: ReceiverWorld, { mediaOffset }: Tuning, { monotonicNs, timestamp }: Last): number {
  return transitMsOf({ timestamp, mediaOffset, audioNs: audio.audioAt(monotonicNs) })
}

function statsOf(
  receiver: NativeReceiver,
  arrivals: Arrivals | null,
  { tuning, world }: { world: ReceiverWorld; tuning: Tuning },
): Omit<ReceptionStats, 'senderPpm'> {
  const stats = receiver.stats()
  const { channels, concealed, framesPerPacket, glitches, last, late, lost, packets, paths, wild } = stats
  const told = paths.find(({ payloadType }) => payloadType !== null)
  return {
    ...{ channels, concealed, glitches, late, lost, wild, received: packets },
    paths: paths.map(pathOf),
    packetMs: framesPerPacket === null ? null : framesPerPacket / 48,
    payloadType: told?.payloadType ?? null,
    frameBytes: told?.seenFrameBytes ?? null,
    arrival: arrivals && spreadOf(arrivals),
    transitMs: last && transitOf(world, tuning, last),
  }
}

function pathOf(path: Stats['paths'][number]): PathCounts {
  const { bytes, duplicate, late, lost, malformed, packets, reordered, sender, wrongFormat, wrongSource, wrongSsrc } =
    path
  return {
    ...{ bytes, duplicate, late, lost, packets, reordered, sender, wrongFormat },
    wrongSource: wrongSource.count + wrongSsrc,
    wrongSourceAddress: wrongSource.address,
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
