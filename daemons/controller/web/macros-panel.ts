/** Macros with a button each, and what came of a run. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Act } from '#kit/web/button.ts'
import { html } from '#kit/web/html.ts'
import { type Lit, lamp } from '#kit/web/lamp.ts'
import { daemonNow, zone } from '#kit/web/now.ts'
import { many, timeOf } from '#kit/web/numbers.ts'
import type { MacroView } from '../core/macro-list.ts'
import { api } from './api.ts'
import { commandSentence, failedSteps, stepsOfFault } from './command-words.ts'

/** The panel. */
export function MacrosPanel({ macros }: { macros: readonly MacroView[] }): VNode {
  return html`<section class="panel macros" aria-label="Macros"><header><h2>Macros</h2></header>
    <ul>${macros.map((macro) => html`<${MacroRow} macro=${macro} key=${macro.id} />`)}</ul></section>`
}

interface Told {
  lit: Lit
  text: string
  /** Steps that failed, a line each. */
  steps: readonly string[]
}

function MacroRow({ macro }: { macro: MacroView }): VNode {
  const [told, setTold] = useState<Told | null>(null)
  const [isBusy, setBusy] = useState(false)
  async function run(): Promise<void> {
    setBusy(true)
    setTold({ lit: 'busy', text: 'Runs.', steps: [] })
    try {
      const { state, steps = [] } = await api.macro(macro.id)
      const at = timeOf(daemonNow(), zone.value)
      const failed = failedSteps(steps)
      if (state === 'running' || state === 'queued')
        setTold({ lit: 'busy', text: `Still runs; begun before ${at}.`, steps: [] })
      else if (failed.length > 0)
        setTold({ lit: 'warn', text: `Ended at ${at}, with ${many(failed.length, 'failed step')}.`, steps: failed })
      else setTold({ lit: 'ok', text: `Ran, ended at ${at}.`, steps: [] })
    } catch (thrown) {
      setTold({ lit: 'fault', text: commandSentence(thrown), steps: stepsOfFault(thrown) })
    }
    setBusy(false)
  }
  return html`<li><div><b>${macro.name}</b><p class="small soft">${macro.description}</p>
    <p class="small told" role="status" data-s=${told?.lit}>${told ? html`${lamp(told.lit)} ${told.text}` : null}</p>
    ${told && told.steps.length > 0 ? html`<ul class="small failed-steps" aria-label="Steps that failed">${told.steps.map((step) => html`<li key=${step}>${step}</li>`)}</ul>` : null}</div>
    <${Act} waits=${isBusy} label=${`Run ${macro.name}`} run=${() => void run()}>Run</${Act}></li>`
}
