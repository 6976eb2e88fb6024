/** What a hand changes in the matrix: sent to the decoder itself, shown at once, taken back where it was refused. */
import { signal } from '@preact/signals'
import { sentenceOf } from '#kit/web/call.ts'
import { toast } from '#kit/web/toast.ts'
import { signedInWith } from './basic.ts'
import { callBoard, takeSound } from './far-boards.ts'
import { type FarDecoder, type FarSound, routeOf, volumeOf } from './far-sound.ts'
import { formOf } from './play.ts'
import type { Column, Row } from './routing.ts'
import type { RouteForm } from './sound.ts'
import { lookNow } from './state.ts'
import { stepped } from './volume.ts'

/** Where a decoder is being routed to, by its key; empty: nowhere. */
export const pending = signal<ReadonlyMap<string, string>>(new Map())

/** What a board said against a change, in its own words; `isLocked` where it wants another password. */
export class Refused extends Error {
  readonly isLocked: boolean

  constructor(message: string, isLocked = false) {
    super(message)
    this.name = 'Refused'
    this.isLocked = isLocked
  }
}

/** What stands at the crosspoint of a change that was refused. */
export function refusalOf(thrown: unknown): { refused: string; isLocked: boolean } {
  return { refused: sentenceOf(thrown), isLocked: thrown instanceof Refused && thrown.isLocked }
}

const MOST_TEXT = 300

/** Plays a stream on a decoder, with the way back in a toast. @throws Refused */
export async function playOn(row: Row, column: Column, all: readonly Column[]): Promise<void> {
  await change(row, formFor(column, all), column.key)
  sayRouted(row, `${row.name} now plays ${column.name}.`)
}

/** Stops a decoder, with the way back in a toast. @throws Refused */
export async function stopOn(row: Row): Promise<void> {
  await change(row, { mcast: '' }, '')
  sayRouted(row, `${row.name} is stopped.`)
}

function sayRouted(row: Row, told: string): void {
  const before = row.sound?.route
  toast(told, before && (() => void undo(row, formOf(before))))
}

async function undo(row: Row, form: RouteForm): Promise<void> {
  try {
    await change(row, form, row.column ?? '')
    toast(`${row.name} plays what it played before.`)
  } catch (thrown) {
    toast(`${row.name}: ${sentenceOf(thrown)}`)
  }
}

/** A sender is named only where two streams share an address: a decoder finds it by itself, also after it was replaced. */
export function formFor({ mcast, port, source, encoding, key }: Column, all: readonly Column[]): RouteForm {
  const isShared = all.some((other) => other.key !== key && other.mcast === mcast && other.port === port)
  return {
    mcast,
    port,
    ...(isShared && source !== null ? { source } : {}),
    ...(encoding === 'L16' || encoding === 'L24' ? { encoding } : {}),
  }
}

async function change(row: Row, form: RouteForm, column: string): Promise<void> {
  pending.value = new Map(pending.value).set(row.key, column)
  try {
    const answer = await post(row, '/api/route', { ...form })
    await take(row, (sound) => ({ ...sound, route: routeOf(answer), sender: null, checks: [], playing: true }))
  } finally {
    const rest = new Map(pending.value)
    rest.delete(row.key)
    pending.value = rest
  }
}

/** One decibel up or down. @throws Refused */
export async function stepOn(row: Row, step: 1 | -1): Promise<void> {
  const volume = row.sound?.volume
  if (!volume) return
  await loudness(row, '/api/volume_db', { volume_db: stepped(volume.volumeDb, step) })
}

/** Mutes, or lets be heard again. @throws Refused */
export async function muteOn(row: Row): Promise<void> {
  const volume = row.sound?.volume
  if (volume) await loudness(row, '/api/mute', { mute: volume.mute ? 0 : 1 })
}

async function loudness(row: Row, path: string, form: Record<string, number>): Promise<void> {
  const volume = volumeOf(await post(row, path, form))
  await take(row, (sound) => ({ ...sound, volume }))
}

/** What was answered is shown until the board is asked again. */
async function take({ peer }: Row, change: (sound: FarDecoder) => FarDecoder): Promise<void> {
  if (peer.self) await lookNow()
  else takeSound(peer, (sound: FarSound) => (sound.kind === 'decoder' ? change(sound) : sound))
}

async function post({ peer }: Row, path: string, values: Record<string, string | number>): Promise<unknown> {
  const form = new URLSearchParams(Object.entries(values).map(([name, value]) => [name, String(value)]))
  let reply: Awaited<ReturnType<typeof callBoard>>
  try {
    reply = await callBoard(peer, path, { authorization: signedInWith(), form })
  } catch {
    throw new Refused('It did not answer; whether it took this is not known. It is asked again.')
  }
  if (reply.status === 401) throw new Refused('It has another password than this board.', true)
  if (reply.status >= 400) throw new Refused(reasonOf(reply.answer, reply.status))
  return reply.answer
}

/** Its own words; where fields were refused, theirs. */
function reasonOf(answer: unknown, status: number): string {
  const { message, fields } = (answer ?? {}) as { message?: unknown; fields?: unknown }
  const words = Object.values((fields ?? {}) as object).filter((each) => typeof each === 'string')
  const text = words.length > 0 ? words.join(' ') : message
  return typeof text === 'string' ? text.slice(0, MOST_TEXT) : `It answered ${status} without a reason.`
}
