/** The loudness of this board under the hand: slid, stepped, muted. */
import { useRef, useState } from 'preact/hooks'
import { sentenceOf } from '#kit/web/call.ts'
import { sendLatest } from '#kit/web/latest.ts'
import { toast } from '#kit/web/toast.ts'
import { api } from './api.ts'
import type { VolumeState } from './sound.ts'

/** Ends of `volume_db`. */
const LOWEST_DB = -80
const HIGHEST_DB = 12
/** How long the answer to the hand stands before what the feed says counts again. */
const HELD_MS = 1200

/** Loudness and what moves it. */
export interface Volume {
  shown: VolumeState
  slide: (volume: number) => void
  step: (step: 1 | -1) => void
  mute: () => void
}

/** A step of 1 dB from where it is, within its ends; from silence up to the lowest there is. */
export function stepped(db: number, step: 1 | -1): number {
  return Math.min(HIGHEST_DB, Math.max(LOWEST_DB, Math.round(db) + step))
}

/** The loudness of this board. @param told as the feed says it */
export function useVolume(told: VolumeState): Volume {
  const [mine, setMine] = useState<VolumeState | null>(null)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  /** Where steps that were not answered yet have led. */
  const wantedDb = useRef<number | null>(null)
  const sender = useRef<((ask: () => Promise<VolumeState>) => void) | undefined>(undefined)

  function take(answer: VolumeState): void {
    setMine(answer)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      wantedDb.current = null
      setMine(null)
    }, HELD_MS)
  }
  sender.current ??= sendLatest(
    async (ask) => take(await ask()),
    (thrown) => {
      wantedDb.current = null
      setMine(null)
      toast(sentenceOf(thrown))
    },
  )
  const send = sender.current
  const shown = mine ?? told
  return {
    shown,
    slide: (volume) => {
      wantedDb.current = null
      send(() => api.setVolume(volume))
    },
    step: (step) => {
      const db = stepped(wantedDb.current ?? shown.volume_db, step)
      wantedDb.current = db
      send(() => api.setVolumeDb(db))
    },
    mute: () => send(() => api.mute(!shown.mute)),
  }
}
