/** The console of an M-Bus line: reads or resets a meter, and adds points for what it told. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { sentenceOf } from '#kit/web/call.ts'
import { choice, input, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { many } from '#kit/web/numbers.ts'
import { Act, lamp, toast } from '#kit/web/parts.ts'
import { goTo } from '#kit/web/route.ts'
import { api, type MeterReading, type Port, pointsApi } from './api.ts'
import { consoleForm } from './console-form.ts'
import { pointsOfReading } from './record-points.ts'
import { isAdmin } from './state.ts'
import * as texts from './texts.ts'

/** Primary addresses have three digits at most, identification numbers eight. */
const ADDRESS_DIGITS = 3

/** A typed address or number as the body of a request. */
export function meterOf(typed: string): { address: number | string } | { secondary: string } {
  const text = typed.trim()
  if (text.length > ADDRESS_DIGITS) return { secondary: text }
  return { address: /^\d+$/.test(text) ? Number(text) : text }
}

/** The console. */
export function MbusConsole({ port }: { port: Port }): VNode {
  const form = useForm({ meter: '1', act: 'read' })
  const [answer, setAnswer] = useState<Child>(null)
  const { act, meter } = form.values.value
  async function send(): Promise<void> {
    const body = meterOf(String(meter))
    if (act === 'read') setAnswer(html`<${Told} port=${port} reading=${await api.readMeter(port.path, body)} />`)
    else setAnswer(texts.meterIsReset((await api.initMeter(port.path, body)).unitId))
  }
  const fields = html`${input({ form, name: 'meter', label: texts.meter, kind: 'more', hint: texts.meterHint })}
    ${choice({ form, name: 'act', label: texts.meterAct, options: ACTS })}`
  return consoleForm({ port, form, fields, answer, setAnswer, send, act: texts.send, label: texts.askBus })
}

const ACTS = [
  ['read', texts.readMeter],
  ['init', texts.resetMeter],
] as const

/** What a meter told: who it is, and its records. */
function Told({ port, reading }: { port: Port; reading: MeterReading }): VNode {
  const { isComplete, meter, problem, records, status, unitId } = reading
  const name = meter
    ? texts.meterNamed({ id: meter.id, manufacturer: meter.manufacturer ?? '', medium: meter.medium.name })
    : texts.rowUnit(unitId)
  const wrong = [...status, ...(problem === null ? [] : [problem]), ...(isComplete ? [] : [texts.meterHasMore])]
  return html`<p>${lamp(wrong.length > 0 ? 'warn' : 'ok', true)} ${name}${wrong.length > 0 ? html` <span data-s="warn">${wrong.join(', ')}</span>` : null}</p>
    <ul class="values">${records.map(
      ({ problem: why, record, unit, value }) =>
        html`<li key=${record}><span class="faint">${record}</span><b>${value ?? why ?? texts.onlyItsMakerReads}</b><span class="faint">${unit ?? ''}</span></li>`,
    )}</ul><${AddPoints} port=${port} reading=${reading} />`
}

function AddPoints({ port, reading }: { port: Port; reading: MeterReading }): VNode | null {
  const [isBusy, setBusy] = useState(false)
  const points = pointsOfReading(reading)
  if (!isAdmin.value || points.length === 0) return null
  async function add(): Promise<void> {
    setBusy(true)
    try {
      for (const point of points) await pointsApi.insert(port.path, point)
      toast(texts.pointsAreAdded(points.length, String(reading.unitId)))
      goTo('port', port.path, 'points')
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
    setBusy(false)
  }
  return html`<${Act} waits=${isBusy} run=${() => void add()}>Add ${many(points.length, 'point')}</${Act}>`
}
