/** A fake board and a browser on its pages. */
import type { Test } from 'tap'
import { AWAY, openRig, type Rig } from '#kit/test/web/page-rig.ts'
import { type FakeBoard, type FakeState, startFakeBoard } from './fake-board.ts'

/** Everything a page test needs. */
export interface Stage extends Rig {
  board: FakeBoard
}

/** Starts both; everything ends with the test. */
export async function openStage(t: Test, change: Partial<FakeState>): Promise<Stage> {
  const board = await startFakeBoard(t, change)
  return { ...(await openRig(t, board.url, { pictures: 'board', wanted: AWAY })), board }
}
