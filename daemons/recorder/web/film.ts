/** A film of recorded footage: one request each, with the moment of every picture; its last picture stays until the next. */
import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { html } from '#kit/web/html.ts'
import { icon } from '#kit/web/parts.ts'
import { adoptStyle } from '#kit/web/style.ts'
import { filmPath, whyNoFilm } from './api.ts'
import { cameras } from './state.ts'
import { keepStill } from './still.ts'
import * as texts from './texts.ts'

/** What is asked for. A moment within it cannot be gone to: the recorder gives a stream, of which browsers seek nothing. */
export interface Reel {
  startAt: number
  seconds: number
}

interface FilmFacts {
  camera: string
  /** How it is called by screen readers. */
  label: string
  reel: Reel
  /** Plays, or stands at its present picture. */
  isPlaying: boolean
  rate?: number
  /** Its sound is heard, where it has some. */
  isHeard?: boolean
  /** The moment of the picture that is shown, epoch ms. */
  onTime?: (atMs: number) => void
  /** The moment behind its last picture. */
  onEnd: (atMs: number) => void
  /** It did not begin, or broke off: why. */
  onRefused: (why: string) => void
}

adoptStyle(`
.film{position:relative;display:grid;background:#000;aspect-ratio:16/9;max-height:max(12.5rem,calc(100dvh - 25rem));width:100%;overflow:clip}
.film>*{grid-area:1/1;width:100%;height:100%;min-height:0;object-fit:contain}
.film>.over{z-index:1;align-self:end;height:auto}
`)

/** The film. Mounted once for all reels, so that nothing flashes between two of them. */
export function Film({
  camera,
  label,
  reel,
  isPlaying,
  rate = 1,
  isHeard = false,
  onTime,
  onEnd,
  onRefused,
}: FilmFacts): VNode {
  const own = useRef<HTMLVideoElement | null>(null)
  const still = useRef<HTMLCanvasElement | null>(null)
  const path = filmPath(camera, reel.startAt, reel.seconds)
  const momentOf = (seconds: number) => reel.startAt + seconds * 1000

  useEffect(() => {
    const video = own.current
    if (!video) return
    video.src = path
    // Else the recorder would go on counting it as one that is played.
    return () => {
      keepStill(video, still.current)
      video.removeAttribute('src')
      video.load()
    }
  }, [path])
  useEffect(() => {
    const video = own.current
    if (!video) return
    video.playbackRate = rate
    video.defaultPlaybackRate = rate
    // A browser that lets nothing play by itself shows its first picture.
    if (isPlaying) void video.play().catch(() => {})
    else video.pause()
  }, [path, isPlaying, rate])

  useEffect(() => {
    if (own.current) own.current.muted = !isHeard
  }, [isHeard])

  async function failed(): Promise<void> {
    const video = own.current
    // Emptied by ourselves.
    if (!video?.getAttribute('src')) return
    const said = video.error?.message ?? ''
    const why = isDecoded(camera, video) ? texts.filmNotPlayed(said) : texts.noDecoder
    onRefused((await whyNoFilm(path).catch(() => texts.noAnswerForFilm)) ?? why)
  }
  /** A browser that cannot decode the pictures plays the sound alone, beside a black picture. */
  function begun(event: Event): void {
    if ((event.target as HTMLVideoElement).videoWidth === 0) onRefused(texts.noDecoder)
  }
  return html`<div class="film"><canvas ref=${still} aria-hidden="true"></canvas>
    <video ref=${own} aria-label=${label} muted playsinline preload="auto" disablepictureinpicture
      onTimeUpdate=${(event: Event) => onTime?.(momentOf((event.target as HTMLVideoElement).currentTime))}
      onEnded=${(event: Event) => onEnd(momentOf((event.target as HTMLVideoElement).currentTime))}
      onLoadedMetadata=${begun} onError=${() => void failed()}></video></div>`
}

/** Switches sound on and off; pages begin without, since browsers let none be heard before a touch. */
export function SoundButton({ isHeard, setHeard }: { isHeard: boolean; setHeard: (is: boolean) => void }): VNode {
  const word = isHeard ? texts.soundOff : texts.soundOn
  return html`<button class="btn icon" type="button" aria-label=${word} title=${word} onClick=${() => setHeard(!isHeard)}>${icon(isHeard ? 'sound' : 'mute')}</button>`
}

/** Whether this browser decodes what the camera sends now; what it sent before is tried. */
function isDecoded(camera: string, video: HTMLVideoElement): boolean {
  const codec = cameras.value?.find(({ id }) => id === camera)?.recordProfile?.codec
  return codec === undefined || video.canPlayType(`video/mp4; codecs="${codec}"`) !== ''
}
