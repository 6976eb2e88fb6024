/** What a rule does, as fields of a form: the values of each kind of action, what is typed, and back as a body. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { sentenceOf, useLook } from '#kit/web/call.ts'
import { choice, type Form, input, toggle, typedNumber, type Values } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { accountsApi, type Camera, type Preset, ptzApi } from './api.ts'
import type { Action, Rule } from './rules-api.ts'
import * as texts from './texts.ts'
import { fieldTicks, ticked } from './ticks.ts'
import { type TalkMessage, talkApi } from './turning-api.ts'

/** Lists of cameras, accounts and messages seldom change while a form is open. */
const LOOK_MS = 30_000

/** Values of the n-th action. */
export function valuesOfAction(action: Action, at: number): Values {
  const { afterSeconds = 60, armed = false, beforeSeconds = 30, minutes = 0, seconds = 10, type, url = '' } = action
  const { cameraId = '', preset = '', repeat = 1, returnAfterSeconds = 60, returnPreset, zoom } = action
  const output = action.outputId === undefined ? '' : `${cameraId} ${action.outputId}`
  const values: Values = {
    ...{ type, url, secret: '', noSecret: false, output, state: action.state ?? 'pulse', seconds: String(seconds) },
    ...{ before: String(beforeSeconds), after: String(afterSeconds), armed: armed ? 'yes' : 'no' },
    ...{ rules: (action.ruleIds ?? []).join(' '), minutes: String(minutes), users: (action.userIds ?? []).join(' ') },
    ...{ camera: cameraId, preset, back: returnPreset ?? '', backAfter: String(returnAfterSeconds) },
    ...{ zoom: zoom === undefined || zoom === null ? '' : String(zoom), message: action.messageId ?? '' },
    repeat: String(repeat),
  }
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`a${at}.${name}`, value]))
}

interface ActionFacts {
  /** As it was saved. */
  action: Action
  rules: readonly Rule[]
  known: readonly Camera[]
}

/** What the fields of one action are made of. */
interface Fields extends ActionFacts {
  form: Form
  name(field: string): string
  value(field: string): string
}

/** The fields of the n-th action. */
export function actionFields(form: Form, at: number, facts: ActionFacts): Child {
  const name = (field: string) => `a${at}.${field}`
  const value = (field: string) => String(form.values.value[name(field)] ?? '')
  const kind = choice({ form, name: name('type'), label: texts.nthAction(at + 1), options: texts.actionOptions })
  return html`${kind}${FIELDS[value('type')]?.({ ...facts, form, name, value }) ?? null}`
}

const FIELDS: Readonly<Record<string, (fields: Fields) => Child>> = {
  notify: ({ form, name }) => html`<${People} form=${form} name=${name('users')} />`,
  webhook({ action: { hasSecret }, form, name }) {
    return html`${input({ form, name: name('url'), label: texts.webhookAddress, mono: true, placeholder: 'https://' })}
      ${input({ form, name: name('secret'), label: texts.webhookSecret, type: 'password', autocomplete: 'new-password', hint: hasSecret ? texts.leftEmptyKeeps : texts.secretHint })}
      ${hasSecret ? toggle({ form, name: name('noSecret'), label: texts.withoutSecret }) : null}`
  },
  output({ form, known, name, value }) {
    const options = known.flatMap(({ id, name: camera, outputs = [] }) =>
      outputs.map((output) => [`${id} ${output.id}`, `${camera}: ${output.name}`] as const),
    )
    const hint = options.length === 0 ? texts.noOutputsYet : undefined
    return html`${choice({ form, name: name('output'), label: texts.output, options: [['', texts.chooseOne], ...options], hint })}
      ${choice({ form, name: name('state'), label: texts.how, options: texts.outputOptions })}
      ${value('state') === 'pulse' ? input({ form, name: name('seconds'), label: texts.forSoLong, type: 'number', unit: 's' }) : null}`
  },
  preserve: ({ form, name }) =>
    html`${input({ form, name: name('before'), label: texts.keepBefore, type: 'number', unit: 's' })}
      ${input({ form, name: name('after'), label: texts.keepAfter, type: 'number', unit: 's' })}`,
  arm({ form, name, rules }) {
    const options = rules.map(({ id, name: own }) => [id, own] as const)
    return html`${choice({ form, name: name('armed'), label: texts.how, options: texts.armOptions })}
      ${fieldTicks({ form, name: name('rules'), label: texts.whichRules, options, hint: options.length === 0 ? texts.noRuleYet : undefined })}
      ${input({ form, name: name('minutes'), label: texts.forSoLong, type: 'number', unit: 'min', hint: texts.zeroMinutes })}`
  },
  ptz_preset: (fields) => html`${cameraChoice(fields, turns, texts.noneTurns)}${presetFields(fields)}`,
  ptz_aim: (fields) => html`${cameraChoice(fields, turns, texts.noneTurns, texts.aimHint)}
    ${input({ form: fields.form, name: fields.name('zoom'), label: texts.zoomOfAim, type: 'number', hint: texts.zoomHint })}${presetFields(fields)}`,
  talk_message: (fields) => html`${cameraChoice(fields, speaks, texts.noneSpeaks)}
    <${Messages} form=${fields.form} name=${fields.name('message')} />
    ${choice({ form: fields.form, name: fields.name('repeat'), label: texts.howOften, options: texts.repeatOptions })}`,
}

