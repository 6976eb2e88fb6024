/** What is drawn on: what a camera shows now, with whatever lies over it; and how spots on it are moved. */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { html } from '#kit/web/html.ts'
import { Act } from '#kit/web/parts.ts'
import { adoptStyle } from '#kit/web/style.ts'
import { type Camera, stillPath } from './api.ts'
import { draw, refusalOf } from './picture-film.ts'
import * as texts from './texts.ts'

adoptStyle(`
.stage{position:relative;display:grid;background:#000;aspect-ratio:var(--ratio);width:min(100%,calc(var(--ratio)*max(15rem,100dvh - 17rem)));margin:0 auto}
.stage>*{grid-area:1/1;width:100%;height:100%;min-width:0;min-height:0}
.drawing{position:relative;touch-action:none;cursor:crosshair;user-select:none}
.drawing.rests{cursor:default;touch-action:pan-y}
.stage.on-plan{background:#fff}
.on-plan>img{display:block}
.drawing>svg{position:absolute;inset:0;width:100%;height:100%}
.grip{position:absolute;width:1.75rem;height:1.75rem;margin:-.875rem;padding:0;border:0;background:none;color:#fff;font-size:var(--t-small);font-weight:600;touch-action:none;cursor:move}
.grip::before{content:"";position:absolute;inset:-.45rem}
.grip>span{position:relative;display:grid;place-content:center;height:100%;border-radius:50%;background:#000;border:1px solid #fff}
.grip.corner>span{margin:.375rem;height:1rem;background:#fff;border:3px solid var(--accent)}
.grip:focus-visible{outline:3px solid var(--accent);outline-offset:2px;border-radius:50%}
.under-stage{display:flex;flex-wrap:wrap;align-items:center;gap:var(--s2)}
.under-stage>:last-child{margin-left:auto}
`)

/** A part of the whole with each press of an arrow key; the large one with Shift. */
export const STEP = 0.01
export const LARGE_STEP = 0.1

export const ARROWS: Readonly<Record<string, readonly [x: number, y: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
}

/** Where a pointer is, in fractions of an element. */
export function fractionsOf({ clientX, clientY }: PointerEvent, element: Element | null): [number, number] {
  const { height, left, top, width } = element?.getBoundingClientRect() ?? new DOMRect(0, 0, 1, 1)
  return [(clientX - left) / width, (clientY - top) / height]
}

/** The recorder has none of this camera now. */
const NO_PICTURE = 404

interface StillFacts {
  camera: Camera
  /** A further one asks for the picture again. */
  looks: number
  again: () => void
  /** What is said below. @param why there is no picture; null: there is one */
  foot: (why: string | null) => string
  children?: VNode
}

/** What the camera shows now, below what is drawn; why there is nothing, else. */
export function Still({ camera, looks, again, foot, children }: StillFacts): VNode {
  const own = useRef<HTMLCanvasElement | null>(null)
  const [said, setSaid] = useState<string | null>(texts.askingPicture)
  const [size, setSize] = useState(camera.recordProfile ?? { width: 16, height: 9 })
  useEffect(() => {
    const leaving = new AbortController()
    const shown = async (): Promise<string | null> => {
      const reply = await fetch(stillPath(camera.id), { signal: leaving.signal })
      if (reply.status === NO_PICTURE) return texts.noPictureNow
      if (!reply.ok || !own.current) return await refusalOf(reply)
      await draw({ jpeg: new Uint8Array(await reply.arrayBuffer()) }, own.current)
      setSize({ width: own.current.width, height: own.current.height })
      return null
    }
    void shown()
      .catch(() => texts.noAnswerForStill)
      .then((why) => !leaving.signal.aborted && setSaid(why))
    return () => leaving.abort()
  }, [camera.id, looks])
  return html`<div class="stage" style=${{ '--ratio': size.width / size.height }}>
      <canvas ref=${own} role="img" aria-label=${texts.stillOf(camera.name)}></canvas>
      ${children}</div>
    <footer class="small soft under-stage"><span>${foot(said)}</span><${Act} run=${again}>New picture</${Act}></footer>`
}
