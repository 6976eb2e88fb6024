/** Macros in words: what a step does, what became of it, and how a run ended. */
import { age, ended, listed, sinceText, THIN } from '#kit/web/numbers.ts'
import type { Judgement, Lit } from '#kit/web/parts.ts'
import type { Json } from '../core/json.ts'
import type { RowNames, StepWish } from '../core/macros/editing.ts'
import type { RunStep as MacroStepTold, RunLine } from '../core/macros/past-runs.ts'
import type { MacroLine } from '../core/surfaces.ts'
import * as texts from './texts.ts'

type Fields = { readonly [key: string]: Json }

function isObject(value: Json | undefined): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

// Steps.

/** What a step does: `level 40 on Lobby`. @param said as a trace shows it; a step of the editor by `decidedOf` */
export function sayStep(type: string, said: Json, names: RowNames): string {
  if (!isObject(said)) return texts.stepTypes[type] ?? type
  switch (type) {
    case 'command':
      return texts.orderTo(placeText(said, names) ?? texts.noTarget, commandText(said))
    case 'delay':
      return texts.pauseOf(msText(said.wait_ms ?? said.ms), said.spread_ms ? msText(said.spread_ms) : '')
    case 'wait':
      return texts.waitUntil(testText(said, names), msText(said.timeout_ms))
    case 'condition':
      return texts.onlyIf(testText(said, names), elseText(said.else))
    case 'set':
      return texts.attributeSetTo(withPlace(String(said.attribute ?? '?'), said, names), valueText(said.value))
    case 'macro':
      return texts.runMacroNamed(macroText(said, names))
    case 'notify':
      return texts.tell(recipientsText(said.to), String(said.text ?? ''))
    case 'parallel':
      return texts.branches(Number(said.branches ?? 0))
    case 'retry':
      return texts.pauseBeforeRetry(msText(said.wait_ms))
    case 'stop':
      return texts.stopBecause(String(said.reason ?? ''), said.failed === true)
    default:
      return type
  }
}

/** A step of the editor in the form in which a trace shows one. */
export function decidedOf({ type, zone_id, device_id, command, args }: StepWish | Fields): Json {
  const own = isObject(args) ? args : {}
  if (type === 'parallel') return { branches: Array.isArray(own.steps) ? own.steps.length : 0 }
  if (type !== 'command') return own
  const { zone_id: zone, zone: named, device_id: device, device: other, ...rest } = own
  const target = zone_id ?? zone ?? named ?? null
  const toDevice = device_id ?? device ?? other ?? null
  return {
    ...(target === null ? {} : { zone_id: target }),
    ...(toDevice === null ? {} : { device_id: toDevice }),
    ...{ command: command ?? '?', args: rest },
  }
}

function commandText({ command, args }: Fields): string {
  const verb = String(command ?? '?')
  const own = isObject(args) ? Object.entries(args) : []
  const said = own.map(([name, value]) => (name === verb ? valueText(value) : `${name} ${valueText(value)}`))
  return [verb, ...said].join(' ')
}

function placeText(said: Fields, names: RowNames): string | null {
  for (const kind of ['zone', 'device'] as const) {
    const id = said[`${kind}_id`] ?? said[kind] ?? null
    if (id === null) continue
    if (typeof id !== 'number') return String(id)
    return names[kind][id] ?? (kind === 'zone' ? texts.zoneNumber(id) : texts.deviceNumber(id))
  }
  return null
}

function withPlace(name: string, said: Fields, names: RowNames): string {
  const place = placeText(said, names)
  return place === null ? name : `${place} ${name}`
}

function testText(said: Fields, names: RowNames): string {
  const isShort = said.left === undefined
  const left = isShort ? said : (said.left ?? null)
  const right = isShort ? (said.value ?? null) : (said.right ?? null)
  return `${sideText(left, names)} ${texts.ops[String(said.op ?? 'eq')] ?? said.op} ${sideText(right, names)}`
}

function sideText(side: Json, names: RowNames): string {
  if (!isObject(side)) return valueText(side)
  return withPlace(String(side.attribute ?? side.field ?? '?'), side, names)
}

function elseText(said: Json | undefined): string {
  if (!isObject(said)) return texts.elseEnd
  return texts.elseSkip(valueText(said.skip))
}

