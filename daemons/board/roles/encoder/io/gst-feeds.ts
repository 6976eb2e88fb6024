/** Feeds by GStreamer: one sender for the stream, and a pipeline for its present source. */
import { randomBytes } from 'node:crypto'
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { type AudioClock, type GstMessage, openPipeline, openSender, type Sender } from '#native/node-gst/index.ts'
import { chooseCard, createCardSteering } from '../../../core/sound/card.ts'
import { type AudioSource, hasMoved, type PathAddresses, sourceName } from '../../../core/sound/sound.ts'
import { realtimeView } from '../../../io/sound.ts'
import type { SoundCard } from '../../../wire/sound-cards.ts'
import type { StreamEncoding } from '../../../wire/streams/description.ts'
import { type FeedSource, feedDescription } from '../core/feed.ts'
import type { Feed, FeedEvents, FeedOpener, SentFacts } from '../core/ports.ts'

/** Settings from board.toml. */
interface FeedLimits {
  realtime_priority: number
  late_ms: number
  meter_ms: number
  tone_db: number
  dscp: number
  ttl: number
  payload_type: number
  card_fill_ms: number
  card_buffer_ms: number
  card_most_ppm: number
  card_look_ms: number
}

export interface GstFeedsParts {
  clock: Clock
  audio: AudioClock
  limits: FeedLimits
  stream: { encoding: StreamEncoding; channels: number; framesPerPacket: number }
  /** Why the groups are invalid; undefined if they are valid. */
  refusal?: string | undefined
  /** One, or two that carry the same. */
  groups: readonly { group: string; port: number }[]
  /**
   * Addresses of the groups' interfaces, in order.
   * @throws Fault `no_interface` if none has one
   */
  addresses(): PathAddresses
  cards(): Promise<readonly SoundCard[]>
}

/** An SSRC must be unpredictable. @source RFC 3550 8 */
const SSRC_BYTES = 4
/** Reserve between source and wire: a file delivers in bursts, and a tone all at once. */
const LEAD_MS = 5

/** @returns feeds that share one sender, which is opened with the first */
export function createGstFeeds(parts: GstFeedsParts): FeedOpener {
  const { audio, clock, limits, stream } = parts
  let sender: Sender | undefined
  let boundTo: PathAddresses = []
  /** Totals of closed senders. */
  let past: SentFacts | undefined

  function letGo(): void {
    if (sender !== undefined) past = together(past, sentFacts(sender))
    sender?.close()
    sender = undefined
  }

  /** The sender; a new one if the machine's addresses have changed. */
  function senderNow(): Sender {
    if (parts.refusal !== undefined) throw new Fault('sender_failed', `audio.second_group: ${parts.refusal}`)
    const addresses = parts.addresses()
    if (sender !== undefined && !hasMoved(boundTo, addresses)) return sender
    const { dscp, ttl } = limits
    const paths = parts.groups
      .map((group, at) => ({ ...group, interfaceAddress: addresses[at] ?? '', ttl, dscp }))
      .filter(({ interfaceAddress }) => interfaceAddress !== '')
    letGo()
    const ssrc = randomBytes(SSRC_BYTES).readUInt32BE()
    const options = { clock: audio, paths, ...stream, payloadType: limits.payload_type, ssrc }
    sender = asFault('sender_failed', 'The stream cannot be sent', () =>
      openSender({ ...options, mostLateMs: limits.late_ms }),
    )
    boundTo = addresses
    return sender
  }

  return {
    async open(source, events) {
      const { name, feed, leadMs } = await resolved(source, parts)
      const { id } = senderNow()
      const { channels, encoding } = stream
      const format = { encoding, channels, sender: id, meterMs: limits.meter_ms, leadMs }
      const captureMs = () => sender?.stats().captureMs ?? null
      const playing = { name, feed, channels, events, captureMs, description: feedDescription(feed, format) }
      return await playFeed({ clock, audio, limits }, playing)
    },
    sent() {
      if (sender !== undefined) return together(past, sentFacts(sender))
      // A sender that could not be reopened sends nothing; earlier totals stay.
      return past === undefined ? null : { ...past, idleMs: null, error: null, lateUs: null, spacingUs: null }
    },
    hasMoved() {
      try {
        return sender !== undefined && hasMoved(boundTo, parts.addresses())
      } catch {
        return false // without an address there is nowhere to move to
      }
    },
    close: letGo,
  }
}

interface Resolved {
  name: string
  feed: FeedSource
  leadMs: number
}

