/** One port: see the bus, ask the bus. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { figures } from '#kit/web/figure.ts'
import { html } from '#kit/web/html.ts'
import { verdict } from '#kit/web/lamp.ts'
import { lazy } from '#kit/web/lazy.ts'
import { useLook } from '#kit/web/look.ts'
import { daemonNow, zone } from '#kit/web/now.ts'
import type { UnitView as BusUnit } from '../core/modbus/units.ts'
import type { Port } from './api.ts'
import { JUDGED_MS, unitsOf } from './bus.ts'
import { busApi } from './bus-api.ts'
import { noLine } from './no-line.ts'
import { portFigures } from './port-figures.ts'
import { PortHead } from './port-head.ts'
import { judgePort } from './port-verdict.ts'
import { isAdmin, LOOK_MS, portAt, samples } from './state.ts'
import { createTraffic, type Traffic } from './traffic.ts'
import { type UnitView, unitViews } from './unit-view.ts'
import { nameOf } from './words.ts'

const TrafficPanel = lazy(async () => (await import('./traffic-panel.ts')).TrafficPanel)
const UnitsPanel = lazy(async () => (await import('./units-panel.ts')).UnitsPanel)
const PointsPart = lazy(async () => (await import('./points-part.ts')).PointsPart)
const RegistersPanel = lazy(async () => (await import('./registers-panel.ts')).RegistersPanel)
const Remedy = lazy(async () => (await import('./port-remedy.ts')).Remedy)
const Removal = lazy(async () => (await import('./port-removal.ts')).Removal)
const Counted = lazy(async () => (await import('./counted.ts')).Counted)

/** The page of one port. */
export function PortPage({ path }: { path: string }): VNode {
  const port = portAt(path)
  if (!port) return noLine(nameOf(path), path)
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

/** What the gateway counts of each unit; null where there is nothing of the kind, or nothing yet. */
function useUnits(
  port: Port,
  traffic: Traffic | null,
): Pick<SideFacts, 'refused' | 'again'> & { bus: readonly BusUnit[] | null } {
  const [bus, setBus] = useState<readonly BusUnit[] | null>(null)
  const hasUnits = port.protocol === 'modbus-rtu' && modeOf(port) !== 'slave'
  const { refused, again } = useLook(
    async () => {
      if (hasUnits) setBus(await busApi.units(port.path))
    },
    LOOK_MS,
    `${port.path} ${hasUnits} ${port.state}`,
  )
  // A unit that changes its state says so at once.
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
  /** Reads the units once more. */
  again(): Promise<void>
}

function side({ port, traffic, units, refused, again }: SideFacts): VNode {
  const isModbus = port.protocol === 'modbus-rtu'
  const isSlave = isModbus && modeOf(port) === 'slave'
  return html`<div class="stack">
    ${isModbus && !isSlave ? html`<${UnitsPanel} port=${port} units=${units} refused=${refused} again=${again} />` : null}
    ${isSlave ? html`<${RegistersPanel} port=${port} />` : null}
    ${isModbus && !isSlave ? html`<${PointsPart} port=${port} traffic=${traffic} />` : null}
    <${Counted} port=${port} />
    ${isAdmin.value ? html`<${Removal} port=${port} />` : null}</div>`
}
