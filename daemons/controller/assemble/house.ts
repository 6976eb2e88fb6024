/** What the controller is put together in: what each part finds, and what it brings. */
import type { Records } from '#kit/records.ts'
import type { AssembleContext } from '#kit/run/daemon.ts'
import type { ControllerConfig } from '../config.ts'
import type { AuditFile } from '../io/audit-file.ts'
import type { SiteStore } from '../io/database.ts'

/** What is there before the rules. */
export interface House {
  context: AssembleContext<ControllerConfig>
  audit: AuditFile
  records: Records
  site: SiteStore
}

/** Told when rows were changed by the daemon itself: who waits for a value looks again. */
export interface Changed {
  tell(): void
  /** @returns ends it */
  onChange(listener: () => void): () => void
}

export function createChanged(): Changed {
  const listeners = new Set<() => void>()
  return {
    tell() {
      for (const listener of [...listeners]) listener()
    },
    onChange(listener) {
      const own = () => listener()
      listeners.add(own)
      return () => void listeners.delete(own)
    },
  }
}
