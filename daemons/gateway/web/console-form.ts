/** The form of every console: its fields, the button that sends, and what came of it. */
import type { VNode } from 'preact'
import { type Form, refusal } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { Act } from '#kit/web/parts.ts'
import type { Port } from './api.ts'
import * as texts from './texts.ts'

interface ConsoleFacts {
  port: Port
  form: Form
  fields: VNode
  answer: Child
  setAnswer: (answer: Child) => void
  send: () => Promise<void>
  act: string
  label: string
}

export function consoleForm({ port, form, fields, answer, setAnswer, send, act, label }: ConsoleFacts): VNode {
  function submit(event: Event): void {
    event.preventDefault()
    setAnswer(null)
    void form.submit(send)
  }
  const isOpen = port.state === 'open'
  return html`<form class="console" aria-label=${label} onSubmit=${submit} novalidate>${fields}
      <${Act} kind="primary" type="submit" waits=${form.isBusy.value || !isOpen}>${act}</${Act}></form>
    ${refusal(form)}
    <div class="answer" role="status">${isOpen ? answer : texts.nothingCanBeSent}</div>`
}