/** The source to open now: cards come and go. */
async function resolved(source: AudioSource, { cards, limits }: GstFeedsParts): Promise<Resolved> {
  if (source.kind === 'tone')
    return { name: sourceName(source), feed: { kind: 'tone', db: limits.tone_db }, leadMs: LEAD_MS }
  if (source.kind === 'file') return { name: sourceName(source), feed: source, leadMs: LEAD_MS }
  const { alsa, name, found } = chooseCard(await cards(), source.name, 'captures')
  if (found === false)
    throw new Fault('no_card', `The sound card ${name} is not there: plug it in, or choose another in the settings.`)
  const { card_buffer_ms: bufferMs, card_fill_ms: fillMs } = limits
  return { name, feed: { kind: 'alsa', card: { alsa, fillMs, bufferMs } }, leadMs: fillMs }
}

interface Playing {
  name: string
  feed: FeedSource
  channels: number
  description: string
  events: FeedEvents
  captureMs(): number | null
}

async function playFeed(world: Pick<GstFeedsParts, 'clock' | 'audio' | 'limits'>, playing: Playing): Promise<Feed> {
  const { audio, clock, limits } = world
  const { captureMs, channels, description, events, feed, name } = playing
  let fault: Fault | undefined

  function onMessage(message: GstMessage): void {
    if (message.type === 'level') events.level(ofStream(message.peakDb, channels), ofStream(message.rmsDb, channels))
    const ended = faultOfMessage(name, message)
    if (ended === undefined || fault !== undefined) return
    fault = ended
    events.died(ended)
  }
  const options = { clock: audio, realtimePriority: limits.realtime_priority, loop: feed.kind === 'file', onMessage }
  const pipeline = asFault('input_failed', `${name} cannot be opened`, () => openPipeline(description, options))
  try {
    await pipeline.play()
  } catch (cause) {
    await pipeline.close()
    throw fault ?? new Fault('input_failed', `${name} cannot be opened: ${wordOf(cause)}`, { cause })
  }
  const steering =
    feed.kind === 'alsa'
      ? createCardSteering({
          ...{ clock, pipeline, use: 'captures', fillMs: limits.card_fill_ms },
          mostPpm: limits.card_most_ppm,
          lookMs: limits.card_look_ms,
        })
      : undefined
  return {
    sourceName: name,
    captureMs: () => (feed.kind === 'alsa' ? captureMs() : null),
    card: () => steering?.view() ?? null,
    realtime: () => realtimeView(pipeline.realtime()),
    async close() {
      steering?.close()
      await pipeline.close()
    },
  }
}

/** The fault of a pipeline message that ends the feed. */
function faultOfMessage(name: string, message: GstMessage): Fault | undefined {
  if (message.type === 'eos') return new Fault('input_failed', `${name} has ended.`)
  if (message.type !== 'error') return undefined
  return new Fault('input_failed', `${name}: ${message.message}`, {
    details: { code: message.code, debug: message.debug },
  })
}

function sentFacts(sender: Sender): SentFacts {
  const { idleMs, lateUs, nextTimestamp, paths, resyncs, spacingUs } = sender.stats()
  const packets = paths.reduce((sum, path) => sum + path.packets, 0)
  return {
    packets,
    bytes: packets * sender.packetBytes,
    errors: paths.reduce((sum, path) => sum + path.errors, 0),
    error: paths.find(({ error }) => error !== null)?.error ?? null,
    ...{ idleMs, lateUs, nextTimestamp, resyncs, spacingUs },
  }
}

/** Counts are added; the rest is from the present sender. */
function together(past: SentFacts | undefined, now: SentFacts): SentFacts {
  if (past === undefined) return now
  const { bytes, errors, packets, resyncs } = past
  return {
    ...now,
    packets: packets + now.packets,
    bytes: bytes + now.bytes,
    errors: errors + now.errors,
    resyncs: resyncs + now.resyncs,
  }
}

/** Maps levels of a source to the stream's channels: see plantroomrtpsink. */
function ofStream(db: readonly number[], channels: number): number[] {
  return Array.from({ length: channels }, (_, at) => (db.length === 1 ? db[0] : db[at]) ?? Number.NEGATIVE_INFINITY)
}

/** Runs something that may throw an Error of the addon, and turns that into a Fault with the sentence. */
function asFault<Result>(code: string, sentence: string, run: () => Result): Result {
  try {
    return run()
  } catch (cause) {
    throw new Fault(code, `${sentence}: ${wordOf(cause)}`, { cause })
  }
}

function wordOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
