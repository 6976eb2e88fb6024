/** Where an uploaded release file lies until root's updater has opened it, and how that is asked. */
import { createHash } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '#kit/clock.ts'
import { requireRoom } from '#kit/release/disk-room.ts'
import { readReleaseHead } from '#kit/release/release-file.ts'
import { createUpdateService } from '#kit/release/update-asking.ts'
import { syncFolder, systemDisk } from '#kit/store/store.ts'
import type { UpdateDesk } from '../core/updating/uploads.ts'

interface DeskParts {
  stateFolder: string
  /** The folder of this program. */
  programs: string
  clock: Clock
  limits: { socket: string; toldFile: string; answerMs: number }
}

/** As `update.handed_file` of update.toml says by default: root takes no path from here. */
const FILE = 'upload.release'
/** Until it is whole. */
const DRAFT = 'upload.part'

export function createReleaseDesk({ clock, limits, programs, stateFolder }: DeskParts): UpdateDesk {
  const [file, draft] = [join(stateFolder, FILE), join(stateFolder, DRAFT)]
  const service = createUpdateService({ clock, limits, programs })

  async function clear(): Promise<void> {
    for (const path of [draft, file]) await rm(path, { force: true })
  }

  return {
    ...service,
    clear,
    readHead: readReleaseHead,
    ask: () => service.ask('handed'),
    async begin(sizeBytes) {
      await clear()
      await requireRoom(stateFolder, sizeBytes)
      const handle = await open(draft, 'wx', 0o600)
      const hash = createHash('sha256')
      return {
        write: (piece) => handle.appendFile(piece),
        count: (piece) => void hash.update(piece),
        sha256: () => hash.digest('hex'),
        async finish() {
          await handle.sync()
          await rename(draft, file)
          await syncFolder(systemDisk, stateFolder)
        },
        close: () => handle.close(),
      }
    },
  }
}
