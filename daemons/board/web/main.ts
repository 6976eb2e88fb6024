/** Starts the board's pages. */
import { signal } from '@preact/signals'
import { render } from 'preact'
import { html } from '#kit/web/html.ts'
import { say } from '#kit/web/lamp.ts'

const verdict = signal(say('busy', 'Asking the board how it is', 'This usually takes less than a second.'))

async function look(): Promise<void> {
  const answer = await fetch('/api/status').catch(() => undefined)
  if (!answer?.ok) {
    verdict.value = say('warn', 'No contact with this board', 'Load this page again once the board has power.')
    return
  }
  const { verdict: found, hostname } = await answer.json()
  verdict.value = say(found.state, found.text, hostname)
}

function App() {
  return html`<main class="alone" id="main"><h1 class="sr">Plantroom board</h1><div class="panel alone-in">${verdict.value}</div></main>`
}

render(html`<${App} />`, document.body)
void look()
