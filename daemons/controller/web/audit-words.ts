/** Calls as people say them: who did what, what came of it, and why not. */
import { THIN } from '#kit/web/numbers.ts'
import type { Lit } from '#kit/web/parts.ts'
import type { AuditEntry } from './api.ts'
import * as texts from './texts.ts'

// Sentences: `ada set Hall ceiling to 40 %: done.`

/** What was asked, of which zone, device or macro. */
interface Asked {
  /** What happened if it was done: `set Hall ceiling to 40 %`. */
  done: string
  /** The same if it was not: `asked Hall ceiling for level 40 %`. */
  wanted: string
  /** What is said if it was let through and failed there. */
  failed?: (why: string, asked: string) => string
}

/** One call in a sentence. */
export function auditSentence(entry: AuditEntry): string {
  const who = whoOf(entry)
  const asked = askedOf(entry)
  const { detail, granted, outcome } = entry
  if (granted && outcome === 'failed' && asked.failed)
    return asked.failed(withoutCode(detail), `${who} ${asked.wanted}`)
  const isDone = granted && (outcome === null || outcome === 'done' || outcome === 'partly' || outcome === 'running')
  const what = isDone ? asked.done : asked.wanted
  if (granted && outcome === null && entry.reason === null && entry.status < 400) return `${who} ${what}.`
  const isRefused = !granted && entry.reason !== null
  const result = isRefused ? texts.refusedBecause(outcomeWords(entry)) : outcomeWords(entry)
  return `${who} ${what}: ${result}.`
}

/** Who it was: a person, the building itself, or somebody who did not say. */
function whoOf({ username, request_type: type, action, client_ip: from }: AuditEntry): string {
  if (username !== null) return username
  const by = /^macro .* by (schedule|trigger|hook) (.*)$/.exec(action ?? '')
  if (by) return texts.ranBy(by[1] ?? '', unquoted(by[2] ?? ''))
  if (type === 'schedule' || type === 'trigger') return texts.theBuilding
  return from === '' ? texts.somebody : texts.somebodyAt(from)
}

function askedOf(entry: AuditEntry): Asked {
  const { action } = entry
  const command = /^(.*) on ("(?:[^"\\]|\\.)*")$/.exec(action ?? '')
  if (command) return commandOf(command[1] ?? '', unquoted(command[2] ?? ''), entry.unit)
  const macro = /^(cancel )?macro ("(?:[^"\\]|\\.)*"|\d+)/.exec(action ?? '')
  if (macro) return macroOf(unquoted(macro[2] ?? ''), macro[1] !== undefined)
  const attribute = /^set ("(?:[^"\\]|\\.)*")$/.exec(action ?? '')
  if (attribute) return texts.setsAttribute(unquoted(attribute[1] ?? ''))
  return callOf(entry)
}

/** A name as it stands in an action: as JSON, or as a number. */
function unquoted(text: string): string {
  try {
    return String(JSON.parse(text))
  } catch {
    return text
  }
}

function macroOf(name: string, isCancelled: boolean): Asked {
  const failed = (why: string, asked: string): string => texts.macroFailed(name, why, asked)
  return { ...(isCancelled ? texts.endsMacro(name) : texts.runsMacro(name)), failed }
}

/** @param wish verb and value, `level 40` */
function commandOf(wish: string, name: string, unit: string | null): Asked {
  const [verb = '', ...rest] = wish.split(' ')
  const value = rest.join(' ')
  const isValue = VALUE_VERBS.has(verb) && value !== '' && !value.startsWith('(')
  const said = isValue && unit !== null && unit !== '' ? `${wish}${THIN}${unit}` : wish
  const wanted = texts.askedFor(name, said)
  const failed = (why: string, asked: string): string => texts.refusedByDevice(name, why, asked)
  if (isValue) return { done: texts.setTo(name, said.slice(verb.length + 1)), wanted, failed }
  return { done: texts.sentTo(name, said), wanted, ...texts.plainDeed(wish, name), failed }
}

const VALUE_VERBS: ReadonlySet<string> = new Set(['level', 'setpoint', 'temperature', 'position', 'volume', 'value'])

