/** Assembles the decoder: the only file of the role that imports both io/ and api/. */
import type { BoardConfig } from '../../config.ts'
import { soundConditions } from '../../core/conditions.ts'
import type { Ptp } from '../../core/ptp/ptp.ts'
import type { RoleHouse, RoleWorld } from '../../core/role.ts'
import type { BoardSettings } from '../../core/settings/settings.ts'
import { ownNetworks } from '../../io/interfaces.ts'
import type { SharedClock } from '../../io/sound.ts'
import { decoderRoutes, measureDecoder } from './api/decoder-routes.ts'
import { Decoder } from './core/decoder.ts'
import { decoderVerdict, decoderView } from './core/decoder-view.ts'
import { chooseSink } from './core/output.ts'
import type { StreamFinder } from './core/ports.ts'
import { createDecoderFiles } from './io/decoder-files.ts'
import { createOutputOpener } from './io/output-pipeline.ts'
import { createReceiverOpener } from './io/receivers.ts'

/** What the role needs beside the board. */
interface DecoderNeeds {
  config: BoardConfig['audio']
  settings: BoardSettings
  audio: SharedClock
  ptp: Ptp
  /** Starts listening for streams; calls `onChange` when announcements change. */
  listen(onChange: () => void): StreamFinder
}

/** Allows for a card that is slow to close. */
const STOP_MS = 10_000

/** Loads the saved route; it plays as long as the parts run. */
export async function assembleDecoder(world: RoleWorld, needs: DecoderNeeds): Promise<RoleHouse> {
  const { clock, log, onChange, parts, recorder, stateFolder } = world
  const { audio, config, listen, ptp, settings } = needs
  const live: { decoder?: Decoder } = {}
  const streams = listen(() => live.decoder?.retune())
  const files = createDecoderFiles(stateFolder, log)
  const decoder = new Decoder({
    ...{ clock, log, ptp, streams, settings, files, onChange },
    receivers: createReceiverOpener({
      audio,
      interfaces: [config.interface, config.second_interface],
      concealPackets: config.conceal_packets,
      receiveBufferBytes: config.receive_buffer_bytes,
      senderGoneMs: config.sender_gone_ms,
      realtimePriority: config.realtime_priority,
    }),
    output: createOutputOpener({
      ...{ clock, log, audio, sink: chooseSink(settings.audio_device, config.sink), channels: settings.channels },
      realtimePriority: config.realtime_priority,
      card: cardOf(config),
      recordBytes: config.record_mb * 1_000_000,
    }),
    networks: ownNetworks,
    times: timesOf(config),
    saved: { route: await files.loadRoute(), volume: await files.loadVolume() },
    own: (promise) => parts.own(promise, 'decoder'),
  })
  live.decoder = decoder
  parts.add({ name: 'decoder', start: () => decoder.start(), stop: () => decoder.stop(), stopDeadlineMs: STOP_MS })
  return {
    verdict: () => decoderVerdict(decoder),
    state: () => decoderView(decoder, settings),
    conditions: () => soundConditions('decoder', decoderVerdict(decoder), decoder.checks()),
    routes: decoderRoutes({ decoder, settings, recorder }),
    onMeters: (hear) => decoder.output.onMeters(hear),
    measure: (metrics) => measureDecoder(metrics, decoder),
  }
}

function cardOf(config: BoardConfig['audio']) {
  return {
    fillMs: config.card_fill_ms,
    bufferMs: config.card_buffer_ms,
    mostPpm: config.card_most_ppm,
    lookMs: config.card_look_ms,
  }
}

/** The output fades in 5 ms; a receiver is closed well after that. */
const FADE_MS = 100

function timesOf(config: BoardConfig['audio']) {
  return {
    lookMs: config.look_ms,
    senderGoneMs: config.sender_gone_ms,
    otherClockMs: config.other_clock_ms,
    reopenMs: config.reopen_ms,
    earlyMs: config.early_ms,
    fadeMs: FADE_MS,
    save: { quietMs: config.save_ms, mostMs: config.save_most_ms },
    retry: { firstMs: config.card_retry_ms, maxMs: config.card_retry_most_ms },
    stallLooks: Math.ceil(config.stall_ms / config.look_ms),
  }
}
