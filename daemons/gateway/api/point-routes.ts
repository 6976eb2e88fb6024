/** Routes of points: values, and which there are. */
import { ifMatch, withRevision } from '#kit/http/if-match.ts'
import { type Reply, type Route, route } from '#kit/http/route.ts'
import type { Recorder } from '#kit/recorder.ts'
import type { PointBook } from '../core/point-book.ts'
import { pointAnswer, pointsAnswer } from './answers.ts'
import {
  faultsBesideShape,
  newDeviceBody,
  newPointBody,
  newPointQuery,
  pointChangeBody,
  pointParams,
  pointTableBody,
} from './point-body.ts'
import { portParams } from './port-body.ts'

export interface PointRouteParts {
  book: PointBook
  recorder: Recorder
  /** Points of one port at most: what PUT takes is bound by it. */
  maxPoints: number
}

/** What one definition with all its fields may have as JSON, most of the time far less. */
const POINT_BYTES = 1024

export function pointRoutes(parts: PointRouteParts): Route[] {
  return [...tableRoutes(parts), ...singleRoutes(parts)]
}

/** A point, or a table of them. */
function tagged(answer: { revision: string }, status?: number): Reply {
  return withRevision(answer, answer.revision, status)
}

function tableRoutes({ book, recorder, maxPoints }: PointRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/ports/:path/points',
      who: 'user',
      reply: pointsAnswer,
      summary: 'Every point of a port: value, quality, age; and how polling goes',
      params: portParams,
      handle: ({ params }) => tagged(book.list(params.path)),
    }),
    route({
      method: 'PUT',
      path: '/api/ports/:path/points',
      who: 'admin',
      reply: pointsAnswer,
      summary: 'Replace the points of a port; applied at once and saved',
      takesIfMatch: true,
      params: portParams,
      body: pointTableBody,
      faultsBeside: faultsBesideShape,
      bodyBytes: maxPoints * POINT_BYTES,
      async handle(ask) {
        const { path } = ask.params
        const answer = await book.replace(path, ask.body.points, ifMatch(ask))
        await recorder.changed(ask, 'points replaced', path, { points: ask.body.points.length })
        return tagged(answer)
      },
    }),
    route({
      method: 'POST',
      path: '/api/ports/:path/points',
      who: 'admin',
      status: 201,
      reply: pointsAnswer,
      summary: "Add a device: its template's points",
      params: portParams,
      body: newDeviceBody,
      async handle(ask) {
        const { path } = ask.params
        const answer = await book.add(path, ask.body)
        await recorder.changed(ask, 'points added', path, ask.body)
        return tagged(answer, 201)
      },
    }),
  ]
}

function singleRoutes({ book, recorder }: PointRouteParts): Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/ports/:path/points/:name',
      who: 'admin',
      status: 201,
      reply: pointAnswer,
      summary: 'Add one point of this name',
      params: pointParams,
      query: newPointQuery,
      body: newPointBody,
      async handle(ask) {
        const { path, name } = ask.params
        const answer = await book.insert(path, { ...ask.body, name }, ask.query.at)
        await recorder.changed(ask, 'point added', path, { name, ...ask.body })
        return tagged(answer, 201)
      },
    }),
    route({
      method: 'PATCH',
      path: '/api/ports/:path/points/:name',
      who: 'admin',
      reply: pointAnswer,
      summary: 'Change fields of one point',
      takesIfMatch: true,
      params: pointParams,
      body: pointChangeBody,
      async handle(ask) {
        const { path, name } = ask.params
        const answer = await book.change(path, name, ask.body, ifMatch(ask))
        const { name: newName, ...changes } = ask.body
        await recorder.changed(ask, 'point changed', path, {
          name,
          ...(newName !== undefined && { newName }),
          ...changes,
        })
        return tagged(answer)
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/ports/:path/points/:name',
      who: 'admin',
      status: 204,
      summary: 'Remove one point',
      takesIfMatch: true,
      params: pointParams,
      async handle(ask) {
        const { path, name } = ask.params
        await book.remove(path, name, ifMatch(ask))
        await recorder.changed(ask, 'point removed', path, { name })
      },
    }),
  ]
}
