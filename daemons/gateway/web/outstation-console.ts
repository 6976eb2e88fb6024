/** The console of a DNP3 outstation: sets one point, of which its masters are told. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { choice, input, typedNumber, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { lamp } from '#kit/web/parts.ts'
import { api, type Port, type SetPointAnswer } from './api.ts'
import { consoleForm } from './console-form.ts'
import { pointValueText } from './outstation-panel.ts'
import * as texts from './texts.ts'

const KINDS = Object.entries(texts.pointKindNames)
const BINARY_STATES = [
  ['true', texts.pointIsOn],
  ['false', texts.pointIsOff],
] as const
const DOUBLE_STATES = Object.entries(texts.doubleBitNames)
const QUALITIES = [
  ['online', texts.valueIsGood],
  ['comm_lost', texts.sourceIsLost],
  ['local_forced', texts.valueIsForced],
] as const

export function OutstationConsole({ port }: { port: Port }): VNode {
  const form = useForm({ kind: 'binary', index: '0', binary: 'true', double_bit: 'on', value: '0', quality: 'online' })
  const [answer, setAnswer] = useState<Child>(null)
  const kind = String(form.values.value.kind)

  async function send(): Promise<void> {
    const { index, quality } = form.values.value
    const flags = quality === 'online' ? ['online'] : ['online', String(quality)]
    const said = await api.setPoint(port.path, { kind, index: typedNumber(index), value: typedValue(), flags })
    setAnswer(answerText(said))
  }
  function typedValue(): unknown {
    const { binary, double_bit: double, value } = form.values.value
    if (kind === 'binary') return binary === 'true'
    if (kind === 'double_bit') return double
    return kind === 'octet_string' ? String(value).trim() : typedNumber(value)
  }

  const value =
    kind === 'binary'
      ? choice({ form, name: 'binary', label: texts.value, options: BINARY_STATES })
      : kind === 'double_bit'
        ? choice({ form, name: 'double_bit', label: texts.value, options: DOUBLE_STATES })
        : input({ form, name: 'value', label: kind === 'octet_string' ? texts.bytesAsHex : texts.value, kind: 'more' })
  const fields = html`${choice({ form, name: 'kind', label: texts.pointKind, kind: 'more', options: KINDS })}
    ${input({ form, name: 'index', label: texts.pointIndex, type: 'number' })}${value}
    ${choice({ form, name: 'quality', label: texts.pointQuality, options: QUALITIES })}`
  return consoleForm({ port, form, fields, answer, setAnswer, send, act: texts.setPoint, label: texts.setPointOfLine })
}

function answerText(said: SetPointAnswer): VNode {
  const text = said.isEvent
    ? texts.pointIsSet(texts.pointKindNames[said.kind], said.index, pointValueText(said))
    : texts.pointWasSo(texts.pointKindNames[said.kind], said.index, pointValueText(said))
  return html`<p>${lamp('ok', true)} ${text}</p>`
}