const turns = ({ onvif }: Camera) => onvif
const speaks = ({ talkback }: Camera) => talkback.supported

/** One that was chosen stays in the list, whatever has become of it. */
function cameraChoice(
  { form, known, name, value }: Fields,
  fits: (camera: Camera) => boolean,
  none: string,
  hint?: string,
): Child {
  const fitting = known.filter((camera) => fits(camera) || camera.id === value('camera'))
  const options = fitting.map(({ id, name: own }) => [id, own] as const)
  return choice({
    ...{ form, name: name('camera'), label: texts.whichCamera, options: [['', texts.chooseOne], ...options] },
    hint: options.length === 0 ? none : hint,
  })
}

function presetFields({ form, name, value }: Fields): Child {
  const camera = value('camera')
  if (camera === '') return null
  return html`<${PresetFields} form=${form} prefix=${name('')} camera=${camera} key=${camera} />`
}

/** The presets of a camera as choices; one that is saved stays in the list while the camera cannot be asked. */
function PresetFields({ camera, form, prefix }: { camera: string; form: Form; prefix: string }): VNode {
  const [presets, setPresets] = useState<readonly Preset[] | null>(null)
  const [why, setWhy] = useState<string | null>(null)
  const value = (field: string) => String(form.values.value[`${prefix}${field}`] ?? '')
  useLook(
    async () => {
      try {
        setPresets(await ptzApi.presets(camera))
        setWhy(null)
      } catch (thrown) {
        setPresets((known) => known ?? [])
        setWhy(sentenceOf(thrown))
      }
    },
    LOOK_MS,
    camera,
  )
  const of = (field: string, first: string) => presetOptions(presets ?? [], value(field), first)
  const isPreset = value('type') === 'ptz_preset'
  const hint = presets === null ? texts.askingPresets : (why ?? (presets.length === 0 ? texts.noPresetsYet : undefined))
  return html`${isPreset ? choice({ form, name: `${prefix}preset`, label: texts.whichPreset, options: of('preset', texts.chooseOne), hint }) : null}
    ${choice({ form, name: `${prefix}back`, label: texts.thenGoes, options: of('back', texts.staysThere), hint: isPreset ? undefined : hint })}
    ${value('back') === '' ? null : input({ form, name: `${prefix}backAfter`, label: texts.after, type: 'number', unit: 's' })}`
}

/** @param chosen stays in the list @param first what stands for none */
export function presetOptions(
  presets: readonly Preset[],
  chosen: string,
  first: string,
): (readonly [string, string])[] {
  const known = presets.map(({ name, token }) => [token, name === '' ? texts.presetNamed(token) : name] as const)
  const isKnown = chosen === '' || known.some(([token]) => token === chosen)
  return [['', first], ...known, ...(isKnown ? [] : [[chosen, texts.presetNamed(chosen)] as const])]
}

