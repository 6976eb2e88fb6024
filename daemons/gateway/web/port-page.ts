/** The page of one port: verdict and figures; the panels below are loaded separately. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { type FigureFacts, figures } from '#kit/web/figures.ts'
import { html } from '#kit/web/html.ts'
import { lazy } from '#kit/web/lazy.ts'
import { baudText, count, fixed, msText, UNKNOWN } from '#kit/web/numbers.ts'
import { verdict } from '#kit/web/parts.ts'
import type { UnitView as BusUnit } from '../core/bus/units.ts'
import { busApi, type Counters, type Port } from './api.ts'
import { noLine, PortHead } from './port-head.ts'
import { JUDGED_MS, judgePort, quantile, type Unit, type UnitView, unitsOf, unitViews } from './port-verdict.ts'
import { counterRates, isAdmin, LOOK_MS, loadsOf, portAt, recentMean, type Sample, samples } from './state.ts'
import * as texts from './texts.ts'
import { createTraffic, type Traffic } from './traffic.ts'
import { isOfUnits, shortPath } from './words.ts'

// The figures of a port, chosen by its protocol and mode.

/** The figures of a port that is set up. */
export function portFigures(port: Port, samples: readonly Sample[], units: readonly Unit[]): FigureFacts[] {
  const isOpen = port.state === 'open'
  const loads = isOpen ? loadsOf(samples, port) : []
  const load: FigureFacts = {
    name: texts.lineLoad,
    value: fixed(recentMean(loads), 0),
    unit: '%',
    note: port.line ? texts.ofBaud(baudText(port.line.baud)) : '',
    history: loads,
  }
  const counters: Counters = port.counters ?? {}
  const looks = isOpen ? samples : []
  const facts = driver(port, counters)
  const own = isOfUnits(port) ? ofMode(port, counters, looks, units) : raw(counters, looks)
  const wrong = 'crcErrors' in counters ? checksums(port, counters, looks) : facts.wrong
  return [load, ...own, wrong, facts.lost]
}

/** The rate per second of the sum of the counters `of`. */
function rate(
  samples: readonly Sample[],
  of: readonly string[],
  facts: { name: string; unit: string; note: string },
): FigureFacts {
  const history = counterRates(samples, of)
  return { ...facts, value: fixed(recentMean(history), facts.unit === '/s' ? 1 : 0), history }
}

function raw(counters: Counters, samples: readonly Sample[]): FigureFacts[] {
  return [
    rate(samples, ['rxBytes'], { name: texts.received, unit: 'B/s', note: texts.inAll(count(counters.rxBytes)) }),
    rate(samples, ['txBytes'], { name: texts.sent, unit: 'B/s', note: texts.inAll(count(counters.txBytes)) }),
    rate(samples, ['rxFrames', 'txFrames'], {
      name: texts.frames,
      unit: '/s',
      note: texts.inAll(count((counters.rxFrames ?? 0) + (counters.txFrames ?? 0))),
    }),
  ]
}

function ofMode(port: Port, counters: Counters, samples: readonly Sample[], units: readonly Unit[]): FigureFacts[] {
  const mode = String(port.settings?.mode ?? 'master')
  if (mode === 'slave') return slave(counters, samples)
  return mode === 'listen' ? listener(counters, samples, units) : modbus(counters, samples, units)
}

/** What the master asks us, and how often it gets an exception. */
function slave(counters: Counters, samples: readonly Sample[]): FigureFacts[] {
  const exceptions: FigureFacts = {
    name: texts.exceptions,
    value: count(counters.exceptionAnswers),
    note: texts.answeredToMaster,
  }
  if (isLately(samples, 'exceptionAnswers')) exceptions.lit = 'warn'
  return [
    rate(samples, ['asked'], { name: texts.asked, unit: '/s', note: texts.inAll(count(counters.asked)) }),
    rate(samples, ['answers'], { name: texts.answered, unit: '/s', note: texts.inAll(count(counters.answers)) }),
    exceptions,
  ]
}

/** The traffic between another master and its units. */
function listener(counters: Counters, samples: readonly Sample[], units: readonly Unit[]): FigureFacts[] {
  const odd: FigureFacts = {
    name: texts.unknownFrames,
    value: count(counters.unknownFrames),
    note: texts.noFunctionOfModbus,
  }
  if (isLately(samples, 'unknownFrames')) odd.lit = 'warn'
  return [
    rate(samples, ['rxFrames'], { name: texts.frames, unit: '/s', note: texts.inAll(count(counters.rxFrames)) }),
    replies(units),
    odd,
  ]
}

function replies(units: readonly Unit[]): FigureFacts {
  const times = units.flatMap((unit) => unit.history)
  const most = quantile(times, 0.99)
  return {
    name: texts.replyMiddle,
    value: msText(quantile(times, 0.5)),
    unit: 'ms',
    note: most === null ? texts.noneFor1Min : texts.mostWithin(msText(most)),
    history: times.slice(-30),
  }
}

function modbus(counters: Counters, samples: readonly Sample[], units: readonly Unit[]): FigureFacts[] {
  const misses = units.reduce((all, unit) => all + unit.misses, 0)
  const guilty = units.filter((unit) => unit.misses > 0)
  return [
    rate(samples, ['requests'], { name: texts.requests, unit: '/s', note: texts.inAll(count(counters.requests)) }),
    replies(units),
    {
      name: texts.timeouts,
      // The log learns of a timeout before the counters are fetched again.
      value: count(Math.max(counters.timeouts ?? 0, misses)),
      note: misses === 0 ? texts.noneFor1Min : texts.missesInAMinute(misses, guilty.length, guilty[0]?.unit),
      lit: misses > 0 ? 'warn' : undefined,
    },
  ]
}

