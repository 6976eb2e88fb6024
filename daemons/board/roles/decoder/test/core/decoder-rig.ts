/** A decoder in which everything outside is fake: receivers report what a test says, and time stands still. */
import { fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import type { Ptp } from '../../../../core/ptp/ptp.ts'
import type { HeardStream } from '../../../../core/streams/book.ts'
import { GRANDMASTER, ptpView } from '../../../../test/core/ptp/fake-ptp.ts'
import type { OwnRefClock } from '../../../../wire/streams/description.ts'
import { Decoder, type DecoderParts } from '../../core/decoder.ts'
import type {
  OutputEvents,
  OutputOpener,
  PathCounts,
  ReceiverOpener,
  ReceptionStats,
  Tuning,
} from '../../core/ports.ts'

/** A grandmaster that no stream of the tests names. */
export const OTHER_GRANDMASTER = '00-1D-C1-FF-FE-AA-AA-AA'

/** Healthy counts, and no sender. */
export function pathCounts(change: Partial<PathCounts> = {}): PathCounts {
  return {
    packets: 0,
    bytes: 0,
    lost: 0,
    late: 0,
    duplicate: 0,
    reordered: 0,
    wrongSource: 0,
    wrongSourceAddress: null,
    otherSsrc: 0,
    wrongFormat: 0,
    malformed: 0,
    sender: null,
    ...change,
  }
}

export function receptionStats(change: Partial<ReceptionStats> = {}): ReceptionStats {
  return {
    paths: [pathCounts()],
    received: 0,
    lost: 0,
    late: 0,
    wild: 0,
    concealed: 0,
    glitches: 0,
    channels: null,
    packetMs: null,
    payloadType: null,
    frameBytes: null,
    arrival: null,
    transitMs: null,
    senderPpm: null,
    ...change,
  }
}

/** A stream of 10.20.4.12 on 239.69.10.4:5004. */
export function heardStream(change: Partial<HeardStream> = {}): HeardStream {
  return {
    id: '10.20.4.12/1',
    name: 'Lobby music',
    info: '',
    mcast: '239.69.10.4',
    port: 5004,
    source: '10.20.4.12',
    origin: '10.20.4.12',
    from: '10.20.4.12',
    encoding: 'L24',
    channels: 2,
    sample_rate: 48_000,
    packet_ms: 1,
    payload_type: 97,
    ttl: 15,
    refclk: { kind: 'ptp', grandmaster: GRANDMASTER, domain: 0 },
    mclk_offset: 0,
    dup: null,
    source_specific: false,
    not_playable: null,
    heard_by: ['sap'],
    first_heard_at: 1,
    last_heard_at: 1,
    sdp: '',
    ...change,
  }
}

/** An open receiver. */
export interface FakeReceiver {
  id: number
  tuning: Tuning
  linkMs: number
  stats: ReceptionStats
  hasNewPath: boolean
  isClosed: boolean
}

function fakeReceivers() {
  const receivers: FakeReceiver[] = []
  const receiving = { refuses: undefined as Error | undefined }
  const opener: ReceiverOpener = {
    open(tuning) {
      if (receiving.refuses) throw receiving.refuses
      const id = receivers.length + 1
      const receiver = {
        id,
        tuning,
        linkMs: tuning.linkMs,
        stats: receptionStats(),
        hasNewPath: false,
        isClosed: false,
      }
      receivers.push(receiver)
      return {
        id,
        stats: () => receiver.stats,
        hasNewPath: () => receiver.hasNewPath,
        setLinkMs(linkMs) {
          receiver.linkMs = linkMs
        },
        close() {
          receiver.isClosed = true
        },
      }
    },
  }
  return { receivers, receiving, opener }
}

/** The output: its calls, and how it should behave. */
export function fakeOutput() {
  const output = {
    listensTo: 0,
    gain: Number.NaN,
    opened: 0,
    closed: 0,
    /** Why it cannot be opened; empty if it can. */
    refuses: '',
    /** What it dies of before it is open; empty if it lives. */
    diesAtOnce: '',
    /** What it waits for before it is open. */
    opensAfter: undefined as Promise<void> | undefined,
    underruns: 0,
    skippedMs: 0,
    events: { level() {}, died() {} } as OutputEvents,
  }
  const opener: OutputOpener = {
    name: 'hw:1',
    kind: 'alsa',
    async open(events) {
      output.opened += 1
      await output.opensAfter
      if (output.refuses !== '') throw new Error(output.refuses)
      output.events = events
      if (output.diesAtOnce !== '') events.died(output.diesAtOnce)
      return {
        listen(id) {
          output.listensTo = id
        },
        setGain(gain) {
          output.gain = gain
        },
        facts: () => ({
          latencyMs: 5,
          driftPpm: 12.5,
          underruns: output.underruns,
          skippedMs: output.skippedMs,
          phaseJumps: 0,
          clippedSamples: 0,
          realtime: { granted: true, text: 'Threads of sound run at priority 50.' },
        }),
        async close() {
          output.closed += 1
        },
      }
    },
  }
  return { output, opener }
}

function fakePtp() {
  const ptp = {
    is: ptpView(),
    ref: { kind: 'ptp', grandmaster: GRANDMASTER, domain: 0 } as OwnRefClock,
    listeners: new Set<() => void>(),
  }
  const face: Ptp = {
    view: () => ptp.is,
    refClock: () => ptp.ref,
    isLocked: () => ['locked', 'master', 'holdover'].includes(ptp.is.state),
    onChange(listener) {
      ptp.listeners.add(listener)
      return () => void ptp.listeners.delete(listener)
    },
  }
  return { ptp, face }
}

function fakeFiles() {
  const saves: [string, unknown][] = []
  const files = { refuses: undefined as Error | undefined }
  const save = (what: string) => async (value: unknown) => {
    if (files.refuses) throw files.refuses
    saves.push([what, value])
  }
  return { files, saves, face: { saveRoute: save('route'), saveVolume: save('volume') } }
}

const TIMES = {
  lookMs: 250,
  senderGoneMs: 2000,
  otherClockMs: 20_000,
  reopenMs: 10_000,
  earlyMs: 500,
  fadeMs: 100,
  save: { quietMs: 2000, mostMs: 10_000 },
  retry: { firstMs: 500, maxMs: 5000 },
  // Outputs of these tests advance only when a test says so.
  stallLooks: Number.POSITIVE_INFINITY,
}

/** @param change deviations from a board that was never routed */
export function decoderRig(change: { settings?: object; saved?: Partial<DecoderParts['saved']> } = {}) {
  const clock = fakeClock()
  const streams: HeardStream[] = []
  const { receivers, receiving, opener } = fakeReceivers()
  const { output, opener: outputOpener } = fakeOutput()
  const { ptp, face: ptpFace } = fakePtp()
  const { files, saves, face: filesFace } = fakeFiles()
  const count = { changes: 0 }
  const decoder = new Decoder({
    ...{ clock, log: silentLog, times: TIMES, files: filesFace, ptp: ptpFace, receivers: opener, output: outputOpener },
    streams: {
      list: () => streams,
      find: (group, port) =>
        streams.filter((one) => [one, one.dup].some((path) => path?.mcast === group && path.port === port)),
    },
    networks: () => [{ address: '10.20.4.20', prefix: 24 }],
    settings: { mcast: '', port: 5004, link_ms: 10, ext_link_ms: 20, ...change.settings },
    saved: { route: null, volume: { volume_db: 0, mute: false }, ...change.saved },
    own: (promise) => void promise.catch(() => {}),
    onChange() {
      count.changes += 1
    },
  })
  const route = (fields: Record<string, string>) => decoder.book.change(fields)
  const receiver = () => lastOf(receivers)
  return {
    ...{ clock, count, decoder, files, output, ptp, receiver, receivers, receiving, route, saves, streams },
    play: () => route({ mcast: '239.69.10.4', port: '5004' }),
    /** Receives packets of a sender for one second of the clock. */
    async hear(sender = '10.20.4.12', paths: Partial<PathCounts>[] = [{}]): Promise<void> {
      for (let look = 0; look < 4; look++) {
        receiver().stats = later(receiver(), sender, paths)
        await clock.run(250)
      }
    },
    /** State and code of each link that is not well. */
    trouble: () =>
      decoder
        .checks()
        .filter(({ state }) => state !== 'ok' && state !== 'not_judged')
        .map(({ name, state, code }) => `${name} ${state} ${code}`),
  }
}

export type DecoderRig = ReturnType<typeof decoderRig>

function lastOf(receivers: readonly FakeReceiver[]): FakeReceiver {
  const last = receivers.at(-1)
  if (!last) throw new Error('no receiver was opened')
  return last
}

/** The statistics a quarter of a second later. */
function later({ stats, tuning }: FakeReceiver, sender: string, paths: Partial<PathCounts>[]): ReceptionStats {
  return {
    ...stats,
    received: stats.received + 250,
    channels: tuning.channels || 2,
    packetMs: 1,
    payloadType: 97,
    paths: paths.map((path, index) => ({
      ...pathCounts({ ...stats.paths[index], sender, ...path }),
      packets: (stats.paths[index]?.packets ?? 0) + 250,
    })),
  }
}
