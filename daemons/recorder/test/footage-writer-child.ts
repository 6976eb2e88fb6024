/**
 * A process that writes footage until it is killed: `node footage-writer-child.ts FOLDER FLUSH_MS`. It goes on where the last one
 * ended, and says `<camera> <number> <monotonic ms>` of each group that the disk took, one a line.
 */
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '#kit/clock.ts'
import { openFootage } from '../io/footage-store.ts'
import { writeFragment } from '../wire/mp4-write.ts'
import { withLengths } from '../wire/pictures.ts'
import { UNIT_BYTES } from './footage-cuts.ts'
import { facts, fragmentOf, head, START } from './footage-stage.ts'

const [root = '', flush = '1000'] = process.argv.slice(2)
const CAMERAS = ['aa', 'bb']
/** Of a file. */
const GROUPS = 20
/** So that a test disk lasts for as long as a test. */
const REST_MS = 2

/** What waits for the disk: one at a time, so that it is known which one was taken. */
let waiting: { group: string; taken(): void } | undefined
const footage = await openFootage({
  ...{ folder: join(root, 'index'), stateFolder: root, clock: systemClock },
  folders: [{ folder: join(root, 'disk'), isOwn: true, id: undefined }],
  limits: {
    flushMs: Number(flush),
    queueBytes: 8e6,
    totalQueueBytes: 16e6,
    lookMs: 60_000,
    stuckMs: 60_000,
    proveMs: 60_000,
  },
  keeping: { keepMs: () => 1e12, keepBytes: () => 1e12, freeBytes: () => 0, isHeld: () => false },
  onKnown: async () => {},
  onDisk({ fault }) {
    if (fault) throw new Error(fault.message)
  },
  onIndexDamaged(fault) {
    throw fault
  },
  onFault(fault) {
    if (fault) throw fault
    if (waiting) writeSync(1, `${waiting.group} ${Math.round(systemClock.monotonicMs())}\n`)
    waiting?.taken()
  },
})
// Each group carries its number in its bytes, and is a second behind the one before.
let number = Math.max(0, Math.round((footage.newestAt() - START) / 1000))
writeSync(1, `begins ${number}\n`)
for (;;) {
  const startAt = START + number * 1000
  const files = CAMERAS.map((camera) => ({ camera, file: footage.begin({ camera, startAt, facts, head }) }))
  for (let at = 0; at < GROUPS; at++, number++) {
    for (const { camera, file } of files) {
      const unit = new Uint8Array(UNIT_BYTES).fill(number % 251)
      new DataView(unit.buffer).setUint32(0, number)
      const time = { decodeTicks: at * 90_000, durationTicks: 90_000, wallMs: startAt + at * 1000, isKey: true }
      const samples = [{ data: withLengths([unit]), isKey: true, durationTicks: 90_000, offsetTicks: 0 }]
      const { promise, resolve } = Promise.withResolvers<void>()
      waiting = { group: `${camera} ${number}`, taken: resolve }
      if (!file.append(fragmentOf(writeFragment({ ...time, sequence: at + 1, samples })), time))
        throw new Error(`not taken: ${JSON.stringify(footage.disks())}`)
      await promise
    }
    await new Promise((resolve) => setTimeout(resolve, REST_MS))
  }
  for (const { file } of files) file.close()
}