function Messages({ form, name }: { form: Form; name: string }): VNode {
  const [messages, setMessages] = useState<readonly TalkMessage[] | null>(null)
  const { refused } = useLook(async () => setMessages(await talkApi.messages()), LOOK_MS)
  const chosen = String(form.values.value[name] ?? '')
  const options = (messages ?? []).map(({ id, name: own }) => [id, own] as const)
  const isKnown = chosen === '' || options.some(([id]) => id === chosen)
  const hint = refused ?? (messages?.length === 0 ? texts.noMessagesForRule : undefined)
  return choice({
    ...{ form, name, label: texts.whichMessage, hint },
    options: [['', texts.chooseOne], ...options, ...(isKnown ? [] : [[chosen, chosen] as const])],
  })
}

function People({ form, name }: { form: Form; name: string }): VNode {
  const [people, setPeople] = useState<readonly (readonly [string, string])[]>([])
  const { refused } = useLook(
    async () => setPeople((await accountsApi.list()).map(({ id, username }) => [id, username] as const)),
    LOOK_MS,
  )
  return html`${fieldTicks({ form, name, label: texts.whoIsTold, options: people, hint: refused ?? texts.notifyHint })}`
}

/** What is typed, as an action; what is no number is refused at its field. @param before as it was saved */
export function actionOf(values: Values, at: number, before: Action): Action {
  const value = (name: string) => String(values[`a${at}.${name}`] ?? '')
  const number = (name: string) => typedNumber(value(name)) as number
  const type = value('type')
  const back = {
    returnPreset: value('back') || null,
    ...(value('back') && { returnAfterSeconds: number('backAfter') }),
  }
  switch (type) {
    case 'notify': {
      const channels = before.type === type && before.channels ? { channels: before.channels } : {}
      return { type, userIds: ticked(value('users')), ...channels }
    }
    case 'webhook': {
      const isUnsigned = values[`a${at}.noSecret`] === true
      const secret = value('secret') === '' ? (isUnsigned ? { secret: null } : {}) : { secret: value('secret') }
      return { type, url: value('url').trim(), ...secret }
    }
    case 'output': {
      const [cameraId = '', outputId = ''] = value('output').split(/ (.*)/s)
      const state = value('state')
      return { type, cameraId, outputId, state, ...(state === 'pulse' && { seconds: number('seconds') }) }
    }
    case 'preserve':
      return { type, beforeSeconds: number('before'), afterSeconds: number('after') }
    case 'arm':
      return { type, armed: value('armed') === 'yes', ruleIds: ticked(value('rules')), minutes: number('minutes') }
    case 'ptz_preset':
      return { type, cameraId: value('camera'), preset: value('preset'), ...back }
    case 'ptz_aim':
      return { type, cameraId: value('camera'), zoom: value('zoom').trim() === '' ? null : number('zoom'), ...back }
    default:
      return { type, cameraId: value('camera'), messageId: value('message'), repeat: number('repeat') }
  }
}

/** Choices that an action cannot do without, and what to do where nothing is chosen. */
const CHOICES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  output: { output: texts.chooseOutput },
  arm: { rules: texts.chooseRules },
  ptz_preset: { camera: texts.chooseTheCamera, preset: texts.choosePreset },
  ptz_aim: { camera: texts.chooseTheCamera },
  talk_message: { camera: texts.chooseTheCamera, message: texts.chooseMessage },
}

/** What is not chosen in the n-th action, at its field. */
export function unchosen(values: Values, at: number): { field: string; message: string }[] {
  const needed = Object.entries(CHOICES[String(values[`a${at}.type`])] ?? {})
  return needed.flatMap(([name, message]) => {
    const field = `a${at}.${name}`
    return values[field] ? [] : [{ field, message }]
  })
}
