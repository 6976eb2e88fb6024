/** Checks requests and answers of a real daemon against its description. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { DescribedAnswers, SharedSchemas } from '../http/kit-routes.ts'

/** A request and its answer. */
export interface Exchange {
  method: string
  /** Without the query. */
  path: string
  status: number
  type: string
  body: unknown
  /** The request's body if it was JSON; undefined if there was none. */
  sent?: unknown
}

type Content = NonNullable<DescribedAnswers['responses'][string]['content']>

interface Book {
  operations: DescribedAnswers[]
  ajv: Ajv2020
}

const books = new Map<string, Book>()
const checks = new WeakMap<object, ValidateFunction>()

/**
 * What is wrong with an answer, or with a granted request, by the daemon's description; undefined if it matches, or if
 * the description does not cover it: pages, and unknown paths and methods.
 */
export function misfitOf(daemon: string, exchange: Exchange): string | undefined {
  const { operations, ajv } = bookOf(daemon)
  const fitting = operations.filter(({ method, path }) => method === exchange.method && isOf(path, exchange.path))
  if (fitting.length === 0) return strayOf(exchange)
  const faults = fitting.map((one) => faultOf(one.responses, exchange, ajv) ?? sentFaultOf(one, exchange, ajv))
  return faults.includes(undefined) ? undefined : faults[0]
}

function bookOf(daemon: string): Book {
  const known = books.get(daemon)
  if (known) return known
  const file = join(import.meta.dirname, `../../build/answers/${daemon}.json`)
  const { operations, shared } = JSON.parse(readFileSync(file, 'utf8')) as Book & { shared: SharedSchemas }
  const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { password: true } })
  // Target of `$ref` in responses.
  ajv.addSchema({ $id: 'shared', components: { schemas: shared } })
  const book = { operations, ajv }
  books.set(daemon, book)
  return book
}

function isOf(template: string, path: string): boolean {
  const parts = path.split('/').map(decoded)
  const own = template.split('/')
  return own.length === parts.length && own.every((part, i) => part.startsWith('{') || part === parts[i])
}

/** Part of a path as servers compare it. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Undescribed operations must be refused, except for pages and their own calls. */
function strayOf({ method, path, status }: Exchange): string | undefined {
  if (status >= 400 || !/^\/(api|ui)\//.test(path) || ['OPTIONS', 'HEAD'].includes(method)) return undefined
  return `no operation is described for ${method} ${path}, which answers ${status}`
}

function faultOf(responses: DescribedAnswers['responses'], by: Exchange, ajv: Ajv2020): string | undefined {
  const { method, path, status, type, body } = by
  const described = responses[status] ?? responses[`${Math.trunc(status / 100)}XX`]
  const where = `${method} ${path} ${status}`
  if (!described) return `${where}: this status is not described, only ${Object.keys(responses).join(', ')}`
  const { content } = described
  if (content === undefined) return body === '' ? undefined : `${where}: a body, and none is described`
  const media = mediaOf(content, type)
  if (!media) return `${where}: the type ${type || 'none'} is not described, only ${Object.keys(content).join(', ')}`
  const { schema } = media
  if (schema === undefined) return undefined
  const validate = checks.get(schema) ?? compiled(ajv, schema)
  if (validate(body)) return undefined
  return `${where}: ${ajv.errorsText(validate.errors?.slice(0, 5))}: ${JSON.stringify(body)?.slice(0, 2000)}`
}

/** Fields that were granted must be described: else a client written from the description would never send them. */
function sentFaultOf({ requestBody }: DescribedAnswers, by: Exchange, ajv: Ajv2020): string | undefined {
  const { method, path, status, body, sent } = by
  const isGranted = status < 300 && !(body !== null && typeof body === 'object' && 'error' in body)
  if (!isGranted || sent === undefined) return undefined
  const where = `the body of ${method} ${path}`
  const media = requestBody && mediaOf(requestBody.content, 'application/json')
  if (!media?.schema) return isEmpty(sent) ? undefined : `${where}: it was granted, and none is described`
  const validate = checks.get(media.schema) ?? compiled(ajv, media.schema)
  if (validate(sent)) return undefined
  return `${where}: ${ajv.errorsText(validate.errors?.slice(0, 5))}: ${JSON.stringify(sent)?.slice(0, 2000)}`
}

function isEmpty(sent: unknown): boolean {
  return typeof sent === 'object' && sent !== null && Object.keys(sent).length === 0
}

/** Matches type and subtype: either side may have parameters such as a charset. */
function mediaOf(content: Content, type: string): Content[string] | undefined {
  const essence = (of: string) => of.split(';', 1)[0]?.trim()
  const isInRange = (described: string) => described.endsWith('/*') && type.startsWith(described.slice(0, -1))
  return Object.entries(content).find(([one]) => essence(one) === essence(type) || isInRange(one))?.[1]
}

function compiled(ajv: Ajv2020, schema: object): ValidateFunction {
  const text = JSON.stringify(schema).replaceAll('"#/components', '"shared#/components')
  const validate = ajv.compile(JSON.parse(text))
  checks.set(schema, validate)
  return validate
}
