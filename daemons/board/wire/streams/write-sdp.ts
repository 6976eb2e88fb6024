/** Writes the SDP of a stream: what AES67 asks for, and the few lines by which RAVENNA devices go. */
import { plainText } from '#kit/bytes/plain-text.ts'
import { isGroup, isSourceSpecific } from '../multicast-group.ts'
import { refClockText } from './ref-clock.ts'
import { framesOf, type StreamDescription, type StreamPath } from './stream-description.ts'

/** Characters of a name or an information line. */
const LONGEST_TEXT = 120

/**
 * Paths of which there are two carry the same packets and are grouped.
 *
 * A source filter stands there for paths that name their source, and for groups that cannot be joined without, alone:
 * with one on an ordinary group, Dante's controller lists the stream no more.
 * @param stream of a board: one path or two, `origin` an address of its own; name and information are written without control characters; an empty name as a space
 * @returns lines that end with CRLF
 * @source AES67-2018, 8; RFC 4566, 5; RFC 7273, 4.8 and 5.3; RFC 4570, 3; RFC 7104, 4; RAVENNA Operating Principles 1.0, 4
 */
export function writeSdp(stream: StreamDescription): string {
  const { info, name, origin, paths, sessionId, version } = stream
  const isDoubled = paths.length > 1
  const lines = [
    'v=0',
    `o=- ${sessionId} ${version} IN IP4 ${origin}`,
    `s=${plainText(name, LONGEST_TEXT) || ' '}`,
    ...(info === '' ? [] : [`i=${plainText(info, LONGEST_TEXT)}`]),
    't=0 0',
    ...clockDomain(stream),
    ...(isDoubled ? [`a=group:DUP ${paths.map((_, index) => midOf(index)).join(' ')}`] : []),
    ...paths.flatMap((path, index) => [...mediaOf(stream, path), ...(isDoubled ? [`a=mid:${midOf(index)}`] : [])]),
  ]
  return lines.map((line) => `${line}\r\n`).join('')
}

function mediaOf(stream: StreamDescription, path: StreamPath): string[] {
  const { channels, encoding, mediaOffset, packetMs, payloadType, refClock, sampleRate } = stream
  const { group, port, ttl } = path
  const source = path.source ?? (isSourceSpecific(group) ? stream.origin : null)
  return [
    `m=audio ${port} RTP/AVP ${payloadType}`,
    // Of a receiver that is alone no TTL may stand there. RFC 4566, 5.7
    `c=IN IP4 ${isGroup(group) ? `${group}/${ttl}` : group}`,
    ...(source === null ? [] : [`a=source-filter: incl IN IP4 ${group} ${source}`]),
    `a=rtpmap:${payloadType} ${encoding}/${sampleRate}/${channels}`,
    'a=recvonly',
    `a=ptime:${Number(packetMs.toFixed(6))}`,
    `a=framecount:${framesOf(stream)}`,
    ...(refClock ? [`a=ts-refclk:${refClockText(refClock)}`] : []),
    ...(mediaOffset === null ? [] : [`a=mediaclk:direct=${mediaOffset}`, `a=sync-time:${mediaOffset}`]),
  ]
}

/** Devices from before RFC 7273 know the clock by its domain alone. */
function clockDomain({ refClock }: StreamDescription): string[] {
  return refClock?.kind === 'ptp' ? [`a=clock-domain:PTPv2 ${refClock.domain}`] : []
}

function midOf(index: number): string {
  return index === 0 ? 'primary' : 'secondary'
}
