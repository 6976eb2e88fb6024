/** The first points of a line on its own page: name, value, age. All of them, and what one does with them, stand on theirs. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type Child, html } from '#kit/web/html.ts'
import { lamp, say } from '#kit/web/lamp.ts'
import { useLook } from '#kit/web/look.ts'
import { daemonNow } from '#kit/web/now.ts'
import { count } from '#kit/web/numbers.ts'
import { linkTo } from '#kit/web/route.ts'
import type { Port } from './api.ts'
import { ageCell, valueCell } from './point-cells.ts'
import { createPointTable, judgePoints, type PointTable, type Shown } from './points.ts'
import { isAdmin, LOOK_MS } from './state.ts'
import type { Traffic } from './traffic.ts'

/** Rows that stand beside the traffic. */
const MOST = 8

/** The panel. */
export function PointsPart({ port, traffic }: { port: Port; traffic: Traffic }): VNode {
  const [table] = useState<PointTable>(() => createPointTable(port.path))
  const { refused } = useLook(table.look, LOOK_MS, port.path)
  useEffect(() => {
    const stop = traffic.onOther(table.hear)
    return () => {
      stop()
      table.close()
    }
  }, [traffic])
  const rows = table.rows.value
  const all = linkTo('port', port.path, 'points')
  const note = rows && rows.length > MOST ? `${MOST} of ${count(rows.length)}` : ''
  const act = rows && rows.length > 0 ? html`<a class="btn quiet" href=${all}>All</a>` : null
  return html`<section class="panel" aria-label="Points"><header><h2>Points</h2><span class="faint grow">${note}</span><div class="acts">${act}</div></header>
    ${body(rows, refused, port)}${rows && rows.length > 0 ? odd(rows, table, port) : null}</section>`
}

function body(rows: readonly Shown[] | null, refused: string | null, port: Port): Child {
  if (rows === null) return refused === null ? null : say('fault', 'The points could not be read', refused)
  if (rows.length === 0) {
    const add = html`<a class="btn" href=${linkTo('port', port.path, 'points', 'templates')}>Pick a device</a>`
    return say(
      'off',
      'No points',
      'A point is a named value of a unit, read again and again. Many devices are known by heart.',
      isAdmin.value ? add : null,
    )
  }
  const shown = [...rows].sort((a, b) => rank(a) - rank(b)).slice(0, MOST)
  return html`<table class="table tight points"><thead class="sr"><tr><th>Name</th><th>Value</th><th>Age</th></tr></thead>
    <tbody>${shown.map((row) => html`<tr key=${row.name} class=${row.quality === 'stale' ? 'stale' : ''}><td class="point-name">${row.name}</td>${valueCell(row)}${ageCell(row, daemonNow())}</tr>`)}</tbody></table>`
}

/** What is wrong with the reading of points stands under them; that all is well says nobody's name twice. */
function odd(rows: readonly Shown[], table: PointTable, port: Port): VNode | null {
  const { lit, sentence } = judgePoints(rows, table.polling.value, table.behind.value, port.state === 'open')
  return lit === 'warn' || lit === 'fault' ? html`<p class="foot small odd">${lamp(lit)} ${sentence}</p>` : null
}

/** What is not well stands first; the rest stays in the order of the table. */
function rank({ quality }: Shown): number {
  return quality === 'bad' ? 0 : quality === 'stale' ? 1 : 2
}
