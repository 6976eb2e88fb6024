/** What the recorder wrote to cameras: the newest of each, kept across restarts. */
import type { Clock } from '#kit/clock.ts'

/** One write. Never changed in place. */
export interface CameraWrite {
  readonly camera: string
  readonly at: number
  /** `clock`, `clock_manual`, and those of cameras that turn, such as `ptz_move`. */
  readonly operation: string
  /** Who asked for it; null: the recorder itself. */
  readonly performedBy: string | null
  /** What was written, and what the camera answered. */
  readonly detail: Readonly<Record<string, string | number | boolean | null>>
}

interface WritesParts {
  clock: Clock
  records: readonly CameraWrite[]
  /** Resolves once they are on disk. */
  save(records: CameraWrite[]): Promise<void>
  /**
   * Kept of one camera, and in all, those of cameras that are gone too. Of a camera the oldest of the operation goes that it has
   * most of: a patrol takes a step every few seconds, and what a person did is looked for later.
   */
  perCamera: number
  inAll: number
}

export interface Writes {
  /** @throws Fault `store_write_failed` */
  add(write: Omit<CameraWrite, 'at'>): Promise<void>
  /** Of one camera, the newest first. */
  of(camera: string, most: number): CameraWrite[]
}

export function createWrites({ clock, inAll, perCamera, records, save }: WritesParts): Writes {
  let kept = records
  const own = (camera: string) => kept.filter((one) => one.camera === camera)

  return {
    async add(write) {
      const mine = own(write.camera)
      const tooOld = mine.length >= perCamera ? oldestOfMost(mine) : kept.length >= inAll ? kept[0] : undefined
      kept = [...kept.filter((one) => one !== tooOld), { ...write, at: clock.epochMs() }]
      await save([...kept])
    },
    of: (camera, most) => own(camera).reverse().slice(0, most),
  }
}

function oldestOfMost(writes: readonly CameraWrite[]): CameraWrite | undefined {
  const counts = new Map<string, number>()
  for (const { operation } of writes) counts.set(operation, (counts.get(operation) ?? 0) + 1)
  const most = Math.max(...counts.values())
  return writes.find(({ operation }) => counts.get(operation) === most)
}
