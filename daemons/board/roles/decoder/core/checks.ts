/** Why a decoder is silent: the chain from the stream to the output, each link judged by the known facts. */
import { durationText } from '#kit/pure/text.ts'
import type { PtpView } from '../../../core/ptp/ptp.ts'
import { type Check, type Judgement, judgeChain } from '../../../core/sound/sound.ts'
import type { HeardStream } from '../../../core/streams/book.ts'
import { type OwnRefClock, SAMPLE_BYTES } from '../../../wire/streams/description.ts'
import type { SyncMode, Tuning } from './ports.ts'
import type { RouteRecord } from './route.ts'
import { SILENT_DB, type VolumeRecord } from './volume.ts'

// Input of the checks, as plain values that tests can set.

/** The facts. */
export interface DecoderFacts {
  route: RouteRecord
  /** null while stopped, and if no receiver could be opened. */
  tuning: Tuning | null
  /** Why no receiver could be opened. */
  tuningFault: { code: string; message: string } | null
  announcement: HeardStream | null
  /** All announcements of the group and port. */
  announced: readonly HeardStream[]
  /** Why received packets are not played, after the grace period. */
  broken: 'no_ptp_lock' | 'other_grandmaster' | 'wrong_encoding' | null
  /** The same, before the grace period: an election may be in progress. */
  brokenSoon: DecoderFacts['broken']
  sync: SyncMode | null
  ptp: PtpView
  refClock: OwnRefClock
  reception: ReceptionFacts
  volume: VolumeRecord
  output: OutputState
}

/** Facts about reception. */
interface ReceptionFacts {
  sender: string | null
  /** Address of another sender to the group, if known. */
  otherAddress: string | null
  /** It is the current sender itself, which also sends another stream there. */
  isOtherHeard: boolean
  /** Time since the last playable packet, or since the stream was chosen, in ms. */
  silentMs: number
  /** The same for each path, since its receiver was opened. */
  pathsSilentMs: readonly number[]
  hasHeard: boolean
  /** Time since a packet brought sound, in ms. */
  soundlessMs: number
  /** Silence after which a sender counts as gone, in ms. */
  senderGoneMs: number
  /** Age of the last packet from others, and of the last one that did not fit; null if there was none. */
  otherAgeMs: number | null
  formatAgeMs: number | null
  /** Age of the last packet with a timestamp of another time, and how far off the last packet was, in ms. */
  wildAgeMs: number | null
  transitMs: number | null
  frameBytes: number | null
  channels: number | null
  packetMs: number | null
  lossPercent1Min: number | null
  lateLastMinute: number
  linkMs: number
}

interface OutputState {
  name: string
  kind: 'null' | 'file' | 'alsa'
  isPlaying: boolean
  fault: { code: string; message: string } | null
  /** How long only silence has been played. */
  silenceMs: number | null
  underrunsPerMinute: number
  skippedMsPerMinute: number
}

// Links of the chain about the stream: chosen, arriving, from the right sender, in the expected format, complete.

/** A group and port, in the usual notation. */
export function groupText({ mcast, port }: { mcast: string; port: number }): string {
  return `${mcast}:${port}`
}

function streamJudgement({ route, announcement, announced }: DecoderFacts): Judgement {
  if (route.mcast === '') return { state: 'off', code: 'stopped', text: 'No stream is chosen.' }
  if (announcement !== null) {
    const { name, source } = announcement
    return { state: 'ok', code: null, text: `${nameOr(name, groupText(route))} is announced by ${source}.` }
  }
  if (announced.length > 1) {
    const text = `${announced.length} senders announce ${groupText(route)}: the first that is heard is played.`
    return { state: 'ok', code: 'announced_twice', text }
  }
  const [other] = announced
  if (other !== undefined) {
    const text = `${other.source} announces ${groupText(route)}, and this route plays another sender.`
    return { state: 'ok', code: 'other_announced', text }
  }
  return { state: 'ok', code: 'not_announced', text: `Nobody announces ${groupText(route)}; it is played as it comes.` }
}

