/** One port: see the bus, ask the bus. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Act } from '#kit/web/button.ts'
import { sentenceOf } from '#kit/web/call.ts'
import { Confirm } from '#kit/web/dialog.ts'
import { figures } from '#kit/web/figure.ts'
import { type Child, html } from '#kit/web/html.ts'
import { icon } from '#kit/web/icon.ts'
import { chip, lamp, say, verdict } from '#kit/web/lamp.ts'
import { daemonNow, zone } from '#kit/web/now.ts'
import { count, fixed } from '#kit/web/numbers.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { toast } from '#kit/web/toast.ts'
import { api, type Port } from './api.ts'
import { JUDGED_MS, type Unit, unitsOf } from './bus.ts'
import { portFigures } from './port-figures.ts'
import { isAdmin, lookAtPorts, portAt, ports, samples } from './state.ts'
import { createTraffic, type Traffic } from './traffic.ts'
import { TrafficPanel } from './traffic-panel.ts'
import { judgePort } from './verdicts.ts'
import { deviceOf, nameOf, setupOf, stateOf } from './words.ts'

/** The page of one port. */
export function PortPage({ path }: { path: string }): VNode {
  const port = portAt(path)
  if (ports.value === null)
    return html`<section class="panel">${say('busy', 'Asking the gateway for this line', 'This usually takes less than a second.')}</section>`
  if (!port) {
    const back = html`<a class="btn" href=${linkTo('ports')}>All ports</a>`
    const text = `Neither found nor set up: ${path}. It may have been removed, or unplugged before it was set up.`
    return html`<div class="head"><h1>${nameOf(path)}</h1></div>
      <section class="panel">${say('off', 'This gateway has no such line', text, back)}</section>`
  }
  return html`<${Known} port=${port} key=${port.path} />`
}

function Known({ port }: { port: Port }): VNode {
  const [traffic, setTraffic] = useState<Traffic | null>(null)
  useEffect(() => {
    if (!port.configured) return
    const made = createTraffic(port.path)
    setTraffic(made)
    return () => {
      made.close()
      setTraffic(null)
    }
  }, [port.path, port.configured])
  const units = traffic ? unitsOf(traffic.rows.value, daemonNow() - JUDGED_MS) : []
  const judged = judgePort(port, units, { nowMs: daemonNow(), zone: zone.value })
  return html`${head(port)}
    ${verdict(judged, html`<${Remedy} port=${port} />`)}
    ${port.configured && port.counters ? figures(portFigures(port, samples.value.get(port.path) ?? [], units)) : null}
    ${port.configured && traffic ? html`<div class="cols"><${TrafficPanel} port=${port} traffic=${traffic} />${side(port, units)}</div>` : null}`
}

function head(port: Port): VNode {
  const { lit, word } = stateOf(port, daemonNow(), zone.value)
  const settings = isAdmin.value
    ? html`<a class="btn" href=${linkTo('port', port.path, 'settings')} aria-label="Settings"><span class="thumb">${icon('settings')}</span><span class="later">Settings</span></a>`
    : null
  return html`<div class="head"><a class="btn quiet icon thumb" href=${linkTo('ports')} aria-label="All ports">${icon('back')}</a>
    <h1>${nameOf(port.path)}</h1>${chip(lit, word)}<span class="faint small later">${setupOf(port) ?? deviceOf(port)}</span>
    <div class="acts">${port.configured ? settings : null}${port.state === 'closed' ? html`<${Switch} port=${port} />` : html`<span class="later"><${Switch} port=${port} /></span>`}</div>
    <p class="meta mono">${port.byId ?? port.path}</p></div>`
}

/** Opens and closes; only what can be done now is there. */
function Switch({ port }: { port: Port }): VNode | null {
  const [isBusy, setBusy] = useState(false)
  const [isAsked, setAsked] = useState(false)
  if (!port.configured || !isAdmin.value) return null
  const act = port.state === 'closed' ? 'open' : 'close'
  async function run(): Promise<void> {
    setBusy(true)
    await switchPort(port, act)
    setBusy(false)
  }
  const name = nameOf(port.path)
  const text =
    'Nothing is read from it and nothing sent until it is opened again, also after a restart. Its settings and webhooks are kept.'
  return html`<${Act} waits=${isBusy} run=${() => (act === 'close' ? setAsked(true) : void run())}>
      ${act === 'open' ? 'Open port' : 'Close port'}</${Act}>
    ${isAsked ? html`<${Confirm} title=${`Close ${name}?`} text=${text} act="Close port" keep="Keep open" run=${() => void run()} close=${() => setAsked(false)} />` : null}`
}

async function switchPort(port: Port, act: 'open' | 'close'): Promise<void> {
  try {
    await api.switchPort(port.path, act)
    toast(act === 'open' ? `${nameOf(port.path)} is being opened.` : `${nameOf(port.path)} is closed.`)
    await lookAtPorts()
  } catch (thrown) {
    toast(sentenceOf(thrown))
  }
}

