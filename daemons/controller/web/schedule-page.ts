/** The schedule page: what the building does by itself, what runs next, and what does not run. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { NoContact, sentenceOf } from '#kit/web/call.ts'
import { daemonNow, isLost, zone } from '#kit/web/contact.ts'
import { type Child, html } from '#kit/web/html.ts'
import { sinceText, UNKNOWN } from '#kit/web/numbers.ts'
import { Act, type Judgement, type Lit, lamp, say, verdict } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import { type Automated, type Automation, api } from './api.ts'
import * as texts from './texts.ts'

/** What comes first: the next run, or that something does not run. */
export function scheduleVerdict({ schedules, triggers }: Automation, nowMs: number, timeZone?: string): Judgement {
  const broken = [...schedules, ...triggers].filter(({ flaw }) => flaw !== null)
  const due = schedules.filter(({ next_at: at }) => typeof at === 'number')
  const [next] = due.sort((one, other) => Number(one.next_at) - Number(other.next_at))
  const said = next && texts.nextRun(nameOf(next), sinceText(Number(next.next_at), nowMs, timeZone))
  if (broken.length > 0) return { lit: 'warn', sentence: texts.doNothing(broken.length), why: said ?? '' }
  if (said !== undefined) return { lit: 'ok', sentence: said }
  return triggers.some(({ enabled }) => enabled)
    ? { lit: 'ok', sentence: texts.onlyTriggers }
    : { lit: 'off', sentence: texts.nothingByItself, why: texts.nothingByItselfWhy }
}

export function SchedulePage(): VNode {
  const [seen, setSeen] = useState<Automation | null>(null)
  const [refused, setRefused] = useState<string | null>(null)
  async function read(): Promise<void> {
    try {
      setSeen(await api.automation())
      setRefused(null)
    } catch (thrown) {
      if (!(thrown instanceof NoContact)) setRefused(sentenceOf(thrown))
    }
  }
  const isBack = !isLost.value
  useEffect(() => {
    if (isBack) void read()
  }, [isBack])
  // On a phone the navigation shows no pages below others.
  const again = html`<a class="btn quiet" href=${linkTo('macros')}>${texts.macros}</a><${Act} run=${read}>Read again</${Act}>`
  return html`<div class="head"><h1>Schedule</h1><span class="faint small later">what the building does by itself</span><div class="acts">${again}</div></div>
    ${refused === null ? null : html`<p class="refusal" role="alert" data-s="fault">${lamp('fault')}<span>${refused}</span></p>`}
    ${seen === null ? say('busy', texts.askingForSchedules, texts.usuallyBrief) : lists(seen)}`
}

function lists(seen: Automation): Child {
  return html`${verdict(scheduleVerdict(seen, daemonNow(), zone.value))}
    ${list(texts.schedules, seen.schedules, texts.noSchedules)}
    ${list(texts.triggers, seen.triggers, texts.noTriggers)}`
}

function list(title: string, rows: readonly Automated[], none: string): VNode {
  const hasNext = rows.some(({ next_at: at }) => at !== undefined)
  const body = html`<table class="table fold"><thead><tr><th class="lit"><span class="sr">State</span></th><th>Name</th><th>Starts</th>
      ${hasNext ? html`<th>Next</th>` : null}<th>Last</th></tr></thead><tbody>${rows.map((row) => rowOf(row, hasNext))}</tbody></table>`
  return html`<section class="panel" aria-label=${title}><header><h2>${title}</h2></header>
    ${rows.length === 0 ? html`<p class="in soft">${none}</p>` : body}</section>`
}

function rowOf(row: Automated, hasNext: boolean): VNode {
  const { id, kind, macro, flaw, enabled } = row
  const lit: Lit = flaw !== null ? 'warn' : enabled ? 'ok' : 'off'
  const words = flaw !== null ? texts.doesNothing : enabled ? texts.isWatched : texts.off
  return html`<tr key=${id}><td class="lit">${lamp(lit, words)}</td>
    <td class="name"><b>${nameOf(row)}</b> <span class="faint small">${kind}</span>${flaw === null ? null : html`<p class="small">${flaw}</p>`}</td>
    <td class="setup">${macro ?? UNKNOWN}</td>${hasNext ? html`<td class="when">${whenText(row.next_at)}</td>` : null}
    <td class="when faint">${whenText(row.last_at)}</td></tr>`
}

function nameOf({ name, id }: Automated): string {
  return name ?? String(id)
}

function whenText(atMs: number | null | undefined): string {
  return typeof atMs === 'number' ? sinceText(atMs, daemonNow(), zone.value) : UNKNOWN
}
