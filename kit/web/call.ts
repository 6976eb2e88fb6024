/** Calls to the daemon: JSON or a form in, JSON out, faults as values a page can show; calls that wait for a sign-in, and those made again and again. */
import { type Signal, signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { isLost, lose } from './contact.ts'
import * as texts from './texts.ts'

// Calls that were refused because nobody is signed in any more: they wait over the page until somebody is again.

/** Who waits, and whether anybody has to be asked. */
interface Renewal {
  /** True while the daemon refuses what was good before: the dialog over the page asks again. */
  readonly isSignedOut: Signal<boolean>
  /** Resolves when somebody signed in; brings the dialog up. */
  wait(): Promise<void>
  /** Somebody signed in: what waited goes on. */
  done(): void
  /** The page is left: what waited is dropped with the page it belonged to. */
  drop(): void
}

/** One for the life of a page. */
export function createRenewal(): Renewal {
  const isSignedOut = signal(false)
  let waiting: (() => void)[] = []

  function end(): (() => void)[] {
    isSignedOut.value = false
    const ready = waiting
    waiting = []
    return ready
  }

  return {
    isSignedOut,
    wait() {
      isSignedOut.value = true
      return new Promise((resolve) => {
        waiting.push(resolve)
      })
    },
    done() {
      for (const go of end()) go()
    },
    drop: () => void end(),
  }
}

/** What the daemon refused, in its own words. */
export class CallFault extends Error {
  readonly status: number
  readonly code: string
  /** Faults of single fields, by dotted name as the API spells them. */
  readonly fields: readonly FieldFault[]
  /** Of `changed_meanwhile`: what is there now; null where nothing is. */
  readonly revision: string | null

  constructor(status: number, body: { error?: string; message?: string; fields?: unknown; revision?: string | null }) {
    super(body.message ?? texts.answeredWithoutReason(status))
    this.name = 'CallFault'
    this.status = status
    this.code = body.error ?? 'no_reason'
    this.fields = fieldsOf(body.fields)
    this.revision = body.revision ?? null
  }
}

/** What is wrong with one field. */
export interface FieldFault {
  field: string
  message: string
}

/** Faults come as a list where order matters to the daemon, or as an object of names and sentences. */
function fieldsOf(fields: unknown): readonly FieldFault[] {
  if (Array.isArray(fields)) return fields as FieldFault[]
  return Object.entries(fields ?? {}).map(([field, message]) => ({ field, message: String(message) }))
}

/** No answer came at all. */
export class NoContact extends Error {
  constructor(cause: unknown) {
    super(texts.noAnswer, { cause })
    this.name = 'NoContact'
  }
}

/** Method and path of a call, `PUT /api/ports/x`. */
export type Target = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`

/** How long an answer may take; what acts on a bus or a far system is given longer by its caller. */
const ANSWER_MS = 8000

/** How a call differs from the usual. */
interface CallOptions {
  /** Answer time allowed, ms. */
  answerMs?: number
  /** Do not ask to sign in again when the token is refused; the fault is thrown. */
  isSignIn?: boolean
  /** Revision that a change was made from: it is refused where another is there by now. */
  ifMatch?: string | undefined
}

/** How the calls of a page say who calls. */
export interface Credentials {
  /** Value of the `authorization` header; null where the page sends none. */
  header(): string | null
  /** Whether somebody is signed in, so that calls make sense. */
  isReady(): boolean
  /** Calls carry this header and nothing that the browser keeps, so that it never asks its user by itself. */
  isAlone?: boolean
  /** What was refused with 401 is asked for again; resolves when there is another one. @param used the header that was refused */
  renewed(used: string | null): Promise<void>
}

let credentials: Credentials | undefined

/** Says how calls are signed. Where a page never says, a call that is refused is a fault like any other. */
export function signCallsWith(given: Credentials): void {
  credentials = given
}

/** Whether a call has what it is signed with. */
export function canCall(): boolean {
  return credentials?.isReady() ?? true
}

/**
 * Calls the daemon. Refused credentials are asked for again and the call is repeated, so nothing typed is lost.
 * @param body sent as a form where it is one, else as JSON
 * @throws CallFault what the daemon refused; NoContact when no answer came
 */
export async function call<Answer>(target: Target, body?: unknown, options: CallOptions = {}): Promise<Answer> {
  for (;;) {
    const used = credentials?.header() ?? null
    const reply = await send(target, body, used, options)
    if (reply.status === 401 && credentials && !options.isSignIn) {
      await credentials.renewed(used)
      continue
    }
    const answer = await bodyOf(reply)
    if (!reply.ok) throw new CallFault(reply.status, (answer ?? {}) as Record<string, string>)
    return answer as Answer
  }
}

async function send(target: Target, body: unknown, used: string | null, options: CallOptions): Promise<Response> {
  const [method = 'GET', path = '/'] = target.split(' ')
  const headers: Record<string, string> = {}
  if (used) headers.authorization = used
  if (options.ifMatch !== undefined) headers['if-match'] = `"${options.ifMatch}"`
  const isForm = body instanceof URLSearchParams
  if (body !== undefined && !isForm) headers['content-type'] = 'application/json'
  const sent = body === undefined ? null : isForm ? body : JSON.stringify(body)
  const signal = AbortSignal.timeout(options.answerMs ?? ANSWER_MS)
  try {
    const kept = credentials?.isAlone ? 'omit' : 'same-origin'
    return await fetch(path, { method, headers, signal, body: sent, credentials: kept })
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

// Looking again and again at something of the daemon, as long as a part shows it.

/** What a part knows of its looking. */
interface Look {
  /** What the daemon refused last, as a sentence; null while all is well. Lack of contact is said by the banner. */
  refused: string | null
  /** Looks at once, after the hand changed something; resolves when that look is done. */
  again(): Promise<void>
}

/**
 * Asks while the part is drawn and the page is looked at, `everyMs` after the answer before. While there is no contact
 * it rests, and goes on by itself.
 * @param about what is asked about; when it changes, it is asked at once
 */
export function useLook(ask: () => Promise<unknown>, everyMs: number, about = ''): Look {
  const [refused, setRefused] = useState<string | null>(null)
  const latest = useRef(ask)
  latest.current = ask

  async function again(): Promise<void> {
    try {
      await latest.current()
      setRefused(null)
    } catch (thrown) {
      if (thrown instanceof CallFault) setRefused(thrown.message)
      else if (!(thrown instanceof NoContact)) throw thrown
    }
  }

  const isBack = !isLost.value
  useEffect(() => {
    let isOver = false
    let timer: ReturnType<typeof setTimeout> | undefined
    async function turn(): Promise<void> {
      if (!document.hidden && isBack) await again()
      if (!isOver) timer = setTimeout(() => void turn(), everyMs)
    }
    void turn()
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [about, isBack])
  return { refused, again }
}

// Sends what a hand moves: one at a time, and of what comes meanwhile the last.

/** @returns what takes the next value; what failed is thrown at `refuse`, and what waited is dropped then */
export function sendLatest<Value>(
  send: (value: Value) => Promise<void>,
  refuse: (thrown: unknown) => void,
): (value: Value) => void {
  let waiting: { value: Value } | undefined
  let isSending = false
  async function run(): Promise<void> {
    isSending = true
    try {
      for (let next = waiting; next; next = waiting) {
        waiting = undefined
        await send(next.value)
      }
    } catch (thrown) {
      waiting = undefined
      refuse(thrown)
    }
    isSending = false
  }
  return (value) => {
    waiting = { value }
    if (!isSending) void run()
  }
}
