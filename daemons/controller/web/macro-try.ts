/** A dry run of a macro as it is edited, which sends nothing; and running the applied one in the building. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { CallFault, sentenceOf } from '#kit/web/call.ts'
import { Confirm } from '#kit/web/dialog.ts'
import { choice, type Form, input, refusal, useForm } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { sentence } from '#kit/web/numbers.ts'
import { Act, toast, verdict } from '#kit/web/parts.ts'
import { goTo } from '#kit/web/route.ts'
import type { Json } from '../core/json.ts'
import type { Trial } from '../core/macros/past-runs.ts'
import { macroApi } from './macro-api.ts'
import { stepsTable } from './macro-runs.ts'
import { argsReferred, valueOfText } from './macro-steps.ts'
import { durationOf, runLit, runWord, sayStep } from './macro-words.ts'
import * as texts from './texts.ts'

interface TryFacts {
  /** Of the editor. */
  form: Form
  tryOut: (args: Record<string, Json>, waits: 'met' | 'expired') => Promise<Trial>
  /** The macro that is applied; null where there is none yet. */
  macro: { id: number; name: string } | null
}

export function TryOut({ form, tryOut, macro }: TryFacts): VNode {
  const own = useForm({ waits: 'met' })
  const [trial, setTrial] = useState<Trial | null>(null)
  const names = argNames(form)
  const args = (): Record<string, Json> =>
    Object.fromEntries(
      names
        .map((name): [string, Json] => [name, valueOfText(String(own.values.value[`args.${name}`] ?? ''))])
        .filter(([, value]) => value !== ''),
    )
  async function work(): Promise<void> {
    const waits = own.values.value.waits === 'expired' ? 'expired' : 'met'
    setTrial(await tryOut(args(), waits).catch((thrown) => Promise.reject(toldApart(thrown, form))))
  }
  function submit(event: Event): void {
    event.preventDefault()
    setTrial(null)
    void own.submit(work)
  }
  const options = [
    ['met', texts.waitsMet],
    ['expired', texts.waitsExpired],
  ] as const
  return html`<form class="panel try-out" onSubmit=${submit} novalidate aria-label=${texts.dryRun}>
    <header><h2>${texts.dryRun}</h2><span class="faint small later">${texts.dryRunMeans}</span></header>
    <div class="in form">${names.map((name) => input({ form: own, name: `args.${name}`, label: html`<span class="mono">${name}</span>`, hint: texts.valueHint }))}
      ${choice({ form: own, name: 'waits', label: texts.waitsAre, options })}<div class="wide">${refusal(own)}</div></div>
    <footer class="save"><${Act} type="submit" waits=${own.isBusy.value}>${texts.dryRun}</${Act}>
      ${macro ? html`<${RunNow} macro=${macro} args=${args} />` : null}</footer>
    ${trial === null ? null : html`<${TrialShown} trial=${trial} />`}</form>`
}

/** Args that the steps refer to, and those of the schema. */
function argNames(form: Form): string[] {
  const schema = String(form.values.value.args_schema ?? '')
  let declared: string[] = []
  try {
    declared = Object.keys((JSON.parse(schema) as { properties?: object }).properties ?? {})
  } catch {
    // It is told when the macro is kept.
  }
  return [...new Set([...declared, ...argsReferred(form.values.value)])]
}

/** What is wrong with the steps is told there, what is wrong with the args here. */
function toldApart(thrown: unknown, form: Form): unknown {
  const fields = thrown instanceof CallFault ? thrown.fields : []
  const theirs = fields.filter(({ field }) => field in form.values.value)
  if (theirs.length === 0) return thrown
  const told = theirs.map(({ field, message }) => [field, sentence(message)])
  form.faults.value = { ...form.faults.value, ...Object.fromEntries(told) }
  return new CallFault(400, { message: texts.mendStepsFirst })
}

function TrialShown({ trial }: { trial: Trial }): VNode {
  const { state, ended_at: at, why, sent, steps, left, names } = trial
  const isWell = state === 'done'
  const said = `${texts.wouldSend(sent.length)} ${texts.wouldEnd(runWord(state), durationOf(at))}`
  return html`<div class="in trial">${verdict({ lit: isWell ? 'ok' : runLit(state), sentence: said, why: why ?? '' })}
    ${sent.length === 0 ? null : html`<ol class="sent">${sent.map((one, n) => html`<li key=${n}><span class="when mono">${texts.sentAfter(durationOf(one.at))}</span> <span>${sayStep(one.type, one.what, names)}</span></li>`)}</ol>`}
    ${left > 0 ? html`<p class="small soft">${texts.moreSteps(left)}</p>` : null}
    <details><summary>${texts.tried}</summary>${stepsTable(steps, names)}</details></div>`
}

function RunNow({ macro, args }: { macro: { id: number; name: string }; args: () => Record<string, Json> }): VNode {
  const [isAsked, setAsked] = useState(false)
  const [isBusy, setBusy] = useState(false)
  async function run(): Promise<void> {
    setBusy(true)
    try {
      const { run_id: id, message, error } = await macroApi.start(macro.id, args())
      toast(error === undefined ? texts.runBegan : (message ?? error))
      if (typeof id === 'number') goTo('macros', String(macro.id), 'runs', String(id))
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
    setBusy(false)
  }
  return html`<span class="faint small later">${texts.runNowHint}</span><${Act} waits=${isBusy} run=${() => setAsked(true)}>${texts.runNow}</${Act}>
    ${isAsked ? html`<${Confirm} title=${texts.runNowQuestion(macro.name)} text=${texts.runNowMeans} act=${texts.runNow} keep=${texts.notYet} run=${() => void run()} close=${() => setAsked(false)} />` : null}`
}
