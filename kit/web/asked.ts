/** Acts that cannot be undone: a button with its question, and what came of it. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { sentenceOf } from './call.ts'
import { Confirm } from './dialog.ts'
import { html } from './html.ts'
import { Act, toast } from './parts.ts'

interface AskedFacts {
  act: string
  label?: string
  title: string
  text: string
  sure: string
  keep: string
  kind?: string
  run: () => void
}

/** A button with its question. */
export function Asked({ act, label, title, text, sure, keep, kind = 'danger', run }: AskedFacts): VNode {
  const [isAsked, setAsked] = useState(false)
  return html`<${Act} kind=${kind} label=${label} run=${() => setAsked(true)}>${act}</${Act}>
    ${isAsked ? html`<${Confirm} title=${title} text=${text} act=${sure} keep=${keep} run=${run} close=${() => setAsked(false)} />` : null}`
}

/** Does something and looks again; says that it is done, or why not. */
export async function doneOrSaid(
  work: () => Promise<unknown>,
  again: () => Promise<unknown>,
  done: string,
): Promise<void> {
  try {
    await work()
    await again()
    toast(done)
  } catch (thrown) {
    toast(sentenceOf(thrown))
  }
}
