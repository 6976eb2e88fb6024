/** At which camera a condition of the ledger is: conditions name one by its name, and what is at it behind a comma. */
import type { LedgerEntry } from '#kit/records/ledger-entry.ts'

/** @returns undefined where it is at none, and where several cameras have the name: it may be told to who sees one of them alone */
export function cameraAt<Camera extends { readonly name: string }>(
  { where }: Pick<LedgerEntry, 'where'>,
  cameras: readonly Camera[],
): Camera | undefined {
  const named = cameras.filter(({ name }) => where === name || where.startsWith(`${name}, `))
  // "Yard, north" is not what is at "Yard".
  const longest = Math.max(...named.map(({ name }) => name.length))
  const [found, ...others] = named.filter(({ name }) => name.length === longest)
  return others.length === 0 ? found : undefined
}
