/** Audit: what was asked of the controller, by whom and from where, and why it was refused. Newest first. */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Act } from '#kit/web/button.ts'
import { NoContact, sentenceOf } from '#kit/web/call.ts'
import { isLost } from '#kit/web/contact.ts'
import { type Child, html } from '#kit/web/html.ts'
import { lamp, say } from '#kit/web/lamp.ts'
import { daemonNow, zone } from '#kit/web/now.ts'
import { count, dateOf, many, THIN, timeOf, UNKNOWN } from '#kit/web/numbers.ts'
import { focusMain } from '#kit/web/shell.ts'
import { type AuditEntry, type AuditPage as AuditRows, api } from './api.ts'
import { AuditTools } from './audit-tools.ts'
import {
  type AuditChoice,
  type AuditTime,
  auditQuery,
  FIRST_CHOICE,
  isBackward,
  outcomeLit,
  outcomeSentence,
  outcomeWords,
} from './audit-words.ts'

/** A filter is asked when the hand rests: each look is a row of the audit itself. */
const REST_MS = 400

/** The page. */
export function AuditPage(): VNode {
  const [choice, setChoice] = useState(FIRST_CHOICE)
  const [rows, setRows] = useState<AuditEntry[] | null>(null)
  const [before, setBefore] = useState<number | null>(null)
  const [refused, setRefused] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const [opened, setOpened] = useState<number | null>(null)

  /** The choice that is asked for, and the one that was answered last. */
  const latest = useRef('')
  const answered = useRef('')
  const about = JSON.stringify(choice)

  async function read(older: number | null): Promise<void> {
    latest.current = about
    setBusy(true)
    try {
      const isVain = isBackward(choice, time())
      const page = isVain ? NOTHING : await api.audit(auditQuery(choice, time(), older))
      // What was asked for meanwhile counts, whichever answer is quicker.
      if (latest.current !== about) return
      answered.current = about
      setRows((known) => (older === null || known === null ? page.rows : [...known, ...page.rows]))
      setBefore(page.before)
      setRefused(null)
    } catch (thrown) {
      if (!(thrown instanceof NoContact)) setRefused(sentenceOf(thrown))
    } finally {
      setBusy(false)
    }
  }
  // What was not answered for lack of contact is asked again when contact is back.
  const isBack = !isLost.value
  useEffect(() => {
    if (!isBack || answered.current === about) return
    const timer = setTimeout(() => void read(null), rows === null ? 0 : REST_MS)
    return () => clearTimeout(timer)
  }, [about, isBack])
  // The button goes with what it ends.
  function showAll(): void {
    setChoice({ ...FIRST_CHOICE, outcome: 'all' })
    focusMain()
  }
  const again = html`<${Act} waits=${isBusy} run=${() => void read(null)}>Read again</${Act}>`
  const older = html`<${Act} waits=${isBusy} run=${() => void read(before)}>Older</${Act}>`
  return html`<div class="head"><h1>Audit</h1><span class="faint small later">what was asked of this controller, newest first</span></div>
    <section class="panel" aria-label="Calls"><${AuditTools} choice=${choice} choose=${setChoice}>${again}</${AuditTools}>
      ${refused === null ? null : html`<p class="refusal" role="alert" data-s="fault">${lamp('fault')}<span>${refused}</span></p>`}
      ${rows?.length === 0 ? nothing(choice, showAll, before === null ? null : older) : table(rows, { opened, open: setOpened })}
      ${
        rows && rows.length > 0
          ? html`<footer class="account"><span class="small faint">${many(rows.length, 'call')}${before === null ? ', all that fit' : ''}</span>
        ${before === null ? null : older}</footer>`
          : null
      }
    </section>`
}

const NOTHING: AuditRows = { rows: [], before: null }

function time(): AuditTime {
  return { nowMs: daemonNow(), zone: zone.value }
}

interface Opening {
  opened: number | null
  open(id: number | null): void
}

function table(rows: AuditEntry[] | null, opening: Opening): Child {
  if (rows === null) return say('busy', 'Asking for the record', 'The newest 100 calls.')
  return html`<table class="table fold journal audit"><thead><tr><th class="lit"><span class="sr">State</span></th><th>When</th><th>Who</th><th>What</th><th>Outcome</th><th class="wide">From</th></tr></thead>
    <tbody>${rows.flatMap((entry) => rowsOf(entry, opening))}</tbody></table>`
}

/** @param older where one search did not look at everything */
function nothing(choice: AuditChoice, showAll: () => void, older: VNode | null): Child {
  const all = html`<div class="acts start">${older}<button class="btn" type="button" onClick=${showAll}>Show all calls</button></div>`
  if (isBackward(choice, time()))
    return say('warn', 'Until lies before From', 'Nothing can fit. Pick a later Until, or an earlier From.', all)
  if (older !== null)
    return say('off', 'None of the newest calls fits', 'Older ones were not looked at yet: one search has an end.', all)
  const { outcome, ...others } = choice
  if (Object.values(others).some((part) => part !== ''))
    return say(
      'off',
      'No call fits this choice',
      'Nothing that is kept has this outcome, user, path, reason and time.',
      all,
    )
  if (outcome === 'refused') return say('ok', 'No call was refused', 'Those that were granted are under All.', all)
  return say('off', 'Nothing was asked yet', 'Every call of the REST API and of these pages appears here.')
}

function rowsOf(entry: AuditEntry, { opened, open }: Opening): VNode[] {
  const { id, at, username, method, path, target, action, granted, client_ip: from } = entry
  const lit = outcomeLit(entry)
  const words = outcomeWords(entry)
  const isOpen = opened === id
  const toggle = (): void => open(isOpen ? null : id)
  const isToday = dateOf(at, zone.value) === dateOf(daemonNow(), zone.value)
  const when = `${isToday ? '' : `${dateOf(at, zone.value)} `}${timeOf(at, zone.value)}`
  const press = (event: Event): void => {
    event.stopPropagation()
    toggle()
  }
  const row = html`<tr key=${id} class=${isOpen ? 'chosen' : ''} onClick=${toggle}>
    <td class="lit">${lamp(lit, granted ? (lit === 'ok' ? 'Granted' : 'Granted, see the outcome') : 'Refused')}</td><td class="when">${when}</td>
    <td class="name"><button class="link" type="button" aria-expanded=${isOpen} onClick=${press}><b>${username ?? 'nobody'}</b></button></td>
    <td class="setup">${action === null ? null : html`<b>${action}</b> · `}<span class="mono">${method} ${path}</span>${target === null ? '' : ` · ${target}`}</td>
    <td class="state" data-s=${lit}>${words}</td><td class="wide mono faint">${from}</td></tr>`
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
    ['Action', entry.action ?? UNKNOWN],
    ['Target', entry.target ?? UNKNOWN],
    ['Status', String(entry.status)],
    ['Took', `${count(entry.elapsed_ms)}${THIN}ms`],
    ['Reason', entry.reason ?? UNKNOWN],
    ['Macro run', entry.run_id === null ? UNKNOWN : String(entry.run_id)],
  ]
  return listed.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)
}
