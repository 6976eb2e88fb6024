/** System: is this box well. Each part asks for itself and fails for itself. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Act } from '#kit/web/button.ts'
import { sentenceOf } from '#kit/web/call.ts'
import { input, refusal } from '#kit/web/field.ts'
import { figures } from '#kit/web/figure.ts'
import { useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { type Judgement, say, verdict } from '#kit/web/lamp.ts'
import { aheadMs, daemonNow, zone } from '#kit/web/now.ts'
import { age, bytesText, dateOf, fixed, many, sinceText, timeOf } from '#kit/web/numbers.ts'
import { signOut } from '#kit/web/session.ts'
import { toast } from '#kit/web/toast.ts'
import { api, type JournalEntry, type System } from './api.ts'
import { forget, isAdmin, lookAtSystem, me, system } from './state.ts'
import { nameOf } from './words.ts'

const JOURNAL_SHOWN = 50
/** A browser and a gateway that differ by more than this do not agree on the time. */
const CLOCK_APART_MS = 5000
/** Below this share of free memory the box is short of it. */
const LEAST_FREE = 0.05

/** The page. */
export function SystemPage(): VNode {
  const facts = system.value
  if (!facts)
    return html`<div class="head"><h1>System</h1></div><section class="panel">${say('busy', 'Asking the gateway how it is', 'This usually takes less than a second.')}</section>`
  return html`<h1 class="sr">System</h1>${verdict(judge(facts))}${figures(boxFigures(facts), 'box')}
    <div class="pair"><div class="stack">${isAdmin.value ? html`<${Name} name=${facts.name} />` : null}${addresses(facts)}</div>
      <div class="stack">${about(facts)}<${Account} /></div></div>
    ${isAdmin.value ? html`<${Journal} />` : null}`
}

function judge(facts: System): Judgement {
  const apartMs = Math.abs(aheadMs.value)
  const share = facts.memory.freeBytes / facts.memory.totalBytes
  if (apartMs > CLOCK_APART_MS)
    return {
      lit: 'warn',
      sentence: `This gateway's clock is ${age(apartMs)} ${aheadMs.value > 0 ? 'behind' : 'ahead of'} this browser's.`,
      why: 'One of the two is wrong; times in the log are the gateway’s.',
    }
  if (share < LEAST_FREE)
    return {
      lit: 'warn',
      sentence: `Only ${bytesText(facts.memory.freeBytes)} of memory are free.`,
      why: `Of ${bytesText(facts.memory.totalBytes)}.`,
    }
  return {
    lit: 'ok',
    sentence: `${facts.name || 'This gateway'} has run for ${age(Math.max(1000, daemonNow() - facts.startedAt))}.`,
  }
}

function boxFigures(facts: System): Parameters<typeof figures>[0] {
  const { memory, load } = facts
  const [perMinute, , perQuarter] = load
  return [
    {
      name: 'Time',
      value: timeOf(daemonNow(), zone.value),
      note: `${dateOf(daemonNow(), zone.value)}, ${facts.timeZone}`,
    },
    {
      name: 'Up',
      value: age(Math.max(1000, daemonNow() - facts.startedAt), 2),
      note: `machine ${age(facts.systemUptimeMs, 2)}`,
    },
    {
      name: 'Memory of the gateway',
      value: bytesText(memory.rssBytes),
      note: `${bytesText(memory.freeBytes)} of ${bytesText(memory.totalBytes)} free`,
    },
    { name: 'Load', value: fixed(perMinute, 2), note: `${fixed(perQuarter, 2)} over 15 min` },
  ]
}

function rows(pairs: [string, Child][]): VNode {
  return html`<table class="table read"><tbody>${pairs.map(([name, value]) => html`<tr key=${name}><th scope="row">${name}</th><td>${value}</td></tr>`)}</tbody></table>`
}

