/** Runs that lived when the daemon was killed: their rows have no end, and get one at the next start. */
import type { RunKeeper } from './ports.ts'
import { nextRunState } from './run-state-table.ts'

/**
 * Tells runs without an end as `interrupted`. A run's row is on the disk before its first step, so each run that may have
 * done something is told; what it had done by then was in memory, and is not known: its trace is null.
 * To be called once at start, before a run is let in.
 * @param atMs epoch ms that becomes ended_at: when it was found, because when it ended nobody saw
 * @returns how many there were
 */
export async function tellInterrupted(keeper: RunKeeper, atMs: number): Promise<number> {
  const ids = await keeper.unended()
  const result = nextRunState('running', 'lost')
  await Promise.all(ids.map((id) => keeper.end(id, { ended_at: atMs, result, trace: null })))
  return ids.length
}
