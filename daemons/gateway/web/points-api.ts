/** Points and templates: the calls. */
import { call } from '#kit/web/call.ts'
import type { PointList } from '../core/points/book.ts'
import type { PointTemplate } from '../core/points/definition.ts'
import type { PointView } from '../core/points/values.ts'
import { portRoute } from './api.ts'

function point(path: string, name: string): `/${string}` {
  return portRoute(path, `/points/${encodeURIComponent(name)}`)
}

/** The calls. */
export const pointsApi = {
  points: (path: string) => call<PointList>(`GET ${portRoute(path, '/points')}`),
  /** `at`: its place in the list, from 0; the last where that is left out. */
  insert: (path: string, { name, ...rest }: { name: string }, at?: number) =>
    call<PointView>(`POST ${point(path, name)}${at === undefined ? '' : `?at=${at}`}`, rest),
  addTemplate: (path: string, body: object) => call<PointList>(`POST ${portRoute(path, '/points')}`, body),
  change: (path: string, name: string, body: object, ifMatch: string | undefined) =>
    call<PointView>(`PATCH ${point(path, name)}`, body, { ifMatch }),
  remove: (path: string, name: string) => call<void>(`DELETE ${point(path, name)}`),
  templates: () => call<PointTemplate[]>('GET /api/templates/modbus'),
}
