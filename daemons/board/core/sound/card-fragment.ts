/** The parts of a pipeline that end in a sound card, and what they are called in it. */
import { SAMPLE_RATE } from '../../wire/streams/stream-description.ts'

/** Element of either fragment that opens the card: `fill`, `starts`, `xruns` and `dropped` are read from it. */
export const CARD = 'card'
/** Element of either fragment that `ppm` is set on. */
export const DRIFT = 'drift'

/** What a card is opened with. */
export interface CardOptions {
  /** ALSA name. */
  alsa: string
  /** What is kept between the board and the card, in ms: late threads and late cards live on it. */
  fillMs: number
  /** Room of the card's own buffer, in ms; more than the fill. */
  bufferMs: number
}

/**
 * Takes S32LE at 48 kHz of any number of channels: the card's are filled from the first, silent where there are no more;
 * one channel goes to all of the card's. A card of fewer bits gets the upper ones, unchanged.
 */
export function sinkFragment(options: CardOptions): string {
  return `plantroomdrift name=${DRIFT} ! plantroomcardsink name=${CARD} ${settings(options)}`
}

/** Gives S32LE at 48 kHz of `channels` channels: the card's first ones, silent where it has fewer. Live. */
export function sourceFragment(options: CardOptions, channels: number): string {
  const caps = `audio/x-raw,format=S32LE,rate=${SAMPLE_RATE},channels=${channels},layout=interleaved${maskOf(channels)}`
  return `plantroomcardsrc name=${CARD} ${settings(options)} ! ${caps} ! plantroomdrift name=${DRIFT}`
}

function settings({ alsa, fillMs, bufferMs }: CardOptions): string {
  return `device="${alsa.replace(/[\\"]/g, '\\$&')}" fill-ms=${fillMs} buffer-ms=${bufferMs}`
}

/** Beyond two, channels have no loudspeaker that is theirs; GStreamer wants that said. */
function maskOf(channels: number): string {
  return channels > 2 ? ',channel-mask=(bitmask)0x0' : ''
}
