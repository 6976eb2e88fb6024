/** The fields of a rule: what is typed, as values of a form, and back as a body. */
import { CallFault } from '#kit/web/call.ts'
import { choice, type Form, input, toggle, typedNumber, type Values } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import type { Camera } from './api.ts'
import type { Action, Rule, RuleBody, Trigger } from './rules-api.ts'
import * as texts from './texts.ts'

/** Interface document 3, A, Limits. */
export const MOST_ACTIONS = 10

/** What is added first. */
export const NEW_ACTION: Action = { type: 'notify' }

const DAYS = [0, 1, 2, 3, 4, 5, 6]

/** Values for a rule, or for a new one. */
export function valuesOfRule(rule: Rule | undefined, known: readonly Camera[]): Values {
  const { cameraIds = [], groups = [], schedule = null, trigger } = rule ?? {}
  const actions = rule?.actions ?? [NEW_ACTION]
  return {
    ...{ name: rule?.name ?? '', trigger: trigger?.type ?? 'button', kind: trigger?.kinds?.[0] ?? '' },
    ...{ count: String(trigger?.count ?? 1), seconds: String(trigger?.seconds ?? 60) },
    ...{ cooldown: String(rule?.cooldownSeconds ?? 30), isAll: cameraIds.length === 0, isAlways: schedule === null },
    ...{ from: schedule?.from ?? '22:00', to: schedule?.to ?? '06:00' },
    ...Object.fromEntries(DAYS.map((day) => [`day.${day}`, schedule?.days.includes(day) ?? true])),
    ...Object.fromEntries(known.map(({ id }) => [`camera.${id}`, cameraIds.includes(id)])),
    ...Object.fromEntries(Object.keys(texts.groupNames).map((group) => [`group.${group}`, groups.includes(group)])),
    ...Object.assign({}, ...actions.map(valuesOfAction)),
  }
}

/** Values of the n-th action. */
export function valuesOfAction(action: Action, at: number): Values {
  const { afterSeconds = 60, armed = false, beforeSeconds = 30, minutes = 0, seconds = 10, type, url = '' } = action
  const output = action.outputId === undefined ? '' : `${action.cameraId} ${action.outputId}`
  const values: Values = {
    ...{ type, url, secret: '', noSecret: false, output, state: action.state ?? 'pulse', seconds: String(seconds) },
    ...{ before: String(beforeSeconds), after: String(afterSeconds), armed: armed ? 'yes' : 'no' },
    ...{ rule: action.ruleIds?.[0] ?? '', minutes: String(minutes) },
  }
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`a${at}.${name}`, value]))
}

interface ActionFacts {
  /** As it was saved. */
  action: Action
  rules: readonly Rule[]
  known: readonly Camera[]
}

/** Kinds that have no fields here are left as they are. */
const EDITABLE: ReadonlySet<string> = new Set(texts.actionOptions.map(([type]) => type))

/** The fields of the n-th action. */
export function actionFields(form: Form, at: number, { action, known, rules }: ActionFacts): Child {
  const name = (field: string) => `a${at}.${field}`
  const value = (field: string) => form.values.value[name(field)]
  const type = String(value('type'))
  if (!EDITABLE.has(type))
    return html`<p>${texts.actionNames[type] ?? type} <span class="small soft">${texts.notEditedHere}</span></p>`
  const kind = choice({ form, name: name('type'), label: texts.nthAction(at + 1), options: texts.actionOptions })
  return html`${kind}${fieldsOf()}`

  function fieldsOf(): Child {
    if (type === 'webhook') {
      const hasSecret = action.hasSecret === true
      return html`${input({ form, name: name('url'), label: texts.webhookAddress, mono: true, placeholder: 'https://' })}
        ${input({ form, name: name('secret'), label: texts.webhookSecret, type: 'password', autocomplete: 'new-password', hint: hasSecret ? texts.leftEmptyKeeps : texts.secretHint })}
        ${hasSecret ? toggle({ form, name: name('noSecret'), label: texts.withoutSecret }) : null}`
    }
    if (type === 'output') {
      const options = known.flatMap(({ id, name: camera, outputs = [] }) =>
        outputs.map((output) => [`${id} ${output.id}`, `${camera}: ${output.name}`] as const),
      )
      const isPulse = value('state') === 'pulse'
      return html`${choice({ form, name: name('output'), label: texts.output, options: [['', texts.chooseOne], ...options], hint: options.length === 0 ? texts.noOutputsYet : undefined })}
        ${choice({ form, name: name('state'), label: texts.how, options: texts.outputOptions })}
        ${isPulse ? input({ form, name: name('seconds'), label: texts.forSoLong, type: 'number', unit: 's' }) : null}`
    }
    if (type === 'preserve')
      return html`${input({ form, name: name('before'), label: texts.keepBefore, type: 'number', unit: 's' })}
        ${input({ form, name: name('after'), label: texts.keepAfter, type: 'number', unit: 's' })}`
    if (type === 'arm')
      return html`${choice({ form, name: name('armed'), label: texts.how, options: texts.armOptions })}
        ${choice({ form, name: name('rule'), label: texts.whichRule, options: [['', texts.chooseOne], ...rules.map(({ id, name: own }) => [id, own] as const)] })}
        ${input({ form, name: name('minutes'), label: texts.forSoLong, type: 'number', unit: 'min', hint: texts.zeroMinutes })}`
    return html`<p class="small soft">${texts.notifyHint}</p>`
  }
}

