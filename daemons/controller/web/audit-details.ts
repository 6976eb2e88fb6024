/** One call of the audit, opened: why it was refused and where to change that, and what was recorded of it. */
import type { VNode } from 'preact'
import { zone } from '#kit/web/contact.ts'
import { html } from '#kit/web/html.ts'
import { count, dateOf, ended, THIN, timeOf, UNKNOWN } from '#kit/web/numbers.ts'
import type { AuditEntry } from './api.ts'
import * as texts from './texts.ts'

export function AuditDetails({ entry }: { entry: AuditEntry }): VNode {
  return html`<p>${outcomeSentence(entry)}</p><dl>${facts(entry)}</dl>`
}

/** Why a call was refused, and where to change that. */
const REASONS: Readonly<Record<string, string>> = {
  malformed_body: texts.malformedBodyMore,
  missing_credential: texts.missingCredentialMore,
  invalid_credential: texts.invalidCredentialMore,
  no_sites: texts.noSitesMore,
  no_roles: texts.noRolesMore,
  '2fa_required': texts.codeMailedMore,
  '2fa_mismatch': texts.wrongCodeMore,
  '2fa_no_email': texts.noMailAddressMore,
  invalid_session: texts.invalidSessionMore,
  remote_denied: texts.remoteDeniedMore,
  unauthorized: texts.unauthorizedMore,
  role_denied: texts.roleDeniedMore,
  elevation_denied: texts.elevationDeniedMore,
  scope_denied: texts.scopeDeniedMore,
  unknown_macro: texts.unknownMacroMore,
  elevated_table: texts.elevatedTableMore,
  invalid_projection: texts.invalidProjectionMore,
  redacted_filter: texts.redactedFilterMore,
  secure_filtered: texts.secureFilteredMore,
  invalid_action: texts.invalidActionMore,
  not_implemented: texts.notImplementedMore,
  rest_disabled: texts.restDisabledMore,
  method_not_allowed: texts.methodNotAllowedMore,
  bad_target: texts.badTargetMore,
  bad_command: texts.badCommandMore,
  bad_args: texts.badArgsMore,
  bad_fields: texts.badFieldsMore,
  unknown_entity: texts.unknownEntityMore,
  unknown_modifier: texts.unknownModifierMore,
  bad_query: texts.badQueryMore,
  busy: texts.busyMore,
  trigger_limit: texts.triggerLimitMore,
  missed: texts.missedMore,
  foreign_origin: texts.foreignOriginMore,
  pin_rests: texts.pinRestsMore,
  duress: texts.duressMore,
  password_change_required: texts.mustChangeMore,
}

/** What came of it, in a sentence with the message of the device or the macro. */
export function outcomeSentence(entry: AuditEntry): string {
  const { granted, reason, status, outcome, detail } = entry
  const more = detail === null ? '' : ` ${ended(detail)}`
  if (reason !== null && Object.hasOwn(REASONS, reason)) return `${REASONS[reason] ?? reason}${more}`
  if (outcome !== null && Object.hasOwn(OUTCOMES, outcome)) return texts.answeredWith(OUTCOMES[outcome], status, more)
  if (granted) return texts.auditAnsweredWith(status)
  return texts.answeredWithNothingElseIsRecorded(status)
}

/** Results of commands and macros that were granted. */
const OUTCOMES: Readonly<Record<string, string>> = {
  done: texts.doneSentence,
  partly: texts.partlySentence,
  failed: texts.failedSentence,
  running: texts.runningSentence,
}

/** By `request_type`. */
const SURFACES: Readonly<Record<string, string>> = {
  ui: texts.page,
  socket: texts.socket,
  rest_api: texts.restApi,
  hook: texts.ofWebhook,
  schedule: texts.ofSchedule,
  trigger: texts.ofTrigger,
}

function facts(entry: AuditEntry): VNode[] {
  const listed: [string, string][] = [
    [texts.auditAt, `${dateOf(entry.at, zone.value)} ${timeOf(entry.at, zone.value, 'ms')}`],
    [texts.from, entry.client_ip],
    [texts.auditBy, SURFACES[entry.request_type] ?? entry.request_type],
    [texts.auditCall, `${entry.method} ${entry.path}`],
    [texts.action, entry.action ?? UNKNOWN],
    [texts.target, entry.target ?? UNKNOWN],
    [texts.status, String(entry.status)],
    [texts.took, `${count(entry.elapsed_ms)}${THIN}ms`],
    [texts.reason, entry.reason ?? UNKNOWN],
    [texts.macroRun, entry.run_id === null ? UNKNOWN : String(entry.run_id)],
  ]
  return listed.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)
}
