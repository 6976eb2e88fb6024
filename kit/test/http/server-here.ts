/** A server on loopback for the tests of this folder. */
import { type TSchema, Type } from 'typebox'
import { bearerOf } from '#kit/auth/credentials.ts'
import { fakeClock } from '#kit/clock-fake.ts'
import { type HttpConfig, httpTable } from '#kit/config/tables.ts'
import { silentLog } from '#kit/log.ts'
import { withDefaults } from '../../http/check.ts'
import { createMetrics } from '../../http/metrics.ts'
import { Reply, type Route, route } from '../../http/route.ts'
import { createHttpServer, type HttpServerOptions } from '../../http/server.ts'

/** The `http` table with its defaults, on a free loopback port. */
export function httpConfig(keys: Partial<HttpConfig> = {}): HttpConfig {
  const plain = JSON.parse(JSON.stringify(httpTable(3132, {})))
  return { ...(withDefaults(plain, {}) as HttpConfig), listen: '127.0.0.1:0', ...keys }
}

/** Starts a server; ended with the test. `admin` and `viewer` are the tokens it knows. */
export async function serve(
  t: { teardown(run: () => unknown): void },
  options: Partial<Omit<HttpServerOptions, 'config'>> & { http?: Partial<HttpConfig> } = {},
) {
  const server = createHttpServer({
    log: silentLog,
    clock: fakeClock(),
    config: httpConfig(options.http),
    identify: ({ authorization }) => {
      const token = bearerOf(authorization)
      return token === 'admin' || token === 'viewer' ? { name: `${token}-name`, role: token } : undefined
    },
    routes: [echo],
    faultStatus: {},
    title: 'Plantroom test',
    version: '1.2.3',
    metrics: createMetrics({ process: false }),
    ...options,
  })
  const { url, port } = await server.listen()
  t.teardown(() => server.close())
  const ask = (path: string, init: RequestInit & { as?: string; json?: unknown } = {}) => {
    const headers = new Headers(init.headers)
    if (init.as) headers.set('authorization', `Bearer ${init.as}`)
    if (init.json !== undefined) headers.set('content-type', 'application/json')
    const body = init.json === undefined ? init.body : JSON.stringify(init.json)
    return fetch(url + path, { ...init, headers, ...(body == null ? {} : { body }) })
  }
  return { server, url, port, ask }
}

/** Returns what it was sent. */
export const echo: Route = route({
  method: 'POST',
  path: '/api/ports/:path/echo',
  who: 'admin',
  summary: 'Gives back what it was asked',
  params: Type.Object({ path: Type.String({ maxLength: 4096 }) }),
  query: Type.Object({ limit: Type.Integer({ minimum: 1, default: 10 }) }, { additionalProperties: false }),
  body: Type.Object(
    { unitId: Type.Integer({ minimum: 0, maximum: 247 }), on: Type.Boolean({ default: true }) },
    { additionalProperties: false },
  ),
  handle: ({ body, params, query, caller }) => ({ body, params, query, caller }),
})

/** A route for anyone with this body. */
export function open(body: TSchema, handle: Route['handle'] = (ask) => new Reply(201, ask)): Route {
  return { method: 'POST', path: '/api/open', who: 'anyone', summary: 'Takes a body', body, handle }
}
