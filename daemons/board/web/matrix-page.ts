/** The matrix: who hears what, and every board of the site with its state, from any of them, without a server. */
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type Child, html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { type Judgement, type Lit, lamp, say, verdict } from '#kit/web/lamp.ts'
import { lazy } from '#kit/web/lazy.ts'
import { useLook } from '#kit/web/look.ts'
import { daemonNow, zone } from '#kit/web/now.ts'
import { walkRows } from '#kit/web/rows.ts'
import { segments } from '#kit/web/segments.ts'
import { Tools } from '#kit/web/tools.ts'
import { api, type Peer } from './api.ts'
import { signedInWith } from './basic.ts'
import { askBoards, farBoards } from './far-boards.ts'
import { soundOf } from './far-sound.ts'
import { chosenRows, isNeedy, judgeBoards, rowOf, sortRows } from './matrix.ts'
import { columnsOf, filtered, isNeedyRow, judgeRouting, needyFirst, rowsOf } from './routing.ts'
import { status } from './state.ts'

const RoutingPanel = lazy(async () => (await import('./routing-panel.ts')).RoutingPanel)
const BoardsTable = lazy(async () => (await import('./boards-table.ts')).BoardsTable)

const LOOK_BOARDS_MS = 2000
/** Links of the rows. */
const LINKS = '.boards td.name a'
const NARROW = '(max-width: 44rem)'

/** Kept while other pages are looked at, so that the way back shows no empty page. */
const peers = signal<Peer[] | null>(null)

/** The page. */
export function MatrixPage(): VNode {
  const [filter, setFilter] = useState('')
  const [isNeedyOnly, setNeedyOnly] = useState(false)
  const [isGrid, setGrid] = useState(false)
  const isNarrow = useNarrow()
  const look = useLook(lookAround, LOOK_BOARDS_MS)
  useKeys('Matrix', [
    { key: 'ArrowDown', what: 'next board', run: () => walkRows(LINKS, 1) },
    { key: 'ArrowUp', what: 'board before', run: () => walkRows(LINKS, -1) },
    { key: 'Enter', what: 'opens the board', run: () => false },
  ])
  const known = peers.value
  if (known === null) return waiting(look.refused)
  const when = { nowMs: daemonNow(), zone: zone.value }
  const boards = sortRows(known.map((peer) => rowOf(peer, farBoards.value.get(peer.url), status.value?.verdict, when)))
  const seen = { peers: known, boards: farBoards.value, own: soundOf(status.value), when }
  const columns = columnsOf(seen)
  const rows = rowsOf(seen, columns)
  const hasSound = rows.length > 0 || columns.length > 0
  const needyRows = rows.filter(isNeedyRow)
  const shown = filtered({ rows: isNeedyOnly ? needyRows : rows, columns }, filter)
  const needyCount = hasSound ? needyRows.length : boards.filter(isNeedy).length
  const tools = html`<${Tools} filter=${filter} setFilter=${setFilter} label="Find a board" placeholder="Find a board"
    more=${[choose({ isNeedyOnly, needyCount, hasSound }, setNeedyOnly), hasSound ? listOrGrid(isGrid, setGrid) : null]}>${hasSound ? legend() : null}</${Tools}>`
  const routing = html`<${RoutingPanel} rows=${isNarrow && !isGrid ? needyFirst(shown.rows) : shown.rows} columns=${shown.columns} all=${columns} isGrid=${isGrid} again=${look.again} />`
  return html`<h1 class="sr">Matrix</h1>${verdict(hasSound && rows.length > 0 ? together(judgeRouting(rows), judgeBoards(boards)) : judgeBoards(boards))}
    ${hasSound ? html`<div class="routing-tools">${tools}</div>${routing}` : null}
    <section class="panel" aria-label="Boards">${!hasSound && boards.length > 1 ? tools : html`<header><h2>Boards</h2><span class="faint">${boards.length}</span></header>`}
      <${BoardsTable} rows=${chosenRows(boards, filter, isNeedyOnly)} all=${filter || isNeedyOnly ? boards.length : null} again=${look.again} />${boards.length === 1 ? alone() : null}</section>`
}

function waiting(refused: string | null): VNode {
  const words =
    refused === null
      ? say('busy', 'Asking this board which others it has found', 'This usually takes less than a second.')
      : say('fault', 'The boards could not be read', refused)
  return html`<h1 class="sr">Matrix</h1><section class="panel">${words}</section>`
}

async function lookAround(): Promise<void> {
  const found = await api.peers()
  peers.value = found
  await askBoards(found, signedInWith())
}

/** Sound first; what else is wrong with boards stands behind it. */
function together(routing: Judgement, boards: Judgement): Judgement {
  if (routing.lit === 'fault' || boards.lit === 'ok' || routing.why) return routing
  return { ...routing, lit: routing.lit === 'ok' ? boards.lit : routing.lit, why: boards.sentence }
}

interface Choice {
  isNeedyOnly: boolean
  needyCount: number
  hasSound: boolean
}

function choose({ isNeedyOnly, needyCount, hasSound }: Choice, set: (is: boolean) => void): VNode {
  return segments({
    label: 'Boards shown',
    name: 'shown',
    value: isNeedyOnly ? 'needy' : 'all',
    options: [
      ['all', 'All'],
      ['needy', `${hasSound ? 'Not playing' : 'Need a look'} ${needyCount}`],
    ],
    choose: (value) => set(value === 'needy'),
  })
}

/** Where it is narrow only. */
function listOrGrid(isGrid: boolean, set: (is: boolean) => void): VNode {
  const choice = segments({
    label: 'As',
    name: 'as',
    value: isGrid ? 'grid' : 'list',
    options: [
      ['list', 'List'],
      ['grid', 'Grid'],
    ],
    choose: (value) => set(value === 'grid'),
  })
  return html`<div class="thumb">${choice}</div>`
}

function legend(): VNode {
  const words: [Lit, string][] = [
    ['ok', 'playing'],
    ['warn', 'losing'],
    ['fault', 'silent'],
    ['mute', 'muted'],
    ['off', 'source silent'],
    ['gone', 'away'],
  ]
  return html`<div class="legend later">${words.map(([lit, word]) => html`<span key=${lit}>${lamp(lit)}${word}</span>`)}</div>`
}

function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia(NARROW).matches)
  useEffect(() => {
    const query = matchMedia(NARROW)
    const change = (): void => setNarrow(query.matches)
    query.addEventListener('change', change)
    return () => query.removeEventListener('change', change)
  }, [])
  return isNarrow
}

function alone(): Child {
  return say(
    'off',
    'Only this board so far',
    'Others appear within seconds of their start. If one is missing: it is in another network, or a switch between keeps multicast (mDNS, UDP 5353) back.',
  )
}
