/** Copying, also on pages loaded over plain HTTP, and downloads. */
import { call } from './call.ts'
import { toast } from './parts.ts'
import * as texts from './texts.ts'

// Copying, also on pages loaded over plain HTTP.

/** Copies and shows a message. @param told the message: `The key is copied.` */
export async function copyText(text: string, told: string): Promise<void> {
  const isCopied = await copied(text)
  toast(isCopied ? told : texts.cannotCopy)
}

/** The clipboard API exists over HTTPS only; the older way, copying selected text, works everywhere. */
async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const back = document.activeElement
    const area = document.createElement('textarea')
    area.value = text
    area.className = 'sr'
    ;(document.querySelector('dialog[open]') ?? document.body).append(area)
    area.select()
    const isDone = document.execCommand('copy')
    area.remove()
    if (back instanceof HTMLElement) back.focus()
    return isDone
  }
}

/** Lets the browser save the answer of a path. @throws CallFault, NoContact if no ticket was given */
export async function download(path: string): Promise<void> {
  const { ticket } = await call<{ ticket: string }>('POST /api/ticket')
  saveFrom(`${path}${path.includes('?') ? '&' : '?'}ticket=${encodeURIComponent(ticket)}`)
}

/** The same where the browser itself carries the credentials: a cookie. */
export function saveFrom(path: string): void {
  const link = document.createElement('a')
  link.href = path
  link.download = ''
  link.click()
}

/** Lets the browser save bytes the page holds. */
export function saveBytes(parts: BlobPart[], name: string, type: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob(parts, { type }))
  link.download = name
  link.click()
  // The browser has the bytes once the click is done, and has written them some time later.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
