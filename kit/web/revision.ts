/**
 * Concurrent edits: a save knows the revision it was made from; if somebody else saved first, the edits are kept and
 * the user decides.
 */
import { useState } from 'preact/hooks'
import { CallFault } from './call.ts'
import * as texts from './texts.ts'

/** The revision that one form was loaded with, until it saves. */
export interface Revision {
  /**
   * Saves from the loaded revision. Refused if it has changed since; the next save then overwrites.
   * @throws CallFault
   */
  save<Saved extends { revision?: string | null }>(
    send: (ifMatch: string | undefined) => Promise<Saved>,
  ): Promise<Saved>
}

/** @param first the loaded revision; null for something new */
export function useRevision(first: string | null | undefined): Revision {
  const [revision] = useState(() => createRevision(first))
  return revision
}

/** Creates a revision. */
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
