/** What the recorder needs of the world: streams of cameras, and disks that keep footage. */
import type { Fault } from '#kit/pure/fault.ts'
import type { Mask } from '../wire/mask.ts'
import type { FragmentPlace } from '../wire/mp4-read.ts'
import type { ParameterSets, StreamFacts, VideoCodec } from '../wire/pictures.ts'
import type { SenderReport } from '../wire/rtcp.ts'
import type { SoundFormat } from '../wire/sound.ts'

/** How a camera's stream is reached. */
export interface StreamPlace {
  /** `rtsp://host[:port]/path`, without a user or password. */
  url: string
  username: string | undefined
  password: string | undefined
  /** Whether only Digest is used to sign in. Basic would send the password in clear. */
  isHashed?: boolean
  /** Whether its sound is asked for. */
  isHeard?: boolean
  /** Whether its packets come over UDP; else over the connection. */
  isUdp?: boolean
}

/** One of the two that a session brings. */
export type Medium = 'pictures' | 'sound'

/** What a session brings. */
export interface OpenedStream {
  payloadType: number
  clockRate: number
  codec: VideoCodec
  /** Parameter sets of the session description. */
  known: readonly Uint8Array[]
  /** Undefined where the camera sends none, or none that is recorded, or it was not asked for. */
  sound: { payloadType: number; format: SoundFormat } | undefined
}

/** Hears what a session brings. */
export interface StreamListener {
  /** Before the first packet. */
  onOpened(stream: OpenedStream): void
  /** @param bytes of one RTP packet; they are overwritten after the call */
  onPacket(bytes: Uint8Array, medium: Medium): void
  /** The camera told the time of one of its stamps. */
  onReport(report: SenderReport, medium: Medium): void
  /** The camera sends too much, second after second; undefined: no longer. It is read as far as it may send. */
  onFlood?(fault: Fault | undefined): void
}

/** Opens sessions with cameras. */
export interface StreamOpener {
  /**
   * Plays a stream until it ends.
   * @param signal ends it
   * @returns the fault it ended with: `camera_unreachable`, `camera_refused`, `camera_unsupported`, `camera_silent`,
   *   `camera_ended`, `camera_floods`, `rtsp_broken`, `no_udp_port`; undefined if the signal ended it
   */
  play(place: StreamPlace, listener: StreamListener, signal: AbortSignal): Promise<Error | undefined>
}

/** What is known of a fragment before it lies on the disk. */
export type FragmentTime = Pick<FragmentPlace, 'decodeTicks' | 'durationTicks' | 'wallMs' | 'isKey'>

/** A fragment to be written. */
export interface Fragment {
  /** Its bytes, one piece behind the other; they stay as they are until `onDone`. */
  pieces: readonly Uint8Array[]
  /** What it takes while it waits. */
  heldBytes: number
  /** Called once it lies on the disk or is lost, and not if it was not taken. */
  onDone(): void
}

/** A file that is being written. */
export interface FootageFile {
  /** @returns false if the disk is behind or has failed: the fragment is lost, and the file takes no more */
  append(fragment: Fragment, time: FragmentTime): boolean
  /** Nothing follows; it is on the disk soon. */
  close(): void
}

/** A file to begin. */
export interface FileWish {
  camera: string
  /** Wall time of its first picture, milliseconds since 1970, with a fraction. */
  startAt: number
  facts: StreamFacts
  head: Uint8Array
}

/** Where footage is kept. */
export interface FootageStore {
  /** Whether a file can be begun: false while no disk is there to take it. */
  isReady(): boolean
  /** Whether more of this camera waits for the disk than it can take soon: a file begun now would be refused its first group. */
  isBehind(camera: string): boolean
  begin(wish: FileWish): FootageFile
}

/** A file that is kept, or the whole part of one that is being written. */
export interface KeptFile {
  camera: string
  /** Of its first and behind its last picture, milliseconds since 1970, with a fraction. */
  startAt: number
  endAt: number
  bytes: number
  fragments: readonly FragmentPlace[]
  /** Where it lies. */
  path: string
}

/** A coded picture, and when it is shown: milliseconds since 1970, with a fraction. */
export interface CodedPicture {
  /** NAL units without start codes. */
  units: readonly Uint8Array[]
  shownMs: number
}

/** Coded pictures in the order of decoding, from a key frame on. */
export interface CodedGroup {
  sets: ParameterSets
  pictures: readonly CodedPicture[]
}

/** A picture to decode: the last one of a group, and what the others are needed for. */
export interface PictureWish {
  camera: string
  group: CodedGroup
  /** Of the JPEG in pixels; undefined, or more than the picture has: as wide as it is. */
  width: number | undefined
  /** Are painted before anything leaves the decoder. */
  masks: readonly Mask[]
}

/** Shades of a picture, row by row. */
export interface Shades {
  width: number
  height: number
  /** `width * height`. */
  bytes: Uint8Array
}

/** Pictures of a group to paint masks into. */
export interface FilmWish {
  camera: string
  group: CodedGroup
  masks: readonly Mask[]
  /** Pictures that are shown before are left out. */
  fromMs: number
}

/** Makes pictures of what cameras sent, apart from the recording: a decoder that crashes or hangs stops nothing. */
export interface PictureDecoder {
  /**
   * @param signal ends the wait; the decoder may go on
   * @returns a JPEG
   * @throws Fault `decoder_missing`, `decoder_busy`, `decoder_failed`, `picture_undecodable`, `picture_too_large`
   */
  picture(wish: PictureWish, signal: AbortSignal): Promise<Uint8Array>
  /** Shades of a small picture for the recorder itself, without masks: they leave it nowhere. Faults as for `picture` */
  shades(wish: Omit<PictureWish, 'masks' | 'width'> & { width: number }, signal: AbortSignal): Promise<Shades>
  /** @returns the same pictures with masks, coded anew as H.264 from a key frame on. Faults as for `picture` */
  film(wish: FilmWish, signal: AbortSignal): Promise<CodedGroup>
}

/** What health says of the decoder. */
export interface DecoderHealth {
  state: 'idle' | 'ready' | 'missing' | 'failed'
  /** Element of GStreamer for each codec; empty until it has begun once. */
  decoders: Readonly<Record<string, string>>
  /** What codes films of cameras with masks; null: none is installed, or it has not begun. */
  encoder: string | null
  /** Times that it was killed or ended by itself. */
  crashes: number
  fault: { code: string; message: string } | null
}
