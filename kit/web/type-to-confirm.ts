/** Asks to type a name before something that cannot be undone. */
import type { VNode } from 'preact'
import { Dialog } from './dialog.ts'
import { input, refusal, useForm } from './form.ts'
import { type Child, html } from './html.ts'
import { Act } from './parts.ts'

/** Contents of the dialog. */
export interface TypeToConfirmProps {
  title: string
  /** What happens, and what is kept. */
  text: Child
  /** The text to type, exactly. */
  name: string
  /** Text of the confirming button: the act itself, "Reset board". */
  act: string
  /** Text of the cancelling button, which says what stays: "Keep settings". */
  keep: string
  /** Does it; if it throws, the dialog stays open and shows the message. */
  run: () => Promise<void>
  close: () => void
}

/** The dialog; its button is disabled until the name is typed. */
export function TypeToConfirm({ title, text, name, act, keep, run, close }: TypeToConfirmProps): VNode {
  const form = useForm({ typed: '' })
  const isTyped = String(form.values.value.typed).trim() === name
  async function submit(event: Event): Promise<void> {
    event.preventDefault()
    if (isTyped && (await form.submit(run))) close()
  }
  return html`<${Dialog} title=${title} close=${close}>
    <form onSubmit=${(event: Event) => void submit(event)} novalidate class="again"><div class="stack">
      <p class="soft">${text}</p>
      ${input({ form, name: 'typed', label: html`Type <code>${name}</code> to go on`, mono: true, first: true })}${refusal(form)}</div>
      <footer><button class="btn" type="button" onClick=${close}>${keep}</button>
      <${Act} kind="danger primary" type="submit" waits=${!isTyped || form.isBusy.value}>${act}</${Act}></footer></form>
  </${Dialog}>`
}
