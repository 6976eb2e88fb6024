/** What the checks of a decoder are made from, as plain values: a test can say any of them. */
import type { PtpView } from '../../../core/ptp/ptp.ts'
import type { HeardStream } from '../../../core/streams/book.ts'
import type { OwnRefClock } from '../../../wire/streams/description.ts'
import type { SyncMode, Tuning } from './ports.ts'
import type { RouteRecord } from './route-form.ts'
import type { VolumeRecord } from './volume-desk.ts'

/** How things stand. */
export interface DecoderFacts {
  route: RouteRecord
  /** null while stopped, and where no receiver could be opened. */
  tuning: Tuning | null
  /** Why no receiver could be opened. */
  tuningFault: { code: string; message: string } | null
  announcement: HeardStream | null
  /** Everybody who announces the group and port. */
  announced: readonly HeardStream[]
  /** Why what comes is not played, after patience. */
  broken: 'no_ptp_lock' | 'other_grandmaster' | 'wrong_encoding' | null
  /** The same, before patience: an election may be going on. */
  brokenSoon: DecoderFacts['broken']
  sync: SyncMode | null
  ptp: PtpView
  refClock: OwnRefClock
  reception: ReceptionFacts
  volume: VolumeRecord
  output: OutputState
}

/** What comes in. */
export interface ReceptionFacts {
  sender: string | null
  /** Who else sends to the group, as far as is known. */
  otherAddress: string | null
  /** It is heard itself, and sends another stream beside. */
  isOtherHeard: boolean
  /** Since the last packet that could be played, or since the stream was chosen, in ms. */
  silentMs: number
  /** The same of each path, since its receiver was opened. */
  pathsSilentMs: readonly number[]
  hasHeard: boolean
  /** Since a packet brought sound, in ms. */
  soundlessMs: number
  /** Silence after which a sender is taken to have gone, in ms. */
  senderGoneMs: number
  /** How long ago packets of others, and packets that do not fit, came; null where none has. */
  otherAgeMs: number | null
  formatAgeMs: number | null
  /** How long ago packets came whose timestamps are of another time, and how far off the last packet was, in ms. */
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
  /** For how long nothing but silence has been played. */
  silenceMs: number | null
  underrunsPerMinute: number
  skippedMsPerMinute: number
}
