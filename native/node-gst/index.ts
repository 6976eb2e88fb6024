/**
 * TypeScript interface of the node-gst addon: GStreamer pipelines with real-time streaming threads, and the audio clock
 * they use. Importing it loads nothing; the first call does.
 */
import { addon } from './addon.ts'

export { type AudioClock, createAudioClock } from './clock.ts'
export { type GstMessage, openPipeline } from './pipeline.ts'
export { openReceiver, type Receiver } from './receiver.ts'
export { openSender, type Sender } from './sender.ts'

interface StartCalls {
  start(): string
}

/**
 * Starts GStreamer, once per process; every other call does so by itself.
 * @returns its version
 * @throws Error of the loader if its libraries are missing; with code `gst_start` if it refuses
 * @internal used by tests to check for GStreamer
 */
export function startGst(): { version: string } {
  return { version: (addon() as StartCalls).start() }
}
