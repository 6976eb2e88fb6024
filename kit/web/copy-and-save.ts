/** What leaves the page: copies, also where it came over plain HTTP, and downloads. */
import { call } from './call.ts'
import { toast } from './parts.ts'
import * as texts from './texts.ts'

// Copying, also where the page came over plain HTTP.

/** Copies and says so. @param told what was copied: `The key is copied.` */
export async function copyText(text: string, told: string): Promise<void> {
  const isCopied = await copied(text)
  toast(isCopied ? told : texts.cannotCopy)
}

/** The clipboard is there over HTTPS only; what browsers had before it works everywhere, for a text that is marked. */
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

/** Has the browser save what a path answers. @throws CallFault, NoContact when no ticket was given */
export async function download(path: string): Promise<void> {
  const { ticket } = await call<{ ticket: string }>('POST /api/ticket')
  const link = document.createElement('a')
  link.href = `${path}${path.includes('?') ? '&' : '?'}ticket=${encodeURIComponent(ticket)}`
  link.download = ''
  link.click()
}

/** Has the browser save bytes the page holds. */
export function saveBytes(parts: BlobPart[], name: string, type: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob(parts, { type }))
  link.download = name
  link.click()
  // The browser has taken the bytes once the click is done; a while later it has written them too.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
