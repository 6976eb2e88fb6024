/**
 * The boards of the matrix, whatever their role: the state of each, its link, its removal, and the tools above the
 * list.
 */
import type { VNode } from 'preact'
import { sentenceOf } from '#kit/web/call.ts'
import { segments } from '#kit/web/figures.ts'
import { input, useForm } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { count, UNKNOWN } from '#kit/web/numbers.ts'
import { Act, type Lit, lamp, say, toast } from '#kit/web/parts.ts'
import { Tools } from '#kit/web/tools.ts'
import { api, type Peer, signedInWith } from './api.ts'
import { callBoard, farPageUrl, isThere, peerKey, typePassword } from './far-boards.ts'
import { type BoardRow, isNeedy, peerName } from './matrix.ts'
import * as texts from './texts.ts'
import { roleTitleOf } from './words.ts'

// Above the matrix: the filter, the choice of boards and view, and the meaning of the lamps.

interface Choice {
  filter: string
  isNeedyOnly: boolean
  needyCount: number
  isGrid: boolean
  hasSound: boolean
}

interface ToolsFacts {
  choice: Choice
  set: { filter(text: string): void; needyOnly(is: boolean): void; grid(is: boolean): void }
}

/** The tools. */
export function MatrixTools({ choice, set }: ToolsFacts): VNode {
  const { filter, isGrid, hasSound } = choice
  return html`<${Tools} filter=${filter} setFilter=${set.filter} label="Find a board" placeholder="Find a board"
    more=${[choose(choice, set.needyOnly), hasSound ? listOrGrid(isGrid, set.grid) : null]}>${hasSound ? legend() : null}</${Tools}>`
}

function choose({ isNeedyOnly, needyCount, hasSound }: Choice, set: (is: boolean) => void): VNode {
  return segments({
    label: texts.boardsShown,
    name: 'shown',
    value: isNeedyOnly ? 'needy' : 'all',
    options: [
      ['all', texts.all],
      ['needy', `${hasSound ? texts.notPlaying : texts.needLook} ${needyCount}`],
    ],
    choose: (value) => set(value === 'needy'),
  })
}

/** Shown on narrow screens only. */
function listOrGrid(isGrid: boolean, set: (is: boolean) => void): VNode {
  const choice = segments({
    label: texts.as,
    name: 'as',
    value: isGrid ? 'grid' : 'list',
    options: [
      ['list', texts.list],
      ['grid', texts.grid],
    ],
    choose: (value) => set(value === 'grid'),
  })
  return html`<div class="thumb">${choice}</div>`
}

function legend(): VNode {
  const words: [Lit, string][] = [
    ['ok', texts.legendPlaying],
    ['warn', texts.legendLosing],
    ['fault', texts.legendSilent],
    ['mute', texts.legendMuted],
    ['off', texts.legendSourceSilent],
    ['gone', texts.legendAway],
  ]
  return html`<div class="legend later">${words.map(([lit, word]) => html`<span key=${lit}>${lamp(lit)}${word}</span>`)}</div>`
}

// Dismissing a board that will not come back: here, and on the other boards that remember it.

/** Whether a board may be dismissed: it was there once, and is gone. */
export function isDismissable({ id, state }: Peer): boolean {
  return id !== null && (state === 'absent' || state === 'unreachable')
}

/** Dismisses a board here and on all boards that remember it, and reports it in a toast. */
export async function dismiss(peer: Peer, all: readonly Peer[]): Promise<void> {
  const { id } = peer
  if (id === null) return
  try {
    await api.dismissPeer(id)
  } catch (thrown) {
    return toast(texts.staysListed(peerName(peer), sentenceOf(thrown)))
  }
  const others = all.filter((other) => !other.self && isThere(other))
  const outcomes = await Promise.all(others.map((other) => dismissOn(other, id)))
  const failed = outcomes.filter((isDone) => !isDone).length
  const kept = failed === 0 ? '' : texts.someStillListIt(failed)
  toast(texts.isDismissed(peerName(peer), kept))
}

/** @returns whether that board no longer lists it */
async function dismissOn(other: Peer, id: string): Promise<boolean> {
  try {
    const form = new URLSearchParams({ id })
    const { status } = await callBoard(other, '/api/peers/dismiss', { authorization: signedInWith(), form })
    return status === 200 || status === 404
  } catch {
    return false
  }
}

// The table.

/** Contents of the table. */
interface BoardsFacts {
  rows: readonly BoardRow[]
  /** All boards, including filtered ones. */
  peers: readonly Peer[]
  /** Their number if a filter hides some, else null. */
  all: number | null
  again: () => Promise<void>
}

/** The table. */
export function BoardsTable({ rows, peers, all, again }: BoardsFacts): VNode {
  if (rows.length === 0) return say('off', texts.noBoardMatches, texts.areHidden(count(all ?? 0)))
  return html`<table class="table fold boards"><thead><tr><th><span class="sr">State</span></th><th>Board</th><th>Role</th><th>How it is</th><th class="wide">Address</th><th class="wide">Version</th></tr></thead>
    <tbody>${rows.map((row) => html`<${Line} row=${row} peers=${peers} again=${again} key=${peerKey(row.peer)} />`)}</tbody></table>
    ${peers.length === 1 ? alone() : null}`
}

function alone(): VNode {
  return say('off', texts.onlyBoardSoFar, texts.whereOthersAre)
}

function Line({ row, peers, again }: { row: BoardRow } & Pick<BoardsFacts, 'peers' | 'again'>): VNode {
  const { peer, lit, text, isLocked } = row
  const address = farPageUrl(peer)
  const name = html`<b>${peerName(peer)}</b>`
  const link = peer.self || address === null ? name : html`<a href=${address}>${name}</a>`
  return html`<tr class=${lit === 'gone' ? 'stale' : ''}><td class="lit">${lamp(lit, true)}</td>
    <td class="name">${link}${peer.self ? html` <span class="faint">this board</span>` : null}<span class="under">${peer.hostname}</span></td>
    <td class="role state">${roleTitleOf(peer.role)}</td>
    <td class="how setup" data-s=${isNeedy(row) && lit !== 'gone' ? lit : undefined}>${text}${isLocked ? html`<${Unlock} peer=${peer} again=${again} />` : null}${isDismissable(peer) ? html`<div class="let-go"><${Act} label=${texts.dismiss(peerName(peer))} run=${() => void dismiss(peer, peers).then(again)}>Dismiss</${Act}></div>` : null}</td>
    <td class="wide mono faint">${peer.ip}</td><td class="wide faint">${peer.version ?? UNKNOWN}</td></tr>`
}

/**
 * Asks for the password of a board that has another one. It is sent to that board only, and kept as long as the page.
 */
function Unlock({ peer, again }: { peer: Peer; again: () => Promise<void> }): VNode {
  const form = useForm({ password: '' })
  async function submit(event: Event): Promise<void> {
    event.preventDefault()
    typePassword(peer, String(form.values.value.password))
    await form.submit(again)
  }
  return html`<form class="unlock" onSubmit=${(event: Event) => void submit(event)} novalidate>
    ${input({ form, name: 'password', label: html`Password<span class="sr"> of ${peerName(peer)}</span>`, type: 'password', autocomplete: 'off' })}
    <${Act} type="submit" waits=${form.isBusy.value || form.values.value.password === ''}>Ask again</${Act}></form>`
}
