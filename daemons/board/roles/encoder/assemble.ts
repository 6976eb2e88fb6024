/** Assembles the encoder: the only file of the role that imports both io/ and api/. */
import type { BoardConfig } from '../../config.ts'
import { soundConditions } from '../../core/conditions.ts'
import type { Ptp } from '../../core/ptp/ptp.ts'
import type { RoleHouse, RoleWorld } from '../../core/role.ts'
import type { BoardSettings } from '../../core/settings/settings.ts'
import { secondGroupFault } from '../../core/sound/keys.ts'
import { audioSourceOf, createLastAddresses, type PathAddresses, pathAddresses } from '../../core/sound/sound.ts'
import type { OwnStream } from '../../core/streams/announcing.ts'
import { interfaceAddress } from '../../io/interfaces.ts'
import { listCards, type SharedClock } from '../../io/sound.ts'
import { framesOf, SAMPLE_RATE } from '../../wire/streams/description.ts'
import { encoderRoutes, measureEncoder } from './api/encoder-routes.ts'
import { type Announcing, Encoder } from './core/encoder.ts'
import { encoderVerdict, encoderView, ownStream, type StreamSettings } from './core/encoder-view.ts'
import { createGstFeeds } from './io/gst-feeds.ts'

/** What the role needs beside the board. */
interface EncoderNeeds {
  config: BoardConfig['audio']
  settings: BoardSettings
  audio: SharedClock
  ptp: Ptp
  /** Announces a stream. `describe`: undefined while there is nothing to announce. */
  announce(describe: () => OwnStream | undefined): Announcing
}

/** A role that must release a sound card waits until it is released. */
const STOP_MS = 10_000

/** The stream starts and stops with the parts of the board. */
export function assembleEncoder(world: RoleWorld, needs: EncoderNeeds): RoleHouse {
  const { clock, log, onChange, parts, recorder } = world
  const { announce, audio, config, ptp, settings } = needs
  const stream = streamOf(needs)
  const { channels, encoding, name, packet_ms: packetMs } = stream
  const groups = [stream, ...(stream.dup ? [stream.dup] : [])].map(({ mcast, port }) => ({ group: mcast, port }))
  const addresses = () => addressesOf(config, groups.length)
  const lastAddresses = createLastAddresses()
  const paths = groups.map((group) => ({ ...group, ttl: config.ttl }))
  const facts = { name, paths, payloadType: config.payload_type, encoding, channels, packetMs }
  const announcing = announce(() => ifAny(addresses, (now) => ownStream(facts, lastAddresses(now), ptp.refClock())))
  const framesPerPacket = framesOf({ packetMs, sampleRate: SAMPLE_RATE })
  const opener = createGstFeeds({
    ...{ clock, audio, limits: config, groups, addresses, cards: listCards },
    stream: { encoding, channels, framesPerPacket },
    refusal: secondGroupFault(config.second_group, settings.mcast),
  })
  const encoder = new Encoder({
    ...{ clock, log, opener, ptp, announcing, onChange, limits: config },
    source: audioSourceOf(settings.audio_device === '' ? config.source : settings.audio_device),
    stream: { channels, packetMs },
    isSapWanted: settings.sap,
    own: (promise) => parts.own(promise, 'encoder'),
  })
  parts.add({ name: 'encoder', start: () => encoder.start(), stop: () => encoder.stop(), stopDeadlineMs: STOP_MS })
  return {
    verdict: () => encoderVerdict(encoder, stream),
    state: () => encoderView(encoder, stream),
    conditions: () => soundConditions('encoder', encoderVerdict(encoder, stream), encoder.checks()),
    routes: encoderRoutes({ encoder, recorder }),
    onMeters: (hear) => encoder.loudness.onMeters(hear),
    measure: (metrics) => measureEncoder(metrics, encoder),
  }
}

function streamOf({ config, settings }: EncoderNeeds): StreamSettings {
  const { channels, encoding, mcast, name, port } = settings
  return {
    ...{ mcast, port, name, encoding, channels },
    packet_ms: Number(settings.packet_ms),
    payload_type: config.payload_type,
    dscp: config.dscp,
    ttl: config.ttl,
    dup: config.second_group === '' ? null : { mcast: config.second_group, port },
  }
}

/** Present addresses of each path's interface. */
function addressesOf(config: BoardConfig['audio'], paths: number): PathAddresses {
  const names = [config.interface, config.second_interface || config.interface]
  return pathAddresses(names.slice(0, paths), (name) => interfaceAddress(name))
}

/** Makes something of the addresses if there are any: without a network there is no stream to announce. */
function ifAny<Result>(addresses: () => PathAddresses, make: (now: PathAddresses) => Result): Result | undefined {
  try {
    return make(addresses())
  } catch {
    return undefined
  }
}
