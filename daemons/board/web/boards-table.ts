/** The boards of the matrix, whatever they do: how each one is, and the way to it. */
import type { VNode } from 'preact'
import { Act } from '#kit/web/button.ts'
import { input } from '#kit/web/field.ts'
import { useForm } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { lamp, say } from '#kit/web/lamp.ts'
import { count, UNKNOWN } from '#kit/web/numbers.ts'
import type { Peer } from './api.ts'
import { dismiss, isDismissable } from './dismiss.ts'
import { keyOf, pageOf, typePassword } from './far-boards.ts'
import { type BoardRow, isNeedy, nameOf } from './matrix.ts'
import { roleTitleOf } from './words.ts'

/** What the table shows. */
export interface BoardsFacts {
  rows: readonly BoardRow[]
  /** Every board, also those that a filter hides. */
  peers: readonly Peer[]
  /** How many there are where a filter hides some, else null. */
  all: number | null
  again: () => Promise<void>
}

/** The table. */
export function BoardsTable({ rows, peers, all, again }: BoardsFacts): VNode {
  if (rows.length === 0) return say('off', 'No board matches', `${count(all ?? 0)} are hidden.`)
  return html`<table class="table fold boards"><thead><tr><th><span class="sr">State</span></th><th>Board</th><th>Role</th><th>How it is</th><th class="wide">Address</th><th class="wide">Version</th></tr></thead>
    <tbody>${rows.map((row) => html`<${Line} row=${row} peers=${peers} again=${again} key=${keyOf(row.peer)} />`)}</tbody></table>
    ${peers.length === 1 ? alone() : null}`
}

function alone(): VNode {
  return say(
    'off',
    'Only this board so far',
    'Others appear within seconds of their start. If one is missing: it is in another network, or a switch between keeps multicast (mDNS, UDP 5353) back.',
  )
}

function Line({ row, peers, again }: { row: BoardRow } & Pick<BoardsFacts, 'peers' | 'again'>): VNode {
  const { peer, lit, text, isLocked } = row
  const address = pageOf(peer)
  const name = html`<b>${nameOf(peer)}</b>`
  const link = peer.self || address === null ? name : html`<a href=${address}>${name}</a>`
  return html`<tr class=${lit === 'gone' ? 'stale' : ''}><td class="lit">${lamp(lit, true)}</td>
    <td class="name">${link}${peer.self ? html` <span class="faint">this board</span>` : null}<span class="under">${peer.hostname}</span></td>
    <td class="role state">${roleTitleOf(peer.role)}</td>
    <td class="how setup" data-s=${isNeedy(row) && lit !== 'gone' ? lit : undefined}>${text}${isLocked ? html`<${Unlock} peer=${peer} again=${again} />` : null}${isDismissable(peer) ? html`<div class="let-go"><${Act} label=${`Dismiss ${nameOf(peer)}`} run=${() => void dismiss(peer, peers).then(again)}>Dismiss</${Act}></div>` : null}</td>
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
