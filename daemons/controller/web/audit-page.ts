/** Audit: what was asked of the controller, by whom and from where, and why it was refused. Newest first. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Act } from '#kit/web/button.ts'
import { sentenceOf } from '#kit/web/call.ts'
import { type Child, html } from '#kit/web/html.ts'
import { lamp, say } from '#kit/web/lamp.ts'
import { daemonNow, zone } from '#kit/web/now.ts'
import { count, dateOf, many, THIN, timeOf, UNKNOWN } from '#kit/web/numbers.ts'
import { segments } from '#kit/web/segments.ts'
import { filterInput } from '#kit/web/tools.ts'
import { type AuditEntry, api } from './api.ts'
import { type AuditChoice, auditQuery, outcomeSentence, outcomeWords, reasonChoices } from './audit-words.ts'

/** A filter is asked when the hand rests: each look is a row of the audit itself. */
const REST_MS = 400
const FIRST: AuditChoice = { outcome: 'refused', user: '', path: '', reason: '', hours: '' }
const TIMES = [
  ['', 'any time'],
  ['1', 'last hour'],
  ['24', 'last day'],
  ['168', 'last week'],
] as const

/** The page. */
export function AuditPage(): VNode {
  const [choice, setChoice] = useState(FIRST)
  const [rows, setRows] = useState<AuditEntry[] | null>(null)
  const [before, setBefore] = useState<number | null>(null)
  const [refused, setRefused] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const [opened, setOpened] = useState<number | null>(null)

  async function read(older: number | null): Promise<void> {
    setBusy(true)
    try {
      const page = await api.audit(auditQuery(choice, daemonNow(), older))
      setRows((known) => (older === null || known === null ? page.rows : [...known, ...page.rows]))
      setBefore(page.before)
      setRefused(null)
    } catch (thrown) {
      setRefused(sentenceOf(thrown))
    }
    setBusy(false)
  }
  useEffect(() => {
    const timer = setTimeout(() => void read(null), rows === null ? 0 : REST_MS)
    return () => clearTimeout(timer)
  }, [JSON.stringify(choice)])
  const change = (part: Partial<AuditChoice>): void => setChoice({ ...choice, ...part })
  return html`<div class="head"><h1>Audit</h1><span class="faint small later">what was asked of this controller, newest first</span></div>
    <section class="panel" aria-label="Calls">${tools(choice, change, html`<${Act} waits=${isBusy} run=${() => void read(null)}>Read again</${Act}>`)}
      ${refused === null ? null : html`<p class="refusal" role="alert" data-s="fault">${lamp('fault')}<span>${refused}</span></p>`}
      ${table(rows, { opened, open: setOpened, choice })}
      ${
        rows && rows.length > 0
          ? html`<footer class="account"><span class="small faint">${many(rows.length, 'call')}${before === null ? ', all there are' : ''}</span>
        ${before === null ? null : html`<${Act} waits=${isBusy} run=${() => void read(before)}>Older</${Act}>`}</footer>`
          : null
      }
    </section>`
}

function tools(choice: AuditChoice, change: (part: Partial<AuditChoice>) => void, again: Child): VNode {
  const picked = (event: Event): string => (event.target as HTMLSelectElement).value
  return html`<header class="tools audit-tools">
    ${segments({
      label: 'Outcome',
      name: 'outcome',
      value: choice.outcome,
      options: [
        ['refused', 'Refused'],
        ['granted', 'Granted'],
        ['all', 'All'],
      ],
      choose: (outcome) =>
        change({ outcome: outcome as AuditChoice['outcome'], reason: outcome === 'granted' ? '' : choice.reason }),
    })}
    ${filterInput({ filter: choice.user, setFilter: (user) => change({ user }), label: 'Filter by user', placeholder: 'User', isFirst: true })}
    ${filterInput({ filter: choice.path, setFilter: (path) => change({ path }), label: 'Filter by path', placeholder: 'Path' })}
    <div class="input"><select aria-label="Filter by reason" value=${choice.reason} disabled=${choice.outcome === 'granted'} onChange=${(event: Event) => change({ reason: picked(event) })}>
      <option value="">any reason</option>${reasonChoices.map(([reason, words]) => html`<option value=${reason} selected=${reason === choice.reason}>${words}</option>`)}</select></div>
    <div class="input"><select aria-label="Filter by time" value=${choice.hours} onChange=${(event: Event) => change({ hours: picked(event) })}>
      ${TIMES.map(([hours, words]) => html`<option value=${hours} selected=${hours === choice.hours}>${words}</option>`)}</select></div>
    <div class="acts">${again}</div></header>`
}

