/** Asks the vendor's licence server, over HTTP. What it answers is proven elsewhere: nothing here trusts the way. */
import http from 'node:http'
import https from 'node:https'
import type { Clock } from '#kit/clock.ts'
import { readJsonAnswer } from '#kit/net/json-answer.ts'
import { lookupSafely } from '#kit/net/target.ts'
import { Fault } from '#kit/pure/fault.ts'
import { durationText, plainText } from '#kit/pure/text.ts'
import type { LicenceAnswer, LicenceServer } from '../core/licence/ports.ts'

/** Longest answer that is read: a lease, or the holders of a key. */
const MOST_ANSWER_BYTES = 65_536

/** Holders of a key that are told. */
const MOST_HOLDERS = 32

interface ServerParts {
  clock: Clock
  /** Without a slash at its end. */
  url: string
  answerMs: number
}

export function createLicenceServer({ answerMs, clock, url }: ServerParts): LicenceServer {
  return {
    async ask(act, request) {
      const abort = new AbortController()
      const timer = clock.after(answerMs, () => abort.abort())
      try {
        const { body, status } = await post(`${url}/v1/${act}`, JSON.stringify(request), abort.signal)
        const said = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {}
        if (status === 200) return said satisfies LicenceAnswer
        throw refusalOf(status, said)
      } catch (cause) {
        if (cause instanceof Fault) throw cause
        const why = abort.signal.aborted ? `not within ${durationText(answerMs)}` : reasonOf(cause)
        throw failed(`It does not answer (${why}).`, cause)
      } finally {
        timer.cancel()
      }
    },
  }
}

function post(url: string, text: string, signal: AbortSignal) {
  const { request } = url.startsWith('https:') ? https : http
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
  return new Promise<Awaited<ReturnType<typeof readJsonAnswer>>>((resolve, reject) => {
    const outgoing = request(url, { method: 'POST', headers, signal, agent: false, lookup: lookupSafely })
    outgoing.on('error', reject)
    outgoing.on('response', (answer) => readJsonAnswer(answer, MOST_ANSWER_BYTES).then(resolve, reject))
    outgoing.end(text)
  })
}

function refusalOf(status: number, { code, error, holders }: Record<string, unknown>): Fault {
  const why = typeof error === 'string' ? ` ${plainText(error, 300)}` : ''
  if (code === 'no-free-seat') {
    const known = Array.isArray(holders) ? holders.slice(0, MOST_HOLDERS).map(holderOf) : []
    const names = known.flatMap(({ id, name }) => name ?? id ?? []).join(', ')
    const where = names === '' ? 'elsewhere' : `by ${names}`
    const sentence = `The licence key is in use ${where}.${why} Move it here, or free a seat.`
    return new Fault('license_no_free_seat', sentence, { details: { code, holders: known } })
  }
  if (code === 'unknown-key' || code === 'no-license')
    return new Fault('license_key_refused', `The licence server does not take it.${why} Check the licence key.`)
  return failed(`It answered ${status}.${why}`)
}

/** Texts of another machine, shown on a page. */
function holderOf(value: unknown) {
  const { id, name, since } = (value ?? {}) as Record<string, unknown>
  const shown = (one: unknown) => (typeof one === 'string' ? plainText(one, 128) : null)
  return { id: shown(id), name: shown(name), since: typeof since === 'number' ? since : null }
}

function reasonOf(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException
  return code ?? message
}

function failed(what: string, cause?: unknown): Fault {
  const sentence = `The licence server did not do it. ${what} It is asked again; look at license.server_url and the network.`
  return new Fault('license_server_failed', sentence, { cause })
}
