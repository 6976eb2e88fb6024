/** What another board says of its sound, cut down to what can be shown: nobody vouches for its shape or its size. */
import type { Check, CheckState } from './sound.ts'

const MOST_TEXT = 200
const MOST_CHECKS = 16
const MOST_CHANNELS = 64

/** A route, with what it says itself: that brings it back. */
export interface FarRoute {
  mcast: string
  port: number
  source: string | null
  name: string | null
  encoding: string | null
  given: { link_ms: number | null; mclk_offset: number | null; encoding: string | null }
}

/** A decoder as the matrix needs it. */
export interface FarDecoder {
  kind: 'decoder'
  route: FarRoute
  sender: string | null
  playing: boolean
  volume: { volume: number; volumeDb: number; mute: boolean } | null
  checks: readonly Check[]
  /** Of the last minute, percent; null where it does not say. */
  lossPercent: number | null
  rmsDb: number | null
}

/** An encoder as the matrix needs it. */
export interface FarEncoder {
  kind: 'encoder'
  stream: { mcast: string; port: number; name: string; encoding: string | null; channels: number | null }
  rmsDb: number | null
}

export type FarSound = FarDecoder | FarEncoder

/** @returns null where an answer tells of no sound */
export function soundOf(answer: unknown): FarSound | null {
  const { decoder, encoder } = record(answer)
  if (decoder !== undefined) return decoderOf(record(decoder))
  return encoder === undefined ? null : encoderOf(record(encoder))
}

function decoderOf({ route, volume, playing, checks, sender, counters, meters }: Facts): FarDecoder {
  return {
    kind: 'decoder',
    route: routeOf(route),
    sender: text(sender) || null,
    playing: playing === true,
    volume: volumeOf(volume),
    checks: checksOf(checks),
    lossPercent: number(record(counters).loss_percent_1min),
    rmsDb: loudest(meters),
  }
}

/** A route as a board answers it. */
export function routeOf(route: unknown): FarRoute {
  const { mcast, port, source, name, encoding, given } = record(route)
  const { link_ms, mclk_offset, encoding: own } = record(given)
  return {
    mcast: text(mcast) ?? '',
    port: number(port) ?? 0,
    source: text(source) || null,
    name: text(name) || null,
    encoding: text(encoding),
    given: { link_ms: number(link_ms), mclk_offset: number(mclk_offset), encoding: text(own) },
  }
}

/** Answer of what changes the loudness of a board; null where it is none. */
export function volumeOf(answer: unknown): FarDecoder['volume'] {
  const { volume, volume_db: db, mute } = record(answer)
  const [percent, volumeDb] = [number(volume), number(db)]
  return percent === null || volumeDb === null ? null : { volume: percent, volumeDb, mute: mute === true }
}

function encoderOf({ stream, meters }: Facts): FarEncoder {
  const { mcast, port, name, encoding, channels } = record(stream)
  return {
    kind: 'encoder',
    stream: {
      mcast: text(mcast) ?? '',
      port: number(port) ?? 0,
      name: text(name) ?? '',
      encoding: text(encoding),
      channels: number(channels),
    },
    rmsDb: loudest(meters),
  }
}

function checksOf(checks: unknown): Check[] {
  if (!Array.isArray(checks)) return []
  return checks.slice(0, MOST_CHECKS).map((check) => {
    const { name, state, code, text: words } = record(check)
    return {
      name: text(name) ?? '',
      state: (text(state) ?? 'not_judged') as CheckState,
      code: text(code),
      text: text(words) ?? '',
    }
  })
}

/** Of all channels; null where it is silent, or says nothing. */
function loudest(meters: unknown): number | null {
  const { rms_db: levels } = record(meters)
  if (!Array.isArray(levels)) return null
  const known = levels
    .slice(0, MOST_CHANNELS)
    .map(number)
    .filter((db) => db !== null)
  return known.length === 0 ? null : Math.max(...known)
}

type Facts = Record<string, unknown>

function record(value: unknown): Facts {
  return typeof value === 'object' && value !== null ? (value as Facts) : {}
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value.slice(0, MOST_TEXT) : null
}

function number(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}
