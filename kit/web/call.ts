/**
 * Calls to the daemon: JSON or a form in, JSON out, faults as values a page can show; calls that wait for a sign-in;
 * and polling.
 */
import { type Signal, signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { isLost, lose } from './contact.ts'
import * as texts from './texts.ts'

// Calls refused because the user is signed out: they wait until somebody signs in again.

/** Calls that wait, and whether to ask for a sign-in. */
interface Renewal {
  /** True while the daemon refuses credentials that were valid before: a dialog over the page asks again. */
  readonly isSignedOut: Signal<boolean>
  /** Resolves once somebody has signed in; opens the dialog. */
  wait(): Promise<void>
  /** Somebody signed in: waiting calls continue. */
  done(): void
  /** The page is left: its waiting calls are dropped. */
  drop(): void
}

/** Create one for the life of a page. */
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

/** A refusal by the daemon, in its own words. */
export class CallFault extends Error {
  readonly status: number
  readonly code: string
  /** Faults of single fields, by dotted name as in the API. */
  readonly fields: readonly FieldFault[]
  /** With `changed_meanwhile`: the current revision; null if the thing is gone. */
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

/** Fault of one field. */
export interface FieldFault {
  field: string
  message: string
}

/** Faults come as a list if order matters to the daemon, else as an object of names and messages. */
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

/** Default timeout of an answer; calls that act on a bus or a remote system set a longer one. */
const ANSWER_MS = 8000

/** Options of a call. */
interface CallOptions {
  /** Timeout of the answer, ms. */
  answerMs?: number
  /** Do not ask to sign in again if the token is refused; throw the fault. */
  isSignIn?: boolean
  /** If the token is refused, ask for a sign-in without waiting for it, and throw the fault: polling goes on. */
  isPolled?: boolean
  /** Revision that a change was made from: the daemon refuses it if the revision has changed since. */
  ifMatch?: string | undefined
}

/** Credentials of a page's calls. */
export interface Credentials {
  /** Value of the `authorization` header; null if the page sends none. */
  header(): string | null
  /** Whether the user is signed in, so that calls make sense. */
  isReady(): boolean
  /**
   * Calls carry only this header and no credentials stored by the browser, so that it never asks the user by itself.
   */
  isAlone?: boolean
  /** Headers of calls that change something: what a page with a cookie proves itself by. */
  ofWrites?(): Readonly<Record<string, string>>
  /** Called after a 401; resolves once there are new credentials. @param used the header that was refused */
  renewed(used: string | null): Promise<void>
}

let credentials: Credentials | undefined

/** Sets the credentials of calls. Without them, a refused call is a fault like any other. */
export function signCallsWith(given: Credentials | undefined): void {
  credentials = given
}

/** Whether calls have credentials. */
export function canCall(): boolean {
  return credentials?.isReady() ?? true
}

/**
 * Calls the daemon. If credentials are refused, the user is asked again and the call repeated, so nothing typed is
 * lost.
 * @param body sent as a form or a file if it is one, else as JSON
 * @throws CallFault if the daemon refused; NoContact if no answer came
 */
export async function call<Answer>(target: Target, body?: unknown, options: CallOptions = {}): Promise<Answer> {
  for (;;) {
    const used = credentials?.header() ?? null
    const reply = await send(target, body, used, options)
    if (reply.status === 401 && credentials && !options.isSignIn) {
      const renewed = credentials.renewed(used)
      if (!options.isPolled) {
        await renewed
        continue
      }
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
  if (method !== 'GET') Object.assign(headers, credentials?.ofWrites?.())
  if (options.ifMatch !== undefined) headers['if-match'] = `"${options.ifMatch}"`
  const isFile = body instanceof Blob
  const isRaw = isFile || body instanceof URLSearchParams
  if (body !== undefined && !isRaw) headers['content-type'] = 'application/json'
  if (isFile) headers['content-type'] = 'application/octet-stream'
  const sent = body === undefined ? null : isRaw ? body : JSON.stringify(body)
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
  // The answer may be cut off, or late, behind its head too.
  const text = await reply.text().catch((cause: unknown) => {
    lose()
    throw new NoContact(cause)
  })
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The message of anything thrown. */
export function sentenceOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

// Polling: reads something from the daemon again and again while a part shows it.

/** State of polling, for the part. */
interface Look {
  /** The daemon's last refusal, as a sentence; null while all is well. Lost contact is shown by the banner. */
  refused: string | null
  /** Polls at once, after a change by the user; resolves when done. */
  again(): Promise<void>
}

/**
 * Polls while the part is drawn and the page visible, `everyMs` after each answer. Pauses while there is no contact,
 * and resumes by itself.
 * @param about key of what is polled; when it changes, it is polled at once
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

// Sends values that a user is dragging: one at a time, then only the latest of those that came meanwhile.

/**
 * @returns a function that takes the next value; a failure is passed to `refuse`, and a waiting value is then dropped
 */
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
