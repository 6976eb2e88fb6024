/** The pipeline of a decoder's output as GStreamer is told of it. */

/** Names of its elements. */
export const SOURCE = 'rtp'
export const LEVEL = 'level'

/** How often levels are told. */
const LEVEL_NS = 50_000_000

/**
 * What is received, as loud as it is to be; then the levels of that; then what it ends in. The source gives 24 bits in
 * the upper ones of 32, which every end takes over as they are.
 * @param end fragment that takes S32LE at 48 kHz
 */
export function outputDescription(channels: number, end: string): string {
  const source = `plantroomrtpsrc name=${SOURCE} channels=${channels}`
  return `${source} ! level name=${LEVEL} post-messages=true interval=${LEVEL_NS} ! ${end}`
}

/** Takes samples as fast as they come, which is the pace of the clock, and plays them to nobody. */
export const NULL_END = 'fakesink sync=false'

/** Records what would be heard, 24 bits; at once, so that who reads along, as from a named pipe, hears it in time. */
export function fileEnd(path: string): string {
  const location = path.replace(/[\\"]/g, '\\$&')
  const convert = 'audioconvert dithering=none noise-shaping=none ! audio/x-raw,format=S24LE'
  return `${convert} ! wavenc ! filesink buffer-mode=unbuffered sync=false location="${location}"`
}
