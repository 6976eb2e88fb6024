/** Rules and what they did, as bodies and answers have them. */
import { type Static, Type } from 'typebox'
import { nameText } from '#kit/http/people-routes.ts'
import { instant, object, orNull, text } from '#kit/http/route.ts'
import { cameraEventKinds } from '../core/camera-events/meaning.ts'
import { outputStates, PULSE } from '../core/outputs/outputs.ts'
import {
  ACTION_LIMITS,
  type Action,
  channels,
  directions,
  groups,
  type Rule,
  sensitivities,
  type Trigger,
  triggerTypes,
} from '../core/rules/rule.ts'
import type { ActionWish, RuleWish } from '../core/rules/rule-book.ts'
import { type Alert, resultStates } from '../core/rules/rules.ts'
import { pulseSeconds } from './output-routes.ts'
import { timeOfDay } from './ptz-patrol-routes.ts'

const strict = { additionalProperties: false }
const id = Type.String({ minLength: 1, maxLength: 64 })
const ids = (most: number, description: string) => Type.Array(id, { maxItems: most, uniqueItems: true, description })
const seconds = (least: number, most: number, description: string) =>
  Type.Integer({ minimum: least, maximum: most, unit: 's', description })

const DAY_S = 86_400

const trigger = Type.Union([
  Type.Object({ type: Type.Enum(['detection', 'departure', 'button']) }, strict),
  Type.Object(
    {
      type: Type.Literal('occupancy'),
      count: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 100, description: 'things that are there; 1 unless said' }),
      ),
      seconds: Type.Optional(seconds(0, DAY_S, 'for so long; 0 unless said')),
    },
    strict,
  ),
  Type.Object({ type: Type.Literal('absence'), seconds: seconds(1, DAY_S, 'nothing was there for so long') }, strict),
  Type.Object(
    {
      type: Type.Literal('fault'),
      codes: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
          ...{ maxItems: 32, description: 'conditions of the ledger; none: every fault' },
        }),
      ),
    },
    strict,
  ),
  Type.Object(
    {
      type: Type.Literal('camera_event'),
      kinds: Type.Optional(
        Type.Array(Type.Enum([...cameraEventKinds]), { maxItems: 6, description: 'none: whatever a camera claims' }),
      ),
    },
    strict,
  ),
  Type.Object(
    {
      type: Type.Literal('unusual'),
      direction: Type.Optional(
        Type.Enum([...directions], { description: 'than is usual at this time of the week; either unless said' }),
      ),
      minutes: Type.Optional(
        Type.Integer({
          ...{ minimum: 15, maximum: 240, multipleOf: 15, unit: 'min' },
          description: 'counted over so long; 60 unless said',
        }),
      ),
      sensitivity: Type.Optional(Type.Enum([...sensitivities], { description: 'medium unless said' })),
    },
    strict,
  ),
])

const schedule = Type.Object(
  {
    days: Type.Array(Type.Integer({ minimum: 0, maximum: 6 }), {
      ...{ minItems: 1, maxItems: 7, uniqueItems: true, description: '0 is Sunday' },
    }),
    from: timeOfDay,
    to: { ...timeOfDay, description: 'HH:MM; one before `from` is on the next day' },
  },
  strict,
)

const { returnSeconds } = ACTION_LIMITS
const returning = {
  returnPreset: Type.Optional(orNull(Type.String({ minLength: 1, maxLength: 64 }))),
  returnAfterSeconds: Type.Optional(
    seconds(returnSeconds.least, returnSeconds.most, `after so long; ${returnSeconds.usual} unless said`),
  ),
}

