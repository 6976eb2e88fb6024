/** First run: password, name, lines, done. Nothing is saved before the last button. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { sentenceOf } from '#kit/web/call.ts'
import { focusStep, steps } from '#kit/web/figures.ts'
import { administratorFields, firstAdministrator, isGoodAdministrator } from '#kit/web/first-administrator.ts'
import { type Form, input, refusal, useForm } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { Act, lamp, say, Toasts } from '#kit/web/parts.ts'
import { goTo } from '#kit/web/route.ts'
import { keepToken } from '#kit/web/session.ts'
import { plate } from '#kit/web/shell.ts'
import { api, type Port } from './api.ts'
import { isSettingUp, lookAtPorts, plateFacts, status } from './state.ts'
import * as texts from './texts.ts'
import { deviceOf, protocolNames, shortPath, usualLine } from './words.ts'

const STEPS = [texts.password, texts.name, texts.lines, texts.done]

/** What setting up a line came to. */
interface Outcome {
  path: string
  fault: string | null
}

/** The four steps. */
export function FirstRun(): VNode {
  const form = useForm({ ...firstAdministrator, name: status.value?.name ?? '' })
  const [step, setStep] = useState(0)
  const [lines, setLines] = useState<Port[] | string | null>(null)
  const [outcomes, setOutcomes] = useState<Outcome[]>([])
  useEffect(() => {
    isSettingUp.value = true
    void findLines().then(setLines)
  }, [])

  useEffect(() => focusStep(), [step])

  async function finish(): Promise<void> {
    const { username, password, name } = form.values.value
    const body = { username: String(username), password: String(password), name: String(name).trim() || undefined }
    const isMade = await form.submit(async () => keepToken((await api.setup(body)).token))
    if (!isMade) return setStep(stepOfFault(form))
    const known = Array.isArray(lines) ? lines : []
    setOutcomes(await setUpLines(known, form))
    await lookAtPorts()
    setStep(3)
  }
  function next(event: Event): void {
    event.preventDefault()
    if (step === 0 && !isGoodAdministrator(form)) return
    if (step < 2) setStep(step + 1)
    else if (step === 2) void finish()
    else leave(outcomes)
  }

  const labels = [
    texts.goOn,
    texts.goOn,
    texts.setUpGateway,
    outcomes.length > 0 ? texts.openLine(shortPath(outcomes[0]?.path ?? '')) : texts.toPorts,
  ]
  return html`<main class="alone" id="main"><div class="alone-in wide">${plate(plateFacts())}
    <form class="panel" onSubmit=${next} novalidate><div class="in stack">
      ${steps(STEPS, step)}
      ${stepBody({ step, form, lines, outcomes })}${refusal(form)}
      <div class="acts between">${step === 1 || step === 2 ? html`<button class="btn quiet" type="button" onClick=${() => setStep(step - 1)}>Back</button>` : html`<span></span>`}
        <${Act} kind="primary" type="submit" waits=${form.isBusy.value}>${labels[step]}</${Act}></div>
    </div></form></div><${Toasts} /></main>`
}

async function findLines(): Promise<Port[] | string> {
  try {
    return (await api.linesForSetup()).lines
  } catch (thrown) {
    return sentenceOf(thrown)
  }
}

function stepOfFault(form: Form): number {
  if ('username' in form.faults.value || 'password' in form.faults.value) return 0
  return 'name' in form.faults.value ? 1 : 2
}

/** A line that is refused does not stop the others; the last step shows why. */
async function setUpLines(lines: readonly Port[], form: Form): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (const { path } of lines) {
    const protocol = form.values.value[path]
    if (typeof protocol !== 'string' || protocol === '') continue
    try {
      await api.setUpPort(path, { protocol, line: usualLine(protocol), settings: {} }, undefined)
      outcomes.push({ path, fault: null })
    } catch (thrown) {
      outcomes.push({ path, fault: sentenceOf(thrown) })
    }
  }
  return outcomes
}

function leave(outcomes: readonly Outcome[]): void {
  isSettingUp.value = false
  if (status.value) status.value = { ...status.value, adminConfigured: true }
  const first = outcomes[0]
  if (first) goTo('port', first.path)
  else goTo('ports')
}

interface StepFacts {
  step: number
  form: Form
  lines: Port[] | string | null
  outcomes: readonly Outcome[]
}

function stepBody({ step, form, lines, outcomes }: StepFacts): VNode {
  if (step === 0)
    return html`<h1>Who looks after this gateway?</h1><p class="soft">This makes the first administrator.</p>
      ${administratorFields(form)}`
  if (step === 1)
    return html`<h1>What is it called?</h1>
      ${input({ form, name: 'name', label: texts.name, kind: 'wide', first: true, hint: texts.nameHint })}`
  if (step === 2) return html`<h1>What is on its lines?</h1>${linesBody(lines, form)}`
  return html`<h1>Done</h1>${doneBody(outcomes)}`
}

function linesBody(lines: Port[] | string | null, form: Form): VNode {
  if (lines === null) return say('busy', texts.lookingForLines, texts.usuallyBrief)
  if (typeof lines === 'string') return say('warn', texts.linesCouldNotBeListed, texts.setThemUpLater(lines))
  if (lines.length === 0) return say('off', texts.noSerialLineFound, texts.plugOneIn)
  return html`<p class="soft">They start with 9600 baud, 8 data bits, no parity. Each line's page has the rest.</p>
    <ul class="pick">${lines.map(
      (
        line,
      ) => html`<li key=${line.path}><div><b>${shortPath(line.path)}</b><span class="small soft">${deviceOf(line) || line.path}</span></div>
      <div class="input"><select aria-label=${texts.protocolOf(shortPath(line.path))} value=${String(form.values.value[line.path] ?? '')}
        onChange=${(event: Event) => form.set(line.path, (event.target as HTMLSelectElement).value)}>
        <option value="">Closed</option>${Object.entries(protocolNames).map(([value, name]) => html`<option value=${value}>${name}</option>`)}</select></div></li>`,
    )}</ul>`
}

function doneBody(outcomes: readonly Outcome[]): VNode {
  return html`<p class="soft">This page is at <span class="mono">${location.host}</span>. Keep the password: it is stored only as a hash.</p>
    ${
      outcomes.length === 0
        ? html`<p>No line is set up yet. Each one is set up under Ports.</p>`
        : html`<ul class="pick">${outcomes.map(
            ({
              path,
              fault,
            }) => html`<li key=${path}><div><b>${lamp(fault ? 'fault' : 'ok', true)} ${shortPath(path)}</b>
            <span class="small soft">${fault ?? texts.setUpAndBeingOpened}</span></div></li>`,
          )}</ul>`
    }`
}
