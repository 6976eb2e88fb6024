/** A camera as it is now, played from the recorder's socket; and why it is black, where it is. */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { isLost } from '#kit/web/contact.ts'
import { html } from '#kit/web/html.ts'
import { adoptStyle } from '#kit/web/style.ts'
import { livePath, type Profile, whyNotLive } from './api.ts'
import { canPlay, type FilmFacts, type MediaFilm, openFilm } from './media-film.ts'
import { playPictures } from './picture-film.ts'
import { keepStill } from './still.ts'
import * as texts from './texts.ts'

/** What is told of a picture while none is shown, and `null` while one is. */
type Sentence = string | null

interface LiveFacts {
  camera: string
  profile: Profile
  /** Whether it has privacy masks. */
  isMasked: boolean
  /** How it is called by screen readers, where nothing around it says so. */
  label?: string
  /** Why there can be no picture, such as a camera that is off; then none is asked for. */
  why?: Sentence
  /** Its sound is heard, where it has some. */
  isHeard?: boolean
  /** When the picture that is shown was taken, epoch ms; at most twice a second. */
  onTime?: (atMs: number) => void
}

adoptStyle(`
.live{position:relative;display:grid;background:#000;aspect-ratio:16/9;width:100%;overflow:clip}
.live>*{grid-area:1/1;width:100%;height:100%;min-width:0;min-height:0;object-fit:contain}
.live>.said{z-index:1;display:grid;place-content:center;padding:var(--s3);background:#000c;color:#fff;font-size:var(--t-small);text-align:center}
.live>.said:empty,.live>[hidden]{display:none}
`)

/** The picture. It is asked for while it can be seen: not in a hidden tab, nor scrolled away. */
export function LiveFilm(facts: LiveFacts): VNode {
  // Nothing stays of the pictures that came without masks.
  return html`<${Picture} ...${facts} key=${facts.isMasked} />`
}

function Picture({ camera, profile, isMasked, label, why = null, isHeard = false, onTime }: LiveFacts): VNode {
  const box = useRef<HTMLDivElement | null>(null)
  const own = useRef<HTMLVideoElement | null>(null)
  const still = useRef<HTMLCanvasElement | null>(null)
  const [said, setSaid] = useState<Sentence>(texts.askingPicture)
  const isSeen = useIsSeen(box)
  const isAsked = isSeen && why === null && !isLost.value
  const hear = useRef(onTime)
  hear.current = onTime
  useEffect(() => {
    if (own.current) own.current.muted = !isHeard
  }, [isHeard])
  useEffect(() => {
    const [video, canvas] = [own.current, still.current]
    if (!video || !canvas || !isAsked) return
    const common = { say: setSaid, onTime: (atMs: number) => hear.current?.(atMs) }
    const player = isMasked
      ? playPictures({ ...common, canvas, camera, isTile: profile === 'sub' })
      : playLive({ ...common, video, path: livePath(camera, profile, isHeard), keep: () => keepStill(video, canvas) })
    return () => player.end()
  }, [camera, profile, isHeard, isAsked])
  const isNamed = isMasked && label !== undefined
  return html`<div class="live" ref=${box}><canvas ref=${still} role=${isNamed ? 'img' : undefined} aria-label=${isNamed ? label : undefined} aria-hidden=${!isNamed}></canvas>
    <video ref=${own} hidden=${isMasked} aria-label=${label} aria-hidden=${label === undefined} muted playsinline disablepictureinpicture disableremoteplayback></video>
    <div class="said">${why ?? said}</div></div>`
}

/** Whether a part of it is on the screen of a visible tab. */
function useIsSeen(of: { current: HTMLElement | null }): boolean {
  const [isOnScreen, setOnScreen] = useState(false)
  const [isVisible, setVisible] = useState(!document.hidden)
  useEffect(() => {
    const watch = new IntersectionObserver((entries) => setOnScreen(entries.at(-1)?.isIntersecting === true))
    if (of.current) watch.observe(of.current)
    const look = () => setVisible(!document.hidden)
    document.addEventListener('visibilitychange', look)
    return () => {
      watch.disconnect()
      document.removeEventListener('visibilitychange', look)
    }
  }, [])
  return isOnScreen && isVisible
}

/** Waits before it is asked for again; the last one repeats. */
const AGAIN_MS: readonly number[] = [500, 1000, 2000, 5000, 10_000]
/** A camera that shows nothing for so long after it was asked has sent no key frame. */
const NO_KEY_MS = 1500

interface PlayerParts {
  video: HTMLVideoElement
  /** Of the recorder's socket. */
  path: string
  say: (said: Sentence) => void
  onTime: (atMs: number) => void
  /** The picture that is shown is about to go: keeps it behind the next. */
  keep: () => void
}

/** Plays until it is ended; asks again after each cut. */
function playLive({ video, path, say, onTime, keep }: PlayerParts): { end(): void } {
  let socket: WebSocket | undefined
  let film: MediaFilm | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let isOver = false
  let tries = 0

  function closeFilm(): void {
    keep()
    film?.close()
    film = undefined
  }

  function begin(facts: FilmFacts): void {
    closeFilm()
    if (canPlay(facts)) film = openFilm(video, facts, { onTime, onShown, onBroken: () => socket?.close() })
    else {
      say(texts.codecNotPlayed(facts.mime.replace(/.*"(.*)"/, '$1')))
      tries = AGAIN_MS.length
      socket?.close()
    }
  }

  function onShown(): void {
    tries = 0
    clearTimeout(timer)
    say(null)
  }

  /** @param reason of the recorder; null if it did not let us in: then it is asked why */
  async function again(reason: string | null): Promise<void> {
    clearTimeout(timer)
    const wasShown = film?.isShown() === true
    closeFilm()
    const why = reason ?? (await whyNotLive(path).catch(() => null))
    if (isOver) return
    if (why) say(texts.askedAgain(why))
    else if (wasShown) say(texts.pictureBrokeOff)
    timer = setTimeout(open, AGAIN_MS[Math.min(tries++, AGAIN_MS.length - 1)])
  }

  function open(): void {
    socket = openSocket(path, {
      onOpen() {
        timer = setTimeout(() => say(texts.waitsForKey), NO_KEY_MS)
      },
      onFacts: begin,
      onBytes: (bytes) => film?.add(bytes),
      onClose: (reason) => void again(reason),
    })
  }

  say(texts.askingPicture)
  open()
  return {
    end() {
      isOver = true
      clearTimeout(timer)
      closeFilm()
      if (socket) socket.onclose = null
      socket?.close()
    },
  }
}

interface SocketHearers {
  onOpen: () => void
  onFacts: (facts: FilmFacts) => void
  onBytes: (bytes: Uint8Array<ArrayBuffer>) => void
  /** @param reason null if it was not opened */
  onClose: (reason: string | null) => void
}

function openSocket(path: string, { onOpen, onFacts, onBytes, onClose }: SocketHearers): WebSocket {
  const url = new URL(path, location.href)
  url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:'
  const socket = new WebSocket(url)
  let isOpen = false
  socket.binaryType = 'arraybuffer'
  socket.onopen = () => {
    isOpen = true
    onOpen()
  }
  socket.onmessage = ({ data }) =>
    typeof data === 'string' ? onFacts(JSON.parse(data) as FilmFacts) : onBytes(new Uint8Array(data as ArrayBuffer))
  socket.onclose = ({ reason }) => onClose(isOpen ? reason : null)
  return socket
}
