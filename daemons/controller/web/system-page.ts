/** The system page: the REST switch, updates, backups, what is found on the network, and what of the site has no effect. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { NoContact, sentenceOf } from '#kit/web/call.ts'
import { isLost } from '#kit/web/contact.ts'
import { html } from '#kit/web/html.ts'
import { firstAnswer, lazy } from '#kit/web/lazy.ts'
import { count } from '#kit/web/numbers.ts'
import { chip, lamp } from '#kit/web/parts.ts'
import { api, type NotDrivenRows, type Rest } from './api.ts'
import { FoundPanel } from './found-panel.ts'
import * as texts from './texts.ts'

const BackupPanel = lazy(async () => (await import('./backup-panel.ts')).BackupPanel)

const UpdatePanel = lazy(async () => (await import('./update-panel.ts')).UpdatePanel)

const RESTART = 'systemctl restart plantroom-controller'

export function SystemPage(): VNode {
  const [rest, setRest] = useState<Rest | null>(null)
  const [refused, setRefused] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const [left, setLeft] = useState<NotDrivenRows | null>(null)
  async function ask(what: () => Promise<Rest>): Promise<void> {
    setBusy(true)
    try {
      setRest(await what())
      setRefused(null)
    } catch (thrown) {
      // A failed read is repeated when contact is back; a failed action must be reported.
      if (rest !== null || !(thrown instanceof NoContact)) setRefused(sentenceOf(thrown))
    }
    setBusy(false)
  }
  const isBack = !isLost.value
  useEffect(() => {
    if (!isBack) return
    void ask(api.rest)
    // If this cannot be read, the panel stays away: the switch above says why.
    api.notDriven().then(setLeft, () => {})
  }, [isBack])
  return html`<div class="head"><h1>System</h1></div>
    <section class="panel narrow-panel" aria-label="REST API"><header><h2>REST API</h2>
      ${rest ? chip(rest.running ? 'ok' : 'off', rest.running ? texts.systemRuns : texts.off) : null}</header>
      ${rest ? body(rest, { refused, isBusy, flip: () => void ask(() => api.setRest(!rest.enabled)) }) : firstAnswer(refused, texts.askingWhatIsSet, texts.switchCouldNotBeRead, () => void ask(api.rest))}</section>
    <${UpdatePanel} />
    <${BackupPanel} />
    <${FoundPanel} />
    ${left === null ? null : notDrivenPanel(left)}`
}

/** Rows of the site that have no effect yet. */
function notDrivenPanel({ rows, count: all }: NotDrivenRows): VNode {
  const head = html`<header><h2>Not driven</h2>${chip(all === 0 ? 'ok' : 'warn', all === 0 ? texts.nothing : count(all))}</header>`
  if (all === 0)
    return html`<section class="panel narrow-panel" aria-label="Not driven">${head}<p class="in soft">Everything that the site says has its effect.</p></section>`
  const more = all > rows.length ? html`<p class="in small soft">And ${count(all - rows.length)} more.</p>` : null
  return html`<section class="panel narrow-panel" aria-label="Not driven">${head}
    <p class="in soft">The site says this, it is kept, and nothing here does it yet.</p>
    <table class="table fold"><thead><tr><th>Row</th><th>Why</th></tr></thead>
    <tbody>${rows.map(({ row, why }) => html`<tr key=${`${row} ${why}`}><td class="name">${row}</td><td class="setup">${why}</td></tr>`)}</tbody></table>${more}</section>`
}

interface Switching {
  refused: string | null
  isBusy: boolean
  flip(): void
}

/** Both lines at the foot are always present, so that the switch does not move. */
function body({ enabled, running, waits_for_restart: waits }: Rest, { refused, isBusy, flip }: Switching): VNode {
  return html`<div class="in stack">
    <label class="switch"><input type="checkbox" role="switch" checked=${enabled} disabled=${isBusy || isLost.value} onChange=${flip} />
      Other systems may use the REST API</label>
    <p class="soft">Other systems sign in at <code>/api/token</code>, read zones and devices, and send commands and macros, each within the roles of its account. Off, everything under <code>/api</code> but health and version answers “rest api disabled”. These pages work either way.</p>
    <p class="rest-note" role="status" data-s=${refused ? 'fault' : waits ? 'warn' : undefined}>${note({ enabled, running, waits }, refused)}</p></div>`
}

function note(
  { enabled, running, waits }: { enabled: boolean; running: boolean; waits: boolean },
  refused: string | null,
): VNode {
  if (refused !== null) return html`${lamp('fault')}<span>Not saved: ${refused}</span>`
  if (!waits)
    return html`<span>It ${running ? texts.itRuns : texts.isOff}, as it is set. A change takes effect after a restart.</span>`
  return html`${lamp('warn')}<span>Set to ${enabled ? 'on' : 'off'}; until the controller restarts it stays ${running ? 'on' : 'off'}: <code>${RESTART}</code></span>`
}
