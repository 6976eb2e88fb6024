/** The pipeline of a feed, in GStreamer's words. */
import { type CardOptions, sourceFragment } from '../../../core/sound/card.ts'
import { SAMPLE_RATE, type StreamEncoding } from '../../../wire/streams/description.ts'

/** Name of the element that measures how loud it is. */
export const METER = 'meter'
/** Name of the element that gives to the sender, and knows how old what it gives is. */
export const SINK = 'out'

/** Where it comes from; a card by the name that ALSA opens. */
export type FeedSource =
  | { kind: 'tone'; db: number }
  | { kind: 'file'; path: string }
  | { kind: 'alsa'; card: CardOptions }

/** The stream it goes to. */
export interface FeedFormat {
  encoding: StreamEncoding
  channels: number
  /** Number of the sender. */
  sender: number
  meterMs: number
  /** From the first sound to its packet: what a source that gives in lumps lives on. */
  leadMs: number
}

/** Frequency at which no two samples of a second are alike. @source AES17, 4.2.1 */
const TONE_HZ = 997
/** Sound of a file that is decoded ahead: its beginning is found again in that time. */
const AHEAD_NS = 500_000_000

/**
 * Nothing is dithered or shaped: what has the bits of the stream arrives bit by bit, and a file or a card of more bits is
 * cut. Meters look at 32 bits, since `level` knows no 24.
 */
export function feedDescription(source: FeedSource, format: FeedFormat): string {
  const { channels, encoding, leadMs, meterMs, sender } = format
  // A file keeps its channels where GStreamer would mix them into loudspeakers that a stream of many channels has not.
  const isOpen = source.kind === 'file' && channels > 2
  const many = isOpen ? '' : `,channels=${channels}${channels > 2 ? ',channel-mask=(bitmask)0x0' : ''}`
  const layout = `rate=${SAMPLE_RATE},layout=interleaved${many}`
  const parts = [
    ...sourceParts(source, channels),
    `audio/x-raw,format=S32LE,${layout}`,
    `level name=${METER} interval=${meterMs * 1_000_000} peak-ttl=0`,
    'audioconvert dithering=none noise-shaping=none',
    `audio/x-raw,format=${encoding === 'L16' ? 'S16BE' : 'S24BE'},${layout}`,
    `plantroomrtpsink name=${SINK} sender=${sender} lead-ns=${leadMs * 1_000_000}`,
  ]
  return parts.join(' ! ')
}

function sourceParts(source: FeedSource, channels: number): string[] {
  if (source.kind === 'alsa') return [sourceFragment(source.card, channels)]
  if (source.kind === 'tone')
    // Ten milliseconds at once: less of them are passed on each second.
    return [`audiotestsrc wave=sine freq=${TONE_HZ} volume=${10 ** (source.db / 20)} samplesperbuffer=480`]
  return [
    `filesrc location="${source.path.replace(/[\\"]/g, '\\$&')}"`,
    'decodebin',
    'audioconvert dithering=none noise-shaping=none',
    'audioresample quality=10',
    `queue max-size-buffers=0 max-size-bytes=0 max-size-time=${AHEAD_NS}`,
  ]
}
