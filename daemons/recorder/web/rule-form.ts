/** The fields of a rule beside its actions: what is typed, as values of a form, and back as a body. */
import { CallFault } from '#kit/web/call.ts'
import { choice, type Form, input, toggle, typedNumber, type Values } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import type { Camera } from './api.ts'
import { actionOf, unchosen, valuesOfAction } from './rule-actions.ts'
import type { Action, Rule, RuleBody, Trigger } from './rules-api.ts'
import * as texts from './texts.ts'
import { fieldTicks, ticked } from './ticks.ts'

/** Interface document 3, A, Limits. */
export const MOST_ACTIONS = 10

/** What is added first. */
export const NEW_ACTION: Action = { type: 'notify' }

const DAYS = [0, 1, 2, 3, 4, 5, 6]

/** Values for a rule, or for a new one. */
export function valuesOfRule(rule: Rule | undefined, known: readonly Camera[]): Values {
  const { cameraIds = [], groups = [], labels = [], schedule = null, trigger } = rule ?? {}
  const actions = rule?.actions ?? [NEW_ACTION]
  return {
    ...{ name: rule?.name ?? '', trigger: trigger?.type ?? 'button', kinds: (trigger?.kinds ?? []).join(' ') },
    ...{ count: String(trigger?.count ?? 1), seconds: String(trigger?.seconds ?? 60) },
    ...{ codes: (trigger?.codes ?? []).join(', '), direction: trigger?.direction ?? 'either' },
    ...{ minutes: String(trigger?.minutes ?? 60), sensitivity: trigger?.sensitivity ?? 'medium' },
    ...{ cooldown: String(rule?.cooldownSeconds ?? 30), isAll: cameraIds.length === 0, isAlways: schedule === null },
    ...{ from: schedule?.from ?? '22:00', to: schedule?.to ?? '06:00' },
    ...Object.fromEntries(DAYS.map((day) => [`day.${day}`, schedule?.days.includes(day) ?? true])),
    ...Object.fromEntries(known.map(({ id }) => [`camera.${id}`, cameraIds.includes(id)])),
    ...{ groups: groups.join(' '), labels: labels.join(', ') },
    ...Object.assign({}, ...actions.map(valuesOfAction)),
  }
}

/** Triggers that are about what was seen; the words of what is seen are not counted for what is usual. */
const OF_THINGS: ReadonlySet<string> = new Set(['detection', 'departure', 'occupancy', 'absence', 'unusual'])

/** The fields of what a rule waits for. */
export function triggerFields(form: Form): Child {
  const trigger = String(form.values.value.trigger)
  return html`${choice({ form, name: 'trigger', label: texts.happens, options: texts.triggerOptions })}
    ${ownFields()}
    ${OF_THINGS.has(trigger) ? fieldTicks({ form, name: 'groups', label: texts.ofWhat, options: Object.entries(texts.groupNames) }) : null}
    ${OF_THINGS.has(trigger) && trigger !== 'unusual' ? input({ form, name: 'labels', label: texts.orWords, hint: texts.wordsHint }) : null}`

  function ownFields(): Child {
    const seconds = () => input({ form, name: 'seconds', label: texts.forSoLong, type: 'number', unit: 's' })
    if (trigger === 'occupancy')
      return html`${input({ form, name: 'count', label: texts.thingsThere, type: 'number' })}${seconds()}`
    if (trigger === 'absence') return seconds()
    if (trigger === 'camera_event')
      return fieldTicks({
        ...{ form, name: 'kinds', label: texts.whatItClaims, options: texts.kindOptions },
        hint: texts.claimHint,
      })
    if (trigger === 'fault')
      return input({ form, name: 'codes', label: texts.whichFaults, hint: texts.faultsHint, mono: true })
    if (trigger !== 'unusual') return null
    return html`${choice({ form, name: 'direction', label: texts.thanUsual, options: texts.directionOptions, hint: texts.usualHint })}
      ${choice({ form, name: 'minutes', label: texts.withinSoLong, options: texts.minuteOptions(String(form.values.value.minutes)) })}
      ${choice({ form, name: 'sensitivity', label: texts.howReadily, options: texts.sensitivityOptions })}`
  }
}

/** The fields of where and when it counts. */
export function whenFields(form: Form, known: readonly Camera[]): Child {
  const { isAll, isAlways, trigger } = form.values.value
  return html`${toggle({ form, name: 'isAll', label: texts.atEveryCamera })}
    ${isAll === true ? null : html`<fieldset class="ticks"><legend>${texts.camerasOfRule}</legend>${known.map(({ id, name }) => toggle({ form, name: `camera.${id}`, label: name }))}</fieldset>`}
    ${toggle({ form, name: 'isAlways', label: texts.atAnyTime })}
    ${isAlways === true ? null : scheduleFields(form)}
    ${trigger === 'button' ? null : input({ form, name: 'cooldown', label: texts.restsFor, type: 'number', unit: 's', hint: texts.restsHint })}`
}

