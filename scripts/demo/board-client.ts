/** Submits a board's forms, as an installer would in a browser. */
import { setTimeout as sleep } from 'node:timers/promises'

const CALL_MS = 20_000
/** A restarting board is back well within this. */
const BACK_MS = 20_000
const ASK_AGAIN_MS = 100

/** @returns the answer's JSON. @throws Error with the board's own sentence if it refuses */
export async function postForm(url: string, path: string, form: Record<string, string>): Promise<unknown> {
  const body = new URLSearchParams(form)
  const response = await fetch(url + path, { method: 'POST', body, signal: AbortSignal.timeout(CALL_MS) })
  const answer = await response.json()
  if (!response.ok) throw new Error(`POST ${path}: ${answer.message} ${JSON.stringify(answer.fields ?? '')}`)
  return answer
}

/** Saves settings, which restarts the board. Resolves when it is back with them. @throws Error if it stays away */
export async function saveSettings(url: string, form: Record<string, string>): Promise<void> {
  await postForm(url, '/api/config', form)
  await until(`the board at ${url} to come back`, async () => {
    const { last_start } = (await getJson(url, '/api/status')) as { last_start: { reason: string } }
    return last_start.reason === 'config'
  })
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
  const endMs = performance.now() + BACK_MS
  // No answer during a restart is not a fault.
  while (!(await isTrue().catch(() => false))) {
    if (performance.now() > endMs) throw new Error(`waited ${BACK_MS} ms for ${what}`)
    await sleep(ASK_AGAIN_MS)
  }
}