/** What can be done about the verdict, right beside it. */
function Remedy({ port }: { port: Port }): VNode | null {
  if (!isAdmin.value) return null
  if (!port.configured) return html`<a href=${linkTo('port', port.path, 'settings')}>Set up ${nameOf(port.path)}</a>`
  if (port.state === 'failed') return html`<a href=${linkTo('port', port.path, 'settings')}>Look at its settings</a>`
  return null
}

function side(port: Port, units: readonly Unit[]): VNode {
  return html`<div class="stack">${port.protocol === 'modbus-rtu' ? unitPanel(units) : null}${counted(port)}${removal(port)}</div>`
}

function unitPanel(units: readonly Unit[]): VNode {
  const note = units.length === 0 ? '' : `${units.length} in the last minute`
  const rows = units.map(
    (
      unit,
    ) => html`<tr key=${unit.unit}><td class="lit">${lamp(unit.isWell ? (unit.exceptions > 0 ? 'warn' : 'ok') : 'fault', true)}</td>
      <td class="n id"><b>${unit.unit}</b></td><td>${unitText(unit)}</td>
      <td class="n">${fixed(unit.middleMs, 0)}${unit.middleMs === null ? '' : html` <span class="unit">ms</span>`}</td></tr>`,
  )
  const head = html`<thead class="sr"><tr><th>State</th><th>Unit</th><th>Seen</th><th>Middle reply</th></tr></thead>`
  return html`<section class="panel" aria-label="Units"><header><h2>Units</h2><span class="faint">${note}</span></header>
    ${
      units.length === 0
        ? say('off', 'No unit asked', 'Ask one from the console; whoever asks over HTTP shows here as well.')
        : html`<table class="table tight">${head}<tbody>${rows}</tbody></table>`
    }</section>`
}

function unitText(unit: Unit): string {
  if (!unit.isWell) return unit.late > 0 ? 'late' : 'silent'
  if (unit.exceptions > 0) return `${count(unit.exceptions)} refused`
  return `${count(unit.answers)} answered`
}

const COUNTER_NAMES: Record<string, string> = {
  rxBytes: 'Bytes received',
  txBytes: 'Bytes sent',
  rxFrames: 'Frames received',
  txFrames: 'Frames sent',
}

/** `lateReplies` reads `Late replies`. */
function counterName(name: string): string {
  const words = name.replaceAll(/([A-Z])/g, ' $1').toLowerCase()
  return COUNTER_NAMES[name] ?? words.charAt(0).toUpperCase() + words.slice(1)
}

/** Everything that is counted, in full. */
function counted(port: Port): VNode | null {
  const { counters } = port
  if (!counters) return null
  const { driver, ...own } = counters
  const all = Object.entries(own)
  const told = all.filter(([name, value]) => value !== 0 || name in COUNTER_NAMES)
  const rows: [string, Child][] = told.map(([name, value]) => [counterName(name), count(value)])
  if (driver) {
    rows.push(['Framing errors', count(driver.frame)], ['Parity errors', count(driver.parity)])
    rows.push(['Breaks', count(driver.brk)], ['Lost in the driver', count(driver.overrun + driver.buf_overrun)])
  } else if (port.state === 'open')
    rows.push(['Framing errors', html`<span title="This line's driver does not count them">n/a</span>`])
  return html`<section class="panel" aria-label="Counted"><header><h2>Counted</h2><span class="faint">since it was set up or started</span></header>
    <table class="table tight read"><tbody>${rows.map(
      ([name, value]) => html`<tr key=${name}><th scope="row">${name}</th><td class="n">${value}</td></tr>`,
    )}</tbody></table>
    ${all.length > told.length ? html`<p class="foot small faint">${all.length - told.length} other counters: 0</p>` : null}</section>`
}

function removal(port: Port): VNode | null {
  return isAdmin.value ? html`<${Removal} port=${port} />` : null
}

function Removal({ port }: { port: Port }): VNode {
  const [isAsked, setAsked] = useState(false)
  const name = nameOf(port.path)
  async function run(): Promise<void> {
    try {
      await api.removePort(port.path)
      await lookAtPorts()
      toast(`${name} is removed.`)
      goTo('ports')
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
  }
  const hooks = port.webhooks > 0 ? ` and ${port.webhooks === 1 ? 'its webhook' : `its ${port.webhooks} webhooks`}` : ''
  const text = `It is closed, and its settings${hooks} are forgotten. The line itself stays in the list as long as it is plugged in.`
  return html`<div class="end">${port.state === 'closed' ? null : html`<span class="thumb"><${Switch} port=${port} /></span>`}<${Act} kind="danger" run=${() => setAsked(true)}>Remove port</${Act}></div>
    ${isAsked ? html`<${Confirm} title=${`Remove ${name}?`} text=${text} act="Remove port" keep="Keep port" run=${() => void run()} close=${() => setAsked(false)} />` : null}`
}
