/** The route of templates: devices whose points need not be typed in. */
import { Type } from 'typebox'
import { type Route, route } from '#kit/http/route.ts'
import { pointTemplate, type TemplateLibrary } from '../core/point-template.ts'

export function templateRoutes({ templates }: { templates: TemplateLibrary }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/templates/modbus',
      who: 'user',
      summary: 'Devices whose points are known, each with its source',
      reply: Type.Array(pointTemplate),
      handle: () => templates.list(),
    }),
  ]
}
