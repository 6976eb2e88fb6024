/** Why a call was refused, in plain words: what was the case, and where one looks to change it. */
import type { Lit } from '#kit/web/lamp.ts'
import { ended } from '#kit/web/sentences.ts'
import { instantOf } from '#kit/web/zoned-time.ts'
import type { AuditEntry } from './api.ts'

/** Short for the row, and what to do about it. */
interface Words {
  short: string
  more: string
}

const REASONS: Readonly<Record<string, Words>> = {
  malformed_body: { short: 'unreadable', more: 'The body was no JSON, or over 256 KB.' },
  missing_credential: {
    short: 'name or password missing',
    more: 'The sign-in came without a user name or without a password.',
  },
  invalid_credential: {
    short: 'wrong name or password',
    more: 'The name is unknown, the password wrong, or the account disabled, revoked or outside its dates.',
  },
  no_sites: { short: 'no site', more: 'The account belongs to no site. Add it to one.' },
  no_roles: { short: 'no role', more: 'The account has no role. Give it one.' },
  '2fa_required': { short: 'code mailed', more: 'The first step of a sign-in: a code was mailed and is waited for.' },
  '2fa_mismatch': { short: 'wrong code', more: 'The code was not the one that was mailed, or came too late.' },
  '2fa_no_email': { short: 'no mail address', more: 'The account needs a mailed code and has no mail address.' },
  invalid_session: {
    short: 'not signed in',
    more: 'The session was missing, unknown or over, or its account may sign in no longer.',
  },
  remote_denied: {
    short: 'from outside',
    more: 'No role of the account has Allow Remote on, and the call came from outside.',
  },
  unauthorized: { short: 'handoff refused', more: 'There was no valid session or nonce for it.' },
  role_denied: {
    short: 'role does not allow it',
    more: 'No rule of the roles allows this function, or one denies it.',
  },
  elevation_denied: { short: 'needs elevation', more: 'The device, macro or page is for roles with Elevated on.' },
  scope_denied: { short: 'out of scope', more: 'The zone or device is on no UI that the roles allow.' },
  unknown_macro: { short: 'no such macro', more: 'There is no macro of that number or name.' },
  elevated_table: { short: 'closed table', more: 'The table is open to roles with Elevated on alone.' },
  invalid_projection: { short: 'renamed column', more: 'Only roles with Elevated on may rename columns in _fields.' },
  redacted_filter: { short: 'filter on a secret', more: 'The query filters by a column that holds secrets.' },
  secure_filtered: {
    short: 'secure values left out',
    more: 'The query asked for secure attributes, or searched by value.',
  },
  invalid_action: { short: 'no such action', more: 'Only command and macro are known under /api/control.' },
  not_implemented: { short: 'cannot be written', more: 'Tables are read over REST, and written by macros.' },
  rest_disabled: { short: 'REST is off', more: 'The REST API is switched off under System.' },
  method_not_allowed: { short: 'wrong method', more: 'The path takes other methods than this one.' },
  bad_target: {
    short: 'target unclear',
    more: 'The command named no target, two that disagree, or one that does not exist.',
  },
  bad_command: {
    short: 'no command in it',
    more: 'The body named no command, two of them, or was no object.',
  },
  bad_args: {
    short: 'args not allowed',
    more: 'The args do not fit the command, the macro, or the bounds of the zone.',
  },
  bad_fields: { short: 'wrong fields', more: 'A field was missing, not known, or of a wrong kind.' },
  unknown_entity: { short: 'no such table', more: 'The query asked for a table that does not exist.' },
  unknown_modifier: { short: 'unknown modifier', more: 'The query used a name beginning with _ that is not known.' },
  bad_query: { short: 'unreadable query', more: 'The query could not be read, or named a column that does not exist.' },
  busy: {
    short: 'too many at once',
    more: 'Too many sign-ins, or queries of this user, were under way; it was not looked at. Try again.',
  },
  foreign_origin: {
    short: 'page of another site',
    more: 'A page that is not of this controller sent it. Ask who opened which page.',
  },
}

/** Every reason with its short words, for choosing. */
export const reasonChoices: readonly (readonly [reason: string, words: string])[] = Object.entries(REASONS)
  .map(([reason, { short }]) => [reason, short] as const)
  .sort(([, one], [, other]) => one.localeCompare(other))

