/** The output of a decoder: a GStreamer pipeline that plays to a card, to a file, or to nobody. */
import { statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Clock } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { type AudioClock, type GstMessage, openPipeline } from '#native/node-gst/index.ts'
import { chooseCard, createCardSteering, sinkFragment } from '../../../core/sound/card.ts'
import { listCards, realtimeView } from '../../../io/sound.ts'
import { fileEnd, LEVEL, NULL_END, outputDescription, type Sink, SOURCE } from '../core/output.ts'
import type { Output, OutputEvents, OutputOpener } from '../core/ports.ts'

// Completes the head of a recording with lengths that were unknown while it was written.

/** RIFF, its length, WAVE, fmt with 16 bytes or more, ..., data, its length. */
const LONGEST_HEAD = 4096

/**
 * Writes the lengths into the head of a WAV file, which a stopped or interrupted recording lacks. Other files are left
 * alone.
 * @source Microsoft, Multimedia Programming Interface and Data Specifications 1.0, RIFF
 */
export async function completeWav(path: string): Promise<void> {
  const file = await open(path, 'r+')
  try {
    const { size } = await file.stat()
    const head = Buffer.alloc(Math.min(size, LONGEST_HEAD))
    await file.read(head, 0, head.length, 0)
    const data = head.indexOf('data', 12, 'latin1')
    if (head.toString('latin1', 0, 4) !== 'RIFF' || data < 0 || data + 8 > size) return
    await file.write(lengthOf(size - 8), 0, 4, 4)
    await file.write(lengthOf(size - data - 8), 0, 4, data + 4)
  } finally {
    await file.close()
  }
}

function lengthOf(bytes: number): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(Math.min(bytes, 0xffff_ffff))
  return length
}

// The pipeline.

/** How to open an output. */
interface OutputOptions {
  clock: Clock
  log: Log
  audio: AudioClock
  sink: Sink
  channels: number
  /** SCHED_FIFO 1..99; 0 for ordinary threads. */
  realtimePriority: number
  card: { fillMs: number; bufferMs: number; mostPpm: number; lookMs: number }
  /** Length at which a recording starts over. */
  recordBytes: number
}

/** The end of the pipeline. */
interface End {
  name: string
  fragment: string
}

/** Has a name before it was ever opened, too. */
export function createOutputOpener(options: OutputOptions): OutputOpener {
  const { sink } = options
  let name = nameOf(sink)
  return {
    get name() {
      return name
    },
    kind: sink.kind,
    async open(events) {
      const end = await endOf(options)
      name = end.name
      return await openOutput(end, options, events)
    },
  }
}

function nameOf(sink: Sink): string {
  if (sink.kind === 'alsa') return sink.device === '' ? 'the first sound card' : sink.device
  return sink.kind === 'file' ? sink.path : 'null'
}

/** @throws Fault `no_card` */
async function endOf({ card, sink }: OutputOptions): Promise<End> {
  if (sink.kind === 'null') return { name: 'null', fragment: NULL_END }
  if (sink.kind === 'file') return { name: sink.path, fragment: fileEnd(sink.path) }
  const chosen = chooseCard(await listCards(), sink.device, 'plays')
  if (chosen.found === false) throw new Fault('no_card', `The sound card ${sink.device} is not plugged in.`)
  return { name: chosen.name, fragment: sinkFragment({ alsa: chosen.alsa, ...card }) }
}

async function openOutput({ name, fragment }: End, options: OutputOptions, events: OutputEvents): Promise<Output> {
  const { audio, channels, clock, realtimePriority, sink } = options
  let isClosing = false
  const onMessage = (message: GstMessage) => {
    if (isClosing) return
    if (message.type === 'level' && message.element === LEVEL) events.level(message.peakDb, message.rmsDb)
    else if (message.type === 'warning') options.log.warning('output', { output: name, fault: message.message })
    else if (message.type === 'error') events.died(`${subjectOf(sink, name)} ended: ${message.message}`)
    else if (message.type === 'eos') events.died(`${subjectOf(sink, name)} ended by itself.`)
  }
  const pipeline = openPipeline(outputDescription(channels, fragment), { clock: audio, realtimePriority, onMessage })
  try {
    await pipeline.play()
  } catch (cause) {
    await pipeline.close()
    throw new Fault('output_failed', `${subjectOf(sink, name)} does not start: ${(cause as Error).message}`, { cause })
  }
  const { card } = options
  const steering =
    sink.kind === 'alsa'
      ? createCardSteering({ ...{ clock, pipeline, use: 'plays', fillMs: card.fillMs }, ...card })
      : undefined
  return {
    listen: (receiverId) => pipeline.set(SOURCE, 'receiver', receiverId),
    setGain: (gain) => pipeline.set(SOURCE, 'gain', gain),
    facts() {
      const view = steering?.view()
      const counted = (property: string) => Number(pipeline.get(SOURCE, property))
      const facts = {
        latencyMs: view?.latency_ms ?? null,
        driftPpm: view?.drift_ppm ?? null,
        underruns: view?.xruns ?? 0,
        // A block is 1 ms.
        skippedMs: counted('skipped-blocks'),
        phaseJumps: counted('phase-jumps'),
        clippedSamples: counted('clipped-samples'),
        realtime: realtimeView(pipeline.realtime()),
      }
      // Last: it ends the pipeline, which cannot be queried afterwards.
      if (sink.kind === 'file' && bytesOf(sink.path) > options.recordBytes)
        events.died(`The recording to ${sink.path} has reached ${options.recordBytes} bytes and begins anew.`)
      return facts
    },
    async close() {
      // Messages of an intended end are ignored.
      isClosing = true
      steering?.close()
      await pipeline.close()
      if (sink.kind !== 'file') return
      const untold = (fault: unknown) => options.log.warning('recording not completed', { path: sink.path, fault })
      await completeWav(sink.path).catch(untold)
    },
  }
}

function subjectOf(sink: Sink, name: string): string {
  if (sink.kind === 'alsa') return `The sound card ${name}`
  return sink.kind === 'file' ? `The recording to ${name}` : 'The output'
}

function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
