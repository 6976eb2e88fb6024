/** Routes of this board under the hand: played at once, and taken back by a touch. */
import { sentenceOf } from '#kit/web/call.ts'
import { toast } from '#kit/web/toast.ts'
import { api } from './api.ts'
import type { RouteForm, RouteState } from './sound.ts'
import { lookNow } from './state.ts'

/** The form that brings a route back. */
export function formOf({
  mcast,
  port,
  source,
  given,
}: Pick<RouteState, 'mcast' | 'port' | 'source' | 'given'>): RouteForm {
  if (mcast === '') return { mcast }
  const said = Object.entries({ source, ...given }).filter(([, value]) => value !== null)
  return { mcast, port, ...Object.fromEntries(said) }
}

/** Plays, and says so with the way back. @param before what was played until now @param told `Now plays Stage mix.` */
export async function playRoute(form: RouteForm, before: RouteState, told: string): Promise<void> {
  await routed(form, told, () => void routed(formOf(before), 'It plays what it played before.'))
}

async function routed(form: RouteForm, told: string, undo?: () => void): Promise<void> {
  try {
    await api.route(form)
    toast(told, undo)
  } catch (thrown) {
    toast(sentenceOf(thrown))
  }
  await lookNow()
}
