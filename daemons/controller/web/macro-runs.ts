/** Runs of a macro: the list, and one run step by step: when, how long, and how it ended. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { CallFault, sentenceOf, useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { type Child, html } from '#kit/web/html.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { dateOf, ended, sinceText, timeOf } from '#kit/web/numbers.ts'
import { Act, type Judgement, lamp, say, toast, verdict } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import { followRow } from '#kit/web/tools.ts'
import type { RowNames } from '../core/macros/editing.ts'
import type { RunStep as MacroStepTold, RunLine, WholeRun } from '../core/macros/past-runs.ts'
import { macroApi } from './macro-api.ts'
import { durationOf, runBy, runLit, runWord, sayStep, stepEnding, stepLit, valueText } from './macro-words.ts'
import * as texts from './texts.ts'

/** A run goes on by itself. */
const LOOK_MS = 2000

/** The two parts of a macro's page. */
export function macroTabs(id: number, here: 'steps' | 'runs'): VNode {
  const link = (part: 'steps' | 'runs', href: string, label: string) =>
    html`<a class="btn" href=${href} aria-current=${part === here ? 'page' : undefined}>${label}</a>`
  return html`<nav class="acts tabs" aria-label=${texts.macros}>${link('steps', linkTo('macros', String(id)), texts.steps)}
    ${link('runs', linkTo('macros', String(id), 'runs'), texts.allRuns)}</nav>`
}

export function RunsPage({ macroId }: { macroId: number }): VNode {
  const [runs, setRuns] = useState<readonly RunLine[] | null>(null)
  const [older, setOlder] = useState<readonly RunLine[]>([])
  const [isWhole, setWhole] = useState(false)
  const look = useLook(async () => setRuns((await macroApi.runs(macroId)).runs), LOOK_MS)
  const all = [...(runs ?? []), ...older].filter(({ id }, at, list) => list.findIndex((run) => run.id === id) === at)
  async function more(): Promise<void> {
    const { runs: next } = await macroApi.runs(macroId, all.at(-1)?.id)
    setOlder([...older, ...next])
    setWhole(next.length === 0)
  }
  const name = all[0]?.macro ?? texts.macroNumber(macroId)
  const content =
    runs === null
      ? firstAnswer(look.refused, texts.askingForRuns, texts.runsCouldNotBeRead)
      : all.length === 0
        ? say('off', texts.noRunsYet, texts.noRunsYetWhy)
        : runTable(all)
  return html`<div class="head"><h1>${all.length === 0 ? texts.allRuns : texts.runsOf(name)}</h1>${macroTabs(macroId, 'runs')}</div>
    <section class="panel" aria-label=${texts.allRuns}>${content}
      ${all.length > 0 && !isWhole ? html`<footer class="end"><${Act} run=${() => void more().catch((thrown) => toast(sentenceOf(thrown)))}>${texts.olderRuns}</${Act}></footer>` : null}</section>`
}

function runTable(runs: readonly RunLine[]): VNode {
  return html`<table class="table fold rows"><thead><tr><th><span class="sr">State</span></th><th>Began</th><th>How it ended</th><th class="n">Took</th></tr></thead>
    <tbody>${runs.map((run) => {
      const { id, macro_id: macroId, result, why, started_at: at, ended_at: until } = run
      const href = linkTo('macros', String(macroId), 'runs', String(id))
      return html`<tr key=${id} onClick=${(event: Event) => followRow(event, href)}><td class="lit">${lamp(runLit(result), runWord(result))}</td>
        <td class="name"><a href=${href}><b>${sinceText(at, daemonNow(), zone.value)}</b></a></td>
        <td class="setup">${runWord(result)}, ${runBy(run)}${why === null ? null : html`<span class="under" data-s=${runLit(result)}>${why}</span>`}</td>
        <td class="n load">${until === null ? '' : durationOf(until - at)}</td></tr>`
    })}</tbody></table>`
}

// One run.

function runJudgement(run: WholeRun): Judgement {
  const { result, why, started_at: at, ended_at: until } = run
  const lit = runLit(result)
  if (until === null) return { lit, sentence: texts.runGoesOn }
  if (result === 'interrupted') return { lit, sentence: texts.runWasCut }
  const took = durationOf(until - at)
  const sentence = result === 'done' ? texts.runIsDone(took) : texts.runTook(runWord(result), took)
  return { lit, sentence, ...(why === null ? {} : { why: ended(why) }) }
}

