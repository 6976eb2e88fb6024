/** What the recorder wrote to cameras: the newest of each, kept across restarts. */
import type { Clock } from '#kit/clock.ts'

/** One write. Never changed in place. */
export interface CameraWrite {
  readonly camera: string
  readonly at: number
  /** `clock`, `clock_manual`, `ptz_aim`. */
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
  /** Kept of one camera, and in all, those of cameras that are gone too; the oldest go first. */
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
      const tooOld = mine.length >= perCamera ? mine[0] : kept.length >= inAll ? kept[0] : undefined
      kept = [...kept.filter((one) => one !== tooOld), { ...write, at: clock.epochMs() }]
      await save([...kept])
    },
    of: (camera, most) => own(camera).reverse().slice(0, most),
  }
}