/** How it went, in a few words. */
export function outcomeWords({ granted, reason, status, outcome }: AuditEntry): string {
  if (reason !== null) return Object.hasOwn(REASONS, reason) ? (REASONS[reason]?.short ?? reason) : reason
  if (outcome !== null && Object.hasOwn(OUTCOMES, outcome)) return OUTCOMES[outcome]?.words ?? outcome
  return granted ? 'granted' : `failed, ${status}`
}

/** The same in a sentence, with what the device or the macro said. */
export function outcomeSentence(entry: AuditEntry): string {
  const { granted, reason, status, outcome, detail } = entry
  const more = detail === null ? '' : ` ${ended(detail)}`
  if (reason !== null && Object.hasOwn(REASONS, reason)) return `${REASONS[reason]?.more ?? reason}${more}`
  if (outcome !== null && Object.hasOwn(OUTCOMES, outcome))
    return `${OUTCOMES[outcome]?.sentence}, answered with ${status}.${more}`
  if (granted) return `Answered with ${status}.`
  return `Answered with ${status}; nothing else is recorded of it.`
}

/** What came of commands and macros that were granted. */
const OUTCOMES: Readonly<Record<string, { words: string; sentence: string; lit: Lit }>> = {
  done: { words: 'done', sentence: 'Done', lit: 'ok' },
  partly: { words: 'done in part', sentence: 'Some steps failed, and the macro went on', lit: 'warn' },
  failed: { words: 'not done', sentence: 'Granted, and not done', lit: 'fault' },
  running: { words: 'still ran', sentence: 'Still ran when it was answered', lit: 'busy' },
}

/** Green is for what was done, or read: a command that its device refused was granted, and is not green. */
export function outcomeLit({ granted, reason, status, outcome }: AuditEntry): Lit {
  if (!granted || reason !== null || status >= 500) return 'warn'
  return outcome !== null && Object.hasOwn(OUTCOMES, outcome) ? (OUTCOMES[outcome]?.lit ?? 'ok') : 'ok'
}

/** What a row is asked for by. */
export interface AuditChoice {
  outcome: 'all' | 'refused' | 'granted'
  user: string
  path: string
  reason: string
  /** Hours back, `picked` for those of `from` and `until`, empty for all. */
  hours: string
  /** Wall time of the site as it was picked, `2031-03-09T14:00`; empty for no end on that side. */
  from: string
  until: string
}

/** Nothing but what was refused: what one opens the audit for. */
export const FIRST_CHOICE: AuditChoice = {
  outcome: 'refused',
  user: '',
  path: '',
  reason: '',
  hours: '',
  from: '',
  until: '',
}

/** When: the controller's time in epoch ms, and the site's zone. */
export interface AuditTime {
  nowMs: number
  zone: string | undefined
}

const MINUTE_MS = 60_000

/** From an instant on, and before another one; undefined where there is no end on that side. */
export function auditSpan({ hours, from, until }: AuditChoice, { nowMs, zone }: AuditTime) {
  const at = (text: string): number | undefined => {
    const ms = instantOf(text, zone)
    return Number.isNaN(ms) ? undefined : Math.max(0, ms)
  }
  if (hours === '') return { fromMs: undefined, untilMs: undefined }
  if (hours !== 'picked') return { fromMs: Math.floor(nowMs - Number(hours) * 3_600_000), untilMs: undefined }
  const last = at(until)
  // Who picks 14:30 means calls of 14:30 as well.
  return { fromMs: at(from), untilMs: last === undefined ? undefined : last + MINUTE_MS }
}

/** Whether nothing can fit: it ends before it begins. */
export function isBackward(choice: AuditChoice, time: AuditTime): boolean {
  const { fromMs, untilMs } = auditSpan(choice, time)
  return fromMs !== undefined && untilMs !== undefined && untilMs <= fromMs
}

/** The query of a choice. */
export function auditQuery(choice: AuditChoice, time: AuditTime, before: number | null): string {
  const query = new URLSearchParams({ limit: '100' })
  if (choice.outcome !== 'all') query.set('granted', String(choice.outcome === 'granted'))
  if (choice.user.trim() !== '') query.set('user', choice.user.trim())
  if (choice.path.trim() !== '') query.set('path', choice.path.trim())
  if (choice.reason !== '') query.set('reason', choice.reason)
  const { fromMs, untilMs } = auditSpan(choice, time)
  if (fromMs !== undefined) query.set('from', String(fromMs))
  if (untilMs !== undefined) query.set('to', String(untilMs))
  if (before !== null) query.set('before', String(before))
  return query.toString()
}