function packetsJudgement({ route, reception, tuning, tuningFault }: DecoderFacts): Judgement {
  if (tuningFault !== null) return { state: 'fault', code: tuningFault.code, text: tuningFault.message }
  const { silentMs, senderGoneMs, hasHeard, otherAgeMs, formatAgeMs } = reception
  const comes = (ageMs: number | null) => ageMs !== null && ageMs < senderGoneMs
  const lonely = silentMs < senderGoneMs && hasHeard ? silentPath(reception, tuning) : undefined
  if (lonely !== undefined) return { state: 'warn', code: 'one_path', text: lonely }
  // Packets from others, or that do not fit, do arrive: the next links report them.
  if (silentMs < senderGoneMs ? hasHeard : comes(otherAgeMs) || comes(formatAgeMs))
    return { state: 'ok', code: null, text: arriving(reception.packetMs, reception.channels) }
  if (comes(otherAgeMs) || comes(formatAgeMs)) return { state: 'ok', code: null, text: 'Packets arrive.' }
  if (silentMs < senderGoneMs)
    return { state: 'not_judged', code: null, text: `The first packet of ${groupText(route)} is awaited.` }
  const seconds = seconds1(silentMs)
  const text = hasHeard
    ? `No packet has come to ${groupText(route)} for ${seconds} s: the sender has stopped, or the network does not carry it.`
    : `No packet comes to ${groupText(route)}, for ${seconds} s now: nobody sends, or a switch does not pass multicast on.`
  return { state: 'fault', code: 'no_packets', text }
}

/** The silent one of two paths: worth reporting before the other one fails as well. */
function silentPath({ pathsSilentMs, senderGoneMs }: ReceptionFacts, tuning: Tuning | null): string | undefined {
  const at = pathsSilentMs.findIndex((ms) => ms >= senderGoneMs)
  const path = tuning?.paths[at]
  if (path === undefined || pathsSilentMs.length < 2) return undefined
  const place = groupText({ mcast: path.group, port: path.port })
  return `Nothing comes to ${place}, for ${seconds1(pathsSilentMs[at] ?? 0)} s now: the other path carries the sound alone.`
}

function senderJudgement({ announced, reception, route, tuning }: DecoderFacts): Judgement {
  const { sender, otherAddress: other, otherAgeMs, silentMs, senderGoneMs } = reception
  const wanted = tuning?.paths.find(({ group, port }) => group === route.mcast && port === route.port)?.source ?? null
  const isOtherHere = otherAgeMs !== null && otherAgeMs < senderGoneMs && other !== null
  if (silentMs >= senderGoneMs && isOtherHere) {
    const why = route.source === null ? `its announcement names ${wanted}` : `this route wants ${wanted}`
    const two = announced.length > 1 || sender !== null ? ` Two encoders use ${route.mcast}.` : ''
    return { state: 'fault', code: 'wrong_source', text: `Packets arrive from ${other}; ${why}.${two}` }
  }
  if (isOtherHere && reception.isOtherHeard) {
    const text = `${other} sends more than one stream to ${route.mcast}: one is played, the rest is left out.`
    return { state: 'warn', code: 'two_senders', text }
  }
  if (isOtherHere) {
    const text = `${sender ?? wanted} is played; ${other} sends to ${route.mcast} as well, and is left out.`
    return { state: 'warn', code: 'two_senders', text }
  }
  const why =
    route.source !== null ? 'as this route wants' : wanted === null ? 'the first that was heard' : 'as announced'
  return { state: 'ok', code: null, text: sender === null ? 'Packets arrive.' : `${sender} sends, ${why}.` }
}

function formatJudgement({ announcement, broken, reception, tuning }: DecoderFacts): Judgement {
  if (announcement !== null && announcement.not_playable !== null)
    return { state: 'fault', code: 'wrong_encoding', text: announcement.not_playable }
  if (broken === 'wrong_encoding') {
    const text = `This route plays ${tuning?.encoding}; ${announcement?.source} announces ${announcement?.encoding}.`
    return { state: 'fault', code: 'wrong_encoding', text }
  }
  const { channels, formatAgeMs, packetMs, senderGoneMs, soundlessMs } = reception
  const doesNotFit = formatAgeMs !== null && formatAgeMs < senderGoneMs
  if (doesNotFit && soundlessMs >= senderGoneMs) {
    const text = `${misfitText(reception.frameBytes, tuning)} Nothing of it is played.`
    return { state: 'fault', code: 'wrong_encoding', text }
  }
  if (doesNotFit) return { state: 'warn', code: 'odd_packets', text: 'Some packets do not fit, and are left out.' }
  const told = channels === null ? '' : ` with ${channels} ${channels === 1 ? 'channel' : 'channels'}`
  return {
    state: 'ok',
    code: null,
    text: `${tuning?.encoding}${told}${packetMs === null ? '' : `, ${packetMs} ms a packet`}.`,
  }
}

