/** What the recorder is to its owner: an id that stays, the name of the site, and how far the first set-up is. */

/** Steps of the first set-up, in order. @source interface document 3, A, Onboarding */
export const setupSteps = ['hailo', 'storage', 'ai', 'complete'] as const

export type SetupStep = (typeof setupSteps)[number]

/** Whether the first set-up is over. */
export function isSetUpOver(step: SetupStep): boolean {
  return step === 'complete'
}

/** The site as it is saved. */
export interface SiteRecord {
  /** Made once. */
  id: string
  /** What people call the site; null: nobody has said. */
  name: string | null
  step: SetupStep
}

/** Each change throws Fault `store_write_failed` if it could not be saved; then nothing has changed. */
export interface Site {
  readonly id: string
  /** The name of the site, else of the machine. */
  name(): string
  step(): SetupStep
  rename(name: string): Promise<void>
  moveTo(step: SetupStep): Promise<void>
}

interface SiteParts {
  record: SiteRecord
  /** Resolves once it is on disk. */
  save(record: SiteRecord): Promise<void>
  machineName(): string
}

export function createSite({ machineName, record: saved, save }: SiteParts): Site {
  let record = saved

  async function put(change: Partial<SiteRecord>): Promise<void> {
    const next = { ...record, ...change }
    await save(next)
    record = next
  }

  return {
    id: record.id,
    name: () => record.name ?? machineName(),
    step: () => record.step,
    rename: (name) => put({ name }),
    moveTo: (step) => put({ step }),
  }
}
