/** The audit's file as something that takes rows: opened when it is needed, put aside when it turns out to be damaged. */
import { rename, rm } from 'node:fs/promises'
import { Fault } from '#kit/fault.ts'
import type { Log } from '#kit/log.ts'
import type { SqlRow } from './audit-table.ts'
import { type AuditTask, type AuditThread, createAuditThread } from './audit-thread.ts'

/** Where rows go. */
export interface AuditStore {
  /** @throws Fault `audit_write_failed` */
  open(): Promise<void>
  /** Durable when it resolves. @throws Fault `audit_write_failed`: none of the rows is there then */
  write(rows: readonly SqlRow[]): Promise<void>
  /** @returns whether there is more to do. @throws Fault `audit_write_failed`, `audit_file_broken` */
  ask(task: AuditTask): Promise<boolean>
  close(): Promise<void>
}

/** @param by `onPutAside` is told before the file is moved: what has it open reads the old one */
export function createAuditStore(by: { file: string; log: Log; onPutAside: () => void }): AuditStore {
  const { file, log } = by
  let thread: Promise<AuditThread> | undefined

  /** The one there is, or a new one; who asks meanwhile gets the same. */
  function current(): Promise<AuditThread> {
    thread ??= open()
    return thread
  }

  async function open(): Promise<AuditThread> {
    const made = createAuditThread(file)
    try {
      await made.ask({ kind: 'open' })
    } catch (fault) {
      thread = undefined
      await made.end()
      throw fault
    }
    return made
  }

  async function ask(task: AuditTask): Promise<boolean> {
    const mine = current()
    try {
      return await (await mine).ask(task)
    } catch (fault) {
      // A write begins anew with a file opened anew: a card may have been pulled. A trim can wait, and leaves it as it is.
      if (thread === mine && (task.kind === 'write' || isBroken(fault))) {
        thread = undefined
        await mine.then((each) => each.end()).catch(() => {})
      }
      throw fault
    }
  }

  /** Once more with a new file where the old one is damaged; what is in it stays beside, for whoever can mend it. */
  async function despiteDamage<Given>(run: () => Promise<Given>): Promise<Given> {
    try {
      return await run()
    } catch (fault) {
      if (!isBroken(fault)) throw fault
      log.error('audit_put_aside', { fault, file: `${file}.broken` })
      by.onPutAside()
      await rename(file, `${file}.broken`)
      for (const end of ['-wal', '-shm']) await rm(file + end, { force: true })
      return run()
    }
  }

  return {
    open: () => despiteDamage(async () => void (await current())),
    write: (rows) => despiteDamage(async () => void (await ask({ kind: 'write', rows }))),
    ask,
    async close() {
      const last = await thread?.catch(() => undefined)
      thread = undefined
      await last?.ask({ kind: 'close' })
      await last?.end()
    },
  }
}

function isBroken(fault: unknown): boolean {
  return fault instanceof Fault && fault.code === 'audit_file_broken'
}
