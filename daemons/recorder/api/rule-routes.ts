/** Routes of rules: making and changing them, buttons, what they did, and the alarm journal. */
import { Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import { instant, object, orNull, Reply, type Route, route, text } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Ledger } from '#kit/records/ledger.ts'
import { type LedgerEntry, severities } from '#kit/records/ledger-entry.ts'
import type { Recorder } from '#kit/records/records.ts'
import { type AccountRecord, mayHear, maySee } from '../core/access/accounts.ts'
import type { CameraBook } from '../core/cameras/book.ts'
import { isArmed, type Rule, reachOf } from '../core/rules/rule.ts'
import type { RuleBook, RuleWish } from '../core/rules/rule-book.ts'
import type { Alert, Rules } from '../core/rules/rules.ts'
import { type Callers, requireOperator } from './callers.ts'
import {
  alertAnswer,
  alertAnswerOf,
  newRuleBody,
  ruleAnswer,
  ruleAnswerOf,
  ruleBody,
  USUAL,
  wishOf,
} from './rule-answers.ts'

interface RuleRouteParts {
  clock: Clock
  callers: Callers
  cameras: CameraBook
  book: RuleBook
  rules: Rules
  recorder: Recorder
  ledger: Pick<Ledger, 'list'>
  /** What rules did, the newest first. @param cameras null: all, those that are gone too */
  alerts(query: { cameras: readonly string[] | null; limit: number }): Promise<Alert[]>
}

export function ruleRoutes(parts: RuleRouteParts): Route[] {
  return [...listRoutes(parts), ...changeRoutes(parts), ...buttonRoutes(parts), ...happenedRoutes(parts)]
}

const ruleParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 64, description: 'id of a rule' }) })

function answering({ clock, rules }: Pick<RuleRouteParts, 'clock' | 'rules'>) {
  return (rule: Rule) => {
    const nowAt = clock.epochMs()
    return ruleAnswerOf(rule, { nowAt, armed: isArmed(rule, nowAt), activeNow: rules.isActive(rule) })
  }
}

/** For the journal: neither a secret nor the path of an address, which is one with many services. */
function factsOf({ actions, id, trigger }: Rule) {
  const told = actions.map((action) =>
    action.type === 'webhook' ? `webhook ${URL.parse(action.url)?.origin ?? ''}` : action.type,
  )
  return { id, trigger: trigger.type, actions: told.join(', ') }
}

function listRoutes(parts: RuleRouteParts): Route[] {
  const { book, recorder } = parts
  const answerOf = answering(parts)
  return [
    route({
      method: 'GET',
      path: '/api/action-rules',
      who: 'admin',
      summary: 'Every rule: what it waits for, and what it does',
      reply: Type.Array(ruleAnswer),
      handle: () => book.list().map(answerOf),
    }),
    route({
      method: 'POST',
      path: '/api/action-rules',
      who: 'admin',
      status: 201,
      summary: 'Make a rule; `action` alone is taken for a list of one',
      body: newRuleBody,
      reply: ruleAnswer,
      async handle(ask) {
        const { actions, ...wish } = wishOf(ask.body)
        if (!actions) throw new Fault('bad_rule', 'A rule has at least one action. Name actions, or action.')
        const rule = await book.add({ ...USUAL, ...(wish as Pick<RuleWish, 'name' | 'trigger'>), actions })
        await recorder.changed(ask, 'rule made', rule.name, factsOf(rule))
        return new Reply(201, answerOf(rule))
      },
    }),
  ]
}

