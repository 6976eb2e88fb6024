/** A decoder's part of the status, its route, and one sentence for the top of the page. */
import type { Meters, Verdict } from '../../../core/role.ts'
import { brokenCheck, type Check } from '../../../core/sound/sound.ts'
import { type DecoderCheckName, groupText, nameOr } from './checks.ts'
import type { Decoder } from './decoder.ts'
import type { OutputCare, OutputState } from './output.ts'
import type { PathCounts, SyncMode } from './ports.ts'
import type { ReceptionTotals } from './reception.ts'
import type { VolumeView } from './volume.ts'

/** Answer of `GET /api/route`. @source Interface 2, B, Route */
export interface RouteView {
  /** Empty: nothing is played. */
  mcast: string
  port: number
  /** The only sender that the route accepts; null: see rule 1. */
  source: string | null
  link_ms: number
  /** Added for a sender beyond this network. */
  ext_link_ms: number
  effective_link_ms: number
  /** In effect: from the route, the announcement, or 0 and L24. */
  mclk_offset: number
  encoding: string
  /** As found in packets; null before the first. */
  channels: number | null
  packet_ms: number | null
  /** From the announcement. */
  name: string | null
  /** Address of the sender being played; null if none. */
  sender: string | null
  sync: SyncMode | null
  /** Values set in the route itself; null follows announcement and settings. */
  given: { link_ms: number | null; mclk_offset: number | null; encoding: string | null }
}

/** As in `GET /api/status`. */
export interface DecoderView {
  route: RouteView
  volume: VolumeView
  playing: boolean
  checks: readonly Check<DecoderCheckName>[]
  stream: unknown
  sender: string | null
  counters: ReceptionTotals & { loss_percent_1min: number | null; paths: readonly PathView[] }
  arrival: ArrivalView | null
  output: OutputView
  meters: Meters | null
  realtime: { granted: boolean; text: string } | null
}

/** State of the output. */
interface OutputView {
  kind: OutputCare['kind']
  name: string
  /** A state of the table in docs/LIFECYCLES.md. */
  state: OutputState
  found: boolean
  /** Latency of the card. */
  latency_ms: number | null
  drift_ppm: number | null
  /** Times that the card ran dry, and that the output was reopened. */
  underruns: number
  restarts: number
  /** Counts since the output was last opened. */
  skipped_ms: number
  phase_jumps: number
  clipped_samples: number
}

/** Arrival times of packets in the last second, and their spread. */
interface ArrivalView {
  earliest_us: number
  latest_us: number
  /** How much the link offset could be lowered. */
  headroom_us: number
  link_us: number
  jitter_p50_us: number
  jitter_p99_us: number
  jitter_max_us: number
  /** How much faster the sender's clock runs, if it is recovered. */
  sender_ppm: number | null
}

interface PathView {
  mcast: string
  port: number
  sender: string | null
  packets: number
  lost: number
  late: number
  duplicate: number
  reordered: number
  wrong_source: number
}

/** The present state. */
export function decoderView(decoder: Decoder, settings: { link_ms: number }): DecoderView {
  const { output, tuner, volume } = decoder
  const checks = decoder.checks()
  const facts = decoder.outputFacts
  const announcement = tuner.plan?.announcement ?? null
  return {
    route: routeView(decoder, settings),
    volume: volume.view,
    playing: isPlaying(checks),
    checks,
    stream: announcement && {
      id: announcement.id,
      name: announcement.name,
      source: announcement.source,
      encoding: announcement.encoding,
      channels: announcement.channels,
      packet_ms: announcement.packet_ms,
      refclk: announcement.refclk,
    },
    sender: tuner.sender,
    counters: {
      ...tuner.reception.totals,
      loss_percent_1min: tuner.reception.lossPercent1Min,
      paths: tuner.reception.paths.map((path, index) => pathView(decoder, path, index)),
    },
    arrival: arrivalView(decoder),
    output: {
      kind: output.kind,
      name: output.name,
      state: output.state,
      found: output.fault === null,
      latency_ms: facts?.latencyMs ?? null,
      drift_ppm: facts?.driftPpm ?? null,
      underruns: facts?.underruns ?? 0,
      restarts: output.restarts,
      skipped_ms: facts?.skippedMs ?? 0,
      phase_jumps: facts?.phaseJumps ?? 0,
      clipped_samples: facts?.clippedSamples ?? 0,
    },
    meters: output.meters,
    realtime: facts?.realtime ?? null,
  }
}

/** @param settings link offset while nothing is played */
export function routeView(decoder: Decoder, settings: { link_ms: number }): RouteView {
  const { plan, reception, route, sender } = decoder.tuner
  const linkMs = plan?.linkMs ?? route.link_ms ?? settings.link_ms
  const { stats } = reception
  return {
    mcast: route.mcast,
    port: route.port,
    source: route.source,
    link_ms: linkMs,
    ext_link_ms: plan?.extLinkMs ?? 0,
    effective_link_ms: plan?.tuning.linkMs ?? linkMs,
    mclk_offset: plan?.tuning.mediaOffset ?? 0,
    encoding: plan?.tuning.encoding ?? 'L24',
    channels: stats?.channels ?? null,
    packet_ms: stats?.packetMs ?? null,
    name: plan?.announcement?.name ?? null,
    sender,
    sync: plan?.tuning.sync ?? null,
    given: { link_ms: route.link_ms, mclk_offset: route.mclk_offset, encoding: route.encoding },
  }
}

/** In one sentence: the reason of silence, else the first warning, else what plays. */
export function decoderVerdict(decoder: Decoder): Verdict {
  const checks = decoder.checks()
  const broken = brokenCheck(checks)
  const what = whatPlays(decoder)
  if (broken?.code === 'stopped') return { state: 'off', text: broken.text }
  if (broken?.state === 'off') return { state: 'off', text: `${what} is not heard. ${broken.text}` }
  if (broken?.state === 'not_judged') return { state: 'busy', text: broken.text }
  if (broken) return { state: 'fault', text: `${what} is silent. ${broken.text}` }
  const trouble = checks.find(({ state }) => state === 'warn')
  const { sender } = decoder.tuner
  const playing = `Playing ${what}${sender === null ? '' : ` from ${sender}`}.`
  return trouble ? { state: 'warn', text: `${playing} ${trouble.text}` } : { state: 'ok', text: playing }
}

/** Whether sound comes out. */
function isPlaying(checks: readonly Check[]): boolean {
  return brokenCheck(checks) === undefined
}

function whatPlays({ tuner: { plan, route } }: Decoder): string {
  return nameOr(plan?.announcement?.name ?? '', groupText(route))
}

function pathView(decoder: Decoder, path: PathCounts, index: number): PathView {
  const { group = '', port = 0 } = decoder.tuner.tuning?.paths[index] ?? {}
  const { duplicate, late, lost, otherSsrc, packets, reordered, sender, wrongSource } = path
  const counts = { packets, lost, late, duplicate, reordered, wrong_source: wrongSource + otherSsrc }
  return { mcast: group, port, sender, ...counts }
}

function arrivalView({ arrival, tuner }: Decoder): ArrivalView | null {
  if (arrival === null) return null
  return {
    earliest_us: arrival.earliestUs,
    latest_us: arrival.latestUs,
    headroom_us: arrival.latestUs,
    link_us: Math.round((tuner.tuning?.linkMs ?? 0) * 1000),
    jitter_p50_us: arrival.jitterP50Us,
    jitter_p99_us: arrival.jitterP99Us,
    jitter_max_us: arrival.jitterMaxUs,
    sender_ppm: tuner.reception.stats?.senderPpm ?? null,
  }
}
