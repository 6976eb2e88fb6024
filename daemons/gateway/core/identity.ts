/** The gateway's own name, as it stands on the plate of every page. */

/** What identity.json keeps. */
export interface IdentityRecord {
  name: string
}

export interface Identity {
  name(): string
  rename(name: string): Promise<void>
}

/** @param save resolves once the name is safe */
export function createIdentity(record: IdentityRecord, save: (record: IdentityRecord) => Promise<void>): Identity {
  let kept = record
  return {
    name: () => kept.name,
    async rename(name) {
      await save({ name })
      kept = { name }
    },
  }
}
