/** Updates: which releases there are, how far each has come, and what is done with one of them. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { copyText } from '#kit/web/copy-and-save.ts'
import { type Child, html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { firstAnswer, lazy } from '#kit/web/lazy.ts'
import { bytesText, sinceText, UNKNOWN } from '#kit/web/numbers.ts'
import { chip, lamp, say, verdict } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import { followRow, walkRows } from '#kit/web/tools.ts'
import { type Publish, type Release, releasesApi } from './api.ts'
import { health, lookAgain } from './state.ts'
import * as texts from './texts.ts'
import {
  bundleText,
  judgeReleases,
  publishedAt,
  reachText,
  releaseName,
  releaseState,
  sizeText,
  type When,
} from './words.ts'

const ReleasePanel = lazy(async () => (await import('./release-panel.ts')).ReleasePanel)

const LOOK_MS = 5000
/** While something is being published. */
const BUSY_MS = 1000
const links = '.releases .name a'

/** The page. @param id of the open release */
export function ReleasesPage({ id }: { id?: string }): VNode {
  const [all, setAll] = useState<readonly Release[] | null>(null)
  const [running, setRunning] = useState<readonly Publish[]>([])
  const { again, refused } = useLook(
    async () => {
      const [releases, publishes] = await Promise.all([releasesApi.list(), releasesApi.publishes()])
      setAll(releases)
      setRunning(publishes)
    },
    running.length > 0 ? BUSY_MS : LOOK_MS,
  )
  useKeys(texts.updates, [
    { key: 'ArrowDown', what: texts.nextRow, run: () => walkRows(links, 1) },
    { key: 'ArrowUp', what: texts.rowBefore, run: () => walkRows(links, -1) },
  ])
  if (all === null)
    return html`<h1 class="sr">Updates</h1><section class="panel">${firstAnswer(refused, texts.askingReleases, texts.releasesNotRead, () => void again())}</section>`
  const both = async (): Promise<void> => {
    await Promise.all([again(), lookAgain()])
  }
  const open = all.find((one) => one.id === id)
  const when = { nowMs: daemonNow(), zone: zone.value }
  return html`<h1 class="sr">Updates</h1>${verdict(judgeReleases(all))}${refused === null ? null : say('fault', texts.releasesNotRead, refused)}
    <div class=${id === undefined ? '' : 'cols with-form'}><div class="stack"><section class="panel" aria-label="Updates">${all.length === 0 ? publishing() : table(all, id, when)}</section>${running.length > 0 ? publishes(running) : null}</div>
      ${id === undefined ? null : open ? html`<${ReleasePanel} release=${open} again=${both} key=${id} />` : gone(id)}</div>`
}

function gone(version: string): VNode {
  const back = html`<a class="btn" href=${linkTo('updates')}>${texts.toUpdates}</a>`
  return html`<section class="panel" aria-label="Update">${say('off', texts.noSuchRelease(version), texts.itWasDeleted, back)}</section>`
}

function table(all: readonly Release[], open: string | undefined, when: When): VNode {
  return html`<table class="table fold rows no-lit releases"><thead><tr><th>Version</th><th>Published</th><th class="n wide">Size</th><th class="wide">Bundle hash</th><th>Fetched, applied</th><th>State</th></tr></thead>
    <tbody>${all.map((one) => row(one, open, when))}</tbody></table>`
}

function row(one: Release, open: string | undefined, when: When): VNode {
  const { compatible, id, version } = one
  const href = linkTo('updates', id)
  const at = publishedAt(one)
  const { lit, text } = releaseState(one)
  const bundle = bundleText(one)
  return html`<tr key=${id} class=${id === open ? 'chosen' : ''} onClick=${(event: Event) => followRow(event, href)}>
    <td class="name"><a href=${href} aria-current=${id === open || undefined} aria-label=${compatible === null ? undefined : releaseName(one)}><b>${version}</b></a><span class="under">${compatible === null ? null : html`${texts.forBoards(compatible)}, `}${texts.channelNames[one.channel]}</span></td>
    <td class="when">${at === undefined ? UNKNOWN : sinceText(at, when.nowMs, when.zone)}</td>
    <td class="n wide">${sizeText(one)}</td><td class="wide"><span class="said" data-s=${bundle.lit}>${lamp(bundle.lit)}${bundle.text}</span></td>
    <td class="setup" data-s=${one.failed > 0 ? 'warn' : undefined}>${reachText(one)}</td><td class="state">${chip(lit, text)}</td></tr>`
}

/** How one is published. */
function publishing(): VNode {
  const command = texts.publishCommand(location.origin)
  const key =
    health.value?.updateKeySet === false
      ? html`<span>${texts.noKeyYet} <a href=${linkTo('settings')}>${texts.makeKeyThere}</a></span>`
      : null
  const text: Child = html`<span class="stack ways"><span>${texts.howToPublish}</span><span class="copy"><code tabindex="0">${command}</code>
    <button class="btn" type="button" aria-label=${texts.copyCommand} onClick=${() => void copyText(command, texts.commandIsCopied)}>Copy</button></span>${key}<span>${texts.thenItIsOffered}</span></span>`
  return html`<div class="wide-say">${say('off', texts.firstIsPublished, text)}</div>`
}

/** What is being published. It stands below the rows, so that none moves when one begins. */
function publishes(running: readonly Publish[]): VNode {
  return html`<section class="panel" aria-label=${texts.beingPublished}><header><h2>${texts.beingPublished}</h2></header><ul class="came">${running.map(
    (one) => publishRow(one, releaseName(one)),
  )}</ul></section>`
}

function publishRow({ bytes, kind, size }: Publish, name: string): VNode {
  const known = size === null ? undefined : bytes
  return html`<li key=${`${kind} ${name}`} data-s="busy">${lamp('busy', true)}<span>${texts.publishOf(kind, name)}
      <progress max=${size ?? 1} value=${known} aria-label=${texts.progressOfPublish(kind, name)}></progress>
      <span class="under">${size === null ? texts.publishedSoFar(bytesText(bytes)) : texts.publishedOf(bytesText(bytes), bytesText(size))}</span></span></li>`
}
