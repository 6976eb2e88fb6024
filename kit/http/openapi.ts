/** The OpenAPI 3.1 description of a route table. TypeBox schemas are JSON Schema 2020-12, which 3.1 takes as it is. */
import type { TSchema } from 'typebox'
import { type Dialect, jsonDialect } from './dialect.ts'
import { mayComeEmpty, type Route } from './route.ts'

/** @source OpenAPI Specification 3.1.1 */
export function openApiOf(of: {
  title: string
  version: string
  routes: readonly Route[]
  dialect?: Dialect
}): unknown {
  const { dialect = jsonDialect } = of
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of of.routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, dialect) }
  }
  return {
    openapi: '3.1.1',
    info: { title: of.title, version: of.version },
    paths,
    components: {
      securitySchemes: {
        token: dialect.securityScheme,
        ticket: { type: 'apiKey', in: 'query', name: 'ticket' },
      },
      schemas: { Error: errorOf(dialect) },
    },
  }
}

/** The one shape of every reply that is not 2xx. */
function errorOf({ source }: Dialect): unknown {
  return {
    type: 'object',
    required: ['error', 'message'],
    properties: {
      error: { type: 'string', description: 'stable code' },
      message: { type: 'string', description: 'one sentence for people' },
      fields: source === 'form' ? FIELDS_BY_NAME : FIELDS_LISTED,
    },
  }
}

const FIELDS_BY_NAME = {
  type: 'object',
  description: 'a sentence for each field that is wrong',
  additionalProperties: { type: 'string' },
}

const FIELDS_LISTED = {
  type: 'array',
  items: {
    type: 'object',
    required: ['field', 'message'],
    properties: { field: { type: 'string' }, message: { type: 'string' } },
  },
}

function operationOf(route: Route, { mediaType }: Dialect): unknown {
  const refusals = ['400']
  if (route.who !== 'anyone') refusals.push('401', '403')
  const type = route.replyType ?? 'application/json'
  return {
    operationId: operationId(route),
    summary: route.summary,
    description: { anyone: 'For anyone.', user: 'For any user.', admin: 'For administrators.' }[route.who],
    ...(route.who === 'anyone' ? {} : { security: [{ token: [] }, ...(route.ticket ? [{ ticket: [] }] : [])] }),
    parameters: [...pathParameters(route), ...parameters(route.query, 'query')],
    ...(route.body && {
      requestBody: { required: !mayComeEmpty(route), content: { [mediaType]: { schema: route.body } } },
    }),
    ...(route.upload && {
      requestBody: { required: true, content: { 'application/octet-stream': {} } },
    }),
    responses: {
      '2XX': { description: 'done', content: { [type]: route.reply ? { schema: route.reply } : {} } },
      ...Object.fromEntries(refusals.map((status) => [status, refusal(status)])),
      default: refusal('default'),
    },
  }
}

/** `POST /api/ports/:path/open` as `post_api_ports_path_open`: unique because method and path are. */
function operationId({ method, path }: Route): string {
  return `${method.toLowerCase()}${path.replaceAll(/[^A-Za-z0-9]+/g, '_').replace(/_$/, '')}`
}

function refusal(status: string): unknown {
  const words: Record<string, string> = {
    '400': 'not what was expected',
    '401': 'no valid credentials',
    '403': 'not allowed for this user or key',
    default: 'refused, or failed',
  }
  return {
    description: words[status],
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  }
}

/** Every name in the path is a parameter, with or without a schema. */
function pathParameters(route: Route): unknown[] {
  const schemas = (route.params as { properties?: Record<string, unknown> } | undefined)?.properties ?? {}
  const names = [...route.path.matchAll(/:(\w+)/g)].map((match) => match[1] ?? '')
  return names.map((name) => ({ name, in: 'path', required: true, schema: schemas[name] ?? { type: 'string' } }))
}

function parameters(schema: TSchema | undefined, where: 'query'): unknown[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, { default?: unknown }>
    required?: string[]
  }
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: where,
    required: required.includes(name) && property.default === undefined,
    schema: property,
  }))
}
