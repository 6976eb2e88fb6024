/** The route of templates: devices whose points need not be typed in. */
import { Type } from 'typebox'
import { Reply, type Route, route } from '#kit/http/route.ts'
import { type PointTemplate, pointTemplate, type TemplateLibrary } from '../core/point-template.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

export function templateRoutes({ templates }: { templates: TemplateLibrary }): Route[] {
  // 60 kB that seldom change: not written anew for each who asks.
  const texts = new WeakMap<readonly PointTemplate[], Buffer>()
  function textOf(list: readonly PointTemplate[]): Buffer {
    const text = texts.get(list) ?? Buffer.from(JSON.stringify(list))
    texts.set(list, text)
    return text
  }
  return [
    route({
      method: 'GET',
      path: '/api/templates/modbus',
      who: 'user',
      summary: 'Devices whose points are known, each with its source',
      reply: Type.Array(pointTemplate),
      handle: async () => new Reply(200, textOf(await templates.list()), { 'content-type': JSON_TYPE }),
    }),
  ]
}
