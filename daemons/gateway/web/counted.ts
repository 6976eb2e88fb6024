/** Everything that is counted of a port, in full. */
import type { VNode } from 'preact'
import { type Child, html } from '#kit/web/html.ts'
import { count } from '#kit/web/numbers.ts'
import { readTable } from '#kit/web/read-table.ts'
import { capital } from '#kit/web/sentences.ts'
import type { Port } from './api.ts'

const COUNTER_NAMES: Record<string, string> = {
  rxBytes: 'Bytes received',
  txBytes: 'Bytes sent',
  rxFrames: 'Frames received',
  txFrames: 'Frames sent',
}

/** `lateReplies` reads `Late replies`. */
function counterName(name: string): string {
  const words = name.replaceAll(/([A-Z])/g, ' $1').toLowerCase()
  return COUNTER_NAMES[name] ?? capital(words)
}

/** The panel; nothing where the port is not set up. */
export function Counted({ port }: { port: Port }): VNode | null {
  const { counters } = port
  if (!counters) return null
  const { driver, ...own } = counters
  const all = Object.entries(own).filter(([, value]) => typeof value === 'number')
  const told = all.filter(([name, value]) => value !== 0 || name in COUNTER_NAMES)
  const rows: [string, Child][] = told.map(([name, value]) => [counterName(name), count(value)])
  if (driver) {
    rows.push(['Framing errors', count(driver.frame)], ['Parity errors', count(driver.parity)])
    rows.push(['Breaks', count(driver.brk)], ['Lost in the driver', count(driver.overrun + driver.buf_overrun)])
  } else if (port.state === 'open')
    rows.push(['Framing errors', html`<span title="This line's driver does not count them">n/a</span>`])
  return html`<section class="panel" aria-label="Counted"><header><h2>Counted</h2><span class="faint">since it was set up or started</span></header>
    ${readTable(rows, 'tight')}
    ${all.length > told.length ? html`<p class="foot small faint">${all.length - told.length} other counters: 0</p>` : null}</section>`
}
