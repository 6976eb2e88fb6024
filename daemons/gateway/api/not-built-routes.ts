/** Routes of the interface document that are not built yet: each replies with what it is waiting for. */
import { type Route, route } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'

/** @source Interface document 2, part A, Endpoints */
export function notBuiltRoutes(): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/system/ca-cert',
      who: 'anyone',
      summary: 'Download the internal root CA; not there yet, answers 501',
      refuses: 501,
      handle() {
        const sentence =
          'This gateway does not speak TLS yet (`http.tls`), so it has no root CA of its own to download.'
        throw new Fault('not_built', sentence)
      },
    }),
  ]
}
