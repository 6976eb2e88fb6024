/**
 * TypeScript interface of the node-gst addon: GStreamer pipelines with real-time streaming threads, and the audio clock
 * they use. Importing it loads nothing; the first call does.
 */
import { addon } from './addon.ts'

export { type AudioClock, createAudioClock } from './clock.ts'
export { type GstMessage, type HeldSample, openPipeline, readSample, type Sample } from './pipeline.ts'
export { openReceiver, type Receiver } from './receiver.ts'
export { openSender, type Sender } from './sender.ts'

interface StartCalls {
  start(...plugins: string[]): string
}

/**
 * Starts GStreamer, once per process; every other call does so by itself.
 * @param plugins to load besides those of sound, at most eight, by the names of their files without `libgst`; what is
 * not installed is left out
 * @returns its version
 * @throws Error of the loader if its libraries are missing; with code `gst_start` if it refuses
 */
export function startGst(plugins: readonly string[] = []): { version: string } {
  return { version: (addon() as StartCalls).start(...plugins) }
}
