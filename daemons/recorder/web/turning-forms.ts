/** How a patrol and auto tracking are set, for administrators. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Asked, doneOrSaid } from '#kit/web/asked.ts'
import { CallFault } from '#kit/web/call.ts'
import { choice, type Form, input, refusal, toggle, typedNumber, useForm, type Values } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { Act, toast } from '#kit/web/parts.ts'
import { adoptStyle } from '#kit/web/style.ts'
import type { Preset } from './api.ts'
import { presetOptions } from './rule-actions.ts'
import { scheduleFields, scheduleOf } from './rule-form.ts'
import * as texts from './texts.ts'
import { fieldTicks, ticked } from './ticks.ts'
import { type Follow, type Patrol, turningApi } from './turning-api.ts'

adoptStyle(`
.ticks-row{display:flex;flex-wrap:wrap;gap:0 var(--s3)}
.steps-of-patrol{display:grid;gap:var(--s3);margin:0;padding:0;list-style:none}
.steps-of-patrol li{display:grid;grid-template-columns:minmax(0,2fr) minmax(6rem,1fr) auto;gap:var(--s2);align-items:start}
.steps-of-patrol .btn{margin-top:1.45rem}
`)

/** As many as the recorder takes. */
const MOST_STEPS = 64
const DWELL_S = 30

interface FormFacts {
  id: string
  presets: readonly Preset[]
  /** Why none can be chosen. */
  noPresets: string | null
  again: () => Promise<void>
}

function stepValues(preset: string, dwell: number | string, at: number): Values {
  return { [`s${at}.preset`]: preset, [`s${at}.dwell`]: String(dwell) }
}

export function PatrolForm({ again, id, noPresets, patrol, presets }: FormFacts & { patrol: Patrol['patrol'] }): VNode {
  const { enabled = true, resumeAfterSeconds = 120, schedule = null, steps = [] } = patrol ?? {}
  const form = useForm(
    {
      ...{ enabled, isAlways: schedule === null, resume: String(resumeAfterSeconds) },
      ...{ from: schedule?.from ?? '08:00', to: schedule?.to ?? '18:00' },
      ...Object.fromEntries(texts.dayNames.map((_, day) => [`day.${day}`, schedule?.days.includes(day) ?? true])),
      ...Object.assign({}, ...steps.map(({ dwellSeconds, preset }, at) => stepValues(preset, dwellSeconds, at))),
    },
    'edit',
  )
  const [count, setCount] = useState(steps.length)
  const value = (name: string) => String(form.values.value[name] ?? '')
  function add(): void {
    for (const [name, one] of Object.entries(stepValues('', DWELL_S, count))) form.set(name, one)
    setCount(count + 1)
  }
  function drop(at: number): void {
    for (let to = at; to < count - 1; to++)
      for (const [name, one] of Object.entries(stepValues(value(`s${to + 1}.preset`), value(`s${to + 1}.dwell`), to)))
        form.set(name, one)
    setCount(count - 1)
  }
  async function save(): Promise<void> {
    const { values } = form
    await turningApi
      .setPatrol(id, {
        steps: stepsOf(values.value, count),
        enabled: values.value.enabled === true,
        schedule: values.value.isAlways === true ? null : scheduleOf(values.value),
        resumeAfterSeconds: typedNumber(values.value.resume),
      })
      .catch(atStepFields)
    form.settle()
    toast(texts.patrolIsSaved)
    await again()
  }
  const remove = () => void doneOrSaid(() => turningApi.removePatrol(id), again, texts.patrolIsRemoved)
  return html`<form class="panel" onSubmit=${submitOf(form, save)} novalidate aria-label=${texts.setPatrol}><header><h2>${texts.setPatrol}</h2></header>
    <div class="in stack"><ol class="steps-of-patrol">${Array.from({ length: count }, (_, at) => stepRow(form, at, { presets, drop: () => drop(at) }))}</ol>
      ${noPresets === null ? null : html`<p class="small soft">${noPresets}</p>`}
      <div class="acts start"><${Act} run=${add} waits=${count >= MOST_STEPS || (presets.length === 0 && count === 0)}>${texts.addStep}</${Act}></div>
      ${toggle({ form, name: 'isAlways', label: texts.atAnyTime })}${form.values.value.isAlways === true ? null : scheduleFields(form)}
      ${input({ form, name: 'resume', label: texts.resumeAfter, type: 'number', unit: 's', hint: texts.resumeHint })}
      ${toggle({ form, name: 'enabled', label: texts.switchedOn })}${refusal(form)}</div>
    <footer class="save">${patrol === null ? null : removal(texts.removePatrol, texts.removingPatrolMeans, remove)}
      <${Act} kind="primary" type="submit" waits=${form.isBusy.value || count === 0}>${texts.savePatrol}</${Act}></footer></form>`
}

