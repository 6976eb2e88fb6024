/** Puts together what speaks to cameras over ONVIF: looking for them, and adding them. */
import type { AssembleContext } from '#kit/run/daemon.ts'
import type { RecorderConfig } from '../config.ts'
import { createAdopter } from '../core/cameras/adopt.ts'
import type { CameraBook } from '../core/cameras/book.ts'
import { createDiscovery, type Discovery } from '../core/cameras/discovery.ts'
import type { OnvifClient } from '../core/cameras/onvif.ts'
import type { CameraWeb } from '../core/outputs/dahua-driver.ts'
import type { StreamOpener } from '../core/ports.ts'
import { createCameraWeb } from '../io/camera-web.ts'
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

/** How the recorder names itself to cameras. */
export function userAgentOf(version: string): string {
  return `Plantroom/${version}`
}

interface OnvifBounds {
  /** Time for each answer. */
  answerMs?: number
  /** The longest answer. */
  answerBytes?: number
}

/** Asks cameras over ONVIF. */
export function onvifOf({ clock, config, version }: Context, bounds: OnvifBounds = {}): OnvifClient {
  const limits = { answerMs: config.cameras.answer_ms, answerBytes: config.discovery.onvif_bytes, ...bounds }
  return createOnvifClient({ clock, limits, userAgent: userAgentOf(version) })
}

/** Cameras' own HTTP interfaces. */
export function cameraWebOf({ clock, config, version }: Context, { answerBytes }: { answerBytes: number }): CameraWeb {
  return createCameraWeb({
    clock,
    limits: { answerMs: config.cameras.answer_ms, answerBytes },
    userAgent: userAgentOf(version),
  })
}

export function discoveryOf(
  context: Context,
  { cameras, opener }: { cameras: CameraBook; opener: StreamOpener },
): Discovery {
  const { clock, config, log } = context
  const { discovery: bounds } = config
  const answerMs = config.cameras.answer_ms
  const prober = createProber({
    ...{ clock, log, wanted: bounds.interface },
    limits: { waitMs: bounds.wait_ms, answers: bounds.answers, answersPerAddress: bounds.answers_per_address },
  })
  const onvif = onvifOf(context)
  const adopter = createAdopter({ clock, onvif, opener, limits: { answerMs, tries: bounds.stream_tries } })
  const limits = {
    ...{ found: bounds.found, foundPerAddress: bounds.found_per_address, adoptAtOnce: bounds.adopt_at_once },
  }
  return createDiscovery({ clock, prober, adopter, cameras, newId, limits })
}
