/** Letting go of a board that will not come back: on this board, and on the others, which remember it as well. */
import { sentenceOf } from '#kit/web/call.ts'
import { many } from '#kit/web/numbers.ts'
import { toast } from '#kit/web/toast.ts'
import { api, type Peer } from './api.ts'
import { signedInWith } from './basic.ts'
import { callBoard, isThere } from './far-boards.ts'
import { nameOf } from './matrix.ts'

/** Whether a board may be let go of: it has been there, and is not. */
export function isDismissable({ id, state }: Peer): boolean {
  return id !== null && (state === 'absent' || state === 'unreachable')
}

/** Dismisses a board here and wherever else it is remembered, and says so in a toast. */
export async function dismiss(peer: Peer, all: readonly Peer[]): Promise<void> {
  const { id } = peer
  if (id === null) return
  try {
    await api.dismissPeer(id)
  } catch (thrown) {
    return toast(`${nameOf(peer)} stays: ${sentenceOf(thrown)}`)
  }
  const others = all.filter((other) => !other.self && isThere(other))
  const outcomes = await Promise.all(others.map((other) => dismissOn(other, id)))
  const failed = outcomes.filter((isDone) => !isDone).length
  const kept = failed === 0 ? '' : ` ${many(failed, 'board')} could not be told and may still list it.`
  toast(`${nameOf(peer)} is dismissed. It is found again when it answers.${kept}`)
}

/** @returns whether that board does not list it any more */
async function dismissOn(other: Peer, id: string): Promise<boolean> {
  try {
    const form = new URLSearchParams({ id })
    const { status } = await callBoard(other, '/api/peers/dismiss', { authorization: signedInWith(), form })
    return status === 200 || status === 404
  } catch {
    return false
  }
}
