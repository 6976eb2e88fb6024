/** A button that asks for a file. Its faults are said below it. */
import type { VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { sentenceOf } from '#kit/web/call.ts'
import { isLost } from '#kit/web/contact.ts'
import { html } from '#kit/web/html.ts'
import { lamp } from '#kit/web/parts.ts'
import * as texts from './texts.ts'

interface FileFacts {
  label: string
  /** What stands on the button. */
  act: string
  hint: string
  /** Kinds of files that are offered. */
  accept: string
  /** Why a file is not taken; null: it is. */
  trouble?: (file: File) => string | null
  take: (file: File) => Promise<void>
}

export function FileField({ accept, act, hint, label, take, trouble }: FileFacts): VNode {
  const field = useRef<HTMLInputElement>(null)
  const [isSending, setSending] = useState(false)
  const [refused, setRefused] = useState<string | null>(null)
  async function picked(event: Event): Promise<void> {
    const element = event.target as HTMLInputElement
    const file = element.files?.[0]
    element.value = ''
    if (!file) return
    const why = trouble?.(file) ?? null
    setRefused(why)
    if (why !== null) return
    setSending(true)
    try {
      await take(file)
    } catch (thrown) {
      setRefused(sentenceOf(thrown))
    }
    setSending(false)
  }
  return html`<div class="field" data-s=${refused ? 'fault' : undefined}><span class="label">${label}</span>
    <button class="btn" type="button" disabled=${isSending || isLost.value} onClick=${() => field.current?.click()}>${isSending ? texts.sending : act}</button>
    <input ref=${field} class="sr" type="file" tabindex="-1" aria-label=${label} accept=${accept} onChange=${picked} />
    ${refused ? html`<p class="err" role="alert">${lamp('fault')}<span>${refused}</span></p>` : html`<p>${hint}</p>`}</div>`
}
