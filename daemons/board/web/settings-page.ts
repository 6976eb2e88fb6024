/** Settings: one form, made from what the board says its settings are. A save restarts the board, and the page follows. */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { withArticle } from '#kit/bytes/words.ts'
import { Act } from '#kit/web/button.ts'
import { choice, input, refusal, toggle } from '#kit/web/field.ts'
import { type Form, useForm, type Values } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { many } from '#kit/web/numbers.ts'
import { useRevision } from '#kit/web/revision.ts'
import { sentence } from '#kit/web/sentences.ts'
import { toast } from '#kit/web/toast.ts'
import { TypeToConfirm } from '#kit/web/type-to-confirm.ts'
import type { RoleName } from '../wire/names.ts'
import { api, type Config, type ConfigForm, type FieldFacts, type Status } from './api.ts'
import { type AddressSettings, awaitRestart, placesAfter } from './restart.ts'
import { bodyOf, changedOf, consequence, groupsFor, hiddenFaults, labelOf, valuesOf } from './settings-fields.ts'
import { status } from './state.ts'
import { useSettings } from './use-settings.ts'
import { roleNouns, roleSentences, roleTitles } from './words.ts'

/** The page; the form is drawn once it is known what is saved. */
export function SettingsPage(): VNode {
  const { known, words } = useSettings()
  const now = status.value
  if (known && now) return html`<${Known} config=${known.config} form=${known.form} status=${now} />`
  return html`<h1 class="sr">Settings</h1><section class="panel">${words}</section>`
}

interface KnownProps {
  config: Config
  form: ConfigForm
  status: Status
}

function Known({ config, form: facts, status: board }: KnownProps): VNode {
  const [saved, setSaved] = useState(config)
  const form = useForm(valuesOf(config, facts), 'edit')
  const revision = useRevision(facts.revision)
  const [isAsking, setAsking] = useState(false)
  const values = form.values.value
  const before = valuesOf(saved, facts)
  const changed = changedOf(values, before)

  async function save(): Promise<void> {
    const body = bodyOf(saved, values)
    const startedAt = board.started_at
    const { about_s: aboutS } = await revision.save((ifMatch) => api.saveConfig(body, ifMatch))
    setSaved(body)
    form.settle(values)
    const places = board.machine.owned ? placesAfter(addressOf(values), addressOf(before), location) : []
    awaitRestart({ what: 'Saved.', startedAt, aboutS, places })
  }
  function submit(event?: Event): void {
    event?.preventDefault()
    if (changed.length === 0) return
    if (changed.includes('role')) setAsking(true)
    else void form.submit(save)
  }
  function discard(): void {
    if (changed.length === 0) return
    form.settle(before)
    toast(`${many(changed.length, 'change')} discarded.`, () => restore(form, values))
  }
  const groups = groupsFor(facts, values)
  const shown = groups.flatMap(({ fields }) => fields.map(({ name }) => name))
  const hidden = hiddenFaults(form.faults.value, shown)
  useSaveKey(submit)
  useKeys('Settings', [
    { key: 'Ctrl S', what: 'saves and restarts', run: () => false },
    { key: 'Escape', what: 'discards', run: () => void discard() },
  ])
  return html`<h1 class="sr">Settings</h1><p class="lead">${consequence(values, before, board.machine.owned)}</p>
    <form class="panel settings" onSubmit=${submit} novalidate><div class="in stack">
      ${groups.map(
        ({ title, fields }) =>
          html`<section class="group" key=${title}><h2>${title}</h2><div class="form">${fields.map((field) => drawn(field, form, facts.roles))}</div></section>`,
      )}</div>
      <footer class="save">${refusal(form, hidden)}<p class="small soft">${changed.length === 0 ? 'Nothing is changed.' : `${changed.length} changed${Object.keys(form.faults.value).length > 0 ? ', not saved' : ''}`}</p><div class="acts">
        <button class="btn quiet" type="button" disabled=${changed.length === 0} onClick=${discard}>Discard</button>
        <${Act} kind="primary" type="submit" waits=${form.isBusy.value || changed.length === 0}>Save and restart</${Act}></div></footer></form>
    ${isAsking ? askRole({ board, role: String(values.role), form, save, close: () => setAsking(false) }) : null}`
}

function addressOf({ static_ip: isFixed, ip, hostname }: Values): AddressSettings {
  return { static_ip: isFixed === true, ip: String(ip ?? ''), hostname: String(hostname ?? '') }
}

/** What was discarded by mistake comes back as changes. */
function restore(form: Form, values: Values): void {
  form.values.value = values
}

function useSaveKey(save: () => void): void {
  const latest = useRef(save)
  latest.current = save
  useEffect(() => {
    function onKey(event: KeyboardEvent): void {
      if (event.key !== 's' || !(event.ctrlKey || event.metaKey) || document.querySelector('dialog[open]')) return
      event.preventDefault()
      latest.current()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
}

interface RoleQuestion {
  board: Status
  role: string
  form: Form
  save: () => Promise<void>
  close: () => void
}

/** What a board does ends with its role, and others count on it: the name is typed first. */
function askRole({ board, role, form, save, close }: RoleQuestion): VNode {
  const before = roleNouns[board.role]
  const after = roleNouns[role as RoleName]
  async function run(): Promise<void> {
    close()
    await form.submit(save)
  }
  return html`<${TypeToConfirm} title=${`Turn ${board.name || board.hostname} into ${withArticle(after)}?`}
    text=${`It ends what it does as ${withArticle(before)} and restarts${board.machine.owned ? ', with its whole machine' : ''}. The settings of the role before are kept for the day it comes back.`}
    name=${board.hostname} act=${`Turn into ${after}`} keep=${`Keep ${before}`} run=${run} close=${close} />`
}

function drawn(field: FieldFacts, form: Form, roles: ConfigForm['roles']): VNode {
  const { name, kind, meaning, unit } = field
  const facts = { form, name, label: labelOf(name), hint: sentence(meaning) }
  if (name === 'role') return choice({ ...facts, options: optionsOf(field), hint: roleHint(form, roles), kind: 'wide' })
  if (kind === 'switch') return toggle({ ...facts, kind: 'wide' })
  if (kind === 'choice') return choice({ ...facts, options: optionsOf(field) })
  return input({
    ...facts,
    type: kind === 'number' ? 'number' : 'text',
    mono: kind === 'address' || isPath(name),
    ...(isPath(name) ? { kind: 'wide' } : {}),
    ...(unit ? { unit } : {}),
    ...(kind === 'number' || field.default === null ? {} : { placeholder: String(field.default) }),
  })
}

/** Lists of paths need a whole row. */
function isPath(name: string): boolean {
  return name.endsWith('_devices')
}

/** What the chosen role is for, and what this machine lacks for it. */
function roleHint({ values }: Form, roles: ConfigForm['roles']): string {
  const role = values.value.role as RoleName
  return `${roleSentences[role]} ${roles.find((each) => each.role === role)?.text ?? ''}`
}

function optionsOf({ name, choices = [] }: FieldFacts): (readonly [string, string])[] {
  return choices.map((each) => [String(each), name === 'role' ? roleTitles[each as RoleName] : String(each)])
}
