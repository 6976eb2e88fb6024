/** Controls for this board's sound: routes, volume, clock. */
import type { VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { sendLatest, sentenceOf } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { factTable } from '#kit/web/figures.ts'
import { html } from '#kit/web/html.ts'
import { count, fixed, sinceText, THIN, UNKNOWN } from '#kit/web/numbers.ts'
import { lamp, toast } from '#kit/web/parts.ts'
import type { PtpView } from '../core/ptp/ptp.ts'
import { api, type RouteForm, type RouteState, type VolumeState } from './api.ts'
import { ptpLit, signed } from './sound-words.ts'
import { lookNow } from './state.ts'
import * as texts from './texts.ts'

// Routes of this board: changed at once, with one touch to undo.

/** The form that restores a route. */
export function formOf({
  mcast,
  port,
  source,
  given,
}: Pick<RouteState, 'mcast' | 'port' | 'source' | 'given'>): RouteForm {
  if (mcast === '') return { mcast }
  const said = Object.entries({ source, ...given }).filter(([, value]) => value !== null)
  return { mcast, port, ...Object.fromEntries(said) }
}

/**
 * Plays a route, and reports it in a toast with an undo. @param before the route until now @param told `Now plays Stage
 * mix.`
 */
export async function playRoute(form: RouteForm, before: RouteState, told: string): Promise<void> {
  await routed(form, told, () => void routed(formOf(before), texts.ownPlaysWhatPlayedBefore))
}

async function routed(form: RouteForm, told: string, undo?: () => void): Promise<void> {
  try {
    await api.route(form)
    toast(told, undo)
  } catch (thrown) {
    toast(sentenceOf(thrown))
  }
  await lookNow()
}

// The volume of this board: slider, steps, mute.

/** Ends of `volume_db`. */
const LOWEST_DB = -80
const HIGHEST_DB = 12
/** How long the answer to a change takes precedence over the feed. */
const HELD_MS = 1200

/** The volume and its controls. */
export interface Volume {
  shown: VolumeState
  slide: (volume: number) => void
  step: (step: 1 | -1) => void
  mute: () => void
}

/** One step of 1 dB, within the limits; from silence, up to the lowest level. */
export function stepped(db: number, step: 1 | -1): number {
  return Math.min(HIGHEST_DB, Math.max(LOWEST_DB, Math.round(db) + step))
}

/** The volume of this board. @param told as the feed says it */
export function useVolume(told: VolumeState): Volume {
  const [mine, setMine] = useState<VolumeState | null>(null)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  /** Target of the steps not answered yet. */
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

// The clock: who is the grandmaster, and this board's offset from it.

/** The panel. */
export function ClockPanel({ ptp }: { ptp: PtpView }): VNode {
  const { grandmaster: master } = ptp
  const unit = (text: string, name: string): string => (text === UNKNOWN ? text : `${text}${THIN}${name}`)
  const since = ptp.since_at === null ? null : sinceText(ptp.since_at, daemonNow(), zone.value)
  const rows: [string, VNode | string][] = [
    [
      texts.grandmaster,
      master ? html`<span class="mono">${master.id}</span>${master.is_self ? texts.ownBoard : ''}` : UNKNOWN,
    ],
    [texts.priority1, master ? texts.boards(master.priority1, ptp.priority1) : texts.ownBoards(ptp.priority1)],
    [texts.domain, String(master?.domain ?? ptp.domain)],
    [texts.offset, unit(signed(ptp.offset_ns, 0), 'ns')],
    [texts.pathDelay, unit(fixed(ptp.path_delay_ns, 0), 'ns')],
    [texts.rate, unit(signed(ptp.rate_ppm, 2), 'ppm')],
    [texts.jumps, count(ptp.steps)],
  ]
  return html`<section class="panel" aria-label="Clock"><header>${lamp(ptpLit(ptp))}<h2>Clock</h2><span class="faint">${since ? texts.clockSince(since) : ''}</span></header>
    <p class="in small soft">${ptp.text}</p>${ptp.enabled ? factTable(rows) : null}</section>`
}
