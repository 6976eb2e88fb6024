/** The head of the pages of one port: name, state and switches, or that there is no such line. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { sentenceOf } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { html } from '#kit/web/html.ts'
import { firstWait, lazy } from '#kit/web/lazy.ts'
import { Act, chip, icon, say, toast } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import { api, type Port } from './api.ts'
import { isAdmin, lookAtPorts, ports } from './state.ts'
import * as texts from './texts.ts'
import { deviceOf, setupOf, shortPath, stateOf } from './words.ts'

const Confirm = lazy(async () => (await import('#kit/web/dialog.ts')).Confirm)

// What the pages of one line show while the line is not known yet, and if there is none at that path.

/** The whole page without a line. @param title of the page @param path of the line, from the address */
export function noLine(title: string, path: string): VNode {
  if (ports.value === null) {
    const wait = firstWait('gateway', texts.askingGatewayForLine)
    return html`<h1 class="sr">${title}</h1><section class="panel">${wait}</section>`
  }
  const text = texts.noSuchLineText(path)
  const back = html`<a class="btn" href=${linkTo('ports')}>All ports</a>`
  return html`<div class="head"><h1>${title}</h1></div>
    <section class="panel">${say('off', texts.gatewayHasNoSuchLine, text, back)}</section>`
}

/** The head of the page of a port. */
export function PortHead({ port }: { port: Port }): VNode {
  const { lit, word } = stateOf(port, daemonNow(), zone.value)
  const settings = isAdmin.value
    ? html`<a class="btn" href=${linkTo('port', port.path, 'settings')} aria-label="Settings"><span class="thumb">${icon('settings')}</span><span class="later">Settings</span></a>`
    : html`<span class="faint small later" title="Only an administrator changes settings">read only</span>`
  return html`<div class="head"><a class="btn quiet icon thumb" href=${linkTo('ports')} aria-label="All ports">${icon('back')}</a>
    <h1>${shortPath(port.path)}</h1>${chip(lit, word)}<span class="faint small later">${setupOf(port) ?? deviceOf(port)}</span>
    <div class="acts">${port.configured ? settings : null}${port.state === 'closed' ? html`<${Switch} port=${port} />` : html`<span class="later"><${Switch} port=${port} /></span>`}</div>
    <p class="meta mono">${port.byId ?? port.path}</p></div>`
}

/** The buttons that open and close the port; only those that can be used now are shown. */
export function Switch({ port }: { port: Port }): VNode | null {
  const [isBusy, setBusy] = useState(false)
  const [isAsked, setAsked] = useState(false)
  if (!port.configured || !isAdmin.value) return null
  const act = port.state === 'closed' ? 'open' : 'close'
  async function run(): Promise<void> {
    setBusy(true)
    await switchPort(port, act)
    setBusy(false)
  }
  const name = shortPath(port.path)
  const text = texts.closingMeans
  return html`<${Act} waits=${isBusy} run=${() => (act === 'close' ? setAsked(true) : void run())}>
      ${act === 'open' ? texts.openPort : texts.closePort}</${Act}>
    ${isAsked ? html`<${Confirm} title=${texts.closeQuestion(name)} text=${text} act="Close port" keep="Keep open" run=${() => void run()} close=${() => setAsked(false)} />` : null}`
}

async function switchPort(port: Port, act: 'open' | 'close'): Promise<void> {
  try {
    await api.switchPort(port.path, act)
    toast(act === 'open' ? texts.isBeingOpened(shortPath(port.path)) : texts.isClosed(shortPath(port.path)))
    await lookAtPorts()
  } catch (thrown) {
    toast(sentenceOf(thrown))
  }
}
