/** Puts together what looks for cameras and adds them. */
import type { AssembleContext } from '#kit/run/daemon.ts'
import type { RecorderConfig } from '../config.ts'
import { createAdopter } from '../core/cameras/adopt.ts'
import type { CameraBook } from '../core/cameras/book.ts'
import { createDiscovery, type Discovery } from '../core/cameras/discovery.ts'
import type { StreamOpener } from '../core/ports.ts'
import { createOnvifClient } from '../io/onvif-client.ts'
import { createProber } from '../io/probe.ts'
import { createStreamOpener } from '../io/rtsp-session.ts'
import { newId } from '../io/state-files.ts'

type Context = AssembleContext<RecorderConfig>

/** Plays streams of cameras, for those that are recorded as for those that are tried. */
export function openerOf({ clock, config: { cameras }, version }: Context): StreamOpener {
  return createStreamOpener({
    clock,
    limits: {
      ...{ answerMs: cameras.answer_ms, silentMs: cameras.silent_ms, bytesPerS: cameras.bytes_per_s },
      udp: { firstPort: cameras.udp_first_port, ports: cameras.udp_ports, bufferBytes: cameras.udp_buffer_bytes },
    },
    userAgent: userAgentOf(version),
  })
}

function userAgentOf(version: string): string {
  return `Plantroom/${version}`
}

export function discoveryOf(
  { clock, config, log, version }: Context,
  { cameras, opener }: { cameras: CameraBook; opener: StreamOpener },
): Discovery {
  const { discovery: bounds } = config
  const answerMs = config.cameras.answer_ms
  const prober = createProber({
    ...{ clock, log, wanted: bounds.interface },
    limits: { waitMs: bounds.wait_ms, answers: bounds.answers, answersPerAddress: bounds.answers_per_address },
  })
  const onvif = createOnvifClient({
    ...{ clock, userAgent: userAgentOf(version) },
    limits: { answerMs, answerBytes: bounds.onvif_bytes },
  })
  const adopter = createAdopter({ clock, onvif, opener, limits: { answerMs, tries: bounds.stream_tries } })
  const limits = {
    ...{ found: bounds.found, foundPerAddress: bounds.found_per_address, adoptAtOnce: bounds.adopt_at_once },
  }
  return createDiscovery({ clock, prober, adopter, cameras, newId, limits })
}