function macroText({ macro, macro_id: id }: Fields, names: RowNames): string {
  const said = macro ?? id ?? '?'
  return typeof said === 'number' ? (names.macro[said] ?? texts.macroNumber(said)) : String(said)
}

function recipientsText(to: Json | undefined): string {
  const names = Array.isArray(to) ? to.map(String) : typeof to === 'string' && to !== '' ? [to] : []
  return names.length === 0 ? texts.theJournal : listed(names)
}

/** Longer values are shortened: a trace may hold a page of text. */
const LONGEST = 80

export function valueText(value: Json | undefined): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null)
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
}

function msText(value: Json | undefined): string {
  return typeof value === 'number' ? durationOf(value) : valueText(value)
}

/** `500 ms`, `12 s`. */
export function durationOf(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)}${THIN}ms` : age(ms)
}

// What became of a step, and of a run.

const STEP_LIT: Readonly<Record<string, Lit>> = { done: 'ok', failed: 'fault', cancelled: 'off', running: 'busy' }

export function stepLit({ state }: Pick<MacroStepTold, 'state'>): Lit {
  return STEP_LIT[state] ?? 'off'
}

/** `Done after 12 ms.`, `Failed after 5 s: Projector did not answer.` */
export function stepEnding({ state, at, ended_at, message, error, answer, withheld, type }: MacroStepTold): string {
  const took = ended_at === null ? '' : durationOf(ended_at - at)
  const hidden = withheld ? ` ${texts.secretTookPart}` : ''
  if (state === 'running') return `${texts.stillUnderWay}${hidden}`
  if (state === 'cancelled') return `${texts.cutShort(took)}${hidden}`
  if (state === 'failed') return `${ended(texts.failedAfter(took, message ?? error ?? texts.failed))}${hidden}`
  return `${texts.doneAfter(took)}${answerText(type, answer)}${hidden}`
}

function answerText(type: string, answer: Json): string {
  if (!isObject(answer)) return ''
  if (type === 'condition') return ` ${answer.holds === true ? texts.itHolds : texts.itDoesNotHold}`
  if (type === 'macro' || type === 'wait') return ''
  return ` ${texts.answered(valueText(answer))}`
}

const RUN_LIT: Readonly<Record<string, Lit>> = {
  done: 'ok',
  running: 'busy',
  cancelled: 'off',
  interrupted: 'warn',
  failed: 'fault',
  timed_out: 'fault',
}

export function runLit(result: string): Lit {
  return RUN_LIT[result] ?? 'fault'
}

export function runWord(result: string): string {
  return texts.runResults[result] ?? result
}

/** Who or what began it: `by ada`, `by the building`. */
export function runBy({ by, called }: Pick<RunLine, 'by' | 'called'>): string {
  return called ? texts.calledByMacro : texts.begunBy(by ?? texts.theBuilding)
}

/** What comes first: what cannot run, then the last run that failed. */
export function macrosVerdict(macros: readonly MacroLine[], nowMs: number, timeZone?: string): Judgement {
  const broken = macros.filter(({ flaw, enabled }) => flaw !== null && enabled)
  const failed = macros
    .flatMap(({ last, name }) => (last && runLit(last.result) === 'fault' ? [{ name, last }] : []))
    .toSorted((one, other) => other.last.started_at - one.last.started_at)
  const [newest] = failed
  const why = newest && failureText(newest, nowMs, timeZone)
  if (broken.length > 0) return { lit: 'warn', sentence: texts.macrosCannotRun(broken.length), why: why ?? '' }
  if (newest) return { lit: 'warn', sentence: texts.macrosFailed(failed.length), why: why ?? '' }
  if (macros.length === 0) return { lit: 'off', sentence: texts.noMacrosYet, why: texts.addAMacro }
  const usable = macros.filter(({ enabled }) => enabled)
  if (usable.length === 0) return { lit: 'off', sentence: texts.noMacroIsOn }
  const hasRun = usable.some(({ last }) => last !== null)
  const runs = hasRun ? texts.noMacroFailed : texts.noMacroHasRun
  return { lit: 'ok', sentence: texts.macrosCanRun(usable.length), why: runs }
}

function failureText({ name, last }: { name: string; last: RunLine }, nowMs: number, timeZone?: string): string {
  return ended(texts.failedAt(name, sinceText(last.started_at, nowMs, timeZone), last.why ?? runWord(last.result)))
}
