/** Uploads of artifacts: one file after the other, with its progress; they go on while other pages are shown. */
import { signal } from '@preact/signals'
import { CallFault } from '#kit/web/call.ts'
import { bytesText, sentence } from '#kit/web/numbers.ts'
import type { ArtifactType } from './api.ts'
import { cookieCredentials } from './state.ts'
import * as texts from './texts.ts'

/** What is said of the files that are picked together. */
export interface ArtifactFacts {
  type: ArtifactType
  description: string
  version: string
  /** Separated by commas. */
  tags: string
  overwrite: boolean
}

export type UploadState = 'waits' | 'sending' | 'sent' | 'refused'

export interface Upload {
  key: number
  file: File
  facts: ArtifactFacts
  state: UploadState
  sentBytes: number
  /** Why it was refused. */
  sentence: string
  /** An artifact of this name is there: it can be replaced. */
  isTaken: boolean
}

/** Files in the list at once. */
export const MOST_UPLOADS = 200

/** The oldest first. */
export const uploads = signal<readonly Upload[]>([])

let made = 0
let request: XMLHttpRequest | undefined

/** Sends files after those that wait. @returns how many there was no room for */
export function addUploads(files: readonly File[], facts: ArtifactFacts): number {
  const open = uploads.value.filter(({ state }) => state !== 'sent')
  const taken = files.slice(0, Math.max(0, MOST_UPLOADS - open.length))
  uploads.value = [...open, ...taken.map((file) => newUpload(file, facts))]
  void sendNext()
  return files.length - taken.length
}

function newUpload(file: File, facts: ArtifactFacts): Upload {
  made++
  return { key: made, file, facts, state: 'waits', sentBytes: 0, sentence: '', isTaken: false }
}

/** Sends one again that was refused. @param overwrite replaces the artifact that has its name */
export function sendAgain(key: number, overwrite = false): void {
  const one = uploads.value.find((each) => each.key === key)
  if (!one) return
  change(key, {
    state: 'waits',
    sentence: '',
    isTaken: false,
    facts: overwrite ? { ...one.facts, overwrite } : one.facts,
  })
  void sendNext()
}

/** Takes one from the list; what is being sent ends. */
export function dropUpload(key: number): void {
  const one = uploads.value.find((each) => each.key === key)
  uploads.value = uploads.value.filter((each) => each.key !== key)
  if (one?.state === 'sending') request?.abort()
}

/** Takes those from the list that arrived. */
export function dropSent(): void {
  uploads.value = uploads.value.filter(({ state }) => state !== 'sent')
}

function change(key: number, to: Partial<Upload>): void {
  uploads.value = uploads.value.map((each) => (each.key === key ? { ...each, ...to } : each))
}

async function sendNext(): Promise<void> {
  if (uploads.value.some(({ state }) => state === 'sending')) return
  const next = uploads.value.find(({ state }) => state === 'waits')
  if (!next) return
  change(next.key, { state: 'sending', sentBytes: 0 })
  change(next.key, await sent(next))
  await sendNext()
}

/** What became of it. */
async function sent(one: Upload): Promise<Partial<Upload>> {
  const { status, text } = await send(one)
  if (status === 201) return { state: 'sent', sentBytes: one.file.size }
  if (status === 0) return { state: 'refused', sentence: texts.uploadWasCut }
  if (status === 401) {
    // Not waited for: whoever leaves the page instead would leave the others waiting too.
    void cookieCredentials.renewed()
    return { state: 'refused', sentence: texts.sessionHadEnded }
  }
  const fault = new CallFault(status, answerOf(text))
  return { state: 'refused', sentence: refusalOf(fault), isTaken: fault.code === 'artifact_exists' }
}

/** The words of the server, those of each place in the file included. */
function refusalOf(fault: CallFault): string {
  if (fault.code === 'artifact_exists') return texts.nameIsTaken
  const [first] = fault.fields
  return sentence(first && first.field !== '' ? `${first.field}: ${first.message}` : (first?.message ?? fault.message))
}

function send({ facts, file, key }: Upload): Promise<{ status: number; text: string }> {
  const own = new XMLHttpRequest()
  request = own
  return new Promise((resolve) => {
    own.upload.onprogress = ({ loaded }) => change(key, { sentBytes: loaded })
    own.onloadend = () => resolve({ status: own.status, text: own.responseText })
    own.open(
      'POST',
      `/admin/api/artifacts?${new URLSearchParams({ ...facts, overwrite: String(facts.overwrite), filename: file.name })}`,
    )
    own.setRequestHeader('content-type', 'application/json')
    for (const [name, value] of Object.entries(cookieCredentials.ofWrites())) own.setRequestHeader(name, value)
    own.send(file)
  })
}

function answerOf(text: string): { error?: string; message?: string } {
  try {
    return JSON.parse(text) as { error?: string; message?: string }
  } catch {
    return {}
  }
}

/** Why a file need not be sent; undefined if it may. */
export function whyNot({ name, size }: Pick<File, 'name' | 'size'>, mostBytes: number | undefined): string | undefined {
  if (!name.toLowerCase().endsWith('.json')) return texts.isNoJson(name)
  if (mostBytes !== undefined && size > mostBytes) return texts.isTooLarge(name, bytesText(size), bytesText(mostBytes))
  return undefined
}
