/**
 * The face of the node-gst addon: pipelines of GStreamer whose threads run at real-time priority, and the audio clock that
 * they keep. Importing it loads nothing: the first call does.
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
 * Starts GStreamer, once in this process; every other call does so by itself.
 * @returns its version
 * @throws Error of the loader where its libraries are missing; with code `gst_start` where it refuses
 * @internal tests ask whether GStreamer is here
 */
export function startGst(): { version: string } {
  return { version: (addon() as StartCalls).start() }
}
