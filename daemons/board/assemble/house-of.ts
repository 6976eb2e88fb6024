/** Assembles the role of a board with its clock, and finds which roles its machine could fill. */

import type { Metrics } from '#kit/http/metrics.ts'
import { createLineFinder } from '#kit/line/line-finder.ts'
import { createShareOf } from '#kit/net/address.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { AssembleContext } from '#kit/run/daemon.ts'
import { measureAnnouncement, measureListening, measurePtp } from '../api/sound-routes.ts'
import type { BoardConfig } from '../config.ts'
import type { RootHelper } from '../core/machine/ports.ts'
import { createPtpClock } from '../core/ptp/clock.ts'
import type { AudioClock, Ptp } from '../core/ptp/ptp.ts'
import { type RoleFitness, type RoleHouse, type RoleWorld, roleFitness, silentRole } from '../core/role.ts'
import { devicePathsOf } from '../core/settings/setting.ts'
import type { BoardSettings } from '../core/settings/settings.ts'
import type { OwnStream } from '../core/streams/announcing.ts'
import { chosenInterface, firstMac } from '../io/interfaces.ts'
import { createPtpProgram } from '../io/ptp.ts'
import { openAudioClock, readRoleFacts } from '../io/sound.ts'
import { assembleDecoder } from '../roles/decoder/assemble.ts'
import { assembleEncoder } from '../roles/encoder/assemble.ts'
import { assembleSerial } from '../roles/serial/assemble.ts'
import { assembleUsbip } from '../roles/usbip/assemble.ts'
import { announceStream, listenStreams, type StreamAnnouncement, type StreamListening } from './streams.ts'

// The clock of encoder and decoder.

interface PtpNeeds {
  config: BoardConfig['ptp']
  /** Interface of the streams; empty means the one with the default route. */
  audioInterface: string
  priority1: number
  clock: AudioClock
}

/** Adds the part `ptp`. Parts that roles add earlier are running when their clock starts. */
export function assemblePtp(
  world: Pick<RoleWorld, 'clock' | 'log' | 'parts' | 'stateFolder' | 'onChange'>,
  { audioInterface, clock: audio, config, priority1 }: PtpNeeds,
): Ptp {
  const { clock, log, onChange, parts, stateFolder: folder } = world
  const onWire = () => chosenInterface([config.interface, audioInterface])
  const program = config.enabled
    ? createPtpProgram({ clock, log, config, priority1, folder, interface: onWire })
    : undefined
  const mac = firstMac([audioInterface, config.interface])
  const { domain } = config
  const ptp = createPtpClock({ clock, log, audio, program, domain, priority1, limits: config, mac })
  ptp.onChange(onChange)
  parts.add({ name: 'ptp', start: () => ptp.start(), stop: () => ptp.stop() })
  return ptp
}

// The role.

/** What roles need beside the shared world. */
interface RoleNeeds {
  config: BoardConfig
  settings: BoardSettings
  helper: RootHelper
  httpPort(): number
}

/** Which roles this machine can fill, checked on demand. */
export function fitnessOf({ clock, config, log }: AssembleContext<BoardConfig>): () => Promise<RoleFitness[]> {
  const finder = createLineFinder({ log, clock })
  return async () => roleFitness(await readRoleFacts(finder, { sysfs: config.usbip.sysfs }))
}

/** The role that the board has until its next start. */
export async function houseOf(world: RoleWorld, { config, helper, httpPort, settings }: RoleNeeds): Promise<RoleHouse> {
  const { role } = settings
  const shareOf = createShareOf(config.connections.trusted)
  if (role === 'usbip') return await assembleUsbip(world, { config: config.usbip, helper, shareOf })
  if (role === 'serial') {
    const named = devicePathsOf(settings.serial_devices)
    const devices = named.length > 0 ? named : config.serial.devices
    return await assembleSerial(world, { config: config.serial, devices, httpPort, shareOf })
  }
  try {
    return await soundOf(role, world, { config, settings })
  } catch (error) {
    // The rest of the board still works, so that somebody can change its role.
    if (error instanceof Fault && error.code === 'no_gstreamer') return silentRole(error.message)
    throw error
  }
}

/** A role with sound, and its clock. */
async function soundOf(
  role: 'encoder' | 'decoder',
  world: RoleWorld,
  { config, settings }: Pick<RoleNeeds, 'config' | 'settings'>,
): Promise<RoleHouse> {
  const audio = openAudioClock()
  const { hostname, ptp_priority1: priority1, sap } = settings
  const ptp = assemblePtp(world, {
    config: config.ptp,
    audioInterface: config.audio.interface,
    priority1,
    clock: audio,
  })
  const needs = { config: config.audio, settings, audio, ptp }
  const known: { measure?(metrics: Metrics): void } = {}
  function announce(describe: () => OwnStream | undefined): StreamAnnouncement {
    const announcement = announceStream(world, { config, sap, hostname, describe })
    known.measure = (metrics) => measureAnnouncement(metrics, announcement.view)
    return announcement
  }
  function listen(onChange: () => void): StreamListening {
    const listening = listenStreams(world, { config, onChange })
    known.measure = (metrics) => measureListening(metrics, listening.view)
    return listening
  }
  const house =
    role === 'encoder'
      ? assembleEncoder(world, { ...needs, announce })
      : await assembleDecoder(world, { ...needs, listen })
  return {
    ...house,
    ptp: () => ptp.view(),
    measure(metrics) {
      house.measure(metrics)
      measurePtp(metrics, ptp)
      known.measure?.(metrics)
    },
  }
}
