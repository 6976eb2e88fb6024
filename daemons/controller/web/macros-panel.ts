/** Macros with a button each, and what came of a run. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Act } from '#kit/web/button.ts'
import { html } from '#kit/web/html.ts'
import { type Lit, lamp } from '#kit/web/lamp.ts'
import { daemonNow, zone } from '#kit/web/now.ts'
import { timeOf } from '#kit/web/numbers.ts'
import type { MacroView } from '../core/macro-list.ts'
import { api } from './api.ts'
import { commandSentence } from './command-words.ts'

/** The panel. */
export function MacrosPanel({ macros }: { macros: readonly MacroView[] }): VNode {
  return html`<section class="panel macros" aria-label="Macros"><header><h2>Macros</h2></header>
    <ul>${macros.map((macro) => html`<${MacroRow} macro=${macro} key=${macro.id} />`)}</ul></section>`
}

interface Told {
  lit: Lit
  text: string
}

function MacroRow({ macro }: { macro: MacroView }): VNode {
  const [told, setTold] = useState<Told | null>(null)
  const [isBusy, setBusy] = useState(false)
  async function run(): Promise<void> {
    setBusy(true)
    setTold({ lit: 'busy', text: 'Runs.' })
    try {
      const { state } = await api.macro(macro.id)
      const at = timeOf(daemonNow(), zone.value)
      setTold(
        state === 'running'
          ? { lit: 'busy', text: `Still runs; begun before ${at}.` }
          : { lit: 'ok', text: `Ran, ended at ${at}.` },
      )
    } catch (thrown) {
      setTold({ lit: 'fault', text: commandSentence(thrown) })
    }
    setBusy(false)
  }
  return html`<li><div><b>${macro.name}</b><p class="small soft">${macro.description}</p>
    <p class="small told" role="status" data-s=${told?.lit}>${told ? html`${lamp(told.lit)} ${told.text}` : null}</p></div>
    <${Act} waits=${isBusy} label=${`Run ${macro.name}`} run=${() => void run()}>Run</${Act}></li>`
}
