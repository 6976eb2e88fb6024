/** What plays where: rows of av_zone as their devices report it. */
import { isObject, type Json } from '../json.ts'
import type { LiveBook } from '../live/live-book.ts'
import type { LivelyBook, Row } from '../site/book.ts'

interface PlayingParts {
  book: LivelyBook
  live: Pick<LiveBook, 'zone' | 'onChange'>
  /** The values of a zone that only elevated sessions may see. */
  secureOf(zoneId: number): ReadonlySet<string>
  /** Whether somebody has set a value in place of what the device says. */
  isSet(zoneId: number, name: string): boolean
  /** Replaces a row of av_zone in memory. */
  put(av: Row): void
}

export interface Playing {
  soundOf(zoneId: number): { volume: number | undefined; mute: boolean | undefined; sourceId: number | null }
  /** A device has taken a source, or none; what it reports counts more. */
  chosen(zoneId: number, sourceId: number | null): void
}

/** Follows the devices for the life of the daemon. The rows of a lost one have no source and no volume. */
export function createPlaying({ book, live, secureOf, isSet, put }: PlayingParts): Playing {
  let shape = -1
  let byZone = new Map<number, number[]>()
  /** For devices that do not report what they play. */
  const chosenOf = new Map<number, number | null>()

  function rowsOf(zoneId: number): readonly Row[] {
    if (book.shape('av_zone') !== shape) {
      shape = book.shape('av_zone')
      byZone = new Map()
      for (const { id, zone_id: zone } of book.rows('av_zone'))
        if (typeof zone === 'number') byZone.set(zone, [...(byZone.get(zone) ?? []), id])
    }
    return (byZone.get(zoneId) ?? []).flatMap((id) => book.row('av_zone', id) ?? [])
  }

  function sourceNow(zoneId: number): number | null {
    const now = live.zone(zoneId)
    if (now.state === 'unknown' || now.state === 'stopped') return null
    if (!Object.hasOwn(now, 'mcast') && !Object.hasOwn(now, 'source')) return chosenOf.get(zoneId) ?? null
    return book.rows('av_source').find((source) => isPlayed(source, now))?.id ?? null
  }

  function soundOf(zoneId: number): ReturnType<Playing['soundOf']> {
    const { volume, mute } = live.zone(zoneId)
    return {
      // An attribute that somebody sets makes no device quieter.
      volume: typeof volume === 'number' && !isSet(zoneId, 'volume') ? volume : undefined,
      mute: typeof mute === 'boolean' ? mute : undefined,
      sourceId: sourceNow(zoneId),
    }
  }

  function follow(zoneId: number): void {
    const rows = rowsOf(zoneId)
    if (rows.length === 0) return
    const { volume, mute, sourceId } = soundOf(zoneId)
    const secure = secureOf(zoneId)
    for (const row of rows) {
      const next = {
        source_id: secure.has('source') || secure.has('mcast') ? null : sourceId,
        volume: secure.has('volume') ? null : (volume ?? null),
        mute: !secure.has('mute') && mute === true,
      }
      if (next.source_id !== row.source_id || next.volume !== row.volume || next.mute !== row.mute)
        put({ ...row, ...next })
    }
  }

  live.onChange((kind, id) => {
    if (kind === 'zone') follow(id)
  })
  return {
    soundOf,
    chosen(zoneId, sourceId) {
      chosenOf.set(zoneId, sourceId)
      follow(zoneId)
    },
  }
}

/** By the group and port of its stream, else by its name or input. */
function isPlayed({ stream, name, input }: Row, now: Readonly<Record<string, Json>>): boolean {
  const { mcast, port } = isObject(stream) ? stream : {}
  if (typeof mcast === 'string' && mcast !== '')
    return mcast === now.mcast && (typeof port !== 'number' || typeof now.port !== 'number' || port === now.port)
  const { source = null } = now
  return source !== null && (source === name || (typeof input === 'string' && String(source) === input))
}
