/**
 * Networks from which each account has signed in successfully before. They come first when many are guessing, also
 * after a restart.
 */
import { createHash, randomBytes } from 'node:crypto'
import { type Static, Type } from 'typebox'
import type { Clock } from '../clock.ts'
import { createReader } from '../http/check.ts'
import type { Log } from '../log.ts'
import { Fault } from '../pure/fault.ts'
import { dropGreediest } from '../pure/pace.ts'
import { createStore } from '../store/store.ts'

/** Networks as `networkOf` names them, account names normalized. */
export interface Homes {
  has(network: string, account: string): boolean
  /** Saved in the background; what cannot be saved is known until the daemon ends. */
  add(network: string, account: string): void
}

const digest = Type.String({ pattern: '^[A-Za-z0-9_-]{22}$' })

/** Digests, so that the file does not show at a glance who signs in from where. */
const homesFile = Type.Object(
  {
    version: Type.Literal(1),
    salt: digest,
    homes: Type.Array(
      Type.Object(
        {
          account: digest,
          home: Type.String({ pattern: '^[A-Za-z0-9_-]{22}$', description: 'of the account and the network together' }),
          usedAt: Type.Integer({ description: 'epoch ms of a sign-in, within a day' }),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
)

function nothing(): Static<typeof homesFile> {
  return { version: 1, salt: randomBytes(16).toString('base64url'), homes: [] }
}

/** How old `usedAt` may get before it is rewritten: a sign-in each minute must not cause a write each minute. */
const USED_MS = 86_400_000

export interface HomesParts {
  folder: string
  clock: Clock
  log: Log
  /** Homes remembered; when full, the oldest home of the account with the most is dropped. */
  most: number
}

/** The homes of a state folder, in homes.json. @throws Fault `store_unreadable` */
export async function openHomes({ folder, clock, log, most }: HomesParts): Promise<Homes> {
  const store = createStore({
    folder,
    name: 'homes',
    log,
    check: createReader(homesFile),
    initial: nothing,
  })
  const { salt, homes: kept } = await store.load().catch((fault) => {
    if (!(fault instanceof Fault) || fault.code !== 'store_damaged') throw fault
    // No reason not to start: the next sign-ins fill it again.
    log.warning('homes_forgotten', { fault })
    return nothing()
  })
  // Oldest first.
  const homes = new Map(kept.map(({ home, ...rest }) => [home, rest]))
  const digestOf = (...parts: string[]) =>
    createHash('sha256')
      .update(JSON.stringify([salt, ...parts]))
      .digest()
      .subarray(0, 16)
      .toString('base64url')

  function save(): void {
    const list = [...homes].map(([home, rest]) => ({ ...rest, home }))
    store.save({ version: 1, salt, homes: list }).catch((fault) => log.warning('homes_not_saved', { fault }))
  }

  return {
    has: (network, account) => homes.has(digestOf(account, network)),
    add(network, account) {
      const home = digestOf(account, network)
      const usedAt = clock.epochMs()
      const known = homes.get(home)
      if (known && Math.abs(usedAt - known.usedAt) < USED_MS) return
      homes.delete(home)
      dropGreediest(homes, most, (entry) => entry.account)
      homes.set(home, { account: digestOf(account), usedAt })
      save()
    },
  }
}