interface Opening {
  opened: number | null
  open(id: number | null): void
  choice: AuditChoice
}

function table(rows: AuditEntry[] | null, opening: Opening): Child {
  if (rows === null) return say('busy', 'Asking for the record', 'The newest 100 calls.')
  if (rows.length === 0) return nothing(opening.choice)
  return html`<table class="table fold journal audit"><thead><tr><th class="lit"><span class="sr">State</span></th><th>When</th><th>Who</th><th>What</th><th>Outcome</th><th class="wide">From</th></tr></thead>
    <tbody>${rows.flatMap((entry) => rowsOf(entry, opening))}</tbody></table>`
}

function nothing({ outcome, ...others }: AuditChoice): Child {
  if (Object.values(others).some((part) => part !== ''))
    return say(
      'off',
      'No call fits this choice',
      'Choose All, any reason and any time, and empty the filters, to see everything that is kept.',
    )
  if (outcome === 'refused') return say('ok', 'No call was refused', 'Choose All to see those that were granted.')
  return say('off', 'Nothing was asked yet', 'Every call of the REST API and of these pages appears here.')
}

function rowsOf(entry: AuditEntry, { opened, open }: Opening): VNode[] {
  const { id, at, username, method, path, target, granted, client_ip: from } = entry
  const isOpen = opened === id
  const toggle = (): void => open(isOpen ? null : id)
  const isToday = dateOf(at, zone.value) === dateOf(daemonNow(), zone.value)
  const when = `${isToday ? '' : `${dateOf(at, zone.value)} `}${timeOf(at, zone.value)}`
  const press = (event: Event): void => {
    event.stopPropagation()
    toggle()
  }
  const row = html`<tr key=${id} class=${isOpen ? 'chosen' : ''} onClick=${toggle}>
    <td class="lit">${lamp(granted ? 'ok' : 'warn', granted ? 'Granted' : 'Refused')}</td><td class="when">${when}</td>
    <td class="name"><button class="link" type="button" aria-expanded=${isOpen} onClick=${press}><b>${username ?? 'nobody'}</b></button></td>
    <td class="setup"><span class="mono">${method} ${path}</span>${target === null ? '' : ` · ${target}`}</td>
    <td class="state" data-s=${granted ? 'ok' : 'warn'}>${outcomeWords(entry)}</td><td class="wide mono faint">${from}</td></tr>`
  return isOpen
    ? [
        row,
        html`<tr key=${`${id} facts`} class="facts"><td colspan="6"><p>${outcomeSentence(entry)}</p><dl>${facts(entry)}</dl></td></tr>`,
      ]
    : [row]
}

function facts(entry: AuditEntry): VNode[] {
  const listed: [string, string][] = [
    ['At', `${dateOf(entry.at, zone.value)} ${timeOf(entry.at, zone.value, 'ms')}`],
    ['From', entry.client_ip],
    ['By', entry.request_type === 'ui' ? 'a page' : 'the REST API'],
    ['Target', entry.target ?? UNKNOWN],
    ['Status', String(entry.status)],
    ['Took', `${count(entry.elapsed_ms)}${THIN}ms`],
    ['Reason', entry.reason ?? UNKNOWN],
    ['Macro run', entry.run_id === null ? UNKNOWN : String(entry.run_id)],
  ]
  return listed.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)
}
