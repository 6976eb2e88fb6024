/** API keys: making one, showing it once, and the facts of one that was made. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Act } from '#kit/web/button.ts'
import { sentenceOf } from '#kit/web/call.ts'
import { copyText } from '#kit/web/copy.ts'
import { Confirm } from '#kit/web/dialog.ts'
import { choice, input, refusal, toggle } from '#kit/web/field.ts'
import { type Form, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { icon } from '#kit/web/icon.ts'
import { daemonNow, zone } from '#kit/web/now.ts'
import { dateOf, sinceText } from '#kit/web/numbers.ts'
import { readTable } from '#kit/web/read-table.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { toast } from '#kit/web/toast.ts'
import type { KeyView } from '../core/people/keys.ts'
import { ports } from './state.ts'
import { keyState, reachText, roleNames, usedText } from './user-words.ts'
import { type KeyBody, usersApi } from './users-api.ts'
import { nameOf } from './words.ts'

const DAY_MS = 86_400_000
const LIVES: readonly (readonly [days: string, label: string])[] = [
  ['', 'Never'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In a year'],
]

function head(title: string): VNode {
  return html`<header><h2>${title}</h2><div class="acts"><a class="btn quiet icon" href=${linkTo('users')} aria-label="Close form">${icon('close')}</a></div></header>`
}

/** A new key; once made it is shown this one time. */
export function KeyForm({ again }: { again: () => Promise<void> }): VNode {
  const form = useForm({ name: '', role: 'viewer', life: '', isAll: true }, 'draft')
  const [made, setMade] = useState<(KeyView & { key: string }) | null>(null)
  const lines = (ports.value ?? []).filter((port) => port.configured).map(({ path }) => path)
  async function save(): Promise<void> {
    setMade(await usersApi.addKey(bodyOf(form, lines)))
    await again()
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  if (made) return html`<${ShownOnce} made=${made} />`
  const { isAll, life } = form.values.value
  const ends =
    life === ''
      ? 'It is good until it is removed.'
      : `Until ${dateOf(daemonNow() + Number(life) * DAY_MS, zone.value)}.`
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label="New API key">${head('New API key')}
    <div class="in stack">
      ${input({ form, name: 'name', label: 'Name', first: true, placeholder: 'BMS', hint: 'Which system calls with it: it stands in the journal.' })}
      ${choice({ form, name: 'role', label: 'Role', options: Object.entries(roleNames), hint: 'A viewer only reads. To send to a line takes an administrator.' })}
      ${choice({ form, name: 'life', label: 'Expires', options: LIVES, hint: ends })}
      ${toggle({ form, name: 'isAll', label: 'Every line' })}
      ${isAll ? null : html`<fieldset class="ticks"><legend class="small">Lines it reaches</legend>${lines.length === 0 ? html`<p class="small soft">No line is set up yet.</p>` : lines.map((path) => toggle({ form, name: `ports.${path}`, label: nameOf(path) }))}</fieldset>`}
      ${refusal(form)}</div>
    <footer class="save"><${Act} kind="primary" type="submit" waits=${form.isBusy.value}>Make key</${Act}></footer></form>`
}

function bodyOf(form: Form, lines: readonly string[]): KeyBody {
  const { name, role, life, isAll, ...rest } = form.values.value
  const body: KeyBody = { name: String(name), role: String(role) }
  if (!isAll) body.ports = lines.filter((path) => rest[`ports.${path}`] === true)
  if (life !== '') body.expiresAt = Math.round(daemonNow() + Number(life) * DAY_MS)
  return body
}

function ShownOnce({ made }: { made: KeyView & { key: string } }): VNode {
  const mark = (event: FocusEvent): void => (event.target as HTMLTextAreaElement).select()
  return html`<section class="panel" aria-label="New API key">${head(`Key of ${made.name}`)}
    <div class="in stack"><p>This is the only time it is shown. The gateway keeps a hash of it alone.</p>
      <div class="field"><label for="made-key">Key</label><div class="input"><textarea id="made-key" class="mono" rows="2" readonly value=${made.key} onFocus=${mark}></textarea></div>
        <p>Sent as <span class="mono">Authorization: Bearer …</span></p></div></div>
    <footer class="save"><button class="btn" type="button" onClick=${() => void copyText(made.key, `The key of ${made.name} is copied.`)}>Copy key</button>
      <a class="btn primary" href=${linkTo('users')}>I have kept it</a></footer></section>`
}

/** One key that was made. What it may do cannot be changed: a new one is made instead. */
export function KeyFacts({ apiKey, again }: { apiKey: KeyView; again: () => Promise<void> }): VNode {
  const [isAsked, setAsked] = useState(false)
  const when = { nowMs: daemonNow(), zone: zone.value }
  async function run(): Promise<void> {
    try {
      await usersApi.removeKey(apiKey.id)
      await again()
      toast(`The key of ${apiKey.name} is refused from now on.`)
      goTo('users')
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
  }
  const rows: [string, Child][] = [
    ['Role', roleNames[apiKey.role]],
    ['Lines', reachText(apiKey)],
    [
      'Expires',
      apiKey.expiresAt === null ? 'never' : `${dateOf(apiKey.expiresAt, zone.value)}, ${keyState(apiKey, when).words}`,
    ],
    ['Last used', usedText(apiKey, when)],
    ['Made', `${sinceText(apiKey.createdAt, when.nowMs, zone.value)} by ${apiKey.createdBy}`],
  ]
  return html`<section class="panel" aria-label=${`API key ${apiKey.name}`}>${head(apiKey.name)}
    ${readTable(rows)}
    <footer class="save"><${Act} kind="danger" run=${() => setAsked(true)}>Remove key</${Act}></footer>
    ${isAsked ? html`<${Confirm} title=${`Remove the key of ${apiKey.name}?`} text="What calls with it is refused at once. It cannot be made again; a new key is another one." act="Remove key" keep="Keep key" run=${() => void run()} close=${() => setAsked(false)} />` : null}
  </section>`
}
