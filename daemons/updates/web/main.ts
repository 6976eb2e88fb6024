/** Draws the page of the update server: what it is, and how to install from it. */
import { render } from 'preact'
import { call } from '#kit/web/call.ts'
import { html } from '#kit/web/html.ts'
import { atPlainAddress } from '#kit/web/route.ts'
import { plate } from '#kit/web/shell.ts'
import * as texts from './texts.ts'

interface Status {
  name: string
  version: string
}

function page({ name, version }: Status) {
  const command = `curl -fsSL ${location.origin}/install.sh | sudo sh`
  return html`<main class="alone" id="main"><div class="alone-in">
    ${plate({ role: texts.role, name, address: location.host })}
    <section class="panel"><div class="in stack"><h1>${texts.role}</h1><p>${texts.install}</p>
      <pre class="mono">${command}</pre></div></section>
    <p class="faint small">${texts.version(version)}</p></div></main>`
}

atPlainAddress(() => {
  document.title = texts.role
  void call<Status>('GET /api/status').then((status) => render(page(status), document.body))
})
