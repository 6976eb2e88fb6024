/** The console of an MS/TP line: sends one frame, and shows what the node answered. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { choice, input, typedNumber, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { fixed } from '#kit/web/numbers.ts'
import { lamp } from '#kit/web/parts.ts'
import { api, type MstpAnswer, type Port } from './api.ts'
import { consoleForm } from './console-form.ts'
import * as texts from './texts.ts'

/** Frames that a user may send, by their names in the API. */
const FRAME_CHOICES = [
  ['BACNET_DATA_NOT_EXPECTING_REPLY', texts.dataWithoutReply],
  ['BACNET_DATA_EXPECTING_REPLY', texts.dataWithReply],
  ['BACNET_EXTENDED_DATA_NOT_EXPECTING_REPLY', texts.longDataWithoutReply],
  ['BACNET_EXTENDED_DATA_EXPECTING_REPLY', texts.longDataWithReply],
  ['TEST_REQUEST', texts.testRequest],
] as const

export function MstpConsole({ port }: { port: Port }): VNode {
  const form = useForm({ frameType: FRAME_CHOICES[0][0], destination: '255', dataHex: '01 20 FF FF 00 FF 10 08' })
  const [answer, setAnswer] = useState<Child>(null)

  async function send(): Promise<void> {
    const { dataHex, destination, frameType } = form.values.value
    const body = { frameType, destination: typedNumber(destination), dataHex: String(dataHex).trim() }
    setAnswer(html`<${FrameAnswer} reply=${await api.sendFrame(port.path, body)} />`)
  }

  const fields = html`${choice({ form, name: 'frameType', label: texts.frameTypeLabel, kind: 'more', options: FRAME_CHOICES })}
    ${input({ form, name: 'destination', label: texts.toNode, type: 'number' })}
    ${input({ form, name: 'dataHex', label: texts.dataHex, kind: 'more', placeholder: '01 20 FF FF 00 FF 10 08' })}`
  return consoleForm({ port, form, fields, answer, setAnswer, send, act: texts.send, label: texts.sendFrame })
}

/** What came of a frame: that it is out, or the reply to it. */
function FrameAnswer({ reply: { postponed, reply, sent, tookMs } }: { reply: MstpAnswer }): VNode {
  if (!reply) return html`<p>${lamp('ok', true)} ${texts.frameIsSent(sent)}</p>`
  const { pdu, service } = reply.bacnet ?? {}
  const what = [pdu ?? reply.frameType, service].filter(Boolean).join(' ')
  return html`<p>${lamp('ok', true)} ${texts.nodeAnswered(reply.source, what)} <span class="faint">${fixed(tookMs, 0)}\u202fms${postponed ? `, ${texts.answeredLater}` : ''}</span></p>
    ${reply.dataHex === '' ? null : html`<p class="mono">${reply.dataHex}</p>`}`
}
