/** The definitions page: which devices are spoken to how, and which definitions do not hold. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { call, useLook } from '#kit/web/call.ts'
import { html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { firstAnswer, lazy } from '#kit/web/lazy.ts'
import { listed } from '#kit/web/numbers.ts'
import { type Judgement, lamp, say, verdict } from '#kit/web/parts.ts'
import { goTo, linkTo, place } from '#kit/web/route.ts'
import { followRow, matches, Tools, walkRows } from '#kit/web/tools.ts'
import type { DefinitionLine } from '../core/drivers/definitions.ts'
import * as texts from './texts.ts'

const DefinitionEditor = lazy(async () => (await import('./definition-editor.ts')).DefinitionEditor)

const LOOK_MS = 5000
const ROW_LINKS = '.rows a[data-row]'

/** `#/definitions`, `#/definitions/pjlink-class-1`, `#/definitions/new`. */
export function DefinitionsPage(): VNode {
  const which = place.value[1]
  return which === undefined ? html`<${DefinitionList} />` : html`<${DefinitionEditor} key=${which} which=${which} />`
}

function judgement(lines: readonly DefinitionLine[]): Judgement {
  const broken = lines.filter(({ flaw }) => flaw !== null)
  const [first] = broken
  if (first)
    return { lit: 'fault', sentence: texts.definitionsBroken(broken.length), why: `${first.name}: ${first.flaw}` }
  return { lit: 'ok', sentence: texts.definitionsHold(lines.length) }
}

function DefinitionList(): VNode {
  const [lines, setLines] = useState<readonly DefinitionLine[] | null>(null)
  const [filter, setFilter] = useState('')
  const look = useLook(async () => {
    setLines((await call<{ definitions: DefinitionLine[] }>('GET /ui/definitions')).definitions)
  }, LOOK_MS)
  useKeys(texts.definitions, [
    { key: 'n', what: texts.newDefinition, run: () => goTo('definitions', 'new') as undefined },
    { key: 'ArrowDown', what: texts.nextRowKey, run: () => walkRows(ROW_LINKS, 1) },
    { key: 'ArrowUp', what: texts.rowBeforeKey, run: () => walkRows(ROW_LINKS, -1) },
  ])
  if (lines === null)
    return html`<div class="head"><h1>Definitions</h1></div><section class="panel">${firstAnswer(look.refused, texts.askingForDefinitions, texts.definitionsCouldNotBeRead)}</section>`
  const shown = lines.filter(({ name, title, devices }) =>
    matches(`${name} ${title ?? ''} ${devices.map((each) => each.name).join(' ')}`, filter),
  )
  return html`<h1 class="sr">Definitions</h1>${verdict(judgement(lines))}
    <section class="panel" aria-label=${texts.definitions}>
      <${Tools} filter=${filter} setFilter=${setFilter} label=${texts.filterDefinitions}>
        <a class="btn primary" href=${linkTo('definitions', 'new')}>${texts.newDefinition}</a></${Tools}>
      ${shown.length === 0 ? say('off', texts.noRowMatches(filter), texts.escShowsAll) : table(shown)}</section>`
}

function table(lines: readonly DefinitionLine[]): VNode {
  return html`<table class="table fold rows"><thead><tr><th><span class="sr">State</span></th><th>Name</th><th>Devices</th><th>Whose</th></tr></thead>
    <tbody>${lines.map(({ name, title, version, own, flaw, devices }) => {
      const href = linkTo('definitions', name)
      const used = devices.length === 0 ? texts.noDeviceUsesIt : listed(devices.map((each) => each.name))
      return html`<tr key=${name} onClick=${(event: Event) => followRow(event, href)}><td class="lit">${lamp(flaw === null ? 'ok' : 'fault', flaw === null ? texts.holds : texts.doesNotHold)}</td>
        <td class="name"><a href=${href} data-row><b>${title ?? name}</b></a></td>
        <td class="setup">${used}${flaw === null ? null : html`<span class="under" data-s="fault">${flaw}</span>`}</td>
        <td class="when faint">${own ? texts.ofYours : texts.ofPackage} ${version ?? ''}</td></tr>`
    })}</tbody></table>`
}
