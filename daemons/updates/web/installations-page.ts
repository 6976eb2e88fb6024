/** Installations: who waits, who is enabled, what each runs and what came of its last update; one of them in full. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { sentenceOf, useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { copyText } from '#kit/web/copy-and-save.ts'
import { segments } from '#kit/web/figures.ts'
import { type Child, html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { firstAnswer, lazy } from '#kit/web/lazy.ts'
import { many } from '#kit/web/numbers.ts'
import { Act, chip, lamp, say, toast, verdict } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import { followRow, Tools, walkRows } from '#kit/web/tools.ts'
import { type Installation, type InstallationList, type InstallationState, installationsApi } from './api.ts'
import { lookAgain } from './state.ts'
import * as texts from './texts.ts'
import { agoText, isSilent, judgeInstallations, lastUpdate, nameOf, STATES, type When } from './words.ts'

const InstallationPanel = lazy(async () => (await import('./installation-panel.ts')).InstallationPanel)

const LOOK_MS = 5000
/** A filter is applied after a pause in typing. */
const REST_MS = 300
/** Rows that are shown first, and how many more at a time; the server tells at most so many at once. */
const [STEP, MOST] = [100, 5000]
/** Changed in one call. */
const MOST_AT_ONCE = 1000

const links = '.installations .name a'

/** The page. @param id of the open one */
export function InstallationsPage({ id }: { id?: string }): VNode {
  const [filter, setFilter] = useState('')
  const [state, setState] = useState<InstallationState | ''>('')
  const [limit, setLimit] = useState(STEP)
  const [known, setKnown] = useState<InstallationList | null>(null)
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const q = useRested(filter)
  const { again, refused } = useLook(
    async () => setKnown(await installationsApi.list({ q, state: state || undefined, limit })),
    LOOK_MS,
    JSON.stringify([q, state, limit]),
  )
  const both = async (): Promise<void> => {
    await Promise.all([again(), lookAgain()])
  }
  useKeys(texts.installations, [
    { key: 'ArrowDown', what: texts.nextRow, run: () => walkRows(links, 1) },
    { key: 'ArrowUp', what: texts.rowBefore, run: () => walkRows(links, -1) },
  ])
  async function enable(ids: readonly string[], isOn: boolean): Promise<void> {
    try {
      for (let from = 0; from < ids.length; from += MOST_AT_ONCE)
        await installationsApi.enable(ids.slice(from, from + MOST_AT_ONCE), isOn)
      toast((isOn ? texts.nowEnabled : texts.nowDisabled)(ids.length), () => void enable(ids, !isOn))
      setChosen(new Set())
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
    await both()
  }
  if (known === null)
    return html`<h1 class="sr">Installations</h1><section class="panel">${firstAnswer(refused, texts.askingInstallations, texts.installationsNotRead, () => void again())}</section>`
  const { counts, installations, total } = known
  const all = counts.pending + counts.enabled + counts.disabled
  const of = (many: number, word: string) => (many > 0 ? `${word} ${many}` : word)
  const states = [
    ['', of(all, texts.all)],
    ['pending', of(counts.pending, texts.waitingOnes)],
    ['enabled', of(counts.enabled, texts.enabled)],
    ['disabled', of(counts.disabled, texts.disabled)],
  ] as const
  const seg = segments({
    label: texts.showOnly,
    name: 'state',
    value: state,
    options: states,
    choose: (value) => setState(value as typeof state),
  })
  const rows = {
    installations,
    chosen,
    open: id,
    choose: (one: string) => setChosen(toggled(chosen, one)),
    enable,
    when: { nowMs: daemonNow(), zone: zone.value },
  }
  return html`<h1 class="sr">Installations</h1>${verdict(judgeInstallations(counts))}${refused === null ? null : say('fault', texts.installationsNotRead, refused)}
    <div class=${id === undefined ? '' : 'cols with-form'}><div class="stack"><section class="panel" aria-label="Installations">
      ${all === 0 ? null : html`<${Tools} filter=${filter} setFilter=${setFilter} label=${texts.filterInstallations} placeholder=${texts.filterHint} more=${seg} />`}
      ${all === 0 ? connecting(true) : installations.length === 0 ? say('off', texts.noneMatches, texts.howToSeeAll) : html`${bulk(installations, { chosen, setChosen, enable })}${table(rows)}`}
      ${installations.length > 0 ? more({ shown: installations.length, total, grow: () => setLimit(Math.min(MOST, limit + STEP)) }) : null}</section>
      ${all === 0 ? null : html`<section class="panel" aria-label=${texts.connectAnother}><details class="in"><summary>${texts.connectAnother}</summary>${connecting(false)}</details></section>`}</div>
      ${id === undefined ? null : html`<${InstallationPanel} id=${id} again=${both} key=${id} />`}</div>`
}

/** A text once it has not changed for a moment. */
function useRested(text: string): string {
  const [rested, setRested] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setRested(text.trim()), REST_MS)
    return () => clearTimeout(timer)
  }, [text])
  return rested
}

function toggled(before: ReadonlySet<string>, one: string): ReadonlySet<string> {
  const next = new Set(before)
  if (!next.delete(one)) next.add(one)
  return next
}

