/** The codecs whose pictures are recorded. @source RFC 6184, RFC 7798 */
import { h264 } from './h264.ts'
import { h265 } from './h265.ts'
import type { VideoCodec } from './pictures.ts'

export const videoCodecs: readonly VideoCodec[] = [h264, h265]
