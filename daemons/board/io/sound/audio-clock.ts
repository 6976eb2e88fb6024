/** The clock of sound, where this machine has GStreamer. */

import { Fault } from '#kit/fault.ts'
import { createAudioClock, type AudioClock as SharedClock } from '#native/node-gst/index.ts'

export type { SharedClock }

/**
 * Opens it; the libraries of GStreamer are loaded here and not before.
 * @throws Fault `no_gstreamer` where they are missing
 */
export function openAudioClock(): SharedClock {
  try {
    return createAudioClock()
  } catch (cause) {
    const text =
      'This machine has no GStreamer, so it can neither send nor play sound: install its packages (docs/INSTALL.md).'
    throw new Fault('no_gstreamer', text, { cause })
  }
}