interface Bulk {
  chosen: ReadonlySet<string>
  setChosen: (chosen: ReadonlySet<string>) => void
  enable: (ids: readonly string[], isOn: boolean) => Promise<void>
}

/** What is done with several. It is there before one is ticked, so that no row moves under the hand. */
function bulk(installations: readonly Installation[], { chosen, enable, setChosen }: Bulk): VNode {
  const ids = installations.map(({ id }) => id).filter((id) => chosen.has(id))
  const isAll = ids.length === installations.length
  const all = () => setChosen(isAll ? new Set() : new Set(installations.map(({ id }) => id)))
  return html`<div class="bulk"><label class="tick"><input type="checkbox" checked=${isAll} onChange=${all} />${texts.all}</label>
    <span class="faint small" role="status">${ids.length === 0 ? '' : texts.chosen(ids.length)}</span>
    <div class="acts"><${Act} waits=${ids.length === 0} label=${texts.enableChosen} run=${() => void enable(ids, true)}>${texts.enable}</${Act}>
      <${Act} waits=${ids.length === 0} label=${texts.disableChosen} run=${() => void enable(ids, false)}>${texts.disable}</${Act}></div></div>`
}

interface Rows extends Pick<Bulk, 'chosen' | 'enable'> {
  installations: readonly Installation[]
  open: string | undefined
  choose: (id: string) => void
  when: When
}

function table(rows: Rows): VNode {
  return html`<table class="table fold rows installations"><thead><tr><th class="lit"><span class="sr">Chosen</span></th><th>Name</th><th>Version, last update</th><th>Last seen</th><th>State</th></tr></thead>
    <tbody>${rows.installations.map((one) => row(one, rows))}</tbody></table>`
}

function row(one: Installation, { choose, chosen, enable, open, when }: Rows): VNode {
  const { id, state } = one
  const href = linkTo('installations', id)
  const name = nameOf(one)
  const follow = (event: Event): void => {
    const isControl = event.target instanceof Element && event.target.closest('input, label, button') !== null
    if (!isControl) followRow(event, href)
  }
  return html`<tr key=${id} class=${id === open ? 'chosen' : ''} onClick=${follow}>
    <td class="lit"><label class="tick"><input type="checkbox" checked=${chosen.has(id)} onChange=${() => choose(id)} aria-label=${texts.choose(name)} /></label></td>
    <td class="name"><a href=${href} aria-current=${id === open || undefined}><b>${name}</b></a><span class="under mono">${id}</span></td>
    <td class="setup">${versionOf(one, when)}</td>
    <td class="when" data-s=${isSilent(one, when.nowMs) ? 'warn' : undefined}>${agoText(one.last_seen_at, when)}</td>
    <td class="state">${state === 'pending' ? html`<${Act} label=${texts.enableNamed(name)} run=${() => void enable([id], true)}>${texts.enable}</${Act}>` : chip(STATES[state].lit, STATES[state].word)}</td></tr>`
}

/** What it runs, what it is offered, what came of the last update; of one that waits, that it does. */
function versionOf(one: Installation, when: When): Child {
  const runs = one.version ?? texts.versionUnknown
  const channel = one.channel ?? one.asked_channel ?? 'stable'
  const offered =
    one.state === 'enabled' && one.offered !== null && one.offered !== one.version ? texts.isOffered(one.offered) : ''
  const last = lastUpdate(one, when)
  const under =
    one.state === 'pending'
      ? html`<span class="under said" data-s="warn">${lamp('warn')}${texts.newOne(agoText(one.registered_at, when), one.address)}</span>`
      : last
        ? html`<span class="under said" data-s=${last.lit}>${lamp(last.lit)}${last.text}</span>`
        : html`<span class="under">${texts.noUpdateYet}</span>`
  return html`${runs}<span class="faint">, ${channel}${offered}</span>${under}`
}

function more({ grow, shown, total }: { shown: number; total: number; grow: () => void }): VNode {
  const isWhole = shown >= total
  return html`<footer class="account"><span class="small faint">${isWhole ? many(total, 'installation') : texts.shownOf(shown, total)}</span>
    ${isWhole ? null : shown >= MOST ? html`<span class="small faint">${texts.searchForOthers}</span>` : html`<${Act} run=${grow}>Show more</${Act}>`}</footer>`
}

/** How an installation comes here. */
function connecting(isFirst: boolean): Child {
  const install = texts.installCommand(location.origin)
  const setting = texts.updateUrl(location.origin)
  const text = html`<span class="stack ways"><span>${texts.newMachine}</span>${copyable(install, texts.commandIsCopied, texts.copyCommand)}
    <span>${texts.runningMachine}</span>${copyable(setting, texts.settingIsCopied, texts.copySetting)}<span>${texts.thenItWaits}</span></span>`
  return isFirst
    ? html`<div class="wide-say">${say('off', texts.noneRegistered, text)}</div>`
    : html`<div class="soft small">${text}</div>`
}

function copyable(text: string, told: string, label: string): VNode {
  return html`<span class="copy"><code tabindex="0">${text}</code><button class="btn" type="button" aria-label=${label} onClick=${() => void copyText(text, told)}>Copy</button></span>`
}
