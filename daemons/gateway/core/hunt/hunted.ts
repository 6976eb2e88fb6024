/** What a protocol tells a hunt for the settings of a line: how it is recognised when heard, and what its units answer. */
import type { LineSettings } from '#kit/line/line.ts'
import { joinBytes } from '#kit/pure/bytes.ts'
import type { LineRate } from '#kit/pure/line.ts'

/** Speed and framing of a line, as a hunt tries them. */
export type HuntSetting = Pick<LineSettings, 'baud' | 'data_bits' | 'parity' | 'stop_bits'>

/** The settings that a hunt tries where its caller names none. The rates stand in the order in which they are tried. */
export interface HuntHabits {
  bauds: readonly number[]
  parities: readonly LineSettings['parity'][]
}

/** What an ear has made of the bytes so far. */
export interface HuntHeard {
  /** Whole frames with the right checksum. */
  frames: number
  /** Who was named in them, in order. */
  units: readonly number[]
  /** Whether so many frames that fit each other cannot be chance. */
  isSure: boolean
}

/** Listens at one setting. */
interface HuntEar {
  hear(bytes: Uint8Array): void
  /** Nothing more comes: what looks like the beginning of a frame is none. */
  end(): void
  heard(): HuntHeard
}

/** An answer to a question. */
export interface HuntAnswer {
  unit: number | undefined
  isSure: boolean
  /** What it gave, where that is not what was asked for first: `coils`. */
  gave?: string
}

/** One question to a unit, or to all. It changes nothing in whoever is asked. */
export interface HuntQuestion {
  /** For the progress: `unit 7`. */
  to: string
  frame: Uint8Array
  /**
   * @param bytes everything that came since it was sent, which may begin with its echo
   * @returns who has answered, if the answer says so; `isSure` unless it may be chance; undefined if nobody has, yet
   */
  answer(bytes: Uint8Array): HuntAnswer | undefined
}

/** One protocol, as a hunt knows it. */
export interface HuntProtocol {
  /** Its name in sentences. */
  title: string
  habits: HuntHabits
  /** Who is counted in `units`: `unit`, `meter`, `node`. */
  member: string
  frames: FrameRules
  /** Left out by a protocol in which nobody answers whoever is no part of it. */
  asking?: {
    /** The highest number that can be asked. */
    last: number
    /** @param range the units that a caller wants to be asked; else the usual ones */
    questions(range?: { from: number; to: number }): HuntQuestion[]
    /** Asked where nobody answered the others at any setting: of units that say nothing where they have nothing. */
    further?(range?: { from: number; to: number }): HuntQuestion[]
    /** How long a unit may take to begin an answer, beyond `hunt.ask_ms`. */
    slowerByMs(rate: LineRate): number
  }
}

/** How whole frames are found among bytes that may be anything, and what they tell. */
interface FrameRules {
  /** The longest frame in bytes; no more is held. */
  longest: number
  /** The length of the whole frame with which these bytes begin, or why there is none (yet). */
  lengthAt(bytes: Uint8Array): number | 'more' | 'none'
  /** Who is named in a frame, if anybody is. */
  unitOf(frame: Uint8Array): number | undefined
  /** So many frames are no chance. */
  sureFrames: number
  /** Whether a frame answers the one before, which is no chance either; left out by a protocol where this says little. */
  isAnswer?(frame: Uint8Array, before: Uint8Array): boolean
}

export function createEar({ isAnswer, lengthAt, longest, sureFrames, unitOf }: FrameRules): HuntEar {
  const units = new Set<number>()
  let frames = 0
  let isAnswered = false
  let before: Uint8Array | undefined
  let held: Uint8Array = new Uint8Array(0)

  function note(frame: Uint8Array): void {
    frames++
    const unit = unitOf(frame)
    if (unit !== undefined) units.add(unit)
    isAnswered ||= before !== undefined && isAnswer?.(frame, before) === true
    before = frame
  }

  function spot(isEnd: boolean): void {
    let at = 0
    while (at < held.length) {
      const rest = held.subarray(at)
      const length = lengthAt(rest)
      if (length === 'more' && !isEnd && rest.length < longest) break
      if (typeof length === 'number') note(rest.slice(0, length))
      at += typeof length === 'number' ? length : 1
    }
    held = held.slice(at)
  }

  return {
    hear(bytes) {
      for (let at = 0; at < bytes.length; at += longest) {
        held = joinBytes([held, bytes.subarray(at, at + longest)])
        spot(false)
      }
    },
    end: () => spot(true),
    heard: () => ({ frames, units: [...units].sort((a, b) => a - b), isSure: isAnswered || frames >= sureFrames }),
  }
}
