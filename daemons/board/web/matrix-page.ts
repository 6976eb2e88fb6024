/** The matrix: who hears what, and the state of every board of the site; any board can show it, without a server. */
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { firstAnswer, lazy } from '#kit/web/lazy.ts'
import { verdict } from '#kit/web/parts.ts'
import { walkRows } from '#kit/web/tools.ts'
import { api, type Peer, signedInWith } from './api.ts'
import { askBoards, farBoards, peerKey, rememberBoards, soundOf } from './far-boards.ts'
import { type BoardRow, boardRow, chosenRows, isNeedy, judgeBoards, sortRows, withBoards } from './matrix.ts'
import { columnsOf, decoderRows, filtered, isNeedyRow, judgeRouting, type Row } from './routing.ts'
import { status } from './state.ts'
import * as texts from './texts.ts'

const MatrixTools = lazy(async () => (await import('./boards-table.ts')).MatrixTools)
const RoutingPanel = lazy(async () => (await import('./routing-panel.ts')).RoutingPanel)
const BoardsTable = lazy(async () => (await import('./boards-table.ts')).BoardsTable)

const LOOK_BOARDS_MS = 2000
/** Links of the rows. */
const LINKS = '.boards td.name a'

/** Kept while other pages are shown, so that the matrix is not empty on return. */
const peers = signal<Peer[] | null>(null)

/** The page. */
export function MatrixPage(): VNode {
  const [filter, setFilter] = useState('')
  const [isNeedyOnly, setNeedyOnly] = useState(false)
  const [isGrid, setGrid] = useState(false)
  const look = useLook(lookAround, LOOK_BOARDS_MS)
  useKeys(texts.matrix, [
    { key: 'ArrowDown', what: texts.nextBoard, run: () => walkRows(LINKS, 1) },
    { key: 'ArrowUp', what: texts.boardBefore, run: () => walkRows(LINKS, -1) },
    { key: 'Enter', what: texts.opensBoard, run: () => false },
  ])
  const known = peers.value
  if (known === null)
    return html`<h1 class="sr">Matrix</h1><section class="panel">${firstAnswer(look.refused, texts.askingBoardWhichOthersHasFound, texts.boardsCouldNotBeRead)}</section>`
  const when = { nowMs: daemonNow(), zone: zone.value }
  const boards = sortRows(
    known.map((peer) => boardRow(peer, farBoards.value.get(peerKey(peer)), status.value?.verdict, when)),
  )
  const seen = { peers: known, boards: farBoards.value, own: soundOf(status.value), when }
  const columns = columnsOf(seen)
  const rows = decoderRows(seen, columns)
  const hasSound = rows.length > 0 || columns.length > 0
  const needyRows = rows.filter(isNeedyRow)
  const shown = filtered({ rows: isNeedyOnly ? needyRows : rows, columns }, filter)
  const needyCount = hasSound ? needyRows.length : boards.filter(isNeedy).length
  const tools = html`<${MatrixTools} choice=${{ filter, isNeedyOnly, needyCount, isGrid, hasSound }} set=${{ filter: setFilter, needyOnly: setNeedyOnly, grid: setGrid }} />`
  const routing = html`<${RoutingPanel} peers=${known} rows=${shown.rows} columns=${shown.columns} all=${columns} isGrid=${isGrid} again=${look.again} />`
  return html`<h1 class="sr">Matrix</h1>${verdict(rows.length > 0 ? withBoards(judgeRouting(rows), beside(boards, needyRows)) : judgeBoards(boards))}
    ${hasSound ? html`<div class="routing-tools">${tools}</div>${routing}` : null}
    <section class="panel" aria-label="Boards">${!hasSound && boards.length > 1 ? tools : html`<header><h2>Boards</h2><span class="faint">${boards.length}</span></header>`}
      <${BoardsTable} peers=${known} rows=${chosenRows(boards, filter, isNeedyOnly)} all=${filter || isNeedyOnly ? boards.length : null} again=${look.again} /></section>`
}

async function lookAround(): Promise<void> {
  const found = await api.peers()
  peers.value = found
  await askBoards(found, signedInWith())
  rememberBoards()
}

/** Boards not already named by the verdict over sound. */
function beside(boards: readonly BoardRow[], rows: readonly Row[]): BoardRow[] {
  const named = new Set(rows.map(({ key }) => key))
  return boards.filter(({ peer }) => !named.has(peerKey(peer)))
}