const action = Type.Union([
  Type.Object(
    {
      type: Type.Literal('notify'),
      userIds: Type.Optional(ids(64, 'accounts; none: everybody who may see it')),
      channels: Type.Optional(Type.Array(Type.Enum([...channels]), { minItems: 1, maxItems: 1 })),
    },
    strict,
  ),
  Type.Object(
    {
      ...{ type: Type.Literal('webhook'), url: Type.String({ minLength: 1, maxLength: 2048 }) },
      secret: Type.Optional(
        orNull(
          Type.String({
            ...{ minLength: 1, maxLength: 256, writeOnly: true },
            description: 'signs what is sent; left out: that of the n-th webhook stays; null: none',
          }),
        ),
      ),
    },
    strict,
  ),
  Type.Object(
    {
      type: Type.Literal('ptz_preset'),
      cameraId: id,
      preset: Type.String({ minLength: 1, maxLength: 64 }),
      ...returning,
    },
    strict,
  ),
  Type.Object(
    {
      ...{ type: Type.Literal('ptz_aim'), cameraId: id, ...returning },
      zoom: Type.Optional(orNull(Type.Number({ minimum: 0, maximum: 1, description: 'null: as it is' }))),
    },
    strict,
  ),
  Type.Object(
    {
      ...{ type: Type.Literal('output'), cameraId: id, outputId: id, state: Type.Enum([...outputStates]) },
      seconds: Type.Optional(pulseSeconds),
    },
    strict,
  ),
  Type.Object(
    {
      ...{ type: Type.Literal('talk_message'), cameraId: id, messageId: id },
      repeat: Type.Optional(Type.Integer({ minimum: 1, maximum: ACTION_LIMITS.repeat })),
    },
    strict,
  ),
  Type.Object(
    {
      type: Type.Literal('preserve'),
      beforeSeconds: seconds(0, ACTION_LIMITS.preserveSeconds, 'before it happened'),
      afterSeconds: seconds(0, ACTION_LIMITS.preserveSeconds, 'after it; an hour in all'),
    },
    strict,
  ),
  Type.Object(
    {
      ...{ type: Type.Literal('arm'), armed: Type.Boolean() },
      ruleIds: Type.Array(id, { minItems: 1, maxItems: 100, uniqueItems: true }),
      minutes: Type.Optional(
        Type.Integer({ minimum: 0, maximum: ACTION_LIMITS.armMinutes, description: '0: until it is changed' }),
      ),
    },
    strict,
  ),
])

const ruleFields = {
  trigger,
  cameraIds: Type.Optional(ids(128, 'cameras that it is about; none: every one')),
  labels: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
      maxItems: 32,
      description: 'what was seen; none: whatever',
    }),
  ),
  groups: Type.Optional(Type.Array(Type.Enum([...groups]), { maxItems: 4 })),
  schedule: Type.Optional(orNull(schedule)),
  cooldownSeconds: Type.Optional(
    seconds(0, DAY_S, 'rests for so long after it has run, for each camera; 30 unless said'),
  ),
  armed: Type.Optional(Type.Boolean()),
  actions: Type.Optional(Type.Array(action, { minItems: 1, maxItems: ACTION_LIMITS.actions })),
  action: Type.Optional(action),
}

export const newRuleBody = Type.Object({ name: nameText, ...ruleFields }, strict)
export const ruleBody = Type.Object(
  { ...ruleFields, name: Type.Optional(nameText), trigger: Type.Optional(trigger) },
  { ...strict, minProperties: 1 },
)

const actionAnswer = Type.Object(
  { type: Type.Enum(['notify', 'webhook', 'ptz_preset', 'ptz_aim', 'output', 'talk_message', 'preserve', 'arm']) },
  {
    additionalProperties: true,
    description: 'its fields as they are set; of a webhook `hasSecret` instead of the secret',
  },
)

export const ruleAnswer = object({
  ...{ id: text, name: text },
  trigger: Type.Object({ type: Type.Enum([...triggerTypes]) }, { additionalProperties: true }),
  ...{ cameraIds: Type.Array(text), labels: Type.Array(text), groups: Type.Array(Type.Enum([...groups])) },
  schedule: orNull(schedule),
  cooldownSeconds: Type.Integer(),
  armed: Type.Boolean({ description: 'whether it is armed now, for good or for a time' }),
  actions: Type.Array(actionAnswer),
  action: actionAnswer,
  temporary_until: orNull({ ...instant, description: 'when a timed arming or disarming ends' }),
  activeNow: Type.Boolean({ description: 'armed, and within its schedule' }),
})

type RuleBody = Static<typeof ruleBody>
type ActionBody = Static<typeof action>

/** What a body wishes. */
export function wishOf({ action: one, actions: all, trigger: waitsFor, ...body }: RuleBody): Partial<RuleWish> {
  const actions = all ?? (one && [one])
  const wish = { ...body, ...(waitsFor && { trigger: triggerOf(waitsFor) }) }
  const said = Object.entries({ ...wish, ...(actions && { actions: actions.map(actionOf) }) })
  return Object.fromEntries(said.filter(([, value]) => value !== undefined)) as Partial<RuleWish>
}

