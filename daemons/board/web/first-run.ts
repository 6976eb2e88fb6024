/**
 * First run: password, name, role, done. Nothing is saved before the last button; then the board restarts and the page
 * follows it.
 */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { withArticle } from '#kit/pure/text.ts'
import { now } from '#kit/web/contact.ts'
import { focusStep, steps } from '#kit/web/figures.ts'
import { type Form, input, refusal, toggle, useForm } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { Act, lamp, Toasts } from '#kit/web/parts.ts'
import { type Revision, useRevision } from '#kit/web/revision.ts'
import { plate } from '#kit/web/shell.ts'
import { type RoleName, roleNames } from '../wire/names.ts'
import { api, type Config, type ConfigForm, changePassword, type Status } from './api.ts'
import { useSettings } from './settings-page.ts'
import { awaitRestart, isLate, isSettingUp, placesAfter, plateFacts, restarting, status, waitText } from './state.ts'
import * as texts from './texts.ts'
import { roleNouns, roleSentences, roleTitles } from './words.ts'

const STEPS = [texts.password, texts.name, texts.role, texts.done]

/** The four steps. */
export function FirstRun(): VNode {
  const { known, words } = useSettings()
  const board = status.value
  useEffect(() => {
    isSettingUp.value = true
  }, [])
  if (known && board) return html`<${Known} config=${known.config} facts=${known.form} board=${board} />`
  return html`<main class="alone" id="main"><h1 class="sr">Set up this board</h1><div class="alone-in wide">${plate(plateFacts())}<div class="panel">${words}</div></div></main>`
}

interface KnownProps {
  config: Config
  facts: ConfigForm
  board: Status
}

function Known({ config, facts, board }: KnownProps): VNode {
  const { roles } = facts
  const revision = useRevision(facts.revision)
  const form = useForm({
    password: '',
    isShown: false,
    name: String(config.name ?? ''),
    hostname: String(config.hostname ?? board.hostname),
    role: board.role,
  })
  const [step, setStep] = useState(0)
  useEffect(() => focusStep(), [step])

  async function finish(): Promise<void> {
    const startedAt = board.started_at
    let aboutS = 0
    const isKept = await form.submit(async () => {
      aboutS = await keep(config, form, revision)
    })
    if (!isKept) return setStep(stepOfFault(form))
    const before = {
      static_ip: config.static_ip === true,
      ip: String(config.ip ?? ''),
      hostname: String(config.hostname),
    }
    const after = { ...before, hostname: String(form.values.value.hostname).trim() }
    const places = board.machine.owned ? placesAfter(after, before, location) : []
    awaitRestart({ what: texts.setUp, startedAt, aboutS, places })
    setStep(3)
  }
  function next(event: Event): void {
    event.preventDefault()
    if (step < 2) setStep(step + 1)
    else if (step === 2) void finish()
    else isSettingUp.value = false
  }
  const isWaiting = step === 3 && restarting.value !== null
  return html`<main class="alone" id="main"><div class="alone-in wide">${plate(plateFacts())}
    <form class="panel" onSubmit=${next} novalidate><div class="in stack">${steps(STEPS, isWaiting || step < 3 ? step : 4)}
      ${body({ step, form, roles })}${refusal(form)}
      <div class="acts between">${step === 1 || step === 2 ? html`<button class="btn quiet" type="button" onClick=${() => setStep(step - 1)}>Back</button>` : html`<span></span>`}
        <${Act} kind="primary" type="submit" waits=${form.isBusy.value || isWaiting}>${actOf(step, form)}</${Act}></div>
    </div></form></div><${Toasts} /></main>`
}

/** The password comes first, so that nobody else can send what follows. @returns how long the restart takes, s */
async function keep(config: Config, form: Form, revision: Revision): Promise<number> {
  const { password, name, hostname, role } = form.values.value
  const typed = String(password)
  if (typed !== '') await changePassword(typed, () => api.setPassword(typed))
  const values = { ...config, name: String(name).trim(), hostname: String(hostname).trim(), role: String(role) }
  const answer = await revision.save((ifMatch) => api.saveConfig(values, ifMatch))
  return answer.about_s
}

function actOf(step: number, form: Form): string {
  if (step === 0) return form.values.value.password === '' ? texts.leaveOpen : texts.goOn
  if (step === 2) return texts.useAs(roleNouns[form.values.value.role as RoleName])
  return step === 1 ? texts.goOn : texts.toBoard
}

function stepOfFault(form: Form): number {
  if ('password' in form.faults.value) return 0
  return 'name' in form.faults.value || 'hostname' in form.faults.value ? 1 : 2
}

interface StepFacts {
  step: number
  form: Form
  roles: ConfigForm['roles']
}

function body({ step, form, roles }: StepFacts): VNode {
  if (step === 0) return passwordStep(form)
  if (step === 1) return nameStep(form)
  return step === 2 ? roleStep(form, roles) : doneStep(form)
}

function passwordStep(form: Form): VNode {
  const isOpen = form.values.value.password === ''
  return html`<h1>Who may change this board?</h1><p class="soft">Whoever knows its password. The user name is admin.</p>
    ${input({ form, name: 'password', label: texts.password, type: form.values.value.isShown ? 'text' : 'password', autocomplete: 'new-password', kind: 'wide', first: true })}
    ${toggle({ form, name: 'isShown', label: texts.showPassword })}
    <p class="note small" data-s="warn">${isOpen ? texts.emptyPasswordMeans : texts.writePasswordDown}</p>`
}

function nameStep(form: Form): VNode {
  return html`<h1>What is it called?</h1>
    ${input({ form, name: 'name', label: texts.name, kind: 'wide', first: true, hint: texts.nameHint })}
    ${input({ form, name: 'hostname', label: texts.hostName, kind: 'wide', mono: true, hint: texts.hostNameHint })}`
}

function roleStep(form: Form, roles: ConfigForm['roles']): VNode {
  return html`<h1>What is this board for?</h1><div class="roles" role="radiogroup" aria-label="Role">${roleNames.map(
    (role) => {
      const fitness = roles.find((each) => each.role === role)
      const said = fitness?.text
        ? html`<span class="small" data-s=${fitness.can ? null : 'warn'}>${fitness.text}</span>`
        : null
      return html`<label key=${role} class=${fitness?.can === false ? 'cannot' : ''}><input type="radio" name="role" value=${role} checked=${form.values.value.role === role} onChange=${() => form.set('role', role)} />
      <span><b>${roleTitles[role]}</b><span class="small soft">${roleSentences[role]}</span>${said}</span></label>`
    },
  )}</div>`
}

function doneStep(form: Form): VNode {
  const waited = restarting.value
  if (waited)
    return html`<div role="status"><h1>${isLate(waited, now.value) ? texts.isNotBackYet : texts.restarts}</h1></div><p>${waitText(waited, now.value)} This page goes on by itself.</p>`
  const { name, role, password } = form.values.value
  return html`<h1>Done</h1><p>${lamp('ok')} ${String(name) || texts.board} is ${withArticle(roleNouns[role as RoleName])}. ${password === '' ? texts.isOpenToEverybodyOnNetwork : texts.asksForPassword}</p>
    <p class="soft">It is at <span class="mono">${location.host}</span>.</p>`
}
