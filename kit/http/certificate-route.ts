/** The route that gives the root CA of a daemon which signs its own certificate. */
import type { LateAuthority } from '../net/own-authority.ts'
import { Reply, type Route, route } from './route.ts'

/** By this type browsers and phones offer to install it. */
const CERTIFICATE_TYPE = 'application/x-x509-ca-cert'

/** @param daemon names the file, and what is trusted with it: `gateway` */
export function rootCertificateRoute(authority: Pick<LateAuthority, 'open'>, daemon: string): Route {
  return route({
    method: 'GET',
    path: '/api/system/ca-cert',
    who: 'anyone',
    replyType: CERTIFICATE_TYPE,
    summary: `Download the internal root CA, PEM: trust it, and HTTPS of this ${daemon} is trusted`,
    async handle() {
      const { rootCertificate } = await authority.open()
      return new Reply(200, Buffer.from(rootCertificate()), {
        'content-type': CERTIFICATE_TYPE,
        'content-disposition': `attachment; filename="plantroom-${daemon}-ca.crt"`,
      })
    },
  })
}
