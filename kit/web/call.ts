/** Calls to the daemon: JSON in, JSON out, faults as values a page can show. */
import { lose } from './contact.ts'
import { signedInAgain, token } from './session.ts'

/** What the daemon refused, in its own words. */
export class CallFault extends Error {
  readonly status: number
  readonly code: string
  /** Faults of single fields, by dotted name as the API spells them. */
  readonly fields: { field: string; message: string }[]

  constructor(status: number, body: { error?: string; message?: string; fields?: unknown }) {
    super(body.message ?? `The daemon answered ${status} without a reason.`)
    this.name = 'CallFault'
    this.status = status
    this.code = body.error ?? 'no_reason'
    this.fields = Array.isArray(body.fields) ? (body.fields as { field: string; message: string }[]) : []
  }
}

/** No answer came at all. */
export class NoContact extends Error {
  constructor(cause: unknown) {
    super('No answer. Nothing was changed as far as this page knows; it tries to reach the daemon.', { cause })
    this.name = 'NoContact'
  }
}

/** Method and path of a call, `PUT /api/ports/x`. */
export type Target = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`

/** How long an answer may take; what acts on a bus or a far system is given longer by its caller. */
const ANSWER_MS = 8000

/** How a call differs from the usual. */
export interface CallOptions {
  /** Answer time allowed, ms. */
  answerMs?: number
  /** Do not ask to sign in again when the token is refused; the fault is thrown. */
  isSignIn?: boolean
}

/**
 * Calls the daemon. A refused token asks the reader to sign in again and then repeats the call, so nothing typed is lost.
 * @throws CallFault what the daemon refused; NoContact when no answer came
 */
export async function call<Answer>(target: Target, body?: unknown, options: CallOptions = {}): Promise<Answer> {
  for (;;) {
    const used = token.value
    const reply = await send(target, body, used, options.answerMs ?? ANSWER_MS)
    if (reply.status === 401 && !options.isSignIn) {
      await signedInAgain(used)
      continue
    }
    const answer = await bodyOf(reply)
    if (!reply.ok) throw new CallFault(reply.status, (answer ?? {}) as Record<string, string>)
    return answer as Answer
  }
}

async function send(target: Target, body: unknown, used: string | null, answerMs: number): Promise<Response> {
  const [method = 'GET', path = '/'] = target.split(' ')
  const headers: Record<string, string> = {}
  if (used) headers.authorization = `Bearer ${used}`
  if (body !== undefined) headers['content-type'] = 'application/json'
  const signal = AbortSignal.timeout(answerMs)
  try {
    return await fetch(path, { method, headers, signal, body: body === undefined ? null : JSON.stringify(body) })
  } catch (cause) {
    lose()
    throw new NoContact(cause)
  }
}

async function bodyOf(reply: Response): Promise<unknown> {
  const text = await reply.text()
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The sentence of whatever was thrown. */
export function sentenceOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
