/** Name, state and switches of one port. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Act } from '#kit/web/button.ts'
import { sentenceOf } from '#kit/web/call.ts'
import { Confirm } from '#kit/web/dialog.ts'
import { html } from '#kit/web/html.ts'
import { icon } from '#kit/web/icon.ts'
import { chip } from '#kit/web/lamp.ts'
import { daemonNow, zone } from '#kit/web/now.ts'
import { linkTo } from '#kit/web/route.ts'
import { toast } from '#kit/web/toast.ts'
import { api, type Port } from './api.ts'
import { isAdmin, lookAtPorts } from './state.ts'
import { deviceOf, nameOf, setupOf, stateOf } from './words.ts'

/** The head of the page. */
export function PortHead({ port }: { port: Port }): VNode {
  const { lit, word } = stateOf(port, daemonNow(), zone.value)
  const settings = isAdmin.value
    ? html`<a class="btn" href=${linkTo('port', port.path, 'settings')} aria-label="Settings"><span class="thumb">${icon('settings')}</span><span class="later">Settings</span></a>`
    : html`<span class="faint small later" title="Only an administrator changes settings">read only</span>`
  return html`<div class="head"><a class="btn quiet icon thumb" href=${linkTo('ports')} aria-label="All ports">${icon('back')}</a>
    <h1>${nameOf(port.path)}</h1>${chip(lit, word)}<span class="faint small later">${setupOf(port) ?? deviceOf(port)}</span>
    <div class="acts">${port.configured ? settings : null}${port.state === 'closed' ? html`<${Switch} port=${port} />` : html`<span class="later"><${Switch} port=${port} /></span>`}</div>
    <p class="meta mono">${port.byId ?? port.path}</p></div>`
}

/** Opens and closes; only what can be done now is there. */
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
  const name = nameOf(port.path)
  const text =
    'Nothing is read from it and nothing sent until it is opened again, also after a restart. Its settings, points and webhooks are kept.'
  return html`<${Act} waits=${isBusy} run=${() => (act === 'close' ? setAsked(true) : void run())}>
      ${act === 'open' ? 'Open port' : 'Close port'}</${Act}>
    ${isAsked ? html`<${Confirm} title=${`Close ${name}?`} text=${text} act="Close port" keep="Keep open" run=${() => void run()} close=${() => setAsked(false)} />` : null}`
}

async function switchPort(port: Port, act: 'open' | 'close'): Promise<void> {
  try {
    await api.switchPort(port.path, act)
    toast(act === 'open' ? `${nameOf(port.path)} is being opened.` : `${nameOf(port.path)} is closed.`)
    await lookAtPorts()
  } catch (thrown) {
    toast(sentenceOf(thrown))
  }
}
