/** A camera as it is now as one JPEG after the other: with privacy masks there is no other live picture. */
import { CallFault } from '#kit/web/call.ts'
import { picturesPath } from './api.ts'
import { createPartReader, type JpegPart } from './jpeg-parts.ts'
import * as texts from './texts.ts'

/** A browser opens six connections to one host, and the calls of the page need some. */
const AT_ONCE = 3
/** Where more tiles wait than that, each shows its camera for so long before another has its turn. */
const TURN_MS = 1000
/** Waits before it is asked for again; the last one repeats. */
const AGAIN_MS: readonly number[] = [500, 1000, 2000, 5000, 10_000]
/** A stream without a picture for so long is asked for again. */
const SILENT_MS = 15_000
const TOLD_MS = 500

interface PictureFilmParts {
  canvas: HTMLCanvasElement
  camera: string
  /** A tile among others: smaller, one picture a second, and in turn where there are many. */
  isTile: boolean
  /** @param said null while a picture is shown */
  say: (said: string | null) => void
  /** When the picture that is shown was taken, epoch ms; at most twice a second. */
  onTime: (atMs: number) => void
}

/** Shows it until it is ended; asks again after each cut. */
export function playPictures(parts: PictureFilmParts): { end(): void } {
  const leaving = new AbortController()
  parts.say(texts.askingPicture)
  void showAll(parts, leaving.signal)
  return { end: () => leaving.abort() }
}

async function showAll(parts: PictureFilmParts, signal: AbortSignal): Promise<void> {
  const { isTile, say } = parts
  for (let tries = 0; !signal.aborted; ) {
    const leave = isTile ? await turns.take() : undefined
    const showing = new AbortController()
    const end = () => showing.abort()
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
    const onPicture = () => {
      tries = 0
    }
    const why = await showOne(parts, showing, onPicture).catch(() => texts.pictureBrokeOff)
    end()
    signal.removeEventListener('abort', end)
    leave?.()
    if (why === null || signal.aborted) continue
    say(why)
    await pause(AGAIN_MS[Math.min(tries++, AGAIN_MS.length - 1)] ?? 0, signal)
  }
}

/** @returns why it ended; null: another has its turn. @throws Error if the recorder was lost */
async function showOne(
  { camera, canvas, isTile, onTime, say }: PictureFilmParts,
  showing: AbortController,
  onPicture: () => void,
): Promise<string | null> {
  const begunMs = performance.now()
  let silent = setTimeout(() => showing.abort(), SILENT_MS)
  let toldMs = Number.NEGATIVE_INFINITY
  try {
    const reply = await fetch(picturesPath(camera, isTile ? 'sub' : 'main'), { signal: showing.signal })
    if (!reply.ok || !reply.body) return texts.askedAgain(await refusalOf(reply))
    const reader = reply.body.getReader()
    const read = createPartReader()
    for (;;) {
      const { value } = await reader.read()
      if (!value) return texts.pictureBrokeOff
      const part = read(value).at(-1)
      if (!part) continue
      await draw(part, canvas)
      clearTimeout(silent)
      silent = setTimeout(() => showing.abort(), SILENT_MS)
      onPicture()
      say(null)
      const nowMs = performance.now()
      if (nowMs - toldMs >= TOLD_MS) onTime(part.shownAt)
      if (nowMs - toldMs >= TOLD_MS) toldMs = nowMs
      if (isTile && turns.areWanted() && nowMs - begunMs >= TURN_MS) return null
    }
  } finally {
    clearTimeout(silent)
  }
}

/** Draws a JPEG as large as it is. */
export async function draw({ jpeg }: Pick<JpegPart, 'jpeg'>, canvas: HTMLCanvasElement): Promise<void> {
  const picture = await createImageBitmap(new Blob([jpeg], { type: 'image/jpeg' }))
  canvas.width = picture.width
  canvas.height = picture.height
  canvas.getContext('2d')?.drawImage(picture, 0, 0)
  picture.close()
}

/** Why the recorder gives no picture, as it says it. */
export async function refusalOf(reply: Response): Promise<string> {
  return new CallFault(reply.status, (await reply.json().catch(() => ({}))) as Record<string, string>).message
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

const turns = createTurns(AT_ONCE)

function createTurns(most: number) {
  const waiting: (() => void)[] = []
  let taken = 0

  function next(): void {
    while (taken < most && waiting.length > 0) {
      taken++
      waiting.shift()?.()
    }
  }

  return {
    /** Who left meanwhile takes the place too, and gives it back at once. @returns gives it back */
    async take(): Promise<() => void> {
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
        next()
      })
      return () => {
        taken--
        next()
      }
    },
    areWanted: () => waiting.length > 0,
  }
}
