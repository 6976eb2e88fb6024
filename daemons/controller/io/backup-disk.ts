/** Backups on the disk, in the folder of the state that no backup contains; made and checked in a thread. */
import { createReadStream, createWriteStream, openSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Clock } from '#kit/clock.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { startThread } from '#kit/run/thread.ts'
import { commitRestore, dropDrafts, formerState, workFolder } from '#kit/store/restore.ts'
import type { BackupDisk, BackupFacts, BackupProgress } from '../core/backups.ts'
import { BACKUP_HEAP_MIB } from '../core/keys.ts'
import type { BackupTask, BackupWord } from './backup-thread.ts'

/** Below the folder of restores. */
const [MADE, SENT] = ['made.tar.gz', 'sent.tar.gz']

const HEAP = { maxOldGenerationSizeMb: BACKUP_HEAP_MIB.old, maxYoungGenerationSizeMb: BACKUP_HEAP_MIB.young }

interface BackupDiskNeeds {
  /** The state folder. */
  folder: string
  clock: Clock
  version: string
  limits: { unpackedBytes: number }
}

export function createBackupDisk({ folder, clock, version, limits }: BackupDiskNeeds): BackupDisk {
  const file = (name: string) => join(workFolder(folder), name)
  return {
    pack: (onProgress) =>
      inThread({ kind: 'pack', folder, file: file(MADE), version, at: clock.epochMs() }, onProgress),
    open() {
      // Opened at once: whoever reads it goes on where it is dropped meanwhile.
      return createReadStream('', { fd: openSync(file(MADE), 'r') })
    },
    async take(bytes, onProgress) {
      let doneBytes = 0
      const counted = async function* () {
        for await (const chunk of bytes) {
          doneBytes += chunk.length
          onProgress({ doneBytes, ofBytes: null })
          yield chunk
        }
      }
      try {
        await pipeline(counted, createWriteStream(file(SENT), { flags: 'wx', mode: 0o600 }))
      } catch (cause) {
        const { code, syscall } = cause as NodeJS.ErrnoException
        if (syscall === undefined) throw cause
        throw new Fault(
          'backup_failed',
          `What was sent could not be kept on the disk (${code}): nothing was changed.`,
          {
            cause,
          },
        )
      }
    },
    check: (onProgress) =>
      inThread({ kind: 'check', folder, file: file(SENT), version, unpackedBytes: limits.unpackedBytes }, onProgress),
    commit(note) {
      try {
        commitRestore(folder, note)
      } catch (cause) {
        const { code } = cause as NodeJS.ErrnoException
        throw faultOf(cause, 'backup_failed', `The disk did not take the decision (${code}). Nothing was changed.`)
      }
    },
    former: () => formerState(folder),
    drop: () => dropDrafts(folder),
  }
}

/** @throws Fault as the thread says, `backup_failed` if it ended by itself */
function inThread(task: BackupTask, onProgress: (progress: BackupProgress) => void): Promise<BackupFacts> {
  const thread = startThread(new URL('./backup-thread.ts', import.meta.url), { workerData: task, resourceLimits: HEAP })
  return new Promise((resolve, reject) => {
    thread.on('message', (word: BackupWord) => {
      if (word.kind === 'progress') onProgress(word)
      else if (word.kind === 'done') resolve(word.facts)
      else reject(faultOfThread(word))
    })
    thread.on('error', (cause) => reject(new Fault('backup_failed', 'the thread for backups has ended', { cause })))
    thread.on('exit', () => reject(new Fault('backup_failed', 'the thread for backups has ended')))
  })
}

function faultOfThread({ code, message }: BackupWord & { kind: 'failed' }): Fault {
  if (code === 'bad_backup') return new Fault('bad_backup', message)
  const why = code === 'ENOSPC' || code === 'EDQUOT' ? 'there is no room on the disk' : message
  return new Fault('backup_failed', `This could not be done: ${why}. Nothing was changed.`)
}
