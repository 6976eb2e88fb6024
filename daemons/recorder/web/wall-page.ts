/** The wall: every camera as it is now, in tiles; the layout stays in this browser. */
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { segments } from '#kit/web/figures.ts'
import { html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { firstWait } from '#kit/web/lazy.ts'
import { lamp, say, verdict } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import { adoptStyle } from '#kit/web/style.ts'
import type { Camera } from './api.ts'
import { judgeCameras, litOf, stateText, type When, whyNoPicture } from './camera-words.ts'
import { LiveFilm } from './live-film.ts'
import { cameras, isAdmin } from './state.ts'
import * as texts from './texts.ts'

const KEPT = 'plantroom.wall-columns'
/** As many columns as fit, or so many. */
const COLUMNS = ['auto', '1', '2', '3', '4', '6'] as const

const columns = signal(localStorage.getItem(KEPT) ?? 'auto')

adoptStyle(`
.wall{display:grid;gap:var(--s2);grid-template-columns:repeat(auto-fit,minmax(min(100%,17rem),1fr))}
.wall[data-columns]{grid-template-columns:repeat(var(--columns),minmax(0,1fr))}
.tile{position:relative;display:block;color:inherit;text-decoration:none;background:#000;border-radius:var(--radius);overflow:clip}
.tile:focus-visible{outline:3px solid var(--accent);outline-offset:1px}
.tile>.tag{position:absolute;z-index:2;left:0;bottom:0;display:flex;align-items:center;gap:.4rem;max-width:100%;padding:.2rem .6rem .2rem .45rem;border-top-right-radius:var(--radius);background:var(--panel);color:var(--ink);font-size:var(--t-small)}
.tile>.tag>b{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.to-plan{margin-left:auto}
@container app (max-width: 44rem){.wall[data-columns]{grid-template-columns:repeat(min(2,var(--columns)),minmax(0,1fr))}.columns label:nth-child(n+4){display:none}}
`)

/** The page. */
export function WallPage(): VNode {
  const known = cameras.value
  useKeys(texts.wall, [
    ...COLUMNS.slice(1).map((count) => ({ key: count, what: texts.inColumns(count), run: () => choose(count) })),
    { key: '0', what: texts.inColumns('auto'), run: () => choose('auto') },
  ])
  if (known === null)
    return html`<h1 class="sr">Wall</h1><section class="panel">${firstWait('recorder', texts.askingRecorder)}</section>`
  if (known.length === 0) return nothingYet()
  const when = { nowMs: daemonNow(), zone: zone.value }
  const isAuto = columns.value === 'auto'
  const shown = known.toSorted((a, b) => a.name.localeCompare(b.name))
  const more = html`<a class="btn to-plan" href=${linkTo('plan')}>${texts.plan}</a><a class="btn" href=${linkTo('actions')}>${texts.buttonsAndAlerts}</a>`
  return html`<div class="head"><h1 class="sr">Wall</h1>${verdict(judgeCameras(known, when))}${more}${choice()}</div>
    <div class="wall" data-columns=${isAuto ? undefined : columns.value} style=${isAuto ? undefined : { '--columns': columns.value }}>
      ${shown.map((camera) => html`<${Tile} camera=${camera} when=${when} key=${camera.id} />`)}</div>`
}

function nothingYet(): VNode {
  const add = isAdmin.value ? html`<a class="btn primary" href=${linkTo('cameras', 'new')}>Add camera</a>` : null
  const how = isAdmin.value ? texts.howToAdd : texts.askAnAdministrator
  return html`<h1 class="sr">Wall</h1><section class="panel">${say('off', texts.noCameras, how, add)}</section>`
}

function choose(count: string): undefined {
  columns.value = count
  localStorage.setItem(KEPT, count)
}

function choice(): VNode {
  const options = COLUMNS.map((count) => [count, count === 'auto' ? texts.auto : count] as const)
  return html`<div class="columns">${segments({ label: texts.columns, name: 'columns', value: columns.value, options, choose })}</div>`
}

/** One camera. It leads to its page. */
function Tile({ camera, when }: { camera: Camera; when: When }): VNode {
  const { id, name } = camera
  return html`<a class="tile" href=${linkTo('camera', id)}>
    <span class="tag">${lamp(litOf(camera))}<b>${name}</b><span class="sr">${stateText(camera, when)}</span></span>
    <${LiveFilm} camera=${id} profile="sub" isMasked=${camera.masked} why=${whyNoPicture(camera, when)} /></a>`
}
