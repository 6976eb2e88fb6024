/** An announced stream and a listener, assembled as in the roles, on the loopback interface. */
import type { Test } from 'tap'
import { Value } from 'typebox/value'
import { systemClock } from '#kit/clock.ts'
import { silentLog } from '#kit/log.ts'
import { createParts } from '#kit/run/parts.ts'
import { stateFolderOf } from '#kit/test/running-daemon.ts'
import { announceStream, listenStreams } from '../assemble/streams.ts'
import { type BoardConfig, config } from '../config.ts'
import type { RoleWorld } from '../core/role.ts'
import type { OwnStream } from '../core/streams/announcing.ts'
import { OWN_STREAM } from './wire/streams/described-stream.ts'

/** Unique to this run: others may announce on this machine too. */
export const NAME = `Höhe ${process.pid}`

/** As an encoder describes it. */
export const STREAM: OwnStream = {
  ...OWN_STREAM,
  origin: '127.0.0.1',
  name: NAME,
  info: 'Sent by a test',
  paths: [{ group: '239.69.83.7', port: 5004, ttl: 32, source: null }],
}

/** Default settings, on loopback. */
export function settingsOf(streams: Partial<BoardConfig['streams']> = {}): BoardConfig {
  const all = Value.Default(config, {}) as BoardConfig
  return {
    ...all,
    audio: { ...all.audio, interface: 'lo' },
    mdns: { ...all.mdns, recheck_ms: 200 },
    streams: { ...all.streams, rtsp_port: 0, ask_s: 1, ...streams },
  }
}

function worldOf(t: Test): RoleWorld {
  const recorder = { record() {}, recordSend() {} }
  return {
    clock: systemClock,
    log: silentLog,
    stateFolder: stateFolderOf(t),
    parts: createParts({ log: silentLog, clock: systemClock }),
    recorder: recorder as unknown as RoleWorld['recorder'],
    refusals: { add() {} },
    onChange() {},
  }
}

/** Announces as an encoder does. `stop` withdraws it. */
export async function announcing(t: Test, stream: OwnStream = STREAM, streams: Partial<BoardConfig['streams']> = {}) {
  const now = { stream }
  const world = worldOf(t)
  const options = { config: settingsOf(streams), sap: true, hostname: 'board-7', describe: () => now.stream }
  const announcement = announceStream(world, options)
  await world.parts.start()
  t.teardown(() => world.parts.stop())
  return { ...announcement, now, stop: () => world.parts.stop() }
}

/** Listens as a decoder does. */
export async function listening(t: Test, streams: Partial<BoardConfig['streams']> = {}) {
  const world = worldOf(t)
  const heard = listenStreams(world, { config: settingsOf(streams), onChange() {} })
  await world.parts.start()
  t.teardown(() => world.parts.stop())
  return { ...heard, ours: () => heard.list().filter(({ name }) => name.startsWith(NAME)) }
}