export function RunPage({ id }: { id: number }): VNode {
  const [run, setRun] = useState<WholeRun | null>(null)
  const [isGone, setGone] = useState(false)
  const look = useLook(async () => {
    // Of a run that is over nothing changes any more.
    if (run?.ended_at == null) setRun(await macroApi.run(id).catch(gone))
  }, LOOK_MS)
  function gone(thrown: unknown): null {
    if (!(thrown instanceof CallFault) || thrown.status !== 400) throw thrown
    setGone(true)
    return null
  }
  if (isGone)
    return alone(
      say('off', texts.runIsNotKept, texts.runIsNotKeptWhy, html`<a href=${linkTo('macros')}>${texts.showMacros}</a>`),
    )
  if (run === null) return alone(firstAnswer(look.refused, texts.askingForRun, texts.runsCouldNotBeRead))
  const { macro, macro_id: macroId, started_at: at } = run
  const when = `${dateOf(at, zone.value)} ${timeOf(at, zone.value)}`
  return html`<div class="head"><h1>${macro ?? texts.macroNumber(macroId)}, ${sinceText(at, daemonNow(), zone.value)}</h1>
      <span class="faint small later">${when}, ${runBy(run)}</span>${macroTabs(macroId, 'runs')}</div>
    ${verdict(runJudgement(run), argsText(run))}
    <section class="panel" aria-label=${texts.steps}><header><h2>Steps</h2><div class="acts">
      ${run.ended_at === null ? html`<${Act} kind="danger" run=${() => void end(id, look.again)}>${texts.endRun}</${Act}>` : html`<${Replays} id=${id} isKept=${run.steps !== null} />`}</div></header>
      ${stepsPanel(run)}</section>`
}

function alone(content: VNode): VNode {
  return html`<div class="head"><h1>Run</h1></div><section class="panel">${content}</section>`
}

async function end(id: number, again: () => Promise<void>): Promise<void> {
  try {
    const answer = await macroApi.cancel(id)
    toast(answer.success ? texts.runEnds : (answer.error ?? texts.failed))
    await again()
  } catch (thrown) {
    toast(sentenceOf(thrown))
  }
}

function argsText({ args }: WholeRun): Child {
  const hasArgs = typeof args === 'object' && args !== null && Object.keys(args).length > 0
  return hasArgs ? html`<span class="faint">${texts.calledWith(valueText(args))}</span>` : null
}

/** Compares with what this version would decide; nothing is sent. */
function Replays({ id, isKept }: { id: number; isKept: boolean }): VNode | null {
  const [said, setSaid] = useState<{ lit: 'ok' | 'warn' | 'fault'; text: string } | null>(null)
  async function compare(): Promise<void> {
    try {
      const { same, step } = await macroApi.replay(id)
      setSaid(same ? { lit: 'ok', text: texts.replaySame } : { lit: 'warn', text: texts.replayDiffers(step) })
    } catch (thrown) {
      setSaid({ lit: 'fault', text: sentenceOf(thrown) })
    }
  }
  if (!isKept) return null
  return html`<span class="told small" role="status" data-s=${said?.lit}>${said ? html`${lamp(said.lit)} ${said.text}` : null}</span>
    <${Act} run=${() => void compare()}>${texts.replayIt}</${Act}>`
}

function stepsPanel({ steps, left, names, ended_at: until }: WholeRun): VNode {
  if (steps === null) return say('off', texts.noTrace, until === null ? texts.runGoesOn : texts.noTraceWhy)
  if (steps.length === 0) return say('off', texts.tookNoStep, texts.tookNoStepWhy)
  return html`${stepsTable(steps, names)}${left > 0 ? html`<p class="in small soft">${texts.moreSteps(left)}</p>` : null}`
}

/** Steps in the order in which they began. */
export function stepsTable(steps: readonly MacroStepTold[], names: RowNames): VNode {
  return html`<ol class="trace">${steps.map((step, at) => {
    const called = calledRun(step)
    return html`<li key=${at} data-s=${stepLit(step)}>${lamp(stepLit(step))}
      <span class="when mono">${durationOf(step.at)}</span>
      <div><b>${step.step}</b> ${sayStep(step.type, step.decided, names)}
        <p class="small soft">${stepEnding(step)}${called === null ? null : html` <a href=${linkTo('macros', 'called', 'runs', String(called))}>${texts.openCalled(called)}</a>`}</p></div></li>`
  })}</ol>`
}

function calledRun({ type, answer }: MacroStepTold): number | null {
  if (type !== 'macro' || typeof answer !== 'object' || answer === null || !('run_id' in answer)) return null
  return typeof answer.run_id === 'number' ? answer.run_id : null
}
