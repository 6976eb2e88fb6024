/** Live captures: write every frame of a port from now on to a capture file, until somebody ends it. */
import { Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import { bytesOfHex } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import { type LinkType, pcapFileHead, pcapRecord } from '../../wire/pcap.ts'
import type { EventHub } from './events.ts'
import type { FramePayload, PortEvent } from './ports.ts'

// Keys of the table `capture` in gateway.toml.

/** Bounds of live captures. */
export const captureKeys = Type.Object(
  {
    max: Type.Integer({ default: 4, minimum: 1, maximum: 64, description: 'live captures at once, of all ports' }),
    backlog_bytes: Type.Integer({
      default: 1_048_576,
      minimum: 65_536,
      maximum: 67_108_864,
      unit: 'bytes',
      description: 'bytes held for one capture that is not read as fast as it grows, before it is broken off',
    }),
  },
  { additionalProperties: false, default: {}, description: 'live captures of ports' },
)

/** The destination of a capture. */
export interface CaptureSink {
  /** @returns false if the reader is too far behind, and the bytes were not taken */
  write(bytes: Uint8Array): boolean
  /** The file is complete; no more bytes follow. */
  end(): void
  /** The file breaks off here: the frames that follow could not be kept. */
  breakOff(fault: Fault): void
}

interface CaptureParts {
  hub: EventHub
  clock: Clock
  /** Captures at once; `capture.max`. */
  max: number
  /** The link type in the head of a file. */
  linkTypeOf(protocol: string): LinkType
  /** A capture broke off. */
  onBrokenOff(port: string): void
}

export interface Captures {
  /**
   * Starts a capture. The head of the file is written at once.
   * @returns a function that ends it without notifying its sink
   * @throws Fault `too_many_captures`
   */
  start(port: string, protocol: string, sink: CaptureSink): () => void
  /** Ends the captures of a port that was removed, or changed its protocol. */
  endOf(port: string): void
  /** Ends all. */
  close(): void
  /** The number of running captures, and of those that broke off since the start. */
  counts(): { running: number; brokenOff: number }
}

interface Capture {
  port: string
  sink: CaptureSink
  leave(): void
}

export function createCaptures({ hub, clock, max, linkTypeOf, onBrokenOff }: CaptureParts): Captures {
  const running = new Set<Capture>()
  let brokenOff = 0

  function leave(capture: Capture): void {
    capture.leave()
    running.delete(capture)
  }

  function endWhere(isOver: (capture: Capture) => boolean): void {
    for (const capture of [...running].filter(isOver)) {
      leave(capture)
      capture.sink.end()
    }
  }

  /** Ends the capture, as one with a gap would look as if the line had been silent there. */
  function breakOff(capture: Capture): void {
    brokenOff++
    leave(capture)
    capture.sink.breakOff(
      new Fault('capture_too_slow', `The capture of ${capture.port} was ended: it was not read as fast as it grew.`),
    )
    onBrokenOff(capture.port)
  }

  return {
    start(port, protocol, sink) {
      if (running.size >= max)
        throw new Fault('too_many_captures', `${running.size} captures are running; capture.max allows ${max}.`)
      // Frames have monotonic timestamps; one offset for all keeps their distances, even if wall time changes.
      const offsetUs = Math.round((clock.epochMs() - clock.monotonicMs()) * 1000)
      const take = (event: PortEvent) => {
        if (event.port !== port || event.event !== 'frame') return
        const { hex, monotonicUs } = event.payload as FramePayload
        if (!sink.write(pcapRecord(monotonicUs + offsetUs, bytesOfHex(hex)))) breakOff(capture)
      }
      const capture: Capture = { port, sink, leave: hub.subscribe(take) }
      running.add(capture)
      sink.write(pcapFileHead(linkTypeOf(protocol)))
      return () => leave(capture)
    },
    endOf: (port) => endWhere((capture) => capture.port === port),
    close: () => endWhere(() => true),
    counts: () => ({ running: running.size, brokenOff }),
  }
}
