/** Routes of updates, and of the restart, for elevated sessions. */
import type { Route } from '#kit/http/route.ts'
import type { UiUpdates } from '../core/surfaces.ts'
import type { UpdateView } from '../core/updates.ts'
import { doneAnswer, updateAnswer } from './answers.ts'
import { granted, readNothing, type UiGate } from './ui-gate.ts'

const TARGET = 'update'

/** @source document 3, C. Applying an update on a controller */
export function uiUpdateRoutes(gate: UiGate, updates: UiUpdates): Route[] {
  const view = () => updateView(updates.view())
  return [
    gate.elevated({
      method: 'GET',
      path: '/ui/update',
      reply: updateAnswer,
      summary: 'What runs, what the update server said last, what an update does now, and what came of the last one',
      handle: () => granted(view()),
    }),
    gate.elevated({
      method: 'POST',
      path: '/ui/update/look',
      body: readNothing,
      reply: updateAnswer,
      summary: 'Starts a look for an update',
      async handle({ body }) {
        readNothing(body)
        await updates.look()
        return granted(view(), TARGET)
      },
    }),
    gate.elevated({
      method: 'POST',
      path: '/ui/update/apply',
      body: readNothing,
      reply: updateAnswer,
      isRecordedFirst: true,
      summary:
        'Starts the newest update: backup, download, verification, restart. Its progress comes over the WebSocket',
      async handle({ body, session }) {
        readNothing(body)
        await updates.apply(session.username)
        return granted(view(), TARGET)
      },
    }),
    gate.elevated({
      method: 'POST',
      path: '/ui/restart',
      body: readNothing,
      reply: doneAnswer,
      isRecordedFirst: true,
      summary: 'Restarts the controller; everybody signs in again',
      handle({ body, session }) {
        readNothing(body)
        updates.restart(session.username)
        return granted({ success: true }, 'controller')
      },
    }),
  ]
}

/** As it is answered, and told on the socket. */
export function updateView({ isCut, last, looked, run, state, version, why, window }: UpdateView) {
  return {
    ...{ state, why, version, window, last },
    looked: looked && {
      ...{ at: looked.at, newest: looked.newest, bad: looked.bad ?? null },
    },
    run: run && {
      ...{ task: run.task, begun_at: run.begunAt, lines: run.lines, is_cut: isCut },
      end: run.end && { at: run.end.at, outcome: run.end.outcome, text: run.end.text, code: run.end.code ?? null },
    },
  }
}
