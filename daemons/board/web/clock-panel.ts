/** The clock of a board with sound: who is the grandmaster, and how far this board is from it. */
import type { VNode } from 'preact'
import { html } from '#kit/web/html.ts'
import { lamp } from '#kit/web/lamp.ts'
import { daemonNow, zone } from '#kit/web/now.ts'
import { count, fixed, sinceText, THIN, UNKNOWN } from '#kit/web/numbers.ts'
import { readTable } from '#kit/web/read-table.ts'
import type { PtpView } from './sound.ts'
import { ptpLit, signed } from './sound-words.ts'

/** The panel. */
export function ClockPanel({ ptp }: { ptp: PtpView }): VNode {
  const { grandmaster: master } = ptp
  const unit = (text: string, name: string): string => (text === UNKNOWN ? text : `${text}${THIN}${name}`)
  const since = ptp.since_at === null ? null : sinceText(ptp.since_at, daemonNow(), zone.value)
  const rows: [string, VNode | string][] = [
    [
      'Grandmaster',
      master ? html`<span class="mono">${master.id}</span>${master.is_self ? ' (this board)' : ''}` : UNKNOWN,
    ],
    ['Its priority 1', master ? `${master.priority1}; this board's ${ptp.priority1}` : `this board's ${ptp.priority1}`],
    ['Domain', String(master?.domain ?? ptp.domain)],
    ['Offset', unit(signed(ptp.offset_ns, 0), 'ns')],
    ['Path delay', unit(fixed(ptp.path_delay_ns, 0), 'ns')],
    ['Rate', unit(signed(ptp.rate_ppm, 2), 'ppm')],
    ['Jumps', count(ptp.steps)],
  ]
  return html`<section class="panel" aria-label="Clock"><header>${lamp(ptpLit(ptp))}<h2>Clock</h2><span class="faint">${since ? `since ${since}` : ''}</span></header>
    <p class="in small soft">${ptp.text}</p>${ptp.enabled ? readTable(rows) : null}</section>`
}
