/** Routes of the interface document that are not built yet: each replies with what it is waiting for. */
import { Type } from 'typebox'
import { type Route, route } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import { protocols } from '../core/protocols.ts'
import { portParams } from './port-routes.ts'

const actions = [
  { action: 'set-point', protocol: 'dnp3', does: 'Set a point of a DNP3 outstation' },
  { action: 'set-iin', protocol: 'dnp3', does: 'Set internal indications of a DNP3 outstation' },
] as const

/** @source Interface document 2, part A, Endpoints and Protocol bodies */
export function notBuiltRoutes(): Route[] {
  return [caCertRoute(), ...actionRoutes()]
}

function caCertRoute(): Route {
  return route({
    method: 'GET',
    path: '/api/system/ca-cert',
    who: 'anyone',
    summary: 'Download the internal root CA; not there yet, answers 501',
    refuses: 501,
    handle() {
      const sentence = 'This gateway does not speak TLS yet (`http.tls`), so it has no root CA of its own to download.'
      throw new Fault('not_built', sentence)
    },
  })
}

function actionRoutes(): Route[] {
  return actions.map(({ action, protocol, does }) =>
    route({
      method: 'POST',
      path: `/api/ports/:path/rest/${action}`,
      who: 'admin',
      summary: `${does}; not there yet, answers 501`,
      params: portParams,
      body: Type.Unknown({ description: 'not looked at' }),
      refuses: 501,
      handle() {
        const sentence = `rest/${action} is for ${protocol}, which this gateway does not speak yet. It speaks ${protocols.join(' and ')}.`
        throw new Fault('not_built', sentence)
      },
    }),
  )
}
