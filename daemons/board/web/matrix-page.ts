/** The matrix: every board of the site with its state, from any of them, without a server. */
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Act } from '#kit/web/button.ts'
import { input, segments } from '#kit/web/field.ts'
import { useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { lamp, say, verdict } from '#kit/web/lamp.ts'
import { useLook } from '#kit/web/look.ts'
import { daemonNow, zone } from '#kit/web/now.ts'
import { count, UNKNOWN } from '#kit/web/numbers.ts'
import { walkRows } from '#kit/web/rows.ts'
import { Tools } from '#kit/web/tools.ts'
import { api, type Peer } from './api.ts'
import { signedInWith } from './basic.ts'
import { askBoards, farBoards, pageOf, typePassword } from './far-boards.ts'
import { type BoardRow, chosenRows, isNeedy, judgeBoards, nameOf, rowOf, sortRows } from './matrix.ts'
import { status } from './state.ts'
import { roleTitleOf } from './words.ts'

const LOOK_BOARDS_MS = 3000
/** Links of the rows. */
const LINKS = '.boards td.name a'

/** Kept while other pages are looked at, so that the way back shows no empty page. */
const peers = signal<Peer[] | null>(null)

/** The page. */
export function MatrixPage(): VNode {
  const [filter, setFilter] = useState('')
  const [isNeedyOnly, setNeedyOnly] = useState(false)
  const look = useLook(lookAround, LOOK_BOARDS_MS)
  useKeys('Matrix', [
    { key: 'ArrowDown', what: 'next board', run: () => walkRows(LINKS, 1) },
    { key: 'ArrowUp', what: 'board before', run: () => walkRows(LINKS, -1) },
    { key: 'Enter', what: 'opens the board', run: () => false },
  ])
  const known = peers.value
  if (known === null) {
    const words =
      look.refused === null
        ? say('busy', 'Asking this board which others it has found', 'This usually takes less than a second.')
        : say('fault', 'The boards could not be read', look.refused)
    return html`<h1 class="sr">Matrix</h1><section class="panel">${words}</section>`
  }
  const when = { nowMs: daemonNow(), zone: zone.value }
  const rows = sortRows(known.map((peer) => rowOf(peer, farBoards.value.get(peer.url), status.value?.verdict, when)))
  const shown = chosenRows(rows, filter, isNeedyOnly)
  const needy = rows.filter(isNeedy).length
  const choose = segments({
    label: 'Boards shown',
    name: 'shown',
    value: isNeedyOnly ? 'needy' : 'all',
    options: [
      ['all', 'All'],
      ['needy', `Need a look ${needy}`],
    ],
    choose: (value) => setNeedyOnly(value === 'needy'),
  })
  return html`<h1 class="sr">Matrix</h1>${verdict(judgeBoards(rows))}
    <section class="panel" aria-label="Boards">${rows.length > 1 ? html`<${Tools} filter=${filter} setFilter=${setFilter} label="Find a board" placeholder="Find a board" more=${choose} />` : null}
      ${table(shown, filter || isNeedyOnly ? rows.length : null, look.again)}${rows.length === 1 ? alone() : null}</section>`
}

async function lookAround(): Promise<void> {
  const found = await api.peers()
  peers.value = found
  await askBoards(found, signedInWith())
}

function alone(): VNode {
  return say(
    'off',
    'Only this board so far',
    'Others appear within seconds of their start. If one is missing: it is in another network, or a switch between keeps multicast (mDNS, UDP 5353) back.',
  )
}

function table(rows: readonly BoardRow[], all: number | null, again: () => Promise<void>): Child {
  if (rows.length === 0) return say('off', 'No board matches', `${count(all ?? 0)} are hidden.`)
  return html`<table class="table fold boards"><thead><tr><th><span class="sr">State</span></th><th>Board</th><th>Role</th><th>How it is</th><th class="wide">Address</th><th class="wide">Version</th></tr></thead>
    <tbody>${rows.map((row) => html`<${Row} row=${row} again=${again} key=${row.peer.url} />`)}</tbody></table>`
}

function Row({ row, again }: { row: BoardRow; again: () => Promise<void> }): VNode {
  const { peer, lit, text, isLocked } = row
  const address = pageOf(peer)
  const name = html`<b>${nameOf(peer)}</b>`
  const link = peer.self || address === null ? name : html`<a href=${address}>${name}</a>`
  return html`<tr class=${lit === 'gone' ? 'stale' : ''}><td class="lit">${lamp(lit, true)}</td>
    <td class="name">${link}${peer.self ? html` <span class="faint">this board</span>` : null}<span class="under">${peer.hostname}</span></td>
    <td class="role state">${roleTitleOf(peer.role)}</td>
    <td class="how setup" data-s=${isNeedy(row) && lit !== 'gone' ? lit : undefined}>${text}${isLocked ? html`<${Unlock} peer=${peer} again=${again} />` : null}</td>
    <td class="wide mono faint">${peer.ip}</td><td class="wide faint">${peer.version ?? UNKNOWN}</td></tr>`
}

/** The password of a board that has another one; it goes to that board alone, and is kept as long as this page. */
function Unlock({ peer, again }: { peer: Peer; again: () => Promise<void> }): VNode {
  const form = useForm({ password: '' })
  async function submit(event: Event): Promise<void> {
    event.preventDefault()
    typePassword(peer, String(form.values.value.password))
    await form.submit(again)
  }
  return html`<form class="unlock" onSubmit=${(event: Event) => void submit(event)} novalidate>
    ${input({ form, name: 'password', label: html`Password<span class="sr"> of ${nameOf(peer)}</span>`, type: 'password', autocomplete: 'off' })}
    <${Act} type="submit" waits=${form.isBusy.value || form.values.value.password === ''}>Ask again</${Act}></form>`
}
