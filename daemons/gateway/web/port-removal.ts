/** The removal of one port. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Act } from '#kit/web/button.ts'
import { sentenceOf } from '#kit/web/call.ts'
import { Confirm } from '#kit/web/dialog.ts'
import { html } from '#kit/web/html.ts'
import { goTo } from '#kit/web/route.ts'
import { toast } from '#kit/web/toast.ts'
import { api, type Port } from './api.ts'
import { Switch } from './port-head.ts'
import { lookAtPorts } from './state.ts'
import { nameOf } from './words.ts'

/** Removes the port, after asking; on phones it also closes it. */
export function Removal({ port }: { port: Port }): VNode {
  const [isAsked, setAsked] = useState(false)
  const name = nameOf(port.path)
  async function run(): Promise<void> {
    try {
      await api.removePort(port.path)
      await lookAtPorts()
      toast(`${name} is removed.`)
      goTo('ports')
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
  }
  const hooks = port.webhooks > 0 ? ` and ${port.webhooks === 1 ? 'its webhook' : `its ${port.webhooks} webhooks`}` : ''
  const text = `It is closed, and its settings, its points${hooks} are forgotten. The line itself stays in the list as long as it is plugged in.`
  return html`<div class="end">${port.state === 'closed' ? null : html`<span class="thumb"><${Switch} port=${port} /></span>`}<${Act} kind="danger" run=${() => setAsked(true)}>Remove port</${Act}></div>
    ${isAsked ? html`<${Confirm} title=${`Remove ${name}?`} text=${text} act="Remove port" keep="Keep port" run=${() => void run()} close=${() => setAsked(false)} />` : null}`
}
