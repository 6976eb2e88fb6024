/** A fake board and a browser on its pages. */
import type { Test } from 'tap'
import { openRig, type Rig } from '#kit/test/web/page-rig.ts'
import { type FakeBoard, type FakeState, startFakeBoard } from './fake-board.ts'

/** Everything a page test needs. */
export interface Stage extends Rig {
  board: FakeBoard
}

/** Browser messages while a board restarts. */
export const AWAY = /net::ERR_(EMPTY_RESPONSE|CONNECTION_(REFUSED|RESET))|WebSocket connection/

/** Starts both; everything ends with the test. */
export async function openStage(t: Test, change: Partial<FakeState>): Promise<Stage> {
  const board = await startFakeBoard(t, change)
  return { ...(await openRig(t, board.url, { pictures: 'board', wanted: AWAY })), board }
}
