/** What a camera shows, in the tile of its zone: asked of the controller again and again while it is on the screen. */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { isLost } from '#kit/web/contact.ts'
import { html } from '#kit/web/html.ts'
import { lamp } from '#kit/web/parts.ts'
import type { ZoneView } from '../core/live/zones.ts'
import { isSignedOut, list } from './state.ts'
import * as texts from './texts.ts'

/** A picture, or the reason why it is missing; null until the first answer. `none`: the zone is no camera. */
type Shown = { url: string } | { why: string } | 'none' | null

/** A controller waits for its recorder meanwhile. */
const ANSWER_MS = 15_000
/** Until the list of zones says it. */
const USUAL_MS = 5000

export function Still({ zone }: { zone: Pick<ZoneView, 'id' | 'name'> }): VNode | null {
  const frame = useRef<HTMLDivElement>(null)
  const [shown, setShown] = useState<Shown>(null)
  useEffect(() => renewing(zone.id, frame.current, setShown), [zone.id])
  if (shown === 'none') return null
  return html`<div class="still" ref=${frame}>${
    shown !== null && 'url' in shown ? html`<img src=${shown.url} alt=${texts.cameraShows(zone.name)} />` : null
  }${shown !== null && 'why' in shown ? html`<p class="small" role="status">${lamp('warn')} ${shown.why}</p>` : null}</div>`
}

/** An old picture is never left standing: where no new one comes, a sentence takes its place. @returns ends it */
function renewing(id: number, frame: Element | null, show: (shown: Shown) => void): () => void {
  const everyMs = list.value?.still_ms ?? USUAL_MS
  const end = new AbortController()
  let isSeen = false
  let isAsking = false
  let askedMs = Number.NEGATIVE_INFINITY
  let url: string | null = null
  let urlMs = 0

  function put(shown: Shown): void {
    if (end.signal.aborted) return
    show(shown)
    if (url !== null) URL.revokeObjectURL(url)
    url = shown !== null && shown !== 'none' && 'url' in shown ? shown.url : null
    urlMs = performance.now()
  }

  async function ask(): Promise<Shown> {
    const signal = AbortSignal.any([end.signal, AbortSignal.timeout(ANSWER_MS)])
    const answer = await fetch(`/ui/zone/still?zone=${id}`, { signal, cache: 'no-store' })
    if (answer.ok) return { url: URL.createObjectURL(await answer.blob()) }
    if (answer.status === 404) return 'none'
    const { message } = (await answer.json()) as { message?: string }
    return { why: message ?? texts.noCameraPicture }
  }

  async function look(): Promise<void> {
    const nowMs = performance.now()
    // One that was out of sight for so long is asked for anew.
    if (url !== null && nowMs - urlMs > 2 * everyMs)
      put(isAsking || isLost.value ? { why: texts.noCameraPicture } : null)
    const mayAsk = isSeen && !isAsking && !document.hidden && !isLost.value && !isSignedOut.value
    if (!mayAsk || nowMs - askedMs < everyMs) return
    isAsking = true
    askedMs = nowMs
    const shown = await ask().catch(() => ({ why: texts.noCameraPicture }))
    put(shown)
    isAsking = shown === 'none'
  }

  const observer = new IntersectionObserver((entries) => {
    isSeen = entries.at(-1)?.isIntersecting === true
    void look()
  })
  if (frame) observer.observe(frame)
  const timer = setInterval(() => void look(), everyMs / 5)
  return () => {
    end.abort()
    observer.disconnect()
    clearInterval(timer)
    if (url !== null) URL.revokeObjectURL(url)
  }
}