/** Loss that is reported, and loss that leaves nothing to listen to, in percent of the last minute. */
const TOLD_PERCENT = 0.1
const SILENT_PERCENT = 50

function lossJudgement({ reception }: DecoderFacts): Judgement {
  const { lateLastMinute, lossPercent1Min, linkMs } = reception
  if (lossPercent1Min === null) return { state: 'ok', code: null, text: 'Nothing was lost in the last minute.' }
  const percent = lossPercent1Min < 0.01 ? lossPercent1Min.toFixed(3) : lossPercent1Min.toFixed(2)
  if (lossPercent1Min < TOLD_PERCENT) {
    const text =
      lossPercent1Min === 0 ? 'Nothing was lost in the last minute.' : `${percent} % was missing in the last minute.`
    return { state: 'ok', code: null, text }
  }
  const late = `${lateLastMinute} packets came later than the link offset of ${linkMs} ms allows: raise it.`
  const text = `${percent} % was missing in the last minute.${lateLastMinute > 0 ? ` ${late}` : ''}`
  const code = lateLastMinute > 0 ? 'late' : 'loss'
  return { state: lossPercent1Min >= SILENT_PERCENT ? 'fault' : 'warn', code, text }
}

/** A name comes from a stranger: a blank one counts as none. */
export function nameOr(name: string, other: string): string {
  return name.trim() === '' ? other : name
}

function arriving(packetMs: number | null, channels: number | null): string {
  if (packetMs === null || channels === null) return 'Packets arrive.'
  return `${Math.round(1000 / packetMs)} packets a second arrive.`
}

function misfitText(frameBytes: number | null, tuning: DecoderFacts['tuning']): string {
  if (tuning === null || tuning.channels === 0) return 'Packets come that are neither L24 nor L16.'
  const bytes = SAMPLE_BYTES[tuning.encoding] * tuning.channels
  const wanted = `${tuning.encoding} with ${tuning.channels} channels`
  if (frameBytes === null || frameBytes === bytes) return `Packets come that are not ${wanted}, as was announced.`
  return `Packets carry ${frameBytes} bytes for each sample of all channels; ${wanted} has ${bytes}.`
}

function seconds1(ms: number): string {
  return String(Math.max(1, Math.round(ms / 1000)))
}

// Links of the chain about time: there is a clock, and it is the sender's.

function clockJudgement({ broken, ptp, sync, announcement, reception }: DecoderFacts): Judgement {
  if (broken === 'no_ptp_lock') {
    const wanted = announcement?.refclk?.kind === 'ptp' ? ` of ${announcement.refclk.grandmaster}` : ''
    return { state: 'fault', code: 'no_ptp_lock', text: `The stream needs the clock${wanted}. ${ptp.text}` }
  }
  const { senderGoneMs, soundlessMs, transitMs, wildAgeMs } = reception
  if (wildAgeMs !== null && wildAgeMs < senderGoneMs && soundlessMs >= senderGoneMs)
    return { state: 'fault', code: 'other_time', text: otherTimeText(transitMs) }
  if (sync === 'arrival')
    return {
      state: 'ok',
      code: 'by_arrival',
      text: 'The sender keeps its own time; it is played by the arrival of its packets.',
    }
  if (announcement?.refclk?.kind !== 'ptp')
    return { state: 'ok', code: null, text: 'Played by the clock of this board.' }
  if (ptp.state === 'locked' || ptp.state === 'master') return { state: 'ok', code: null, text: ptp.text }
  return { state: 'warn', code: 'holdover', text: `${ptp.text} The sound goes on by the last clock.` }
}

