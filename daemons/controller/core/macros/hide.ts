/**
 * Keeps secrets out of traces. Secret is what stands under a sensitive name; what is written to or compared with a secret
 * attribute; and each arg that a step puts in such a place, whatever the arg is called.
 */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of macros are written like that
import { isObject, objectOf } from '../json-kind.ts'
import type { Json } from '../row.ts'
import type { Secrets } from './ports.ts'
import { referencesOf } from './substitute.ts'

type Fields = { readonly [key: string]: Json }

/**
 * A step as its table has it, with null for what is secret; its structure stays.
 * @param names of args that are secret though their names are not sensitive
 */
export function hideStep(raw: Json, secrets: Secrets, names: ReadonlySet<string> = new Set()): Json {
  if (!isObject(raw) || !isObject(raw.args)) return raw
  const { args, type } = raw
  if (type === 'parallel') return { ...raw, args: hideBranches(args, secrets, names) }
  const open = secrets.withoutSecrets(args) as Fields
  if (type === 'set' && isSecret(args.attribute, secrets)) return { ...raw, args: { ...open, value: null } }
  if (type !== 'wait' && type !== 'condition') return { ...raw, args: open }
  // What holds against a secret gives it away, where it can be read.
  const isSecretTest =
    [args, args.left, args.right].some((side) => isObject(side) && isSecretReading(side, secrets)) ||
    [args.left, args.right, args.value].some((side) => side !== undefined && isSecretValue(side, secrets, names))
  return { ...raw, args: isSecretTest ? withoutValues(open) : open }
}

/** The names of args that stand where `hidden` has null. */
export function secretArgsOf(raw: Json, hidden: Json): Set<string> {
  const names = new Set<string>()
  const open: [Json, Json][] = [[raw, hidden]]
  for (let next = open.pop(); next; next = open.pop()) {
    const [one, other] = next
    if (other === null && one !== null) for (const name of referencesOf(one)) names.add(name)
    if (Array.isArray(one) && Array.isArray(other))
      one.forEach((entry, at) => void open.push([entry, other[at] ?? null]))
    else if (isObject(one) && isObject(other))
      for (const key of Object.keys(one))
        open.push([one[key] as Json, Object.hasOwn(other, key) ? (other[key] as Json) : null])
  }
  return names
}

/** What a run was called with, as its trace has it: those that are `secret` by something else than their names are null. */
export function hideArgs(
  args: ReadonlyMap<string, Json>,
  secret: ReadonlySet<string>,
  secrets: Pick<Secrets, 'isSensitiveName' | 'withoutSecrets'>,
): Map<string, Json> {
  const hidden = new Map<string, Json>()
  for (const [name, value] of args) {
    const isHidden = secrets.isSensitiveName(name) || secret.has(name)
    hidden.set(name, isHidden ? null : secrets.withoutSecrets(value))
  }
  return hidden
}

function hideBranches(args: Fields, secrets: Secrets, names: ReadonlySet<string>): Json {
  if (!Array.isArray(args.steps)) return secrets.withoutSecrets(args)
  const steps = args.steps.map((branch: Json) =>
    Array.isArray(branch)
      ? branch.map((step: Json) => hideStep(step, secrets, names))
      : hideStep(branch, secrets, names),
  )
  const hidden = objectOf(Object.entries(args))
  hidden.steps = steps
  return hidden
}

function isSecretReading(side: Fields, secrets: Secrets): boolean {
  const name = side.attribute ?? side.field
  return name !== undefined && isSecret(name, secrets)
}

function isSecretValue(side: Json, secrets: Secrets, names: ReadonlySet<string>): boolean {
  for (const name of referencesOf(side)) if (names.has(name) || secrets.isSensitiveName(name)) return true
  return false
}

/** An attribute that is named by an arg may be any. */
function isSecret(name: Json | undefined, secrets: Secrets): boolean {
  return typeof name !== 'string' || name.includes('${args.') || secrets.isSecretAttribute(name)
}

/** A test without what is compared: its readings stay. */
function withoutValues(args: Fields): Fields {
  const hidden = objectOf(Object.entries(args))
  for (const key of ['left', 'right']) if (hidden[key] !== undefined && !isObject(hidden[key])) hidden[key] = null
  if (hidden.value !== undefined) hidden.value = null
  return hidden
}
