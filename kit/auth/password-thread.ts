/** A thread that computes argon2id, from within. What it is told to compute it does in turn. */
import { type Argon2Parameters, argon2Sync } from 'node:crypto'
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'

/**
 * A hash takes a core for 25 to 100 ms and anyone may ask for one, so the daemon's own work comes first. Linux has a niceness
 * for each thread; 0 as the id means this one.
 */
const NICENESS = 5

try {
  setPriority(NICENESS)
} catch {
  // Where the system does not allow it, the scheduler shares the processor as it sees fit.
}
parentPort?.on('message', (parameters: Argon2Parameters) => {
  parentPort?.postMessage(argon2Sync('argon2id', parameters))
})