/**
 * Counters run since the line was set up, so only recent counts light the lamp: a repaired cable is not wrong for ever.
 */
function isLately(samples: readonly Sample[], name: string): boolean {
  return counterRates(samples, [name]).some((rate) => rate > 0)
}

function checksums(port: Port, counters: Counters, samples: readonly Sample[]): FigureFacts {
  const wrong = counters.crcErrors ?? null
  return {
    name: texts.checksumErrors,
    value: count(wrong),
    note: texts.ofFrames(counters.rxFrames ?? 0),
    lit: wrong && (isLately(samples, 'crcErrors') || port.units?.noisy) ? 'warn' : undefined,
  }
}

/** The driver's counts; `n/a` if the driver does not count. */
function driver(port: Port, counters: Counters): { wrong: FigureFacts; lost: FigureFacts } {
  const facts = counters.driver
  const isOpen = port.state === 'open'
  const nothing = isOpen ? 'n/a' : UNKNOWN
  const note = isOpen ? texts.notCountedHere : ''
  const wrong = facts ? facts.frame + facts.parity : null
  const lost = facts ? facts.overrun + facts.buf_overrun : null
  return {
    wrong: {
      name: texts.framingErrors,
      value: wrong === null ? nothing : count(wrong),
      note: wrong === null ? note : wrong > 0 ? texts.lookAtBaudAndParity : texts.sinceOpened,
      lit: wrong ? 'warn' : undefined,
    },
    lost: {
      name: texts.bytesLost,
      value: lost === null ? nothing : count(lost),
      note: lost === null ? note : texts.ofBytes(count(counters.rxBytes)),
      lit: lost ? 'fault' : undefined,
    },
  }
}

const TrafficPanel = lazy(async () => (await import('./traffic-panel.ts')).TrafficPanel)
const OutstationPanel = lazy(async () => (await import('./outstation-panel.ts')).OutstationPanel)
const EquipmentPanel = lazy(async () => (await import('./equipment-panel.ts')).EquipmentPanel)
const RingPanel = lazy(async () => (await import('./ring-panel.ts')).RingPanel)
const UnitsPanel = lazy(async () => (await import('./port-panels.ts')).UnitsPanel)
const PointsPart = lazy(async () => (await import('./port-panels.ts')).PointsPart)
const RegistersPanel = lazy(async () => (await import('./port-panels.ts')).RegistersPanel)
const Remedy = lazy(async () => (await import('./port-panels.ts')).Remedy)
const Removal = lazy(async () => (await import('./port-panels.ts')).Removal)
const Counted = lazy(async () => (await import('./port-panels.ts')).Counted)

/** The page of one port. */
export function PortPage({ path }: { path: string }): VNode {
  const port = portAt(path)
  if (!port) return noLine(shortPath(path), path)
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
  const { bus, refused, again } = useUnits(port, traffic)
  const seen = traffic ? unitsOf(traffic.rows.value, daemonNow() - JUDGED_MS) : []
  const units = unitViews(bus, seen)
  const judged = judgePort(port, units, { nowMs: daemonNow(), zone: zone.value })
  return html`<${PortHead} port=${port} />
    ${verdict(judged, isAdmin.value ? html`<${Remedy} port=${port} units=${units} />` : null)}
    ${port.configured && port.counters ? figures(portFigures(port, samples.value.get(port.path) ?? [], seen)) : null}
    ${port.configured && traffic ? html`<div class="cols"><div class="stack"><${TrafficPanel} port=${port} traffic=${traffic} /></div>${side({ port, traffic, units, refused, again })}</div>` : null}`
}

/** The gateway's counts of each unit; null if the port has no units, or before the first reply. */
function useUnits(
  port: Port,
  traffic: Traffic | null,
): Pick<SideFacts, 'refused' | 'again'> & { bus: readonly BusUnit[] | null } {
  const [bus, setBus] = useState<readonly BusUnit[] | null>(null)
  const hasUnits = isOfUnits(port) && modeOf(port) !== 'slave'
  const { refused, again } = useLook(
    async () => {
      if (hasUnits) setBus(await busApi.units(port.path))
    },
    LOOK_MS,
    `${port.path} ${hasUnits} ${port.state}`,
  )
  // Fetched at once when a unit changes its state.
  useEffect(() => traffic?.onOther(({ event }) => event === 'unit' && void again()), [traffic])
  return { bus: hasUnits ? bus : null, refused, again }
}

function modeOf({ settings }: Port): string {
  return String(settings?.mode ?? 'master')
}

interface SideFacts {
  port: Port
  traffic: Traffic
  units: readonly UnitView[]
  refused: string | null
  /** Fetches the units anew. */
  again(): Promise<void>
}

function side({ port, traffic, units, refused, again }: SideFacts): VNode {
  const isSlave = modeOf(port) === 'slave'
  const hasUnits = isOfUnits(port) && !isSlave
  return html`<div class="stack">
    ${hasUnits ? html`<${UnitsPanel} port=${port} units=${units} refused=${refused} again=${again} />` : null}
    ${port.protocol === 'bacnet-mstp' ? html`<${RingPanel} port=${port} />` : null}
    ${port.protocol === 'dnp3' ? html`<${OutstationPanel} port=${port} />` : null}
    ${port.protocol === 'equipment' ? html`<${EquipmentPanel} port=${port} />` : null}
    ${isSlave ? html`<${RegistersPanel} port=${port} />` : null}
    ${hasUnits ? html`<${PointsPart} port=${port} traffic=${traffic} />` : null}
    <${Counted} port=${port} />
    ${isAdmin.value ? html`<${Removal} port=${port} />` : null}</div>`
}
