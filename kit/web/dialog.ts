/** Dialogs: the browser's own, which handles Esc, traps the focus and restores it. */
import type { VNode } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { type Child, html } from './html.ts'

/** What a dialog is made of. */
export interface DialogProps {
  title: string
  /** Runs when closed by Esc; without it Esc does nothing, because the page needs an answer. */
  close?: () => void
  children?: Child
}

/** A dialog over the page, open as long as it is rendered. When it goes, the focus returns to where it was. */
export function Dialog({ title, close, children }: DialogProps): VNode {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const back = document.activeElement
    ref.current?.showModal()
    return () => {
      if (back instanceof HTMLElement && back.isConnected) back.focus()
    }
  }, [])
  function cancel(event: Event): void {
    event.preventDefault()
    close?.()
  }
  return html`<dialog ref=${ref} class="dialog" aria-labelledby=${id} onCancel=${cancel}>
    <h2 id=${id}>${title}</h2>${children}
  </dialog>`
}

/** A question before something that cannot be undone. */
export interface ConfirmProps {
  title: string
  text: string
  /** Text of the confirming button: the act itself, "Remove port". */
  act: string
  /** Text of the cancelling button, which says what stays: "Keep port". */
  keep: string
  run: () => void
  close: () => void
}

/** Asks before something that cannot be undone. */
export function Confirm({ title, text, act, keep, run, close }: ConfirmProps): VNode {
  function sure(): void {
    close()
    run()
  }
  return html`<${Dialog} title=${title} close=${close}>
    <div><p class="soft">${text}</p></div>
    <footer>
      <button class="btn" type="button" autofocus onClick=${close}>${keep}</button>
      <button class="btn danger primary" type="button" onClick=${sure}>${act}</button>
    </footer>
  </${Dialog}>`
}