function about(facts: System): VNode {
  const started = `${dateOf(facts.startedAt, zone.value)} ${timeOf(facts.startedAt, zone.value)}`
  return html`<section class="panel" aria-label="About"><header><h2>About</h2></header>${rows([
    ['Product', `${facts.product} ${facts.version}`],
    ['Host', html`<span class="mono">${facts.hostname}</span>`],
    ['System', `${facts.os}, ${facts.arch}`],
    ['Kernel', html`<span class="mono">${facts.kernel}</span>`],
    ['Node', facts.node.replace(/^v/, '')],
    ['Started', started],
  ])}</section>`
}

function addresses(facts: System): VNode {
  const known = facts.addresses.filter((each) => each.address)
  return html`<section class="panel" aria-label="Addresses"><header><h2>Addresses</h2><span class="faint">${many(known.length, 'address', 'addresses')}</span></header>
    ${known.length === 0 ? say('warn', 'No address', 'No interface has one that others could reach.') : rows(known.map((each) => [`${each.name}, ${each.family}`, html`<span class="mono">${each.address}</span>`]))}</section>`
}

function Name({ name }: { name: string }): VNode {
  const form = useForm({ name }, 'edit')
  async function save(): Promise<void> {
    await api.rename(String(form.values.value.name))
    form.settle()
    await lookAtSystem()
  }
  async function submit(event: Event): Promise<void> {
    event.preventDefault()
    if (await form.submit(save)) toast(`This gateway is called ${form.values.value.name}.`)
  }
  return html`<form class="panel" aria-label="Name" onSubmit=${(event: Event) => void submit(event)} novalidate><header><h2>Name</h2></header>
    <div class="in name-row">${input({ form, name: 'name', label: 'Name on the plate', kind: 'most' })}
      <${Act} type="submit" waits=${form.isBusy.value || !form.isChanged('name')}>Rename</${Act}></div>${refusal(form)}</form>`
}

function Account(): VNode {
  async function leave(): Promise<void> {
    try {
      await api.logout()
    } finally {
      signOut()
      forget()
    }
  }
  return html`<section class="panel" aria-label="Signed in"><header><h2>Signed in</h2></header><div class="in account">
    <span><b>${me.value?.username}</b> <span class="faint">${me.value?.role === 'admin' ? 'administrator' : 'viewer'}</span></span>
    <button class="btn" type="button" onClick=${() => void leave()}>Sign out</button></div></section>`
}

function Journal(): VNode {
  const [entries, setEntries] = useState<JournalEntry[] | string | null>(null)
  useEffect(() => {
    void api.journal(JOURNAL_SHOWN).then(setEntries, (thrown: unknown) => setEntries(sentenceOf(thrown)))
  }, [])
  return html`<section class="panel" aria-label="Journal"><header><h2>Journal</h2><span class="faint">who changed or sent what, newest first</span></header>${journalBody(entries)}</section>`
}

function journalBody(entries: JournalEntry[] | string | null): VNode {
  if (entries === null) return say('busy', 'Asking for the journal', `The newest ${JOURNAL_SHOWN} entries.`)
  if (typeof entries === 'string') return say('fault', 'The journal could not be read', entries)
  if (entries.length === 0)
    return say('off', 'Nothing yet', 'Every change, and everything sent to a line, appears here.')
  return html`<table class="table fold journal"><thead><tr><th>When</th><th>What</th><th>On</th><th>Who</th><th>From</th></tr></thead>
    <tbody>${entries.map(entryRow)}</tbody></table>`
}

function entryRow(entry: JournalEntry): VNode {
  const target = entry.target ?? ''
  return html`<tr key=${`${entry.at} ${entry.what} ${target}`}><td class="when">${sinceText(entry.at, daemonNow(), zone.value)}</td>
    <td class="name"><b>${entry.what}</b></td><td class="setup">${target.startsWith('/dev/') ? nameOf(target) : target}</td>
    <td class="state">${entry.who}</td><td class="wide mono faint">${entry.from}</td></tr>`
}
