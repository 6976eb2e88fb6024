/** Which sender of a group is played, and which announcement is its. */
import type { HeardStream } from '../../../core/streams/book.ts'

/** What a sender is chosen from. */
export interface SourceFacts {
  /** Of the route. */
  named: string | null
  /** Addresses that announce this very group and port. */
  announced: readonly string[]
  /** Who is heard now, and has not fallen silent. */
  playing: string | null
  /** The only one that is let through now; null: any. */
  held: string | null
}

/**
 * The named one; else the announced one where exactly one announces that group and port; else the first that is heard.
 * One that plays goes on when further ones begin to announce its group, until it falls silent.
 * @returns its address, or null for the first that is heard
 * @source Interface 2, B, rule 1
 */
export function chooseSource({ named, announced, playing, held }: SourceFacts): string | null {
  if (named !== null) return named
  const [only, ...others] = new Set(announced)
  if (only !== undefined && others.length === 0) return only
  return playing !== null && playing === held ? held : null
}

/** Who sends a stream to a group and port: each of two paths has its own sender. */
export function senderOf(stream: HeardStream, mcast: string, port: number): string {
  const { dup } = stream
  const isSecond = dup !== null && dup.mcast === mcast && dup.port === port && stream.mcast !== mcast
  return isSecond ? (dup.source ?? stream.source) : stream.source
}

/**
 * The announcement of what is played: that of the sender, or the only one. What somebody else tells of a sender counts
 * where the sender itself tells nothing: anybody may tell anything of anybody.
 * @param streams those that come on the group and port
 * @param sender null while nobody is chosen and nobody is heard
 */
export function announcementOf(
  streams: readonly HeardStream[],
  at: { mcast: string; port: number },
  sender: string | null,
): HeardStream | null {
  const its = streams.filter((stream) => senderOf(stream, at.mcast, at.port) === sender)
  const own = its.filter((stream) => isOwnWord(stream))
  // Of several by one sender the newest counts: it may have begun anew under another session.
  const newest = (own.length > 0 ? own : its).sort((one, other) => other.last_heard_at - one.last_heard_at)[0]
  if (newest !== undefined) return newest
  return sender === null && streams.length === 1 ? (streams[0] ?? null) : null
}

/** Whether a stream is announced from where it is sent, by either path. */
function isOwnWord({ dup, from, source }: HeardStream): boolean {
  return from === source || from === dup?.source
}
