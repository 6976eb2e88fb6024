/** Sends a firmware image: with progress, which fetch does not tell, and with the board's own words when it refuses. */
import { signal } from '@preact/signals'
import { CallFault } from '#kit/web/call.ts'
import { sentence } from '#kit/web/sentences.ts'
import { api } from './api.ts'
import { signedInWith } from './basic.ts'

/** How an upload stands. */
export type Upload =
  | { phase: 'none' }
  | { phase: 'sending'; name: string; sentBytes: number; totalBytes: number; cancel: () => void }
  /** Everything is there; the board checks and installs. */
  | { phase: 'sent'; name: string; totalBytes: number }
  | { phase: 'installed'; version: string | null }
  | { phase: 'refused'; name: string; sentence: string }

/** The upload of this page; it goes on while other pages are looked at. */
export const upload = signal<Upload>({ phase: 'none' })

/** What the board answers once an image is installed. */
interface Installed {
  version?: string
  about_s?: number
}

/** Sends an image. Resolves with the board's answer, or null where it was refused, cut or given up. */
export function sendImage(file: File): Promise<Installed | null> {
  const request = new XMLHttpRequest()
  const { name, size: totalBytes } = file
  return new Promise((resolve) => {
    function refuse(sentence: string): void {
      upload.value = { phase: 'refused', name, sentence }
      resolve(null)
    }
    function progress(sentBytes: number): void {
      upload.value = { phase: 'sending', name, sentBytes, totalBytes, cancel: () => request.abort() }
    }
    request.upload.onprogress = ({ loaded }) => progress(loaded)
    request.upload.onload = () => {
      upload.value = { phase: 'sent', name, totalBytes }
    }
    request.onabort = () => refuse('Sending was stopped.')
    // A board that refuses early does not take the rest: its answer may be lost with the connection, its status tells.
    request.onerror = () => void whyCut().then(refuse)
    request.onload = () => {
      const answer = bodyOf(request.responseText)
      if (request.status !== 200) return refuse(sentence(new CallFault(request.status, answer).message))
      upload.value = { phase: 'installed', version: (answer as Installed).version ?? null }
      resolve(answer as Installed)
    }
    progress(0)
    request.open('POST', '/api/ota')
    request.setRequestHeader('content-type', 'application/octet-stream')
    const authorization = signedInWith()
    if (authorization !== null) request.setRequestHeader('authorization', authorization)
    request.send(file)
  })
}

async function whyCut(): Promise<string> {
  const told = await api.status().catch(() => null)
  const fault = told?.ota?.state === 'failed' ? told.ota.fault : null
  return fault ? sentence(fault.message) : 'The connection was cut before the board had answered.'
}

function bodyOf(text: string): { error?: string; message?: string } {
  try {
    return JSON.parse(text) as { error?: string; message?: string }
  } catch {
    return {}
  }
}

/** Which of the steps Sent, Verified, Installed, Restarted is under way; 4 when all are done. @param ota what the board says meanwhile */
export function stepOf(now: Upload, ota: string, isRestarting: boolean): number {
  if (now.phase === 'installed') return isRestarting ? 3 : 4
  if (now.phase !== 'sent') return 0
  return ota === 'installing' || ota === 'installed' ? 2 : 1
}
