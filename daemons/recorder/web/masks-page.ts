/** Privacy masks of a camera, drawn over its picture: by mouse, by touch, by keys, or in numbers. */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { sentenceOf } from '#kit/web/call.ts'
import { html } from '#kit/web/html.ts'
import { Act, icon, lamp, say, toast } from '#kit/web/parts.ts'
import { guardEdits, linkTo } from '#kit/web/route.ts'
import { adoptStyle } from '#kit/web/style.ts'
import { api, type Camera, type Mask } from './api.ts'
import { CornerFields, Drawing } from './mask-drawing.ts'
import { type Corner, LEAST_CORNERS, MOST_CORNERS, MOST_MASKS, rectangle, withCornerBehind } from './mask-shapes.ts'
import { Still } from './stage.ts'
import { look } from './state.ts'
import * as texts from './texts.ts'

adoptStyle(`
.masks{--side:22rem}
.masks .row{display:flex;flex-wrap:wrap;align-items:center;gap:var(--s2)}
.masks .row>:last-child{margin-left:auto}
.masks li+li{border-top:1px solid var(--line);padding-top:var(--s2);margin-top:var(--s2)}
.masks .row>.btn[aria-pressed]{flex:1;justify-content:start}
`)

/** Where the first one is put. */
const FIRST: [Corner, Corner] = [
  [0.35, 0.35],
  [0.65, 0.65],
]

/** The page. */
export function MasksPage({ camera }: { camera: Camera }): VNode {
  const [saved, setSaved] = useState<Mask[]>(camera.masks ?? [])
  const [masks, setMasks] = useState(saved)
  const [chosen, setChosen] = useState<number | null>(saved.length > 0 ? 0 : null)
  const [refused, setRefused] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [looks, setLooks] = useState(0)
  const isChanged = masks !== saved
  const dirty = useRef(false)
  dirty.current = isChanged && !isBusy
  useEffect(() => {
    // Loaded while there is contact: without it nobody could leave the page.
    import('#kit/web/shell-dialogs.ts').catch(() => {})
    return guardEdits(() => dirty.current)
  }, [])

  function change(next: Mask[], choose: number | null = chosen): void {
    setMasks(next)
    setChosen(choose !== null && choose < next.length ? choose : null)
    setRefused('')
  }
  async function save(): Promise<void> {
    setBusy(true)
    try {
      await api.changeCamera(camera.id, { masks })
      setSaved(masks)
      toast(texts.masksAreSaved(masks.length))
      setLooks(looks + 1)
      await look()
    } catch (thrown) {
      setRefused(sentenceOf(thrown))
    } finally {
      setBusy(false)
    }
  }
  const add = () => change([...masks, rectangle(...FIRST)], masks.length)
  function remove(at: number): void {
    change(masks.toSpliced(at, 1), null)
    // What had the focus is gone.
    document.querySelector<HTMLElement>('.masks header .btn')?.focus()
  }
  const alert = html`<p class="refusal" role="alert" data-s="fault">${lamp('fault')}<span>${refused}</span></p>`
  return html`<div class="head"><h1>${texts.masksOf(camera.name)}</h1><div class="acts"><a class="btn" href=${linkTo('camera', camera.id)}>Back to the camera</a></div></div>
    <div class="cols masks"><section class="panel" aria-label="Picture">
        <${Still} camera=${camera} looks=${looks} again=${() => setLooks(looks + 1)} foot=${saidBelow}><${Drawing} masks=${masks} chosen=${chosen} change=${change} choose=${setChosen} remove=${remove} /></${Still}>
      </section>
      <section class="panel" aria-label=${texts.masks}><header><h2>${texts.masks}</h2><div class="acts">
          <${Act} run=${add} waits=${masks.length >= MOST_MASKS}>Add mask</${Act}></div></header>
        ${masks.length === 0 ? say('off', texts.noMasks, texts.howToDraw) : html`<ul class="in">${masks.map((mask, at) => html`<${Row} mask=${mask} at=${at} isChosen=${at === chosen} choose=${() => setChosen(at === chosen ? null : at)} remove=${() => remove(at)} change=${(next: Mask) => change(masks.with(at, next))} key=${at} />`)}</ul>`}
        ${masks.length >= MOST_MASKS ? html`<p class="in small soft">${texts.noMoreMasks(MOST_MASKS)}</p>` : null}
        ${refused ? html`<div class="in">${alert}</div>` : null}
        <footer class="save"><${Act} run=${() => change(saved, null)} waits=${!isChanged || isBusy}>Discard</${Act}>
          <${Act} kind="primary" run=${() => void save()} waits=${!isChanged || isBusy}>Save</${Act}></footer></section></div>`
}

function saidBelow(why: string | null): string {
  return why === null ? texts.behindIsBlack : `${why} ${texts.drawAllTheSame}`
}

interface RowFacts {
  mask: Mask
  at: number
  isChosen: boolean
  choose: () => void
  remove: () => void
  change: (mask: Mask) => void
}

/** One mask; the chosen one with its corners in numbers. */
function Row({ mask, at, isChosen, choose, remove, change }: RowFacts): VNode {
  const name = texts.maskNumber(at)
  const corners = html`<${CornerFields} mask=${mask} change=${change}
    add=${mask.length < MOST_CORNERS ? (corner: number) => change(withCornerBehind(mask, corner)) : null}
    remove=${mask.length > LEAST_CORNERS ? (corner: number) => change(mask.toSpliced(corner, 1)) : null} />`
  return html`<li><div class="row"><button class="btn quiet" type="button" aria-pressed=${isChosen} onClick=${choose}>${name}<span class="soft">${texts.corners(mask.length)}</span></button>
      <button class="btn quiet icon" type="button" aria-label=${texts.removeMask(at)} onClick=${remove}>${icon('close')}</button></div>
    ${isChosen ? corners : null}</li>`
}
