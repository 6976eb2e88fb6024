/** All lines: the verdict on them, then one row each, with those that need attention on top. */
import type { VNode } from 'preact'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { input, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { count, fixed, UNKNOWN } from '#kit/web/numbers.ts'
import { lamp, say, verdict } from '#kit/web/parts.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { followRow, walkRows } from '#kit/web/tools.ts'
import type { Port } from './api.ts'
import { isAdmin, loadsOf, ports, recentMean, samples } from './state.ts'
import * as texts from './texts.ts'
import { deviceOf, judgePorts, setupOf, shortPath, sortPorts, stateOf } from './words.ts'

/** Selects the links of the rows. */
const LINKS = '.lines td.name a'

/** The page of all lines. */
export function PortsPage(): VNode {
  const known = ports.value
  useKeys(texts.ports, [
    { key: 'ArrowDown', what: texts.nextLine, run: () => walkRows(LINKS, 1) },
    { key: 'ArrowUp', what: texts.lineBefore, run: () => walkRows(LINKS, -1) },
    { key: 'Enter', what: texts.opensLine, run: () => false },
    { key: 'n', what: texts.setsUpLine, run: setUpChosen },
  ])
  if (!known) {
    const wait = say('busy', texts.askingGatewayForLines, texts.usuallyBrief)
    return html`<div class="head"><h1>Ports</h1></div><section class="panel">${wait}</section>`
  }
  const judged = judgePorts(known, { nowMs: daemonNow(), zone: zone.value })
  return html`<h1 class="sr">Ports</h1>${verdict(judged)}
    ${known.length === 0 ? empty() : table(sortPorts(known))}
    ${isAdmin.value ? html`<${OtherPath} />` : null}`
}

/** Sets up a line by its path, if the system does not list it. */
function OtherPath(): VNode {
  const form = useForm({ path: '' })
  function submit(event: Event): void {
    event.preventDefault()
    const path = String(form.values.value.path).trim()
    if (path !== '') goTo('port', path, 'settings')
  }
  return html`<details class="other"><summary>A line that is not listed</summary>
    <form class="name-row" onSubmit=${submit} novalidate>
      ${input({ form, name: 'path', label: texts.devicePath, mono: true, placeholder: '/dev/ttyS4', kind: 'most', hint: texts.pathHint })}
      <button class="btn" type="submit">Set up</button></form></details>`
}

function empty(): VNode {
  const text = texts.plugAnAdapterIn
  return html`<section class="panel">${say('off', texts.noSerialLine, text)}</section>`
}

function table(sorted: readonly Port[]): VNode {
  return html`<section class="panel" aria-label="Lines"><table class="table fold lines">
    <thead><tr><th><span class="sr">State</span></th><th>Line</th><th>Set up as</th><th>State</th>
      <th class="n">Load</th><th class="n">Units</th><th class="n">Errors/h</th></tr></thead>
    <tbody>${sorted.map((port) => row(port))}</tbody></table></section>`
}

function row(port: Port): VNode {
  const { lit, word } = stateOf(port, daemonNow(), zone.value)
  const device = deviceOf(port)
  const isOld = port.state === 'absent'
  const href = port.configured || !isAdmin.value ? linkTo('port', port.path) : linkTo('port', port.path, 'settings')
  const setup = setupOf(port)
  const act = port.configured || !isAdmin.value ? null : html`<span class="invite">Set up</span>`
  return html`<tr class=${isOld ? 'stale' : ''} key=${port.path} onClick=${(event: Event) => followRow(event, href)}>
    <td class="lit">${lamp(lit)}</td>
    <td class="name"><a href=${href} data-path=${port.path}><b>${shortPath(port.path)}</b></a>
      <span class="under">${device || port.path}</span></td>
    <td class=${setup ? 'setup' : 'setup faint'}>${setup ?? act ?? texts.notSetUp}</td>
    <td class=${isOld ? 'state age' : 'state'} data-s=${lit}>${word}</td>
    <td class="n load">${load(port)}</td>
    <td class="n wide">${units(port)}</td>
    <td class="n wide" data-s=${port.errorsLastHour && port.state === 'open' ? 'warn' : undefined}>${errors(port)}</td></tr>`
}

function load(port: Port): Child {
  const percent = port.state === 'open' ? recentMean(loadsOf(samples.value.get(port.path) ?? [], port)) : null
  return percent === null
    ? html`<span class="faint">${UNKNOWN}</span>`
    : html`${fixed(percent, 0)} <span class="unit">%</span>`
}

/** `6 of 8` units are well; unknown if the line is not open or its protocol has no units. */
function units(port: Port): Child {
  if (port.state !== 'open' || !port.units || port.units.total === 0) return html`<span class="faint">${UNKNOWN}</span>`
  return `${port.units.well} of ${port.units.total}`
}

/** Errors within the last hour: missing replies, damaged frames, refused sends. */
function errors({ errorsLastHour, configured, state }: Port): Child {
  return configured && state !== 'closed' ? count(errorsLastHour) : html`<span class="faint">${UNKNOWN}</span>`
}

function setUpChosen(): boolean {
  const path = (document.activeElement as HTMLElement | null)?.dataset.path
  const spare = path ?? ports.value?.find((port) => !port.configured)?.path
  if (spare === undefined || !isAdmin.value) return false
  goTo('port', spare, 'settings')
  return true
}