/** A call that is no command: by its path. */
function callOf({ method, path, target }: AuditEntry): Asked {
  const table = /^entity (.+)$/.exec(target ?? '')?.[1]
  if (table !== undefined && method === 'GET') return texts.readsTable(table)
  const call = `${method} ${path}`
  const known = Object.hasOwn(texts.calls, call) ? texts.calls[call] : undefined
  const page = /^GET \/ui\/([a-z]+)$/.exec(call)?.[1]
  if (known === undefined) return page === undefined ? texts.callsPath(call) : texts.looksAt(page)
  const [done, attempt] = known
  return { done, wanted: attempt === undefined ? done : texts.triedTo(attempt) }
}

/** `driver_failed: device 3: it is jammed` without its code and its device. */
function withoutCode(detail: string | null): string {
  return (detail ?? texts.noReasonGiven).replace(/^[a-z0-9_]+: (device \d+: )?/, '').replace(/[.]$/, '')
}

// Reasons and outcomes in a few words; audit-details.ts has the sentences.

const REASONS: Readonly<Record<string, string>> = {
  malformed_body: texts.malformedBodyShort,
  missing_credential: texts.nameOrPasswordMissing,
  invalid_credential: texts.wrongNameOrPassword,
  no_sites: texts.noSite,
  no_roles: texts.noRole,
  '2fa_required': texts.codeMailed,
  '2fa_mismatch': texts.wrongCode,
  '2fa_no_email': texts.noMailAddress,
  invalid_session: texts.notSigned,
  remote_denied: texts.fromOutside,
  unauthorized: texts.handoffRefused,
  role_denied: texts.roleDeniedShort,
  elevation_denied: texts.needsElevation,
  scope_denied: texts.outOfScope,
  unknown_macro: texts.noSuchMacro,
  elevated_table: texts.closedTable,
  invalid_projection: texts.renamedColumn,
  redacted_filter: texts.filterOnSecret,
  secure_filtered: texts.secureValuesLeftOut,
  invalid_action: texts.noSuchAction,
  not_implemented: texts.cannotBeWritten,
  rest_disabled: texts.restIsOff,
  method_not_allowed: texts.wrongMethod,
  bad_target: texts.targetUnclear,
  bad_command: texts.noCommand,
  bad_args: texts.argsNotAllowed,
  bad_fields: texts.wrongFields,
  unknown_entity: texts.noSuchTable,
  unknown_modifier: texts.unknownModifier,
  bad_query: texts.unreadableQuery,
  busy: texts.tooManyAtOnce,
  trigger_limit: texts.tooOften,
  missed: texts.missedTime,
  foreign_origin: texts.pageOfAnotherSite,
  pin_rests: texts.pinRestsShort,
  duress: texts.duressShort,
  password_change_required: texts.mustChangeShort,
}

/** Every reason with its short words, for the filter. */
export const reasonChoices: readonly (readonly [reason: string, words: string])[] = Object.entries(REASONS).sort(
  ([, one], [, other]) => one.localeCompare(other),
)

/** The result in a few words. */
export function outcomeWords({ granted, reason, status, outcome }: AuditEntry): string {
  if (reason !== null) return Object.hasOwn(REASONS, reason) ? (REASONS[reason] ?? reason) : reason
  if (outcome !== null && Object.hasOwn(OUTCOMES, outcome)) return OUTCOMES[outcome]?.words ?? outcome
  return granted ? texts.isGranted : texts.auditFailed(status)
}

/** Results of commands and macros that were granted. */
const OUTCOMES: Readonly<Record<string, { words: string; lit: Lit }>> = {
  done: { words: texts.done, lit: 'ok' },
  partly: { words: texts.doneInPart, lit: 'warn' },
  failed: { words: texts.auditNotDone, lit: 'fault' },
  running: { words: texts.stillRan, lit: 'busy' },
}

/** Green means done or read: a granted command that its device refused is not green. */
export function outcomeLit({ granted, reason, status, outcome }: AuditEntry): Lit {
  if (reason === 'duress') return 'fault'
  if (!granted || reason !== null || status >= 500) return 'warn'
  return outcome !== null && Object.hasOwn(OUTCOMES, outcome) ? (OUTCOMES[outcome]?.lit ?? 'ok') : 'ok'
}
