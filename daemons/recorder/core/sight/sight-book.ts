/** Which detector looks, at which cameras, and how often: as it was chosen, and saved. */
import { Fault } from '#kit/pure/fault.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import type { LicenceGate } from '../licence/licence.ts'

/** `camera`: what cameras claim themselves. `external`: the process of `detector.command`, or of the package of a detector. */
export const detectorKinds = ['off', 'motion', 'camera', 'external'] as const

export type DetectorKind = (typeof detectorKinds)[number]

/** What is chosen. */
export interface SightChoice {
  kind: DetectorKind
  /** Pictures a second while something moves; 0: key frames alone. */
  fps: number
  /** What is other for single cameras. */
  cameras: Readonly<Record<string, CameraChoice>>
}

export interface CameraChoice {
  enabled: boolean
  /** Null: as all have it. */
  fps: number | null
  /** By which its boxes are moved against the footage; null: as measured. */
  trackOffsetMs: number | null
}

type CameraWish = { [Key in keyof CameraChoice]?: CameraChoice[Key] | undefined }

/** What is to change; what is left out stays. */
export interface SightChange {
  kind?: DetectorKind | undefined
  fps?: number | undefined
  cameras?: Readonly<Record<string, CameraWish>> | undefined
}

/** Pictures a second, at most. */
export const MOST_FPS = 5

export const NOTHING_CHOSEN: SightChoice = { kind: 'off', fps: 2, cameras: {} }

interface BookParts {
  choice: SightChoice
  /** Resolves once it is on disk. */
  save(choice: SightChoice): Promise<void>
  hasExternal: boolean
  /** Undefined on a recorder that is not licensed. */
  licence: Pick<LicenceGate, 'requireFeature'> | undefined
  /** It takes effect now. */
  onChange(): void
}

export interface SightBook {
  choice(): SightChoice
  hasExternal: boolean
  /** Why what was chosen cannot look, such as a detector that was removed since; undefined: it can. */
  lacking(): Fault | undefined
  of(camera: string): CameraChoice & { fps: number }
  /** @param known cameras that there are; what was said of others is forgotten. @throws Fault `no_detector`, `license_feature`, `store_write_failed` */
  change(change: SightChange, known: readonly string[]): Promise<void>
}

export function createSightBook({ choice: saved, hasExternal, licence, onChange, save }: BookParts): SightBook {
  let choice = saved
  const inTurn = createSerialTurn()
  const usual: CameraChoice = { enabled: true, fps: null, trackOffsetMs: null }

  function changed({ cameras = {}, fps = choice.fps, kind = choice.kind }: SightChange, known: readonly string[]) {
    // Where it was removed since, what else was chosen can still be changed.
    if (kind === 'external' && choice.kind !== kind && !hasExternal) throw notInstalled()
    const merged = known.map((id): [string, CameraChoice] => {
      const wish: CameraWish = Object.hasOwn(cameras, id) ? (cameras[id] ?? {}) : {}
      const before = choice.cameras[id] ?? usual
      const { enabled = before.enabled, fps: own = before.fps, trackOffsetMs = before.trackOffsetMs } = wish
      return [id, { enabled, fps: own, trackOffsetMs }]
    })
    const other = merged.filter(([, one]) => !one.enabled || one.fps !== null || one.trackOffsetMs !== null)
    return { kind, fps, cameras: Object.fromEntries(other) }
  }

  return {
    choice: () => choice,
    hasExternal,
    lacking: () => (choice.kind === 'external' && !hasExternal ? notInstalled() : undefined),
    of(camera) {
      const own = Object.hasOwn(choice.cameras, camera) ? (choice.cameras[camera] ?? usual) : usual
      return { ...own, fps: own.fps ?? choice.fps }
    },
    change: (change, known) =>
      inTurn(async () => {
        const next = changed(change, known)
        if (isGrowth(choice, next, known)) licence?.requireFeature('ai')
        await save(next)
        choice = next
        onChange()
      }),
  }
}

function notInstalled(): Fault {
  return new Fault(
    'no_detector',
    'No detector is installed here: install plantroom-detector, or name a program in detector.command of recorder.toml.',
  )
}

/**
 * Whether the external detector is switched on, or looks at one camera more: it is what the feature `ai` names. Motion and
 * what cameras claim are no one's to sell. What was on stays on, whatever becomes of a licence.
 */
function isGrowth(before: SightChoice, next: SightChoice, known: readonly string[]): boolean {
  if (next.kind !== 'external') return false
  if (before.kind !== 'external') return true
  return known.some((id) => before.cameras[id]?.enabled === false && next.cameras[id]?.enabled !== false)
}