function stepRow(form: Form, at: number, { drop, presets }: { presets: readonly Preset[]; drop: () => void }): Child {
  const chosen = String(form.values.value[`s${at}.preset`] ?? '')
  return html`<li key=${at}>${choice({ form, name: `s${at}.preset`, label: texts.nthStep(at + 1), options: presetOptions(presets, chosen, texts.chooseOne) })}
    ${input({ form, name: `s${at}.dwell`, label: texts.stayFor, type: 'number', unit: 's' })}
    <${Act} kind="quiet" label=${texts.dropStep(at + 1)} run=${drop}>${texts.drop}</${Act}></li>`
}

function stepsOf(values: Values, count: number) {
  const steps = Array.from({ length: count }, (_, at) => ({
    preset: String(values[`s${at}.preset`] ?? ''),
    dwellSeconds: typedNumber(values[`s${at}.dwell`]),
  }))
  const unchosen = steps.flatMap(({ preset }, at) =>
    preset === '' ? [{ field: `s${at}.preset`, message: texts.choosePreset }] : [],
  )
  if (unchosen.length > 0) throw new CallFault(400, { error: 'unsaid', message: '', fields: unchosen })
  return steps
}

/** What is wrong with a step is said at its field. */
function atStepFields(thrown: unknown): never {
  if (!(thrown instanceof CallFault)) throw thrown
  const { code, message, status } = thrown
  const fields = thrown.fields.map(({ field, message: why }) => ({
    field: field
      .replace(/^steps\[(\d+)\]\.preset$/, 's$1.preset')
      .replace(/^steps\[(\d+)\]\.dwellSeconds$/, 's$1.dwell')
      .replace(/^resumeAfterSeconds$/, 'resume')
      .replace(/^schedule\./, ''),
    message: why,
  }))
  throw new CallFault(status, { error: code, message, fields })
}

export function FollowForm({ again, follow, id, noPresets, presets }: FormFacts & { follow: Follow['follow'] }): VNode {
  const { enabled = true, groups = ['person'], maxFollowSeconds = 60, resumeAfterSeconds = 60 } = follow ?? {}
  const form = useForm(
    {
      ...{ enabled, groups: groups.join(' '), maxFollowSeconds: String(maxFollowSeconds) },
      ...{ returnPreset: follow?.returnPreset ?? '', returnAfterSeconds: String(follow?.returnAfterSeconds ?? 10) },
      resumeAfterSeconds: String(resumeAfterSeconds),
    },
    'edit',
  )
  const chosen = String(form.values.value.returnPreset)
  async function save(): Promise<void> {
    const { value } = form.values
    await turningApi.setFollow(id, {
      ...{ enabled: value.enabled === true, groups: ticked(value.groups), returnPreset: chosen || null },
      ...{
        maxFollowSeconds: typedNumber(value.maxFollowSeconds),
        returnAfterSeconds: typedNumber(value.returnAfterSeconds),
      },
      resumeAfterSeconds: typedNumber(value.resumeAfterSeconds),
    })
    form.settle()
    toast(texts.trackingIsSaved)
    await again()
  }
  const remove = () => void doneOrSaid(() => turningApi.removeFollow(id), again, texts.trackingIsRemoved)
  const seconds = (name: string, label: string, hint?: string) =>
    input({ form, name, label, type: 'number', unit: 's', hint })
  return html`<form class="panel" onSubmit=${submitOf(form, save)} novalidate aria-label=${texts.setTracking}><header><h2>${texts.setTracking}</h2></header>
    <div class="in stack">${fieldTicks({ form, name: 'groups', label: texts.whomToFollow, options: Object.entries(texts.groupNames) })}
      ${seconds('maxFollowSeconds', texts.longestFollow)}
      ${choice({ form, name: 'returnPreset', label: texts.thenGoes, options: presetOptions(presets, chosen, texts.staysThere), hint: noPresets ?? undefined })}
      ${chosen === '' ? null : seconds('returnAfterSeconds', texts.after)}
      ${seconds('resumeAfterSeconds', texts.resumeAfter, texts.resumeHint)}
      ${toggle({ form, name: 'enabled', label: texts.switchedOn })}${refusal(form)}</div>
    <footer class="save">${follow === null ? null : removal(texts.removeTracking, texts.removingTrackingMeans, remove)}
      <${Act} kind="primary" type="submit" waits=${form.isBusy.value}>${texts.saveTracking}</${Act}></footer></form>`
}

function removal(act: string, means: string, run: () => void): Child {
  return html`<${Asked} act=${act} title=${`${act}?`} text=${means} sure=${act} keep=${texts.notNow} run=${run} />`
}

function submitOf(form: Form, save: () => Promise<void>): (event: Event) => void {
  return (event) => {
    event.preventDefault()
    void form.submit(save)
  }
}