export const USUAL: Omit<RuleWish, 'name' | 'trigger' | 'actions'> = {
  ...{ cameraIds: [], labels: [], groups: [], schedule: null, cooldownSeconds: 30, armed: true },
}

function triggerOf(body: Static<typeof trigger>): Trigger {
  if (body.type === 'occupancy') return { type: body.type, count: body.count ?? 1, seconds: body.seconds ?? 0 }
  if (body.type === 'fault') return { type: body.type, codes: body.codes ?? [] }
  if (body.type === 'camera_event') return { type: body.type, kinds: body.kinds ?? [] }
  if (body.type === 'unusual') {
    const { direction = 'either', minutes = 60, sensitivity = 'medium', type } = body
    return { type, direction, minutes, sensitivity }
  }
  return body
}

function actionOf(body: ActionBody): ActionWish {
  switch (body.type) {
    case 'notify':
      return { type: body.type, userIds: body.userIds ?? [], channels: body.channels ?? [...channels] }
    case 'ptz_preset':
      return { ...body, ...returnOf(body) }
    case 'ptz_aim':
      return { ...body, ...returnOf(body), zoom: body.zoom ?? null }
    case 'output':
      return { ...body, seconds: body.seconds ?? PULSE.usual }
    case 'talk_message':
      return { ...body, repeat: body.repeat ?? 1 }
    case 'arm':
      return { ...body, minutes: body.minutes ?? 0 }
    default:
      return body
  }
}

function returnOf(body: { returnPreset?: string | null | undefined; returnAfterSeconds?: number | undefined }) {
  const { returnAfterSeconds = returnSeconds.usual, returnPreset = null } = body
  return { returnPreset, returnAfterSeconds }
}

/** An action without its secret. */
function actionAnswerOf(action: Action) {
  if (action.type !== 'webhook') return { ...action }
  return { type: action.type, url: action.url, hasSecret: action.secret !== null }
}

export function ruleAnswerOf(rule: Rule, facts: { activeNow: boolean; armed: boolean; nowAt: number }) {
  const { cameraIds, cooldownSeconds, groups, id, labels, name, schedule, temporary, trigger } = rule
  const actions = rule.actions.map(actionAnswerOf)
  const [first = { type: 'notify' as const }] = actions
  return {
    ...{ id, name, trigger: { ...trigger }, cameraIds: [...cameraIds], labels: [...labels], groups: [...groups] },
    ...{ schedule: schedule && { ...schedule, days: [...schedule.days] }, cooldownSeconds },
    ...{ armed: facts.armed, actions, action: first, activeNow: facts.activeNow },
    temporary_until: temporary && temporary.until > facts.nowAt ? temporary.until : null,
  }
}

export const alertAnswer = object({
  ...{ id: text, at: instant, rule: text, ruleId: text },
  triggerType: Type.Enum([...triggerTypes]),
  ...{ cameraId: orNull(text), cameraName: orNull(text), summary: text, by: orNull(text) },
  forYou: Type.Boolean({ description: 'whether the rule tells you of it' }),
  results: Type.Array(
    object({ type: text, cameraId: orNull(text), state: Type.Enum([...resultStates]), sentence: orNull(text) }),
    {
      description:
        'what came of each action, in order; those at cameras that you may not see are left out, and why a webhook failed is for administrators',
    },
  ),
})

interface AlertReader {
  accountId: string
  isAdministrator: boolean
  sees(camera: string): boolean
  nameOf(camera: string): string
}

export function alertAnswerOf(alert: Alert, { accountId, isAdministrator, nameOf, sees }: AlertReader) {
  const { at, by, camera, id, notified, results, rule, ruleId, sentence, triggerType } = alert
  const told = results.filter((one) => one.camera === null || sees(one.camera))
  return {
    ...{ id, at, rule, ruleId, triggerType, cameraId: camera, summary: sentence, by },
    cameraName: camera === null ? null : nameOf(camera),
    forYou: notified !== null && (notified.length === 0 || notified.includes(accountId)),
    results: told.map((one) => ({
      ...{ type: one.type, cameraId: one.camera, state: one.state },
      sentence: isAdministrator ? one.sentence : openSentence(one),
    })),
  }
}

/** What went wrong with a webhook names hosts of the house, whose addresses rules tell to administrators alone. */
function openSentence({ sentence, state, type }: Alert['results'][number]): string | null {
  return type === 'webhook' && state === 'failed' ? 'It was not taken. Administrators see why.' : sentence
}
