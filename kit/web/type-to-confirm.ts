/** Asks for a name to be typed before something that cannot be undone. */
import type { VNode } from 'preact'
import { Dialog } from './dialog.ts'
import { input, refusal, useForm } from './form.ts'
import { type Child, html } from './html.ts'
import { Act } from './parts.ts'

/** What is asked. */
export interface TypeToConfirmProps {
  title: string
  /** What happens, and what stays. */
  text: Child
  /** What is to be typed, to the letter. */
  name: string
  /** The button that does it: the act itself, "Reset board". */
  act: string
  /** The way back says what stays: "Keep settings". */
  keep: string
  /** Does it; what it throws stands in the dialog, which stays open. */
  run: () => Promise<void>
  close: () => void
}

/** The dialog; its button waits until the name stands there. */
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
