/** The macros page: what can run, what ran last; a macro opens in its editor, a run in its trace. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { firstAnswer, lazy } from '#kit/web/lazy.ts'
import { sinceText } from '#kit/web/numbers.ts'
import { lamp, say, verdict } from '#kit/web/parts.ts'
import { goTo, linkTo, place } from '#kit/web/route.ts'
import { followRow, matches, Tools, walkRows } from '#kit/web/tools.ts'
import type { MacroLine } from '../core/surfaces.ts'
import { macroApi } from './macro-api.ts'
import { macrosVerdict, runLit, runWord } from './macro-words.ts'
import { pendingCount } from './state.ts'
import * as texts from './texts.ts'
import './macro-style.ts'

const MacroEditor = lazy(async () => (await import('./macro-form.ts')).MacroEditor)
const RunsPage = lazy(async () => (await import('./macro-runs.ts')).RunsPage)
const RunPage = lazy(async () => (await import('./macro-runs.ts')).RunPage)

const LOOK_MS = 5000
const ROW_LINKS = '.rows a[data-row]'

/** `#/macros`, `#/macros/5`, `#/macros/new`, `#/macros/5/runs`, `#/macros/5/runs/88`. */
export function MacrosPage(): VNode {
  const [, which, part, run] = place.value
  if (which === undefined) return html`<${MacroList} />`
  if (part === 'runs' && run !== undefined) return html`<${RunPage} key=${run} id=${Number(run)} />`
  if (part === 'runs') return html`<${RunsPage} key=${which} macroId=${Number(which)} />`
  return html`<${MacroEditor} key=${which} which=${which} />`
}

function MacroList(): VNode {
  const [macros, setMacros] = useState<readonly MacroLine[] | null>(null)
  const [filter, setFilter] = useState('')
  const look = useLook(async () => setMacros((await macroApi.list()).macros), LOOK_MS)
  useEffect(() => void look.again(), [pendingCount.value])
  useKeys(texts.macros, [
    { key: 'n', what: texts.newMacroKey, run: () => goTo('macros', 'new') as undefined },
    { key: 'ArrowDown', what: texts.nextRowKey, run: () => walkRows(ROW_LINKS, 1) },
    { key: 'ArrowUp', what: texts.rowBeforeKey, run: () => walkRows(ROW_LINKS, -1) },
  ])
  if (macros === null)
    return html`<div class="head"><h1>Macros</h1></div><section class="panel">${firstAnswer(look.refused, texts.askingForMacros, texts.macrosCouldNotBeRead)}</section>`
  const shown = macros.filter(({ name, description }) => matches(`${name} ${description ?? ''}`, filter))
  return html`<h1 class="sr">Macros</h1>${verdict(macrosVerdict(macros, daemonNow(), zone.value))}
    <section class="panel" aria-label=${texts.macros}>
      <${Tools} filter=${filter} setFilter=${setFilter} label=${texts.filterMacros}>
        <a class="btn primary" href=${linkTo('macros', 'new')}>${texts.newMacro}</a></${Tools}>
      ${list(shown, filter)}</section>`
}

function list(macros: readonly MacroLine[], filter: string): VNode {
  if (macros.length === 0)
    return filter === ''
      ? say('off', texts.noMacrosYet, texts.addAMacro)
      : say('off', texts.noRowMatches(filter), texts.escShowsAll)
  return html`<table class="table fold rows"><thead><tr><th><span class="sr">State</span></th><th>Name</th><th>What it is</th><th>Last run</th></tr></thead>
    <tbody>${macros.map(rowOf)}</tbody></table>`
}

function rowOf(macro: MacroLine): VNode {
  const { id, name, description, pending, last, enabled, flaw, steps } = macro
  const href = linkTo('macros', String(id))
  const lit = flaw !== null ? 'fault' : enabled ? 'ok' : 'off'
  const word = flaw !== null ? texts.cannotRun : enabled ? texts.canRun : texts.isSwitchedOff
  const waits = pending === null ? null : html`<span class="under" data-s="warn">${PENDING[pending]}</span>`
  const facts = [texts.stepsOfMacro(steps), description].filter((each) => each !== null).join(', ')
  return html`<tr key=${id} onClick=${(event: Event) => followRow(event, href)}>
    <td class="lit">${lamp(lit, word)}</td>
    <td class="name"><a href=${href} data-row><b>${pending === 'remove' ? html`<del>${name}</del>` : name}</b></a></td>
    <td class="setup">${facts}${flaw === null ? null : html`<span class="under" data-s="fault">${flaw}</span>`}${waits}</td>
    <td class="when">${last === null ? html`<span class="faint">${texts.neverRan}</span>` : lastRun(last)}</td></tr>`
}

const PENDING = { add: texts.newWaits, change: texts.changeWaits, remove: texts.goesWithApplyAll } as const

function lastRun({ id, macro_id: macroId, started_at: at, result }: NonNullable<MacroLine['last']>): VNode {
  const href = linkTo('macros', String(macroId), 'runs', String(id))
  return html`<a href=${href} class="last-run">${lamp(runLit(result))}<span>${runWord(result)}, ${sinceText(at, daemonNow(), zone.value)}</span></a>`
}
