/** The config table of a journal: how much is kept, and of what kind. */
import { type Static, Type } from 'typebox'

/** The `journal` table of a daemon. */
export function journalTable() {
  return Type.Object(
    {
      entries: Type.Integer({
        default: 10_000,
        minimum: 100,
        maximum: 1_000_000,
        description: 'who changed or sent what: entries kept, the oldest go first',
      }),
      chars: Type.Integer({
        default: 8_388_608,
        minimum: 65_536,
        maximum: 268_435_456,
        description: 'characters of all entries; beyond, the kind of entry that takes most loses its oldest',
      }),
      refusals: Type.Integer({
        default: 1000,
        minimum: 10,
        maximum: 100_000,
        description: 'entries about those turned away: kept at most, so that strangers push out no changes',
      }),
      sign_ins: Type.Integer({
        default: 1000,
        minimum: 10,
        maximum: 100_000,
        description: 'entries about sign-ins: kept at most',
      }),
      sent: Type.Integer({
        default: 5000,
        minimum: 10,
        maximum: 500_000,
        description: 'entries about what was sent to lines: kept at most, so that programs push out no changes',
      }),
      refused_ms: Type.Integer({
        default: 600_000,
        minimum: 1000,
        maximum: 86_400_000,
        unit: 'ms',
        description: 'how often at most one network or key that is turned away is told again, with a count',
      }),
      refused_groups: Type.Integer({
        default: 64,
        minimum: 1,
        maximum: 4096,
        description: 'networks and keys turned away that are counted apart; further ones are counted together',
      }),
    },
    { additionalProperties: false, default: {}, description: 'the journal of changes' },
  )
}

/** A checked `journal` table. */
export type JournalConfig = Static<ReturnType<typeof journalTable>>
