/** The routing matrix, changed with one touch: the grid with its popover, keys and changes. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { sentenceOf } from '#kit/web/call.ts'
import { type Child, html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { lazy } from '#kit/web/lazy.ts'
import { say, toast } from '#kit/web/parts.ts'
import type { Peer } from './api.ts'
import { type Column, needyFirst, type Row } from './routing.ts'
import { crosspointRefusal, Grid, gridKey, gridKeys, muteOn, playOn, stepOn, stopOn } from './routing-grid.ts'
import type { Opened } from './routing-pop.ts'
import * as texts from './texts.ts'

const RoutingPop = lazy(async () => (await import('./routing-pop.ts')).RoutingPop)

const NARROW = '(max-width: 44rem)'

/** Contents of the panel. */
interface RoutingFacts {
  rows: readonly Row[]
  columns: readonly Column[]
  /** All columns, including those the filter hides: an address may be shared with one of them. */
  all: readonly Column[]
  /** Every board. */
  peers: readonly Peer[]
  isGrid: boolean
  again: () => Promise<void>
}

/** The panel. */
export function RoutingPanel({ rows: byName, columns, all, peers, isGrid, again }: RoutingFacts): VNode {
  const isNarrow = useNarrow()
  const rows = isNarrow && !isGrid ? needyFirst(byName) : byName
  const [opened, setOpened] = useState<Opened | null>(null)
  const row = rows.find(({ key }) => key === opened?.row)
  useKeys(texts.routing, gridKeys())
  useEffect(() => {
    const body = document.querySelector('.matrix tbody')
    if (body && !body.querySelector('button[tabindex="0"]')) body.querySelector('button')?.setAttribute('tabindex', '0')
  })

  function press(what: 'pin' | 'name' | 'mute', key: string, column: string | null): void {
    const pressed = rows.find((each) => each.key === key)
    if (!pressed) return
    const to = columns.find((each) => each.key === column)
    if (what === 'mute') void told(pressed, muteOn(pressed))
    else if (what === 'name' || !to || to.key === pressed.column || pressed.isLocked || pressed.isGone)
      setOpened({ row: key, column: what === 'name' ? null : column })
    else void route(pressed, to)
  }
  async function route(from: Row, to: Column): Promise<void> {
    setOpened(null)
    try {
      await playOn(from, to, all)
    } catch (thrown) {
      setOpened({ row: from.key, column: to.key, ...crosspointRefusal(thrown) })
    }
  }
  const hands = {
    why: (at: Row) => setOpened({ row: at.key, column: at.column }),
    mute: (at: Row) => void told(at, muteOn(at)),
    step: (at: Row, step: 1 | -1) => void told(at, stepOn(at, step)),
    stop: (at: Row) => void (at.column !== null && told(at, stopOn(at))),
  }
  return html`<section class="panel routing" aria-label="Routing">${body()}</section>
    ${opened && row ? html`<${RoutingPop} row=${row} columns=${all} peers=${peers} opened=${opened} open=${setOpened} again=${again} key=${`${opened.row} ${opened.column}`} />` : null}`

  function body(): Child {
    if (rows.length === 0 && columns.length === 0) return say('off', texts.noBoardMatches, texts.noNameMatches)
    if (rows.length === 0) return say('off', texts.noDecoderWasFound, texts.noBoardPlays)
    if (columns.length === 0) return say('off', texts.noEncoderWasFound, texts.encodersAppearElse)
    return html`<${Grid} rows=${rows} columns=${columns} isGrid=${isGrid} open=${opened} press=${press}
      onKeyDown=${(event: KeyboardEvent) => gridKey(event, { rows, columns }, hands)} />`
  }
}

/** Reports refusals that have no popover to be shown in. */
async function told({ name }: Row, act: Promise<void>): Promise<void> {
  try {
    await act
  } catch (thrown) {
    toast(`${name}: ${sentenceOf(thrown)}`)
  }
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
