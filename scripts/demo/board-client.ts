/** Boards of the demo: started with their settings, and asked as an installer would in a browser. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type DaemonProcess, startDaemon } from './daemon-process.ts'
import { LOOPBACK, wantedOrFree } from './free-port.ts'
import type { Undo } from './undo.ts'

const CALL_MS = 20_000
/** What a board does after its start, such as finding others, is done well within this. */
const DONE_MS = 20_000
const ASK_AGAIN_MS = 100

/** Which board to start. */
export interface BoardStart {
  /** Holds a folder for each board, called as its host name. */
  stateFolder: string
  /** As in its settings file; what is left out has its default. */
  settings: { name: string; hostname: string; role: string; [key: string]: unknown }
  /** The port it should have; a taken one is replaced by a free one. */
  pagePort: number
  /** `key=VALUE` texts. */
  sets: readonly string[]
}

/** Its settings lie there before its first start: saved by a form, they would restart it. */
export async function startBoard(
  { stateFolder, settings, pagePort, sets }: BoardStart,
  undo: Undo,
): Promise<DaemonProcess> {
  const folder = join(stateFolder, settings.hostname)
  await mkdir(folder, { mode: 0o700 })
  await writeFile(join(folder, 'settings.json'), JSON.stringify({ version: 1, value: { settings, saves: 1 } }))
  const listen = `${LOOPBACK}:${await wantedOrFree(LOOPBACK, pagePort)}`
  return await startDaemon({ name: 'board', stateFolder: folder, listen, sets }, undo)
}

/** @returns the answer's JSON. @throws Error with the board's own sentence if it refuses */
export async function postForm(url: string, path: string, form: Record<string, string>): Promise<unknown> {
  const body = new URLSearchParams(form)
  const response = await fetch(url + path, { method: 'POST', body, signal: AbortSignal.timeout(CALL_MS) })
  const answer = await response.json()
  if (!response.ok) throw new Error(`POST ${path}: ${answer.message} ${JSON.stringify(answer.fields ?? '')}`)
  return answer
}

/** Resolves when each board lists every other. @throws Error if they do not find each other */
export async function meet(urls: readonly string[]): Promise<void> {
  for (const url of urls)
    await until(`the board at ${url} to find the others`, async () => {
      const peers = (await getJson(url, '/api/peers')) as { state: string }[]
      return peers.filter(({ state }) => state !== 'unreachable').length >= urls.length
    })
}

/** @returns the board's answer */
export async function getJson(url: string, path: string): Promise<unknown> {
  const response = await fetch(url + path, { signal: AbortSignal.timeout(CALL_MS) })
  return await response.json()
}

/** Polls until it is true. @throws Error if it takes too long */
export async function until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + DONE_MS
  // A board that does not answer yet is not a fault.
  while (!(await isTrue().catch(() => false))) {
    if (performance.now() > endMs) throw new Error(`waited ${DONE_MS} ms for ${what}`)
    await sleep(ASK_AGAIN_MS)
  }
}