/** Days and times: values `day.0` to `day.6`, `from` and `to`. */
export function scheduleFields(form: Form): Child {
  return html`<fieldset class="ticks"><legend>${texts.onDays}</legend><div class="ticks-row">${texts.dayNames.map((label, day) => toggle({ form, name: `day.${day}`, label }))}</div></fieldset>
    ${input({ form, name: 'from', label: texts.fromTime, placeholder: '22:00' })}${input({ form, name: 'to', label: texts.toTime, placeholder: '06:00', hint: texts.toTimeHint })}`
}

/** What is typed in them. @throws CallFault where no day is ticked */
export function scheduleOf(values: Values) {
  const days = DAYS.filter((day) => values[`day.${day}`] === true)
  if (days.length === 0) throw unsaid([{ field: 'day.0', message: texts.chooseDay }])
  return { days, from: String(values.from), to: String(values.to) }
}

interface BodyFacts {
  /** The actions as they were saved, as many as there are now. */
  kept: readonly Action[]
  known: readonly Camera[]
}

/** What is typed, as a body; what is no number is refused at its field. @throws CallFault where something is not chosen */
export function bodyOfRule(values: Values, { kept, known }: BodyFacts): RuleBody {
  const missing = kept.flatMap((_, at) => unchosen(values, at))
  const cameraIds =
    values.isAll === true ? [] : known.map(({ id }) => id).filter((id) => values[`camera.${id}`] === true)
  // A list of none would be every camera.
  if (values.isAll !== true && cameraIds.length === 0) missing.unshift({ field: 'isAll', message: texts.chooseCameras })
  if (missing.length > 0) throw unsaid(missing)
  const isOfThings = OF_THINGS.has(String(values.trigger))
  return {
    name: String(values.name).trim(),
    trigger: triggerOf(values),
    cameraIds,
    labels: isOfThings && values.trigger !== 'unusual' ? worded(values.labels) : [],
    groups: isOfThings ? ticked(values.groups) : [],
    schedule: values.isAlways === true ? null : scheduleOf(values),
    cooldownSeconds: typedNumber(values.cooldown),
    actions: kept.map((action, at) => actionOf(values, at, action)),
  }
}

function unsaid(fields: { field: string; message: string }[]): CallFault {
  return new CallFault(400, { error: 'unsaid', message: '', fields })
}

function worded(value: string | boolean | undefined): string[] {
  return String(value ?? '')
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
}

function triggerOf(values: Values): Trigger {
  const type = String(values.trigger)
  const number = (name: string) => typedNumber(values[name]) as number
  if (type === 'occupancy') return { type, count: number('count'), seconds: number('seconds') }
  if (type === 'absence') return { type, seconds: number('seconds') }
  if (type === 'camera_event') return { type, kinds: ticked(values.kinds) }
  if (type === 'fault') return { type, codes: worded(values.codes) }
  if (type !== 'unusual') return { type }
  const [direction, sensitivity] = [String(values.direction), String(values.sensitivity)]
  return { type, direction, minutes: number('minutes'), sensitivity }
}

/** Fields of a body that have another name here, in actions and elsewhere. */
const FIELD_NAMES: Readonly<Record<string, string>> = {
  ...{ beforeSeconds: 'before', afterSeconds: 'after', ruleIds: 'rules', outputId: 'output', cameraId: 'camera' },
  ...{ returnPreset: 'back', returnAfterSeconds: 'backAfter', messageId: 'message', userIds: 'users' },
  ...{ 'trigger.seconds': 'seconds', 'trigger.count': 'count', cooldownSeconds: 'cooldown', 'trigger.kinds': 'kinds' },
  ...{ 'trigger.minutes': 'minutes' },
  ...{ 'schedule.from': 'from', 'schedule.to': 'to', 'schedule.days': 'day.0' },
}

/** What is wrong with an action is said at its field. */
export function atTheirFields(thrown: unknown): never {
  if (!(thrown instanceof CallFault)) throw thrown
  const { code, fields, message, status } = thrown
  const own = fields.map(({ field, message }) => {
    const [, at, name = ''] = /^actions\[(\d+)\]\.(\w+)/.exec(field) ?? []
    const [, word = field] = /^(trigger\.codes|labels)\[/.exec(field) ?? []
    const place =
      at === undefined ? (FIELD_NAMES[word] ?? word.replace('trigger.', '')) : `a${at}.${FIELD_NAMES[name] ?? name}`
    return { field: place, message }
  })
  // What could never be done is said of an action as a whole.
  const [, nth, why] = /^Action (\d+) \(\w+\): (.*)$/s.exec(message) ?? []
  if (code === 'bad_rule' && nth !== undefined && why !== undefined)
    own.push({ field: `a${Number(nth) - 1}.type`, message: why })
  throw new CallFault(status, { error: code, message, fields: own })
}
