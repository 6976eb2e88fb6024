/** The routes of a server's table, and what their paths answer to other methods. */
import { hostname } from 'node:os'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { HttpConfig } from '#kit/config/common.ts'
import { Fault } from '#kit/fault.ts'
import { plainAddress } from '../net/address.ts'
import { isOwnHost } from '../net/origin.ts'
import { hasProxySign } from '../net/proxy-signs.ts'
import type { BodyTime } from './body-time.ts'
import type { Place } from './fence.ts'
import type { RefusedAsk, Route } from './route.ts'
import { createServe, type ServeNeeds } from './route-handler.ts'
import { type Recognized, type Recognizer, recognize } from './who-may.ts'

/** What the server was told. */
interface RouteOptions extends Recognizer {
  config: HttpConfig
}

/** What routes are served with. */
interface RouteNeeds extends ServeNeeds {
  routes: readonly Route[]
  bodies: BodyTime
}

/** Each with its bounds, its caller recognized before its body is read. */
export function addRoutes(app: FastifyInstance, by: RouteOptions, needs: RouteNeeds): void {
  for (const route of needs.routes.filter(({ upload }) => !upload)) addRoute(app, by, { route, ...needs })
  // A scope of its own, as what reads bodies belongs to a scope.
  app.register((scope, _options, done) => {
    takeAnyType(scope)
    for (const route of needs.routes.filter(({ upload }) => upload)) addRoute(scope, by, { route, ...needs })
    done()
  })
}

function addRoute(app: FastifyInstance, by: RouteOptions, { route, ...needs }: RouteNeeds & { route: Route }): void {
  const handled = new WeakSet<FastifyRequest>()
  const serve = createServe(route, { ...needs, onHandled: (request) => void handled.add(request) })
  const recognized = new WeakMap<FastifyRequest, Recognized>()
  app.route({
    method: route.method,
    url: route.path,
    bodyLimit: Math.max(by.config.body_bytes, route.bodyBytes ?? 0),
    // Before the body is read: who may not call a route does not get to send it 64 KiB.
    onRequest: async (request, reply) => {
      const { headers } = request
      if (route.ownHostOnly && !isOwnHost(headers.host, hostname(), by.config.hosts))
        throw new Fault(
          'foreign_host',
          `this is done under the box's address or its name, ${hostname()}; other names go into http.hosts`,
        )
      if (route.directOnly && hasProxySign(headers))
        throw new Fault('relayed', 'this is done on the page of the box itself, and not through a proxy')
      const { ticket } = request.query as Record<string, unknown>
      const claim = { who: route.who, headers, place: placeOf(route, request), response: reply.raw }
      const takesTicket = route.ticket === true && typeof ticket === 'string'
      recognized.set(request, await recognize(by, takesTicket ? { ...claim, ticket } : claim))
      route.page?.check({ remoteAddress: claim.place.remoteAddress, headers })
      if (route.upload) needs.bodies.exempt(request.raw)
    },
    handler: (request, reply) => serve(request, reply, recognized.get(request) ?? NOBODY),
    ...(route.onRefused && tellRefused(route.onRefused, handled)),
  })
}

function tellRefused(onRefused: (refused: RefusedAsk) => void, handled: WeakSet<FastifyRequest>) {
  const codes = new WeakMap<FastifyRequest, string>()
  return {
    async onError(request: FastifyRequest, _reply: FastifyReply, error: Error) {
      if (error instanceof Fault) codes.set(request, error.code)
    },
    async onResponse(request: FastifyRequest, { statusCode: status }: FastifyReply) {
      if (handled.has(request)) return
      const { headers, ip } = request
      onRefused({ remoteAddress: plainAddress(ip), headers, status, code: codes.get(request) })
    },
  }
}

/** Programs name any type for the bytes of a file, curl that of a form. A form that holds the file is another thing. */
function takeAnyType(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', ({ headers }, _body, done) => {
    const isWrapped = /^\s*multipart\//i.test(headers['content-type'] ?? '')
    const sentence = 'the body is a form that holds a file, expected the bytes of the file alone (curl -X POST -T FILE)'
    done(isWrapped ? new Fault('unsupported_media_type', sentence) : null)
  })
}

function placeOf({ method, path }: Route, request: FastifyRequest): Place {
  const params = request.params as Record<string, string>
  return { method, path, params, remoteAddress: plainAddress(request.ip) }
}

const NOBODY: Recognized = { caller: undefined, token: undefined }

/** Fastify answers a method that a path does not have with 404; 405 with Allow tells the difference. */
export function refuseOtherMethods(
  app: FastifyInstance,
  routes: readonly { method: string; path: string }[],
  checkUnrouted: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
): void {
  const byPath = Map.groupBy(routes, (route) => route.path)
  for (const [url, those] of byPath) {
    const has: string[] = those.map((route) => route.method)
    if (has.includes('GET')) has.push('HEAD')
    const allow = [...has, 'OPTIONS'].join(', ')
    app.route({
      method: app.supportedMethods.filter((method) => !has.includes(method)),
      url,
      // No Access-Control headers: pages of other sites get nothing here.
      onRequest: async (request, reply) => {
        await checkUnrouted(request, reply)
        return refuseMethod(request, reply, allow)
      },
      handler: () => undefined,
    })
  }
}

/** OPTIONS tells what there is, anything else is refused with it. */
export function refuseMethod(request: FastifyRequest, reply: FastifyReply, allow: string): FastifyReply {
  reply.header('allow', allow)
  if (request.method === 'OPTIONS') return reply.code(204).send()
  throw new Fault('method_not_allowed', `${request.method} is not known on this path, only ${allow}`)
}