function changeRoutes(parts: RuleRouteParts): Route[] {
  const { book, recorder } = parts
  const answerOf = answering(parts)
  return [
    route({
      method: 'PATCH',
      path: '/api/action-rules/:id',
      who: 'admin',
      summary: 'Change a rule, or arm and disarm it; a webhook whose secret is left out keeps that of the n-th one',
      params: ruleParams,
      body: ruleBody,
      reply: ruleAnswer,
      async handle(ask) {
        const rule = await book.change(ask.params.id, wishOf(ask.body))
        const armed = ask.body.armed === undefined ? {} : { armed: rule.armed }
        await recorder.changed(ask, 'rule changed', rule.name, { ...factsOf(rule), ...armed })
        return answerOf(rule)
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/action-rules/:id',
      who: 'admin',
      status: 204,
      summary: 'Remove a rule',
      params: ruleParams,
      async handle(ask) {
        const { id, name } = await book.remove(ask.params.id)
        await recorder.changed(ask, 'rule removed', name, { id })
      },
    }),
  ]
}

const buttonAnswer = object({
  ...{ id: text, name: text },
  activeNow: Type.Boolean({ description: 'whether it does anything now' }),
  actions: Type.Array(text, { description: 'kinds of what it does' }),
})

/** Whether somebody may see, and press, a button: only if they see every camera that it has to do with. */
function mayPress(account: AccountRecord, rule: Rule, all: readonly Rule[]): boolean {
  const reach = reachOf(rule, all)
  return account.cameras === 'all' || (reach !== 'all' && reach.every((camera) => maySee(account, camera)))
}

function buttonRoutes(parts: RuleRouteParts): Route[] {
  const { book, callers, recorder, rules } = parts
  const read = readerOf(parts)
  return [
    route({
      method: 'GET',
      path: '/api/action-buttons',
      who: 'user',
      summary: 'Buttons of the cameras that you may see',
      reply: Type.Array(buttonAnswer),
      handle({ caller }) {
        const account = callers.accountOf(caller)
        return book
          .list()
          .filter((rule) => rule.trigger.type === 'button' && mayPress(account, rule, book.list()))
          .map((rule) => ({
            ...{ id: rule.id, name: rule.name, activeNow: rules.isActive(rule) },
            actions: rule.actions.map(({ type }) => type),
          }))
      },
    }),
    route({
      method: 'POST',
      path: '/api/action-rules/:id/press',
      who: 'user',
      summary: 'Press a button; for operators and administrators. What comes of it stands in GET /api/alerts',
      params: ruleParams,
      reply: alertAnswer,
      async handle(ask) {
        const account = callers.accountOf(ask.caller)
        requireOperator(account, 'Pressing buttons')
        const rule = book.list().find(({ id }) => id === ask.params.id)
        // A button that the account may not see is answered like one that does not exist.
        const id = rule?.trigger.type === 'button' && mayPress(account, rule, book.list()) ? rule.id : ''
        if (id === '')
          throw new Fault('unknown_rule', 'There is no button with this id. GET /api/action-buttons lists them.')
        const alert = rules.press(id, ask.caller?.name ?? account.username)
        await recorder.changed(ask, 'button pressed', alert.rule, { id })
        return alertAnswerOf(alert, read(account))
      },
    }),
  ]
}

function readerOf({ cameras }: Pick<RuleRouteParts, 'cameras'>) {
  return (account: AccountRecord) => ({
    accountId: account.id,
    isAdministrator: account.role === 'administrator',
    sees: (camera: string) => maySee(account, camera),
    nameOf: (camera: string) => cameras.find(camera)?.name ?? camera,
  })
}

const alarmAnswer = object({
  alarms: Type.Array(
    object({
      id: Type.Integer(),
      source: Type.String({ description: 'code of the condition' }),
      where: text,
      cameraId: orNull(Type.String({ description: 'the camera that it is about; null: none' })),
      severity: Type.Enum([...severities]),
      message: text,
      at: { ...instant, description: 'when it came first' },
      until: orNull({ ...instant, description: 'null while it lasts' }),
      count: Type.Integer({ description: 'how often it came' }),
      acknowledgedBy: orNull(text),
    }),
  ),
})
const alarmQuery = Type.Object(
  {
    source: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'code of the condition' })),
    severity: Type.Optional(Type.Enum([...severities])),
    cameraId: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
    since: Type.Optional(Type.Integer({ minimum: 0, description: 'epoch ms: what lasted then, or came later' })),
    until: Type.Optional(Type.Integer({ minimum: 0, description: 'epoch ms: what came before' })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 100 })),
  },
  { additionalProperties: false },
)

function happenedRoutes(parts: RuleRouteParts): Route[] {
  const { alerts, callers, cameras, ledger } = parts
  const read = readerOf(parts)
  return [
    route({
      method: 'GET',
      path: '/api/alerts',
      who: 'user',
      summary: 'What rules did, newest first',
      query: Type.Object(
        { limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 100 })) },
        { additionalProperties: false },
      ),
      reply: Type.Array(alertAnswer),
      async handle({ caller, query: { limit = 100 } }) {
        const account = callers.accountOf(caller)
        const seen = account.cameras === 'all' ? null : cameras.seenBy(account).map(({ record }) => record.id)
        return (await alerts({ cameras: seen, limit })).map((alert) => alertAnswerOf(alert, read(account)))
      },
    }),
    route({
      method: 'GET',
      path: '/api/alarms',
      who: 'user',
      summary: 'The alarm journal, newest first; for an account of some cameras what is about these',
      query: alarmQuery,
      reply: alarmAnswer,
      handle({ caller, query }) {
        const account = callers.accountOf(caller)
        if (query.cameraId !== undefined) cameras.require(query.cameraId, account)
        return { alarms: ledger.list({ limit: query.limit ?? 100 }, isAsked).map(alarmOf) }

        function isAsked(entry: LedgerEntry): boolean {
          const { cameraId, severity, since, source, until } = query
          return (
            mayHear(account, entry) &&
            (source === undefined || entry.what === source) &&
            (severity === undefined || entry.severity === severity) &&
            (cameraId === undefined || entry.about === cameraId) &&
            (since === undefined || entry.until === null || entry.until >= since) &&
            (until === undefined || entry.since < until)
          )
        }
      },
    }),
  ]

  function alarmOf(entry: LedgerEntry) {
    const { about: cameraId = null, acknowledgedBy, count, id, sentence, severity, since, until, what, where } = entry
    return { id, source: what, where, cameraId, severity, message: sentence, at: since, until, count, acknowledgedBy }
  }
}
