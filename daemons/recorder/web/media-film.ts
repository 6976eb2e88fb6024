/** A film that is put together in the browser, piece by piece as it comes (Media Source Extensions). */
import { joinBytes } from '#kit/pure/bytes.ts'
import { createPace } from './live-pace.ts'

/** What is said of it before its pieces. */
export interface FilmFacts {
  mime: string
  /** Wall time of its time 0, epoch ms. */
  startAt: number
}

export interface MediaFilm {
  /** Whether a picture of it is shown. */
  isShown(): boolean
  /** Takes the next piece: first the head, then fragments. */
  add(bytes: Uint8Array<ArrayBuffer>): void
  close(): void
}

interface FilmHearers {
  /** When the picture that is shown was taken, epoch ms. */
  onTime: (atMs: number) => void
  /** Its first picture is shown. */
  onShown: () => void
  /** It cannot go on. */
  onBroken: () => void
}

/** iPhones have one that rests by itself. */
const MediaKind =
  (globalThis as { ManagedMediaSource?: typeof MediaSource }).ManagedMediaSource ?? globalThis.MediaSource

/** How much of what was shown is kept; more is let go once it is twice of this. */
const KEPT_S = 5
/** Pieces that wait for the browser; one that takes none for so long begins anew. */
const MOST_WAITING = 600

export function canPlay({ mime }: FilmFacts): boolean {
  return MediaKind?.isTypeSupported(mime) === true
}

export function openFilm(video: HTMLVideoElement, facts: FilmFacts, hearers: FilmHearers): MediaFilm {
  const { mime, startAt, onTime, onShown, onBroken } = { ...facts, ...hearers }
  const source = new MediaKind()
  const address = URL.createObjectURL(source)
  const pace = createPace(mime.includes(','))
  const waiting: Uint8Array<ArrayBuffer>[] = []
  let buffer: SourceBuffer | undefined
  /** When the newest picture is shown, in the time of the film. */
  let newestS = 0
  let isShown = false

  function pump(): void {
    if (!buffer || buffer.updating || source.readyState !== 'open') return
    const from = buffer.buffered.length > 0 ? buffer.buffered.start(0) : 0
    try {
      if (video.currentTime - from > 2 * KEPT_S) buffer.remove(from, video.currentTime - KEPT_S)
      else if (waiting.length > 0) buffer.appendBuffer(joinBytes(waiting.splice(0)))
    } catch {
      onBroken()
    }
  }

  function follow(): void {
    if (!buffer || source.readyState !== 'open') return
    const { buffered } = buffer
    if (buffered.length > 0) {
      const [start, end] = [buffered.start(buffered.length - 1), buffered.end(buffered.length - 1)]
      const step = pace.step({ start, end, newest: Math.min(newestS, end), now: video.currentTime })
      if (step.seekTo !== undefined) video.currentTime = step.seekTo
      video.playbackRate = step.rate
      // A browser that lets nothing play by itself shows its first picture.
      if (video.paused) void video.play().catch(() => {})
    }
    pump()
  }

  function look(): void {
    onTime(startAt + video.currentTime * 1000)
    if (isShown || video.videoWidth === 0 || video.readyState < 2) return
    isShown = true
    onShown()
  }

  source.onsourceopen = () => {
    // Closed meanwhile: the event was on its way.
    if (buffer || source.readyState !== 'open') return
    buffer = source.addSourceBuffer(mime)
    buffer.onupdateend = follow
    pump()
  }
  video.onwaiting = () => pace.starved()
  video.ontimeupdate = look
  video.onloadeddata = look
  video.onerror = onBroken
  video.src = address
  return {
    isShown: () => isShown,
    add(bytes) {
      const takenAt = takenAtOf(bytes)
      if (takenAt !== undefined) newestS = (takenAt - startAt) / 1000
      waiting.push(bytes)
      if (waiting.length > MOST_WAITING) onBroken()
      else pump()
    },
    close() {
      for (const event of ['onwaiting', 'ontimeupdate', 'onloadeddata', 'onerror'] as const) video[event] = null
      video.removeAttribute('src')
      video.load()
      URL.revokeObjectURL(address)
    },
  }
}

/** `prft` */
const TIME_BOX = 0x70726674
/** Seconds from 1900, from where NTP counts, to 1970. */
const NTP_S = 2_208_988_800

/** When the picture of a fragment was taken, which stands in its first box; undefined for a head. */
function takenAtOf(bytes: Uint8Array<ArrayBuffer>): number | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (bytes.length < 24 || view.getUint32(4) !== TIME_BOX) return undefined
  return (view.getUint32(16) - NTP_S + view.getUint32(20) / 2 ** 32) * 1000
}
