/** Edits that know what they were made from: where somebody else was quicker they are kept, and their writer decides. */
import { useState } from 'preact/hooks'
import { CallFault } from './call.ts'
import * as texts from './texts.ts'

/** What one form was read as, until it saves. */
export interface Revision {
  /**
   * Saves from what was read. Refused where it is otherwise by now; the next save then replaces what is there.
   * @throws CallFault
   */
  save<Saved extends { revision?: string | null }>(
    send: (ifMatch: string | undefined) => Promise<Saved>,
  ): Promise<Saved>
}

/** @param first as the form was read; null of what is new */
export function useRevision(first: string | null | undefined): Revision {
  const [revision] = useState(() => createRevision(first))
  return revision
}

/** Makes one. */
export function createRevision(first: string | null | undefined): Revision {
  let known = first
  return {
    async save(send) {
      try {
        const saved = await send(known ?? undefined)
        known = saved.revision
        return saved
      } catch (thrown) {
        if (!(thrown instanceof CallFault) || thrown.code !== 'changed_meanwhile') throw thrown
        known = thrown.revision
        throw new CallFault(thrown.status, { error: thrown.code, message: words(known), revision: known })
      }
    },
  }
}

function words(revision: string | null): string {
  if (revision === null) return texts.removedMeanwhile
  return texts.changedMeanwhile
}
