/** Downloads: a browser cannot send the token with one, so a one-time ticket goes along. */
import { call } from './call.ts'

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
