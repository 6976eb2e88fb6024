/** The console of a definition: sends one of its commands to a real device, and shows what went out and came back. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { call } from '#kit/web/call.ts'
import { choice, type Form, input, refusal, typedNumber, useForm } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { ended } from '#kit/web/numbers.ts'
import { Act, lamp, say } from '#kit/web/parts.ts'
import type { ArgView, DefinitionCheck, OpenDefinition } from '../core/drivers/definitions.ts'
import type { Json } from '../core/json.ts'
import type { Done } from './api.ts'
import { TrafficLog } from './device-panel.ts'
import * as texts from './texts.ts'

/** A device has 5 s, and a command may be queued behind others. */
const DEVICE_MS = 20_000

interface ConsoleFacts {
  devices: OpenDefinition['devices']
  commands: DefinitionCheck['commands']
  /** The text is another than the one that devices are driven by. */
  isChanged: boolean
}

export function Console({ devices, commands, isChanged }: ConsoleFacts): VNode {
  const [first] = devices
  if (first === undefined)
    return html`<section class="panel"><header><h2>${texts.console}</h2></header>${say('off', texts.noDeviceUsesIt, texts.howToUseDefinition)}</section>`
  return html`<${OpenConsole} devices=${devices} commands=${commands} isChanged=${isChanged} />`
}

function OpenConsole({ devices, commands, isChanged }: ConsoleFacts): VNode {
  const form = useForm({ device: String(devices[0]?.id ?? ''), command: commands[0]?.name ?? '' })
  const [said, setSaid] = useState<{ lit: 'ok' | 'fault'; text: string } | null>(null)
  const deviceId = Number(form.values.value.device)
  const command = commands.find(({ name }) => name === form.values.value.command)
  async function send(): Promise<void> {
    const args = Object.fromEntries((command?.args ?? []).flatMap((arg) => argOf(form, arg)))
    const body = { device_id: deviceId, command: command?.name ?? '', args }
    setSaid(saidOf(await call<Done & { answer?: Json }>('POST /ui/command', body, { answerMs: DEVICE_MS })))
  }
  function submit(event: Event): void {
    event.preventDefault()
    setSaid(null)
    void form.submit(send)
  }
  const options = devices.map(({ id, name }) => [String(id), name] as const)
  const verbs = commands.map(({ name, title }) => [name, title === null ? name : `${name}, ${title}`] as const)
  return html`<form class="panel console-panel" onSubmit=${submit} novalidate aria-label=${texts.console}>
    <header><h2>${texts.console}</h2><span class="faint small later">${isChanged ? texts.consoleOfKept : texts.consoleMeans}</span></header>
    <div class="in form">${choice({ form, name: 'device', label: texts.targetDevice, options })}
      ${choice({ form, name: 'command', label: texts.verb, options: verbs })}
      ${(command?.args ?? []).map((arg) => argField(form, arg))}<div class="wide">${refusal(form)}</div></div>
    <footer class="save"><p class="told small grow" role="status" data-s=${said?.lit}>${said ? html`${lamp(said.lit)} ${said.text}` : null}</p>
      <${Act} type="submit" waits=${form.isBusy.value}>${texts.sendCommand}</${Act}></footer>
    <${TrafficLog} key=${deviceId} id=${deviceId} /></form>`
}

function saidOf({ success, error, message, answer }: Done & { answer?: Json }): { lit: 'ok' | 'fault'; text: string } {
  if (!success) return { lit: 'fault', text: ended(texts.notDone(message ?? error ?? texts.failed)) }
  return { lit: 'ok', text: answer === undefined ? texts.commandDone : texts.answered(JSON.stringify(answer)) }
}

function argField(form: Form, { name, type, minimum, maximum, choices }: ArgView): VNode {
  const key = `args.${name}`
  const label = html`<span class="mono">${name}</span>`
  if (type === 'boolean')
    return choice({
      form,
      name: key,
      label,
      options: [
        ['', ''],
        ['true', texts.on],
        ['false', texts.off],
      ],
    })
  if (choices !== null) return choice({ form, name: key, label, options: ['', ...choices].map((each) => [each, each]) })
  const hint = minimum !== null && maximum !== null ? texts.between(minimum, maximum) : undefined
  return input({ form, name: key, label, type: minimum === null ? 'text' : 'number', hint })
}

function argOf(form: Form, { name, type }: ArgView): [string, Json][] {
  const text = String(form.values.value[`args.${name}`] ?? '')
  if (text === '') return []
  if (type === 'boolean') return [[name, text === 'true']]
  return [[name, type === 'integer' || type === 'number' ? typedNumber(text) : text]]
}
