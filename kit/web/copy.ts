/** Copying, also where the page came over plain HTTP. */
import { toast } from './toast.ts'

/** Copies and says so. @param told what was copied: `The key is copied.` */
export async function copyText(text: string, told: string): Promise<void> {
  const isCopied = await copied(text)
  toast(isCopied ? told : 'This browser does not let the page copy. The text can be marked by hand.')
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