interface BodyFacts {
  /** The actions as they were saved, as many as there are now. */
  kept: readonly Action[]
  rule: Rule | undefined
  known: readonly Camera[]
}

/** What is typed, as a body; what is no number is refused at its field. */
export function bodyOfRule(values: Values, { kept, known, rule }: BodyFacts): RuleBody {
  const ticked = (prefix: string, ids: readonly string[]) => ids.filter((id) => values[`${prefix}.${id}`] === true)
  const days = DAYS.filter((day) => values[`day.${day}`] === true)
  const ids = known.map(({ id }) => id)
  return {
    name: String(values.name).trim(),
    trigger: triggerOf(values, rule?.trigger),
    cameraIds: values.isAll === true ? [] : ticked('camera', ids),
    groups: ticked('group', Object.keys(texts.groupNames)),
    schedule: values.isAlways === true ? null : { days, from: String(values.from), to: String(values.to) },
    cooldownSeconds: typedNumber(values.cooldown),
    actions: kept.map((action, at) => actionOf(values, at, action)),
  }
}

function triggerOf(values: Values, before: Trigger | undefined): Trigger {
  const type = String(values.trigger)
  const number = (name: string) => typedNumber(values[name]) as number
  if (type === 'occupancy') return { type, count: number('count'), seconds: number('seconds') }
  if (type === 'absence') return { type, seconds: number('seconds') }
  if (type === 'camera_event') return { type, kinds: values.kind === '' ? [] : [String(values.kind)] }
  return type === 'fault' && before?.type === type ? before : { type }
}

function actionOf(values: Values, at: number, before: Action): Action {
  const value = (name: string) => values[`a${at}.${name}`]
  const number = (name: string) => typedNumber(value(name)) as number
  const type = String(value('type'))
  if (type === 'webhook') {
    const secret = value('noSecret') === true ? { secret: null } : {}
    return {
      type,
      url: String(value('url')).trim(),
      ...secret,
      ...(value('secret') ? { secret: String(value('secret')) } : {}),
    }
  }
  if (type === 'output') {
    const [cameraId = '', outputId = ''] = String(value('output')).split(/ (.*)/s)
    const state = String(value('state'))
    return { type, cameraId, outputId, state, ...(state === 'pulse' && { seconds: number('seconds') }) }
  }
  if (type === 'preserve') return { type, beforeSeconds: number('before'), afterSeconds: number('after') }
  if (type === 'arm')
    return { type, armed: value('armed') === 'yes', ruleIds: [String(value('rule'))], minutes: number('minutes') }
  // One of several rules, or of named accounts, stays as it is.
  return before.type === type ? before : { type }
}

/** Fields of a body that have another name here, in actions and elsewhere. */
const FIELD_NAMES: Readonly<Record<string, string>> = {
  ...{ beforeSeconds: 'before', afterSeconds: 'after', ruleIds: 'rule', outputId: 'output', cameraId: 'output' },
  ...{ 'trigger.seconds': 'seconds', 'trigger.count': 'count', cooldownSeconds: 'cooldown' },
  ...{ 'schedule.from': 'from', 'schedule.to': 'to', 'schedule.days': 'days' },
}

/** What is wrong with an action is said at its field. */
export function atTheirFields(thrown: unknown): never {
  if (!(thrown instanceof CallFault)) throw thrown
  const { code, fields, message, status } = thrown
  const own = fields.map(({ field, message }) => {
    const [, at, name = ''] = /^actions\[(\d+)\]\.(\w+)/.exec(field) ?? []
    const place = at === undefined ? (FIELD_NAMES[field] ?? field) : `a${at}.${FIELD_NAMES[name] ?? name}`
    return { field: place, message }
  })
  throw new CallFault(status, { error: code, message, fields: own })
}
