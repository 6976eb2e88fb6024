/** What ajv found wrong, said in sentences: which field, what was seen, what was expected. */
import type { ErrorObject } from 'ajv'
import { nearestName } from '../nearest.ts'
import { expected, seen } from './describe.ts'
import type { JsonSchema } from './json-schema.ts'
import { branchMeant } from './union.ts'

/** One fault of one field. `field` is a path as a person writes it: `line.baud`, `values[3]`, `?limit`. */
export interface FieldFault {
  field: string
  message: string
}

/** Each error costs a sentence; a body full of unknown names would make thousands. */
const MOST_SENTENCES = 256

/** Values of fields so named are never quoted. */
const SECRET = /pass|secret|token|authorization|credential|cookie|key$/i

/**
 * @param errors of a validator made with `allErrors` and `verbose`
 * @param prefix put before each field
 * @returns one fault for each field; branches of a union that were not meant stay silent
 */
export function fieldFaults(errors: readonly ErrorObject[], prefix: string): FieldFault[] {
  const faults = new Map<string, FieldFault>()
  const silenced = unionsOf(errors)
  for (const error of errors) {
    if (faults.size >= MOST_SENTENCES) break
    if (silenced.some((union) => union.silences(error))) continue
    const path = fieldOf(error)
    const message = sentenceOf(error, path)
    if (!faults.has(path)) faults.set(path, { field: withPrefix(prefix, path), message })
  }
  return [...faults.values()]
}

/** A union that failed: errors of its branches are silent, but for the branch that was meant. */
function unionsOf(errors: readonly ErrorObject[]): { silences(error: ErrorObject): boolean }[] {
  return errors.filter(isUnion).map((union) => {
    const branches = (union.schema ?? []) as JsonSchema[]
    const { index } = branchMeant(branches, union.data)
    const within = `${union.schemaPath}/`
    const meant = `${within}${index}/`
    return {
      silences: (error) =>
        error === union
          ? index !== undefined
          : error.schemaPath.startsWith(within) &&
            error.instancePath.startsWith(union.instancePath) &&
            !error.schemaPath.startsWith(meant),
    }
  })
}

function isUnion(error: ErrorObject): boolean {
  return error.keyword === 'anyOf' || error.keyword === 'oneOf'
}

function sentenceOf(error: ErrorObject, path: string): string {
  const parent = (error.parentSchema ?? {}) as JsonSchema
  switch (error.keyword) {
    case 'required':
      return `is missing, expected ${expected(parent.properties?.[error.params.missingProperty] ?? {})}`
    case 'additionalProperties':
      return unknownSentence(error.params.additionalProperty, Object.keys(parent.properties ?? {}))
    case 'anyOf':
    case 'oneOf': {
      const { tag } = branchMeant((error.schema ?? []) as JsonSchema[], error.data)
      if (tag) return `needs \`${tag.name}\` to be ${expected({ enum: tag.values })}`
    }
  }
  if (error.data === undefined) return `is missing, expected ${expected(parent)}`
  const isSecret = SECRET.test(path) || parent.writeOnly === true || parent.format === 'password'
  return `is ${seen(error.data, isSecret)}, expected ${expected(parent)}`
}

function unknownSentence(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known)
  if (nearest !== undefined) return `is not known; the nearest known name is \`${nearest}\``
  if (known.length === 0) return 'is not known; no field is expected here'
  return `is not known; known here: ${known.slice(0, 24).join(', ')}`
}

/** `/line/baud` and a missing or unknown name as `line.baud`. */
function fieldOf(error: ErrorObject): string {
  const steps = error.instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (error.keyword === 'required') steps.push(error.params.missingProperty)
  if (error.keyword === 'additionalProperties') steps.push(error.params.additionalProperty)
  return steps.map(written).join('').replace(/^\./, '')
}

function written(step: string): string {
  if (/^\d{1,9}$/.test(step)) return `[${step}]`
  const short = step.length > 64 ? `${step.slice(0, 64)}...` : step
  return /^[\w-]+$/.test(short) ? `.${short}` : `[${JSON.stringify(short)}]`
}

/** The value as a whole is named by its prefix: `settings.` becomes `settings`. */
function withPrefix(prefix: string, path: string): string {
  return path === '' ? prefix.replace(/\.$/, '') : prefix + path
}