function otherTimeText(transitMs: number | null): string {
  if (transitMs === null) return 'Timestamps are of another time than the clock of this board.'
  const seconds = Math.abs(transitMs / 1000).toFixed(3)
  return `Timestamps are ${seconds} s ${transitMs > 0 ? 'behind' : 'ahead of'} the clock of this board.`
}

function grandmasterJudgement({ announcement, broken, brokenSoon, refClock, sync }: DecoderFacts): Judgement {
  const theirs = announcement?.refclk
  if (theirs?.kind !== 'ptp' || sync === 'arrival')
    return { state: 'ok', code: null, text: 'The stream names no grandmaster that both would have to follow.' }
  const ours = refClock.kind === 'ptp' ? `${refClock.grandmaster} in domain ${refClock.domain}` : 'no grandmaster'
  const named = `${theirs.grandmaster} in domain ${theirs.domain}`
  if (broken === 'other_grandmaster')
    return {
      state: 'fault',
      code: 'other_grandmaster',
      text: `The sender follows ${named}; this board follows ${ours}.`,
    }
  if (brokenSoon === 'other_grandmaster') {
    const text = `The sender follows ${named}; this board follows ${ours}. They may be about to change; the sound goes on.`
    return { state: 'warn', code: 'other_grandmaster', text }
  }
  return { state: 'ok', code: null, text: `Sender and board follow ${named}.` }
}

// The chain.

export type DecoderCheckName =
  | 'stream'
  | 'packets'
  | 'sender'
  | 'format'
  | 'clock'
  | 'grandmaster'
  | 'loss'
  | 'volume'
  | 'output'

/** @returns all links in the order of the chain */
export function decoderChecks(facts: DecoderFacts): Check<DecoderCheckName>[] {
  return judgeChain<DecoderCheckName>([
    ['stream', () => streamJudgement(facts)],
    ['packets', () => packetsJudgement(facts)],
    ['sender', () => senderJudgement(facts)],
    ['format', () => formatJudgement(facts)],
    ['clock', () => clockJudgement(facts)],
    ['grandmaster', () => grandmasterJudgement(facts)],
    ['loss', () => lossJudgement(facts)],
    ['volume', () => volumeJudgement(facts)],
    ['output', () => outputJudgement(facts)],
  ])
}

/** Also reports a stream of silence: somebody who hears nothing looks at the volume first. */
function volumeJudgement({ volume: { mute, volume_db }, output: { silenceMs, isPlaying } }: DecoderFacts): Judgement {
  if (mute) return { state: 'off', code: 'muted', text: 'It is muted.' }
  if (volume_db <= SILENT_DB) return { state: 'off', code: 'volume_zero', text: 'The volume is 0.' }
  if (isPlaying && silenceMs !== null && silenceMs >= SILENCE_TOLD_MS) {
    const seconds = Math.floor(silenceMs / 1000)
    return { state: 'warn', code: 'silence', text: `What the stream carries has been silence for ${seconds} s.` }
  }
  return { state: 'ok', code: null, text: volume_db === 0 ? 'As loud as it was sent.' : `At ${volume_db} dB.` }
}

/** A pause between two pieces is not reported. */
const SILENCE_TOLD_MS = 15_000

function outputJudgement({ output }: DecoderFacts): Judgement {
  const { kind, isPlaying, fault, underrunsPerMinute, skippedMsPerMinute } = output
  const name = OUTPUTS[kind](output.name)
  if (fault !== null) return { state: 'fault', code: fault.code, text: fault.message }
  if (!isPlaying) return { state: 'not_judged', code: null, text: `${name} is being opened.` }
  if (skippedMsPerMinute > 0) {
    const text = `This board stood still: ${durationText(skippedMsPerMinute)} of sound were left out in the last minute.`
    return { state: 'warn', code: 'held_up', text }
  }
  if (underrunsPerMinute > 0) {
    const times = underrunsPerMinute === 1 ? 'once' : `${underrunsPerMinute} times`
    return { state: 'warn', code: 'underruns', text: `${name} ran empty ${times} in the last minute.` }
  }
  return { state: 'ok', code: null, text: `${name} plays.` }
}

const OUTPUTS = {
  null: () => 'The test output (no sound card)',
  file: (name: string) => `The recording to ${name}`,
  alsa: (name: string) => `The sound card ${name}`,
} as const
